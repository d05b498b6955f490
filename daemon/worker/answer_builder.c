/* SPDX-License-Identifier: MIT */
/*
 * Locations, frames, instructions and so on are collected in arrays and joined at the end, those
 * that an answer does not have being empty. Texts are kept in a hash of their own memory each, with
 * the offsets that they will have, and put behind the arrays: uthash goes through its entries in
 * the order in which they came.
 */
#include "daemon/worker/answer_builder.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#define HASH_NONFATAL_OOM        1
#define uthash_nonfatal_oom(obj) ((obj)->is_lost = true)
#include <uthash.h>

#include "common/error.h"
#include "common/room.h"
#include "common/worker/answer.h"
#include "common/worker/protocol.h"
#include "daemon/worker/names/demangle.h"

struct answer_builder_text {
	UT_hash_handle hh;
	uint32_t offset;
	uint32_t name;   /* offset of what it is demangled; 0: not asked for yet */
	uint32_t length; /* without the NUL */
	bool is_lost;    /* no memory to hash it */
	char bytes[];
};

struct answer_builder {
	struct worker_location *locations;
	size_t n_locations, max_locations;
	struct worker_frame *frames;
	size_t n_frames, max_frames;
	struct worker_instruction *instructions;
	size_t n_instructions, max_instructions;
	struct worker_function *functions;
	size_t n_functions, max_functions;
	uint32_t *lines;
	size_t n_lines, max_lines;
	struct answer_builder_text *texts;
	uint64_t text_length; /* of all, with their NULs; may pass 32 bits, where offsets cannot */
	char scratch[WORKER_TEXT_MAX + 1];
};

int answer_builder_new(struct answer_builder **ret)
{
	struct answer_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return error_origin(-ENOMEM);
	b->text_length = 1; /* the empty one */
	*ret = b;
	return 0;
}

void answer_builder_free(struct answer_builder *b)
{
	struct answer_builder_text *text, *next;

	if (!b)
		return;
	HASH_ITER (hh, b->texts, text, next) {
		HASH_DEL(b->texts, text);
		free(text);
	}
	free(b->locations);
	free(b->frames);
	free(b->instructions);
	free(b->functions);
	free(b->lines);
	free(b);
}

/* The text's entry, made if need be; *ret NULL: the empty one. */
static int answer_builder_intern(struct answer_builder *b, const char *raw,
				 struct answer_builder_text **ret)
{
	size_t length = text_clean(raw, strlen(raw), b->scratch, WORKER_TEXT_MAX);
	struct answer_builder_text *text = NULL;

	if (length > 0)
		HASH_FIND(hh, b->texts, b->scratch, length, text);
	if (!length || text) {
		*ret = text;
		return 0;
	}
	text = calloc(1, sizeof(*text) + length + 1);
	if (!text)
		return error_origin(-ENOMEM);
	memcpy(text->bytes, b->scratch, length);
	text->length = (uint32_t)length;
	text->offset = (uint32_t)b->text_length;
	HASH_ADD_KEYPTR(hh, b->texts, text->bytes, length, text);
	if (text->is_lost) {
		free(text);
		return error_origin(-ENOMEM);
	}
	b->text_length += length + 1;
	*ret = text;
	return 0;
}

int answer_builder_add_text(struct answer_builder *b, const char *raw, uint32_t *ret)
{
	struct answer_builder_text *text = NULL;
	int r = raw ? answer_builder_intern(b, raw, &text) : 0;

	*ret = !r && text ? text->offset : 0;
	return r;
}

/* The raw name of a function, and what it is demangled. */
static int answer_builder_add_name(struct answer_builder *b, const char *raw,
				   uint32_t *ret_system_name, uint32_t *ret_name)
{
	cleanup(freep) char *demangled = NULL;
	struct answer_builder_text *text = NULL;
	int r = answer_builder_intern(b, raw, &text);

	*ret_system_name = *ret_name = 0;
	if (r || !text)
		return r;
	if (!text->name) {
		demangled = demangle_name(raw, DEMANGLE_WHOLE);
		if (!demangled)
			return error_origin(-ENOMEM);
		r = answer_builder_add_text(b, demangled, &text->name);
		if (r)
			return r;
	}
	*ret_system_name = text->offset;
	*ret_name = text->name;
	return 0;
}

