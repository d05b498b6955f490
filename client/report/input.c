/* SPDX-License-Identifier: MIT */
/*
 * A regular file of profile.proto is read twice by the streaming reader: for its tables, then for
 * its samples in batches. Anything else is read whole and given out as one batch.
 */
#include "client/report/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/pprof_reader.h"
#include "common/read_end.h"

#define PIECE ((size_t)64 << 10) /* of a file, at once */

struct input {
	int fd;
	enum any_format format;
	struct pprof_reader *reader; /* NULL: all is in @profile */
	struct profile *profile;
	struct reading *reading;
	off_t at;
	bool is_told; /* what is not a stream */
};

void input_free(struct input *in)
{
	if (!in)
		return;
	closep(&in->fd);
	pprof_reader_free(in->reader);
	profile_free(in->profile);
	free(in);
}

static int input_refuse_errno(struct profile_message *message, int error)
{
	return profile_refuse(message, error == EACCES ? REPORT_E_DENIED : REPORT_E_BAD, "%s",
			      strerrordesc_np(error));
}

/* --- in batches ------------------------------------------------------------------------------- */

/* What a reader says of a file. */
static int input_outcome(int r)
{
	return r > 0 ? REPORT_E_BAD : r;
}

static int input_feed(struct input *in, size_t *ret_n, struct profile_message *message)
{
	uint8_t data[PIECE];
	ssize_t n = read_range(in->fd, data, sizeof(data), (uint64_t)in->at);

	if (n < 0)
		return input_refuse_errno(message, errno);
	in->at += n;
	reading_report_offset(in->reading, (uint64_t)in->at);
	*ret_n = (size_t)n;
	return input_outcome(pprof_reader_feed(in->reader, data, (size_t)n, message));
}

static int input_read_tables(struct input *in, struct profile_message *message)
{
	bool done = false;
	size_t n;
	int r = pprof_reader_new(&in->reader, INPUT_BYTES_MAX);

	do
		r = r ? r : input_feed(in, &n, message);
	while (!r && n);
	while (!r && !done)
		r = input_outcome(pprof_reader_end(in->reader, &done, message));
	in->at = 0;
	return r;
}

static int next_batch(struct input *in, bool *ret_any, struct profile_message *message)
{
	struct profile *p = input_profile(in);
	bool done;
	size_t n;
	int r;

	profile_clear_samples(p);
	do {
		r = input_feed(in, &n, message);
		if (r)
			return r;
		if (!n)
			r = input_outcome(pprof_reader_end(in->reader, &done, message));
	} while (!r && n && !p->n_samples);
	*ret_any = p->n_samples > 0;
	return r;
}

/* --- all at once ------------------------------------------------------------------------------ */

static int read_whole(struct input *in, struct profile_message *message)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = read_end(in->fd, INPUT_BYTES_MAX, &data, &length);

	if (r < 0)
		return r;
	if (r == EFBIG)
		return profile_refuse(message, REPORT_E_BAD, "larger than %zu MiB",
				      INPUT_BYTES_MAX >> 20);
	if (r)
		return input_refuse_errno(message, r);
	r = any_read(data, length, INPUT_BYTES_MAX, &in->profile, &in->format, message);
	if (!r && message->text[0] && in->reading->listener)
		listener_note(in->reading->listener, "%s", message->text);
	return input_outcome(r);
}

/* --- any -------------------------------------------------------------------------------------- */

/* Whether it is a profile.proto that can be read twice. */
static bool may_stream(struct input *in)
{
	uint8_t head[ANY_HEAD_BYTES];
	struct stat st;
	ssize_t n;

	if (fstat(in->fd, &st) < 0 || !S_ISREG(st.st_mode) || lseek(in->fd, 0, SEEK_CUR) != 0)
		return false;
	n = pread(in->fd, head, sizeof(head), 0);
	return n > 0 && any_format_of_file(head, (size_t)n) == ANY_PPROF;
}

int input_open(struct input **ret, const char *path, struct reading *reading,
	       struct profile_message *message)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					: open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? input_refuse_errno(message, errno)
		      : input_open_fd(ret, fd, reading, message);
}

int input_open_fd(struct input **ret, int fd, struct reading *reading,
		  struct profile_message *message)
{
	cleanup(input_freep) struct input *in = calloc(1, sizeof(*in));
	int r;

	if (!in) {
		close(fd);
		return error_origin(-ENOMEM);
	}
	in->fd = fd;
	in->reading = reading;
	reading_file(reading, fd);
	r = may_stream(in) ? input_read_tables(in, message) : read_whole(in, message);
	if (r)
		return r;
	reading_samples(reading);
	*ret = steal_ptr(&in);
	return REPORT_E_OK;
}

struct profile *input_profile(struct input *in)
{
	return in->reader ? pprof_reader_profile(in->reader) : in->profile;
}

enum any_format input_format(const struct input *in)
{
	return in->format;
}

bool input_is_stream(const struct input *in)
{
	return in->reader != NULL;
}

int input_next(struct input *in, bool *ret_any, struct profile_message *message)
{
	if (in->reader)
		return next_batch(in, ret_any, message);
	*ret_any = !in->is_told && in->profile->n_samples;
	in->is_told = true;
	return REPORT_E_OK;
}

int input_hold(struct input *in, struct profile **ret, struct profile_message *message)
{
	bool done;
	size_t n = 1;
	int r = 0;

	if (in->reader) {
		profile_clear_samples(input_profile(in));
		while (!r && n)
			r = input_feed(in, &n, message);
		if (!r)
			r = input_outcome(pprof_reader_end(in->reader, &done, message));
	}
	if (r)
		return r;
	*ret = in->reader ? pprof_reader_steal(in->reader) : steal_ptr(&in->profile);
	return REPORT_E_OK;
}

void input_rewind(struct input *in)
{
	in->is_told = false;
	in->at = 0;
}
