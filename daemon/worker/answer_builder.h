/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_ANSWER_BUILDER_H
#define PROFD_WORKER_ANSWER_BUILDER_H

/*
 * Makes the payload of WORKER_SYMBOLS and WORKER_JIT (common/worker/protocol.h), location by
 * location. Texts are a struct text_pool's.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"
#include "daemon/worker/names/elf_names.h"

struct answer_builder;

int answer_builder_new(struct answer_builder **ret);
void answer_builder_free(struct answer_builder *b);
DEFINE_CLEANUP(struct answer_builder *, answer_builder_free)

/*
 * The next location. @frames: innermost first, @n of them, at most WORKER_FRAMES_MAX (more are
 * cut); texts are copied, names demangled. Returns 0, -E2BIG past WORKER_ANSWER_MAX, or -ENOMEM.
 */
int answer_builder_add(struct answer_builder *b, uint64_t start, uint64_t size,
		       enum worker_source source, const struct frame_name *frames, size_t n);
/* The payload, malloc'ed and the caller's. Nothing can be added afterwards. */
int answer_builder_finish(struct answer_builder *b, uint8_t **ret, size_t *ret_length);

/*
 * The texts of an answer, each once: bytes that are not UTF-8, and control characters, become
 * U+FFFD; longer ones than WORKER_TEXT_MAX are cut. Offset 0 is the empty text.
 */
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
