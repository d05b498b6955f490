/* SPDX-License-Identifier: MIT */
#include "daemon/worker/jit/jit_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/read_end.h"
#include "common/worker/protocol.h"

int jit_input_init(struct jit_input *in, int fd, uint64_t max, size_t size)
{
	struct stat st;

	*in = (struct jit_input){.fd = fd, .size = size};
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return WORKER_UNREADABLE;
	in->end = (uint64_t)st.st_size < max ? (uint64_t)st.st_size : max;
	in->bytes = malloc(size);
	return in->bytes ? 0 : error_origin(-ENOMEM);
}

void jit_input_deinit(struct jit_input *in)
{
	free(in->bytes);
	*in = (struct jit_input){.fd = -1};
}

/* As much as there is room for, from @at on. */
static void jit_input_fill(struct jit_input *in, uint64_t at)
{
	uint64_t left = in->end - at;
	size_t wanted = left < in->size ? (size_t)left : in->size;
	ssize_t n = read_range(in->fd, in->bytes, wanted, at);

	in->has_failed |= n < 0;
	in->start = at;
	in->n = n < 0 ? 0 : (size_t)n;
	if (in->n < wanted)
		in->end = at + in->n;
}

const uint8_t *jit_input_at(struct jit_input *in, uint64_t at, size_t n, size_t *ret_n)
{
	uint64_t left = at < in->end ? in->end - at : 0;

	*ret_n = 0;
	if (!left)
		return in->bytes;
	n = n < in->size ? n : in->size;
	n = n < left ? n : (size_t)left;
	if (at < in->start || at + n > in->start + in->n)
		jit_input_fill(in, at);
	*ret_n = (size_t)(in->start + in->n - at);
	return in->bytes + (at - in->start);
}

uint64_t jit_input_find(struct jit_input *in, uint64_t at, uint64_t end, uint8_t byte)
{
	while (at < end) {
		size_t n;
		const uint8_t *bytes = jit_input_at(in, at, 1, &n), *found;

		n = n < end - at ? n : (size_t)(end - at);
		found = n ? memchr(bytes, byte, n) : NULL;
		if (found)
			return at + (uint64_t)(found - bytes);
		at = n ? at + n : end;
	}
	return end;
}
