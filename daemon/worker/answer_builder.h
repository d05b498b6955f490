/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_ANSWER_BUILDER_H
#define PROFD_WORKER_ANSWER_BUILDER_H

/*
 * Makes the payload of WORKER_SYMBOLS and WORKER_JIT, location by location, of WORKER_INSTRUCTIONS
 * and of WORKER_FUNCTIONS (common/worker/protocol.h). Texts are kept once: bytes that are not
 * UTF-8, and control characters, become U+FFFD; longer ones than WORKER_TEXT_MAX are cut. Offset 0
 * is the empty text.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* @raw's offset among all texts; NULL is as empty as "". Returns 0 or -ENOMEM. */
int answer_builder_add_text(struct answer_builder *b, const char *raw, uint32_t *ret);
/* The next instruction, whose texts were added. Returns as answer_builder_add(). */
int answer_builder_add_instruction(struct answer_builder *b,
				   const struct worker_instruction *instruction);
/* The next function of an interpreter, and the next line. Return as answer_builder_add(). */
int answer_builder_add_function(struct answer_builder *b, const char *name, const char *file);
int answer_builder_add_line(struct answer_builder *b, uint32_t line);

enum answer_kind {
	ANSWER_NAMES,     /* of locations */
	ANSWER_CODE,      /* of instructions */
	ANSWER_FUNCTIONS, /* with their lines */
};

/* The payload, malloc'ed and the caller's. */
int answer_builder_finish(const struct answer_builder *b, enum answer_kind kind, uint8_t **ret,
			  size_t *ret_length);

#endif
