/* SPDX-License-Identifier: MIT */
#include "common/read_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/room.h"

#define ROOM 4096 /* for each call of read(2), and for the NUL */

int read_end(int fd, size_t max, uint8_t **ret, size_t *ret_length)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length = 0, size = 0;
	ssize_t n;
	int r;

	do {
		r = room_make(&data, &size, length + ROOM, 1);
		if (r)
			return r;
		n = read(fd, data + length, size - length - 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		length += n > 0 ? (size_t)n : 0;
		if (length > max)
			return -EFBIG;
	} while (n);
	data[length] = '\0';
	*ret = steal_ptr(&data);
	*ret_length = length;
	return 0;
}

int read_end_text(int folder, const char *path, size_t max, char **ret, size_t *ret_length)
{
	cleanup(closep) int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t *data;
	int r;

	if (fd < 0)
		return -errno;
	r = read_end(fd, max, &data, ret_length);
	if (!r)
		*ret = (char *)data;
	return r;
}

ssize_t read_range(int fd, void *ret, size_t length, uint64_t offset)
{
	size_t n = 0;

	if (length > INT64_MAX || offset > INT64_MAX - length)
		return 0;
	while (n < length) {
		ssize_t r = pread(fd, (uint8_t *)ret + n, length - n, (off_t)(offset + n));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}
