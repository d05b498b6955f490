/* SPDX-License-Identifier: MIT */
#include "common/helper/memory_file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u /* Linux 6.3; vm.memfd_noexec=2 insists on it */
#endif

int memory_file_new(const char *name)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

int memory_file_write(int fd, const void *data, size_t length)
{
	for (size_t at = 0; at < length;) {
		ssize_t n = write(fd, (const char *)data + at, length - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int memory_file_of(const char *name, const void *data, size_t length)
{
	cleanup(closep) int fd = memory_file_new(name);
	int r;

	if (fd < 0)
		return fd;
	r = memory_file_write(fd, data, length);
	if (r)
		return r;
	return fcntl(fd, F_ADD_SEALS, MEMORY_FILE_SEALS) < 0 ? -errno : steal_fd(&fd);
}

/* getdents64(2), which the C library gives this type. */
static int memory_file_append_names(int to, const char *entries, size_t length)
{
	const struct dirent64 *entry;
	int r = 0;

	for (size_t at = 0; !r && at < length; at += entry->d_reclen) {
		entry = (const struct dirent64 *)(entries + at);
		if (entry->d_name[0] == '.' || strchr(entry->d_name, '\n'))
			continue;
		r = memory_file_write(to, entry->d_name, strlen(entry->d_name))
			    ?: memory_file_write(to, "\n", 1);
	}
	return r;
}

static int memory_file_list(int to, int from, size_t max)
{
	_Alignas(struct dirent64) char entries[4096];
	long n = 1;
	int r = 0;

	for (size_t at = 0; !r && n && at < max; at += (size_t)n) {
		n = syscall(SYS_getdents64, from, entries, sizeof(entries));
		r = n < 0 ? -errno : memory_file_append_names(to, entries, (size_t)n);
	}
	return r;
}

static int memory_file_append_text(int to, int from, size_t max)
{
	char part[4096];
	ssize_t n = 1;
	int r = 0;

	for (size_t at = 0; !r && n && at < max; at += (size_t)n) {
		n = read(from, part, sizeof(part));
		r = n < 0 ? -errno : memory_file_write(to, part, (size_t)n);
	}
	return r;
}

static int memory_file_append(int to, int from, size_t max)
{
	int r = memory_file_append_text(to, from, max);

	if (r == -EISDIR)
		r = memory_file_list(to, from, max);
	return r ?: lseek(to, 0, SEEK_SET) < 0 ? -errno : 0;
}

int memory_file_fill(int fd, int dir_fd, const char *path, size_t max)
{
	cleanup(closep) int from = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);

	return from < 0 ? -errno : memory_file_append(fd, from, max);
}

int memory_file_read(const char *name, int dir_fd, const char *path, size_t max)
{
	cleanup(closep) int from = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	cleanup(closep) int to = from < 0 ? -errno : memory_file_new(name);
	int r = to < 0 ? to : memory_file_append(to, from, max);

	return r ? r : steal_fd(&to);
}

bool memory_file_is_sealed(int fd, uint64_t *ret_length)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & MEMORY_FILE_SEALS) != MEMORY_FILE_SEALS || fstat(fd, &st) < 0 ||
	    st.st_size < 0)
		return false;
	*ret_length = (uint64_t)st.st_size;
	return true;
}
