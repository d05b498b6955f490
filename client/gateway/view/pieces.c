/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/helper/memory_file.h"
#include "common/read_end.h"

static int pieces_open(struct pieces *p)
{
	if (p->fd < 0)
		p->fd = memory_file_new("profd-pieces");
	return p->fd < 0 ? error_origin(p->fd) : 0;
}

int pieces_add(struct pieces *p, const void *data, size_t length)
{
	const uint64_t header = length;
	int r = pieces_open(p);

	if (r)
		return r;
	r = memory_file_write(p->fd, &header, sizeof(header))
		    ?: memory_file_write(p->fd, data, length);
	if (r)
		return error_origin(r);
	p->bytes += sizeof(header) + length;
	return 0;
}

int pieces_seal(struct pieces *p)
{
	int r = pieces_open(p);

	if (r)
		return r;
	return fcntl(p->fd, F_ADD_SEALS, MEMORY_FILE_SEALS) < 0 ? error_origin(-errno) : 0;
}

bool pieces_next(const uint8_t *data, size_t length, size_t *at, const uint8_t **ret,
		 size_t *ret_length)
{
	uint64_t header;

	if (length - *at < sizeof(header))
		return false;
	memcpy(&header, data + *at, sizeof(header));
	if (header > length - *at - sizeof(header))
		return false;
	*ret = data + *at + sizeof(header);
	*ret_length = (size_t)header;
	*at += sizeof(header) + (size_t)header;
	return true;
}

void pieces_print(FILE *out, const void *data, size_t length)
{
	const uint64_t header = length;

	fwrite(&header, sizeof(header), 1, out);
	fwrite(data, 1, length, out);
}

int view_read_file(int fd, uint8_t **ret, size_t *ret_length)
{
	off_t length = lseek(fd, 0, SEEK_END);
	cleanup(freep) uint8_t *data = length < 0 ? NULL : malloc((size_t)length + 1);

	if (!data)
		return error_origin(-ENOMEM);
	if (read_range(fd, data, (size_t)length, 0) != length)
		return error_origin(-EIO);
	*ret = steal_ptr(&data);
	*ret_length = (size_t)length;
	return 0;
}