/* An outcome, no error: too much was asked for at once. */
static int answer_builder_check_length(const struct answer_builder *b)
{
	uint64_t length = sizeof(struct worker_names) + b->n_locations * sizeof(*b->locations) +
			  b->n_frames * sizeof(*b->frames) +
			  b->n_instructions * sizeof(*b->instructions) +
			  b->n_functions * sizeof(*b->functions) + b->n_lines * sizeof(*b->lines) +
			  b->text_length;

	return length > WORKER_ANSWER_MAX ? -E2BIG : 0;
}

int answer_builder_add(struct answer_builder *b, uint64_t start, uint64_t size,
		       enum worker_source source, const struct frame_name *frames, size_t n)
{
	struct worker_location location = {
		.start = start,
		.size = size,
		.first_frame = (uint32_t)b->n_frames,
		.n_frames = (uint32_t)(n < WORKER_FRAMES_MAX ? n : WORKER_FRAMES_MAX),
		.source = source,
	};
	int r = 0;

	for (size_t i = 0; !r && i < location.n_frames; i++) {
		struct worker_frame frame = {
			.line = frames[i].line,
			.start_line = frames[i].start_line,
		};

		r = answer_builder_add_name(b, frames[i].system_name, &frame.system_name,
					    &frame.name) ?:
		    answer_builder_add_text(b, frames[i].file, &frame.file) ?:
		    room_append(&b->frames, &b->max_frames, &b->n_frames, frame);
	}
	if (!r)
		r = room_append(&b->locations, &b->max_locations, &b->n_locations, location);
	return r ?: answer_builder_check_length(b);
}

int answer_builder_add_instruction(struct answer_builder *b,
				   const struct worker_instruction *instruction)
{
	return room_append(&b->instructions, &b->max_instructions, &b->n_instructions, *instruction)
		       ?: answer_builder_check_length(b);
}

int answer_builder_add_function(struct answer_builder *b, const char *name, const char *file)
{
	struct worker_function function;

	return answer_builder_add_text(b, name, &function.name)
		       ?: answer_builder_add_text(b, file, &function.file)
		       ?: room_append(&b->functions, &b->max_functions, &b->n_functions, function)
		       ?: answer_builder_check_length(b);
}

int answer_builder_add_line(struct answer_builder *b, uint32_t line)
{
	return room_append(&b->lines, &b->max_lines, &b->n_lines, line)
		       ?: answer_builder_check_length(b);
}

int answer_builder_finish(const struct answer_builder *b, enum answer_kind kind, uint8_t **ret,
			  size_t *ret_length)
{
	struct worker_names names = {
		.n_locations = (uint32_t)b->n_locations,
		.n_frames = (uint32_t)b->n_frames,
		.text_length = (uint32_t)b->text_length,
	};
	struct worker_code code = {
		.n_instructions = (uint32_t)b->n_instructions,
		.text_length = (uint32_t)b->text_length,
	};
	struct worker_functions functions = {
		.n_functions = (uint32_t)b->n_functions,
		.n_lines = (uint32_t)b->n_lines,
		.text_length = (uint32_t)b->text_length,
	};
	const struct iovec headers[] = {
		[ANSWER_NAMES] = {&names, sizeof(names)},
		[ANSWER_CODE] = {&code, sizeof(code)},
		[ANSWER_FUNCTIONS] = {&functions, sizeof(functions)},
	};
	const struct iovec parts[] = {
		headers[kind],
		{b->locations, b->n_locations * sizeof(*b->locations)},
		{b->frames, b->n_frames * sizeof(*b->frames)},
		{b->instructions, b->n_instructions * sizeof(*b->instructions)},
		{b->functions, b->n_functions * sizeof(*b->functions)},
		{b->lines, b->n_lines * sizeof(*b->lines)},
	};
	size_t length = (size_t)b->text_length;
	uint8_t *payload, *at;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		length += parts[i].iov_len;
	payload = malloc(length);
	if (!payload)
		return error_origin(-ENOMEM);
	at = payload;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		at = parts[i].iov_len ? mempcpy(at, parts[i].iov_base, parts[i].iov_len) : at;
	*at++ = '\0';
	for (const struct answer_builder_text *text = b->texts; text; text = text->hh.next)
		at = mempcpy(at, text->bytes, text->length + 1);
	*ret = payload;
	*ret_length = length;
	return 0;
}
