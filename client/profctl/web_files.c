/* SPDX-License-Identifier: MIT */
#include "client/profctl/web_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/profctl/memory.h"
#include "client/profctl/telling.h"
#include "client/report/load.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/windows.h"
#include "common/store/names.h"
#include "common/text_print.h"

#define LEVEL     1 /* zlib's: it is read soon, and by us */
#define NAME_SIZE 160

/* Of a path, an URL or standard input. @number: that of one of the same name, from 2 on; else 0. */
static void web_file_name(const char *path, unsigned number, char ret[NAME_SIZE])
{
	const char *slash = strrchr(path, '/');

	if (strcmp(path, "-") == 0)
		path = "standard input";
	else if (slash && slash[1])
		path = slash + 1;
	if (number)
		snprintf(ret, NAME_SIZE, "file:%.120s-%u", path, number);
	else
		snprintf(ret, NAME_SIZE, "file:%.120s", path);
	/* What would make it several names. */
	for (char *c = ret; *c; c++)
		if (strchr(",*?", *c))
			*c = '_';
}

/* When it begins: by itself, by its file, or now. */
static uint64_t web_file_start(const struct context *context, const struct profile *p,
			       const char *path)
{
	struct stat st;

	if (p->time_ns >= (int64_t)NS_PER_S)
		return (uint64_t)p->time_ns / NS_PER_S;
	if (stat(path, &st) == 0 && st.st_mtim.tv_sec > 0)
		return (uint64_t)st.st_mtim.tv_sec;
	return context->now_ns / NS_PER_S;
}

static int web_file_make_directories(int fd, const char *const parts[3], int *ret)
{
	cleanup(closep) int at = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	for (size_t i = 0; at >= 0 && i < 3; i++) {
		int next;

		if (mkdirat(at, parts[i], 0700) < 0 && errno != EEXIST)
			return error_origin(-errno);
		next = openat(at, parts[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	if (at < 0)
		return error_origin(-errno);
	*ret = steal_fd(&at);
	return 0;
}

static int web_file_write(int directory, const char *name, const uint8_t *data, size_t length)
{
	cleanup(closep) int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
					0600);

	while (fd >= 0 && length) {
		ssize_t n = write(fd, data, length);

		if (n < 0)
			break;
		data += n;
		length -= (size_t)n;
	}
	return fd < 0 || length ? error_origin(-errno) : 0;
}

/* The window of service @name, from @start_s on. Returns 0 or negative errno. */
static int web_file_save(struct profile *p, const char *name, uint64_t start_s, int store)
{
	char escaped[NAMES_ESCAPED_MAX + 1], day[NAMES_DAY_SIZE], file[NAME_SIZE];
	struct names_window window = {.start_s = start_s, .tail = "pb.gz"};
	const char *const parts[] = {"services", escaped, day};
	cleanup(freep) uint8_t *data = NULL;
	cleanup(closep) int directory = -1;
	int64_t until_ns;
	size_t length;
	int r;

	p->time_ns = (int64_t)(start_s * NS_PER_S) + p->time_ns % (int64_t)NS_PER_S;
	until_ns = profile_until_ns(p);
	window.seconds = (uint32_t)profile_window_seconds(
		(uint64_t)p->time_ns,
		until_ns > p->time_ns ? (uint64_t)(until_ns - p->time_ns) : 0);
	if (!names_window(&window, file, sizeof(file)))
		return error_origin(-ERANGE);
	names_escape(name, NAMES_ESCAPED_MAX, escaped);
	names_day(start_s, day);
	r = pprof_write(p, LEVEL, &data, &length)
		    ?: web_file_make_directories(store, parts, &directory);
	return r ? r : web_file_write(directory, file, data, length);
}

static int web_file_convert(const struct context *context, const char *path, unsigned number,
			    int store)
{
	cleanup(memory_unboundp) struct rlimit bound;
	cleanup(load_freep) struct load *l = NULL;
	struct report_inputs inputs;
	struct load_options options = {
		.inputs = &inputs,
		.stored.open_fd = -1,
		.hold = true,
		.want_lines = true,
	};
	struct profile_message message;
	struct telling telling;
	char name[NAME_SIZE];
	int r;

	report_inputs_init(&inputs);
	inputs.profiles = &path;
	inputs.n_profiles = 1;
	options.listener = telling_init(&telling, context);
	memory_bound(&bound);
	r = load_new(&l, &options, &message);
	options.listener.progress(options.listener.context, 1, NULL);
	if (r)
		return report_exit_status(context, r, &message);
	web_file_name(path, number, name);
	r = web_file_save(load_profile(l), name, web_file_start(context, load_profile(l), path),
			  store);
	return r ? memory_complain(context, r) : STATUS_DONE;
}

/* How many of those before @i have its name, and itself; 0: it is the first. */
static unsigned web_file_number(const char *const *paths, size_t i)
{
	char name[NAME_SIZE], other[NAME_SIZE];
	unsigned n = 1;

	web_file_name(paths[i], 0, name);
	for (size_t k = 0; k < i; k++) {
		web_file_name(paths[k], 0, other);
		n += strcmp(name, other) == 0;
	}
	return n > 1 ? n : 0;
}

int web_files_store(const struct context *context, const char *const *paths, size_t n,
		    const char *directory)
{
	cleanup(closep) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = STATUS_DONE;

	if (fd < 0)
		return profctl_complain(context, STATUS_FAILED, "%s: %s", directory,
					strerror(errno));
	for (size_t i = 0; !r && i < n; i++)
		r = web_file_convert(context, paths[i], web_file_number(paths, i), fd);
	return r;
}
