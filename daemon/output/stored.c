/* SPDX-License-Identifier: MIT */
/*
 * A file is read twice, piece by piece: its tables may come behind the samples that refer to them
 * (the order of a message's fields is free), and samples are not held until they are known.
 */
#include "daemon/output/stored.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/pprof_reader.h"
#include "common/profile/value_types.h"
#include "common/read_end.h"

#define PIECE ((size_t)8 << 10) /* of a file; unpacked, mostly ten to thirty times as much */

struct stored {
	int fd;
	off_t at;
	bool at_end;     /* all pieces are read, for the first or the second time */
	bool has_tables; /* it is the second time */
	struct pprof_reader *reader;
};

void stored_free(struct stored *s)
{
	if (!s)
		return;
	closep(&s->fd);
	pprof_reader_free(s->reader);
	free(s);
}

int stored_open(struct stored **ret, const struct store *store, const char *path, size_t max_bytes)
{
	cleanup(stored_freep) struct stored *s = calloc(1, sizeof(*s));
	struct stat st;
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	s->fd = openat(store->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (s->fd < 0)
		return errno == ENOENT   ? STORED_E_GONE
		       : errno == ENOMEM ? error_origin(-ENOMEM)
					 : STORED_E_DAMAGED;
	if (fstat(s->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return STORED_E_DAMAGED;
	r = pprof_reader_new(&s->reader, max_bytes);
	if (r)
		return r;
	pprof_reader_set_times(s->reader, false);
	*ret = steal_ptr(&s);
	return STORED_E_OK;
}

void stored_want_times(struct stored *s)
{
	pprof_reader_set_times(s->reader, true);
}

/* What the reader refuses is the file's fault, as is a disk that cannot read it. */
static int stored_outcome(int r)
{
	return r == 0 || r == -ENOMEM ? r : STORED_E_DAMAGED;
}

static int stored_read_piece(struct stored *s)
{
	struct profile_message message;
	uint8_t data[PIECE];
	ssize_t n = read_range(s->fd, data, sizeof(data), (uint64_t)s->at);

	if (n < 0)
		return STORED_E_DAMAGED;
	s->at += n;
	s->at_end = n == 0;
	return stored_outcome(pprof_reader_feed(s->reader, data, (size_t)n, &message));
}

static int stored_end_pass(struct stored *s)
{
	struct profile_message message;
	bool done;
	int r = stored_outcome(pprof_reader_end(s->reader, &done, &message));

	if (r || !done)
		return r;
	if (s->has_tables)
		return STORED_E_DONE;
	s->has_tables = true;
	s->at_end = false;
	s->at = 0;
	return STORED_E_TABLES;
}

int stored_step(struct stored *s)
{
	return s->at_end ? stored_end_pass(s) : stored_read_piece(s);
}

uint32_t stored_count_types(const struct stored *s)
{
	return pprof_reader_count_types(s->reader);
}

bool stored_find_cpu(const struct profile *profile, uint32_t *ret)
{
	for (*ret = 0; *ret < profile->n_sample_types; ++*ret)
		if (strcmp(profile_string(profile, profile->sample_types[*ret].type), "cpu") == 0)
			return true;
	return false;
}

/* The first value of all samples but waits beside others. */
static int64_t stored_count_rows(const struct profile *p)
{
	int64_t n = 0;

	for (size_t i = 0; i < p->n_samples && p->n_sample_types; i++)
		if (!value_types_is_wait(p, i))
			n = clamped_add(n, p->sample_values[i * p->n_sample_types]);
	return n;
}

struct index_counts stored_count_profile(const struct profile *profile)
{
	int64_t samples = stored_count_rows(profile), cpu_ns = 0, off_ns = 0;
	uint32_t cpu, waits;

	if (stored_find_cpu(profile, &cpu))
		cpu_ns = profile_total(profile, cpu);
	if (value_types_find_waits(profile, &waits))
		off_ns = profile_total(profile, waits);
	return (struct index_counts){.samples = samples > 0 ? (uint64_t)samples : 0,
				     .cpu_ns = cpu_ns > 0 ? (uint64_t)cpu_ns : 0,
				     .off_ns = off_ns > 0 ? (uint64_t)off_ns : 0};
}

int stored_count_samples(struct stored *s, struct index_counts *ret)
{
	struct index_counts sum = {0};
	int r;

	do {
		struct index_counts more;

		r = stored_step(s);
		if (r < 0 || r == STORED_E_DAMAGED)
			return r;
		if (!s->has_tables)
			continue;
		/* Of a whole file none is less than nothing. */
		if (stored_profile(s)->n_sample_types && profile_total(stored_profile(s), 0) < 0)
			return STORED_E_DAMAGED;
		more = stored_count_profile(stored_profile(s));
		profile_clear_samples(stored_profile(s));
		if (__builtin_add_overflow(sum.samples, more.samples, &sum.samples) ||
		    __builtin_add_overflow(sum.cpu_ns, more.cpu_ns, &sum.cpu_ns) ||
		    __builtin_add_overflow(sum.off_ns, more.off_ns, &sum.off_ns))
			return STORED_E_DAMAGED;
	} while (r != STORED_E_DONE);
	*ret = sum;
	return STORED_E_DONE;
}

struct profile *stored_profile(struct stored *s)
{
	return pprof_reader_profile(s->reader);
}
