/* SPDX-License-Identifier: MIT */
#include "client/symbolize/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/profile/cpuprofile.h"
#include "common/read_end.h"

/* Of a file, and of what one unpacks to. */
#define BYTES_MAX ((size_t)384 << 20)
#define TRIES_MAX 8 /* temporary names */

static int fail(struct profile_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int fail(struct profile_message *message, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message->text, sizeof(message->text), format, args);
	va_end(args);
	return PROFILE_FILE_E_FAILED;
}

static int fail_errno(struct profile_message *message)
{
	char buffer[128];

	return fail(message, "%s", strerror_r(errno, buffer, sizeof(buffer)));
}

int profile_file_read(const char *path, struct profile **ret, struct profile_message *message)
{
	cleanup(closep) int fd = strcmp(path, "-") == 0
					 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	cleanup(freep) uint8_t *data = NULL;
	size_t length = 0;
	int r;

	if (fd < 0)
		return fail_errno(message);
	r = read_end(fd, BYTES_MAX, &data, &length);
	if (r == -EFBIG)
		return fail(message, "larger than %zu MiB", BYTES_MAX >> 20);
	errno = -r;
	if (r)
		return r == -ENOMEM ? r : fail_errno(message);
	/* The first word of a legacy profile is 0, and no field of profile.proto has number 0. */
	r = length && !data[0] ? cpuprofile_read(data, length, ret, message)
			       : pprof_read(data, length, BYTES_MAX, ret, message);
	return r > 0 ? PROFILE_FILE_E_FAILED : r;
}

/* Returns 0 or negative errno. */
static int put(int fd, const uint8_t *data, size_t length)
{
	while (length) {
		ssize_t n = write(fd, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		length -= (size_t)n;
	}
	return 0;
}

/* Beside @path, so that it can be renamed to it. */
static int open_temporary(const char *path, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;

	for (unsigned i = 0; i < TRIES_MAX; i++) {
		uint64_t number = 0;
		int fd, n;

		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
			number = (uint64_t)getpid() * TRIES_MAX + i;
		n = snprintf(ret, PATH_MAX, "%.*s.profctl-%016llx", folder, path,
			     (unsigned long long)number);
		if (n >= PATH_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = open(ret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static int save_beside(const char *path, const uint8_t *data, size_t length)
{
	char temporary[PATH_MAX];
	sigset_t all, mask;
	int fd, r;

	/* Whoever interrupts leaves no half file. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	fd = open_temporary(path, temporary);
	r = fd < 0 ? -errno : put(fd, data, length);
	/* A file system may tell only now that it is full (close(2)). */
	if (fd >= 0 && close(fd) < 0 && !r)
		r = -errno;
	if (!r && rename(temporary, path) < 0)
		r = -errno;
	if (r && fd >= 0)
		unlink(temporary);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return r;
}

static int save_into(const char *path, const uint8_t *data, size_t length)
{
	cleanup(closep) int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	sigset_t broken_pipe, mask;
	int r;

	if (fd < 0)
		return -errno;
	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &broken_pipe, &mask);
	r = put(fd, data, length);
	/* Of a pipe that nobody reads any more we hear by the error. */
	if (r == -EPIPE && !sigismember(&mask, SIGPIPE))
		sigtimedwait(&broken_pipe, NULL, &(struct timespec){0});
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return r;
}

int profile_file_save(const char *path, const uint8_t *data, size_t length,
		      struct profile_message *message)
{
	struct stat st;
	bool is_special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
	int r = is_special ? save_into(path, data, length) : save_beside(path, data, length);

	errno = -r;
	return r ? fail_errno(message) : PROFILE_FILE_E_OK;
}
