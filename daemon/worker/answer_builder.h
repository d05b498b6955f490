/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_ANSWER_BUILDER_H
#define PROFD_WORKER_ANSWER_BUILDER_H

/*
 * Makes the payload of WORKER_SYMBOLS and WORKER_JIT (common/worker/protocol.h), location by
 * location. Texts are as text_pool.h has them.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"
#include "daemon/worker/names/frame_name.h"

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

#endif
