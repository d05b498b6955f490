/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_TEXT_POOL_H
#define PROFD_WORKER_TEXT_POOL_H

/*
 * The texts of an answer, each once: bytes that are not UTF-8, and control characters, become
 * U+FFFD; longer ones than WORKER_TEXT_MAX are cut. Offset 0 is the empty text.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/cleanup.h"

struct text_pool;

int text_pool_new(struct text_pool **ret);
void text_pool_free(struct text_pool *pool);

/* @raw's offset among all texts; NULL is as empty as "". Returns 0 or -ENOMEM. */
int text_pool_add(struct text_pool *pool, const char *raw, uint32_t *ret);
/* The same of the raw name of a function, and of what it is demangled. */
int text_pool_add_name(struct text_pool *pool, const char *raw, uint32_t *ret_system_name,
		       uint32_t *ret_name);
/* Bytes of all texts with their NULs; may pass 32 bits, where offsets cannot. */
uint64_t text_pool_length(const struct text_pool *pool);
/* An answer's payload, malloc'ed: the @n_parts parts, then all texts. Returns 0 or -ENOMEM. */
int text_pool_finish(const struct text_pool *pool, const struct iovec *parts, size_t n_parts,
		     uint8_t **ret, size_t *ret_length);

#endif
