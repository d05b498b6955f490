/* SPDX-License-Identifier: MIT */
/*
 * A file is written under no name, and gets one at the end, when it is whole. Where the file system
 * has no files without names, it is written to one that was unlinked, and copied at the end.
 * Signals are held off while there is a temporary name.
 */
#include "client/symbolize/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/own_file.h"
#include "common/profile/pprof.h"

#define TRIES_MAX 8 /* temporary names */

static int profile_file_fail_errno(struct profile_message *message)
{
	return profile_refuse(message, PROFILE_FILE_E_FAILED, "%s", strerrordesc_np(errno));
}

static int directory_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash + 1 - path) : 0;
}

/* Makes a file of a new name beside @path, or gives the one that @fd is such a name. */
static int make_temporary(const char *path, int fd, char ret[PATH_MAX])
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		uint64_t number = 0;
		int n, r;

		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
			number = (uint64_t)getpid() * TRIES_MAX + i;
		n = snprintf(ret, PATH_MAX, "%.*s.profctl-%016llx", directory_length(path), path,
			     (unsigned long long)number);
		if (n >= PATH_MAX) {
			errno = ENAMETOOLONG;
			break;
		}
		r = fd < 0 ? open(ret, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
			   : linkat(AT_FDCWD, self, AT_FDCWD, ret, AT_SYMLINK_FOLLOW);
		if (r >= 0)
			return r;
		if (errno != EEXIST)
			break;
	}
	ret[0] = '\0';
	return -1;
}

/* A file without a name, in the directory of @path. Not all file systems have those (open(2)). */
static int open_nameless(const char *path)
{
	char dir[PATH_MAX];
	int n = snprintf(dir, sizeof(dir), "%.*s.", directory_length(path), path);

	if (n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/*
 * An interrupt leaves no half file. What is no regular file may take any time: there only SIGPIPE
 * is held off, because EPIPE reports the same.
 */
static void hold_signals(const struct profile_file_saving *s, sigset_t *ret_mask)
{
	sigset_t held;

	sigfillset(&held);
	if (s->is_special) {
		sigemptyset(&held);
		sigaddset(&held, SIGPIPE);
	}
	sigprocmask(SIG_BLOCK, &held, ret_mask);
}

static void release_signals(const sigset_t *mask, int error)
{
	sigset_t broken_pipe;

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	if (error == EPIPE && !sigismember(mask, SIGPIPE))
		sigtimedwait(&broken_pipe, NULL, &(struct timespec){0});
	sigprocmask(SIG_SETMASK, mask, NULL);
}

/* The fd of a file beside where it is to be that has lost its name, which no linkat(2) restores. */
static int open_unlinked(const struct profile_file_saving *s)
{
	char name[PATH_MAX];
	sigset_t mask;
	int fd;

	hold_signals(s, &mask);
	fd = make_temporary(s->path, -1, name);
	if (fd >= 0)
		unlink(name);
	release_signals(&mask, 0);
	return fd;
}

int profile_file_begin(struct profile_file_saving *ret, const char *path,
		       struct profile_message *message)
{
	struct stat st;
	int fd, r;

	ret->path = path;
	ret->temporary[0] = '\0';
	ret->is_new = false;
	ret->is_special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
	fd = ret->is_special ? own_file_open(path, 0600, true) : open_nameless(path);
	ret->is_copied = fd < 0 && !ret->is_special && errno == EOPNOTSUPP;
	if (ret->is_copied)
		fd = open_unlinked(ret);
	ret->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (ret->out)
		return PROFILE_FILE_E_OK;
	r = profile_file_fail_errno(message);
	closep(&fd);
	return r;
}

/* All of @from under a name beside @path. Signals are held off. 0, or -1 with errno. */
static int copy_to_temporary(int from, const char *path, char ret[PATH_MAX])
{
	int to = make_temporary(path, -1, ret);
	ssize_t n = to < 0 ? -1 : 1;
	char data[16384];

	for (off_t at = 0; n > 0; at += n) {
		n = pread(from, data, sizeof(data), at);
		/* After a partial write the rest is read again. */
		if (n > 0)
			n = write(to, data, (size_t)n);
	}
	if (to >= 0 && close(to) < 0)
		n = -1;
	return (int)n;
}

/* Not all file systems know RENAME_NOREPLACE, and not all know links (renameat2(2)). */
static int profile_file_rename(const struct profile_file_saving *s)
{
	if (!s->is_new)
		return rename(s->temporary, s->path);
	if (renameat2(AT_FDCWD, s->temporary, AT_FDCWD, s->path, RENAME_NOREPLACE) == 0)
		return 0;
	return errno == EINVAL && link(s->temporary, s->path) == 0 ? unlink(s->temporary) : -1;
}

/* 0, or an errno. */
static int profile_file_complete(struct profile_file_saving *s, bool keep)
{
	int error = 0, fd = fileno(s->out), r = 0;

	if (keep && fflush(s->out) != 0)
		error = errno;
	/* Why something before the last bytes was not written is asked for once more. */
	if (keep && !error && ferror(s->out))
		error = write(fd, "", 1) < 0 ? errno : EIO;
	/* It gets a name beside where it is to be. */
	if (keep && !error && !s->is_special)
		r = s->is_copied ? copy_to_temporary(fd, s->path, s->temporary)
				 : make_temporary(s->path, fd, s->temporary);
	if (r < 0)
		error = errno;
	/* A file system may tell only now that it is full (close(2)). */
	if (fclose(s->out) != 0 && keep && !error)
		error = errno;
	s->out = NULL;
	if (keep && !error && *s->temporary && profile_file_rename(s) < 0)
		error = errno;
	if ((!keep || error) && *s->temporary)
		unlink(s->temporary);
	return error;
}

/* Ends with @data, which may be nothing, written behind what was. */
static int profile_file_write_end(struct profile_file_saving *s, const uint8_t *data, size_t length,
				  bool keep, struct profile_message *message)
{
	sigset_t mask;
	int error;

	hold_signals(s, &mask);
	if (length)
		fwrite(data, 1, length, s->out);
	error = profile_file_complete(s, keep);
	release_signals(&mask, error);
	errno = error;
	if (!error)
		return PROFILE_FILE_E_OK;
	profile_file_fail_errno(message);
	return error == EEXIST ? PROFILE_FILE_E_EXISTS : PROFILE_FILE_E_FAILED;
}

int profile_file_end(struct profile_file_saving *s, bool keep, struct profile_message *message)
{
	return profile_file_write_end(s, NULL, 0, keep, message);
}

int profile_file_save(const char *path, const uint8_t *data, size_t length, bool is_new,
		      struct profile_message *message)
{
	struct profile_file_saving saving;
	struct stat st;
	int r;

	/* Also because what is special is written to. */
	if (is_new && lstat(path, &st) == 0)
		return profile_refuse(message, PROFILE_FILE_E_EXISTS, "there is such a file");
	r = profile_file_begin(&saving, path, message);
	saving.is_new = is_new;
	return r ? r : profile_file_write_end(&saving, data, length, true, message);
}
