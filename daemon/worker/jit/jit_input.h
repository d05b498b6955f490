/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_JIT_JIT_INPUT_H
#define PROFD_DAEMON_WORKER_JIT_JIT_INPUT_H

/*
 * A file read in pieces, so that it takes the memory of one piece, whatever its size. Somebody may
 * write to it meanwhile, cut it or fill it anew: what is said of it twice may differ.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_INPUT_MIN 64u /* bytes of a buffer: a piece of that length is always whole in it */

struct jit_input {
	int fd;         /* borrowed */
	uint64_t end;   /* of what is looked at; less once the file was found to be shorter */
	uint8_t *bytes; /* of the file, @n from @start on; there is room for @size */
	uint64_t start;
	size_t n, size;
	bool has_failed; /* the file could not be read somewhere; it ended there */
};

/*
 * The first @max bytes of the regular file @fd, with a buffer of @size, at least JIT_INPUT_MIN.
 * Returns 0, WORKER_UNREADABLE or -ENOMEM; jit_input_deinit() may follow any.
 */
int jit_input_init(struct jit_input *in, int fd, uint64_t max, size_t size);
void jit_input_deinit(struct jit_input *in);
/*
 * What is at @at, until the next call: *ret_n bytes, which are at least @n, but for the end of the
 * file and the size of the buffer.
 */
const uint8_t *jit_input_at(struct jit_input *in, uint64_t at, size_t n, size_t *ret_n);
/* Where the first @byte is that lies at @at or behind and before @end; @end: there is none. */
uint64_t jit_input_find(struct jit_input *in, uint64_t at, uint64_t end, uint8_t byte);

#endif
