/* SPDX-License-Identifier: MIT */
#include "common/helper/memory_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
