/* SPDX-License-Identifier: MIT */
/*
 * The descriptor is moved to a high number, and its device and inode are kept, to see later whether
 * it still is the file's. A new file takes the old one's place if that is possible without changing
 * what others see: one name, our own, and the same mode.
 */
#include "client/shim/core/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/shim/core/images.h"
#include "client/shim/core/tally.h"
#include "common/cleanup.h"
#include "common/own_file.h"
#include "common/profile/cpuprofile.h"
#include "common/room.h"

/* Programs expect the low ones for themselves. */
#define DESCRIPTOR_MIN 200
#define MODE           0666
#define COMMENT_BYTES  512

/* --- what is in it ---------------------------------------------------------------------------- */

static int collect_records(const struct tally *tally, struct cpuprofile_record **ret, size_t *ret_n)
{
	struct tally_entry entry;
	size_t cursor = 0, room = 0;
	int r = 0;

	while (!r && tally_next(tally, &cursor, &entry))
		r = room_append(ret, &room, ret_n,
				(struct cpuprofile_record){
					.count = entry.count,
					.addresses = entry.frames,
					.n_addresses = entry.n,
				});
	return r;
}

#define PUT_COUNTER(name)                                                                  \
	if (n >= 0 && n < COMMENT_BYTES)                                                   \
		n += snprintf(ret + n, (size_t)(COMMENT_BYTES - n), " " #name "=%" PRIu64, \
			      atomic_load(&counters->name));

static void put_counters_comment(const struct profile_counters *counters, char ret[COMMENT_BYTES])
{
	int n = snprintf(ret, COMMENT_BYTES, "# profd shim");

	PROFILE_COUNTERS(PUT_COUNTER)
}

int profile_encode(const struct tally *tally, struct images *images, uint64_t period_us,
		   const struct profile_counters *counters, uint8_t **ret, size_t *ret_length)
{
	cleanup(freep) struct cpuprofile_record *records = NULL;
	struct cpuprofile profile = {
		.slot_bytes = sizeof(void *),
		.period_us = period_us,
	};
	cleanup(freep) char *lines = NULL;
	char comment[COMMENT_BYTES];
	int r = collect_records(tally, &records, &profile.n_records)
			?: images_lines(images, &lines);

	if (r)
		return r;
	put_counters_comment(counters, comment);
	profile.records = records;
	profile.maps = lines;
	profile.comments = comment;
	return cpuprofile_write(&profile, ret, ret_length);
}

/* --- where it is ------------------------------------------------------------------------------ */

/* Takes @fd over. */
static bool profile_file_set_fd(struct profile_file *file, int fd)
{
	struct stat st;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_MIN);

	if (high >= 0) {
		close(fd);
		fd = high;
	}
	if (fstat(fd, &st) < 0) {
		close(fd);
		return false;
	}
	file->fd = fd;
	file->device = st.st_dev;
	file->inode = st.st_ino;
	return true;
}

static bool open_with(struct profile_file *file, bool keep)
{
	int fd = own_file_open(file->path, MODE, keep);

	return fd >= 0 && profile_file_set_fd(file, fd);
}

bool profile_file_open(struct profile_file *file)
{
	file->fd = -1;
	return open_with(file, false);
}

/* Whether the descriptor is what it was; *ret is of the file then. */
static bool profile_file_is_ours(const struct profile_file *file, struct stat *ret)
{
	return file->fd >= 0 && fstat(file->fd, ret) == 0 && ret->st_dev == file->device &&
	       ret->st_ino == file->inode;
}

static bool profile_file_put(int fd, const uint8_t *bytes, size_t length)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes += n;
		length -= (size_t)n;
	}
	return true;
}

/* Whether another file can take its place: it has one name, and is owned by this process's user. */
static bool is_replaceable(const struct profile_file *file, const struct stat *st)
{
	struct stat named;

	return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_uid == geteuid() &&
	       lstat(file->path, &named) == 0 && named.st_dev == st->st_dev &&
	       named.st_ino == st->st_ino;
}

/* False: nothing has changed. */
static bool profile_file_replace(struct profile_file *file, const struct stat *st,
				 const uint8_t *bytes, size_t length)
{
	cleanup(closep) int fd = -1;
	struct profile_file next = *file;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s.tmp-%d", file->path, getpid());

	if (n < 0 || (size_t)n >= sizeof(path))
		return false;
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	if (fchmod(fd, st->st_mode & 07777) < 0 || !profile_file_put(fd, bytes, length) ||
	    rename(path, file->path) < 0) {
		n = errno;
		unlink(path);
		errno = n;
		return false;
	}
	if (profile_file_set_fd(&next, steal_fd(&fd))) {
		close(file->fd);
		*file = next;
	}
	return true;
}

bool profile_file_write(struct profile_file *file, const uint8_t *bytes, size_t length,
			bool is_last)
{
	struct stat st;

	if (!profile_file_is_ours(file, &st)) {
		file->fd = -1;
		if (!open_with(file, true) || fstat(file->fd, &st) < 0)
			return false;
	}
	if (!S_ISREG(st.st_mode))
		return !is_last || profile_file_put(file->fd, bytes, length);
	if (is_replaceable(file, &st)) {
		if (profile_file_replace(file, &st, bytes, length))
			return true;
		/* What has been written before is better than half of this. */
		if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
			return false;
	}
	return lseek(file->fd, 0, SEEK_SET) == 0 && profile_file_put(file->fd, bytes, length) &&
	       ftruncate(file->fd, (off_t)length) == 0;
}

void profile_file_close(struct profile_file *file)
{
	struct stat st;

	if (profile_file_is_ours(file, &st))
		close(file->fd);
	file->fd = -1;
}
