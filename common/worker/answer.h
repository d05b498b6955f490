/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_ANSWER_H
#define PROFD_COMMON_WORKER_ANSWER_H

/*
 * Looks at all of an answer's payload before anybody uses it. Pure: what passes here is in bounds,
 * whoever wrote it; whether it is true only the files know. Each returns false for anything that
 * protocol.h does not describe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/worker/protocol.h"

/* *ret is a copy. Texts are terminated, numbers of things within their arrays. */
bool answer_image(const uint8_t *data, size_t length, struct worker_image *ret);

/*
 * The table's words are borrowed from @data, which must be aligned to 8 bytes. Every row, chunk and
 * rule of a LOADED one lies where the slot says (table.h, table_is_sound()).
 */
bool answer_table(const uint8_t *data, size_t length, uint64_t max_words, struct worker_table *ret,
		  const uint64_t **ret_words);

/* Borrowed from the data of the answer. */
struct answer_names {
	const struct worker_location *locations;
	const struct worker_frame *frames;
	const char *text;
	uint32_t n_locations, n_frames;
};

/*
 * The answer to the question for @addresses (@n, ascending): as many locations, each around its
 * address, frames and texts in bounds, no text longer than WORKER_TEXT_MAX, all UTF-8 without
 * control characters. @data: aligned to 8 bytes.
 */
bool answer_names(const uint8_t *data, size_t length, const uint64_t *addresses, size_t n,
		  struct answer_names *ret);

/* WORKER_DEMANGLE's: @n texts, one behind the other. */
bool answer_texts(const uint8_t *data, size_t length, size_t n);

/* Borrowed from the data of the answer. */
struct answer_code {
	const struct worker_instruction *instructions;
	const char *text;
	uint32_t n_instructions;
};

/*
 * The answer to the question for @range: instructions that begin in it, in order, each behind the
 * end of the one before it; texts as above. @data: aligned to 8 bytes.
 */
bool answer_code(const uint8_t *data, size_t length, const struct worker_range *range,
		 struct answer_code *ret);

/* Borrowed from the data of the answer. */
struct answer_functions {
	const struct worker_function *functions;
	const uint32_t *lines;
	const char *text;
	uint32_t n_functions, n_lines, text_length;
};

/*
 * The answer to the question for @n code objects with @n_lines offsets in all: as many functions
 * and lines, no text longer than WORKER_FUNCTION_TEXT_MAX, all texts together no longer than those
 * could be; texts as above. @data: aligned to 4 bytes.
 */
bool answer_functions(const uint8_t *data, size_t length, size_t n, size_t n_lines,
		      struct answer_functions *ret);

/* *ret is a copy. */
bool answer_container(const uint8_t *data, size_t length, struct worker_container *ret);

/*
 * What a text in an answer may hold: UTF-8 (RFC 3629: shortest forms, no surrogates, up to
 * U+10FFFF) without control characters (U+0000 to U+001F, U+007F to U+009F), so that it can be
 * printed and encoded anywhere. Pure.
 */
bool text_is_clean(const char *text, size_t length);
/*
 * Copies [text, text + length) to @ret, of which it fills at most @max bytes, and a NUL behind
 * them; each byte that may not be becomes U+FFFD. Cut between characters. Returns the bytes
 * filled.
 */
size_t text_clean(const char *text, size_t length, char *ret, size_t max);

#endif
