/* SPDX-License-Identifier: MIT */
#include "common/read_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/room.h"

#define ROOM 4096 /* for each call of read(2), and for the NUL */

/* EFBIG: there are more than @max bytes, of which *ret has more than that. */
static int read_bounded(int fd, size_t max, uint8_t **ret, size_t *ret_length)
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
			return error_outcome(errno);
		length += n > 0 ? (size_t)n : 0;
	} while (n && length <= max);
	data[length] = '\0';
	*ret = steal_ptr(&data);
	*ret_length = length;
	return length > max ? EFBIG : 0;
}

int read_end(int fd, size_t max, uint8_t **ret, size_t *ret_length)
{
	uint8_t *data = NULL;
	int r = read_bounded(fd, max, &data, ret_length);

	if (r)
		free(data);
	else
		*ret = data;
	return r;
}

static int read_text(int dir_fd, const char *path, size_t max, bool cut, char **ret,
		     size_t *ret_length)
{
	cleanup(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	cleanup(freep) uint8_t *data = NULL;
	int r;

	if (fd < 0)
		return error_outcome(errno);
	r = read_bounded(fd, max, &data, ret_length);
	if (r == EFBIG && cut) {
		data[max] = '\0';
		*ret_length = max;
		r = 0;
	}
	if (!r)
		*ret = (char *)steal_ptr(&data);
	return r;
}

int read_end_text(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_length)
{
	return read_text(dir_fd, path, max, false, ret, ret_length);
}

int read_start_text(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_length)
{
	return read_text(dir_fd, path, max, true, ret, ret_length);
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
