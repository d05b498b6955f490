/* SPDX-License-Identifier: MIT */
/*
 * Texts are kept in a hash of their own memory each, with the offsets that they will have, and put
 * together at the end: uthash goes through its entries in the order in which they came.
 */
#include "daemon/worker/answer_builder.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM        1
#define uthash_nonfatal_oom(obj) ((obj)->is_lost = true)
#include <stdbool.h>
#include <uthash.h>

#include "common/error.h"
#include "common/image/demangle.h"
#include "common/worker/text.h"

struct text {
	UT_hash_handle hh;
	uint32_t offset;
	uint32_t name;   /* offset of what it is demangled; 0: not asked for yet */
	uint32_t length; /* without the NUL */
	bool is_lost;    /* no memory to hash it */
	char bytes[];
};

struct array {
	void *data;
	size_t n, n_allocated;
};

struct answer_builder {
	struct array locations, frames;
	struct text *texts;
	uint64_t text_length; /* of all, with their NULs */
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
	struct text *text, *next;

	if (!b)
		return;
	HASH_ITER (hh, b->texts, text, next) {
		HASH_DEL(b->texts, text);
		free(text);
	}
	free(b->locations.data);
	free(b->frames.data);
	free(b);
}

static int array_add(struct array *array, const void *element, size_t size)
{
	if (array->n == array->n_allocated) {
		size_t n = array->n_allocated ? 2 * array->n_allocated : 64;
		void *grown = reallocarray(array->data, n, size);

		if (!grown)
			return error_origin(-ENOMEM);
		array->data = grown;
		array->n_allocated = n;
	}
	memcpy((char *)array->data + array->n++ * size, element, size);
	return 0;
}

static uint64_t payload_length(const struct answer_builder *b)
{
	return sizeof(struct worker_names) + b->locations.n * sizeof(struct worker_location) +
	       b->frames.n * sizeof(struct worker_frame) + b->text_length;
}

/* The text's entry, made if need be; *ret NULL: the empty one. */
static int intern(struct answer_builder *b, const char *raw, struct text **ret)
{
	size_t length = text_clean(raw, strlen(raw), b->scratch, WORKER_TEXT_MAX);
	struct text *text = NULL;

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

static int add_text(struct answer_builder *b, const char *raw, uint32_t *ret)
{
	struct text *text;
	int r;

	*ret = 0;
	if (!raw)
		return 0;
	r = intern(b, raw, &text);
	if (!r && text)
		*ret = text->offset;
	return r;
}

static int add_names(struct answer_builder *b, const char *system_name, struct worker_frame *ret)
{
	cleanup(freep) char *demangled = NULL;
	struct text *text;
	int r;

	r = intern(b, system_name, &text);
	if (r || !text)
		return r;
	if (!text->name) {
		demangled = demangle(system_name);
		if (!demangled)
			return error_origin(-ENOMEM);
		r = add_text(b, demangled, &text->name);
		if (r)
			return r;
	}
	ret->system_name = text->offset;
	ret->name = text->name;
	return 0;
}

int answer_builder_add(struct answer_builder *b, uint64_t start, uint64_t size,
		       enum worker_source source, const struct frame_name *frames, size_t n)
{
	struct worker_location location = {
		.start = start,
		.size = size,
		.first_frame = (uint32_t)b->frames.n,
		.n_frames = (uint32_t)(n < WORKER_FRAMES_MAX ? n : WORKER_FRAMES_MAX),
		.source = source,
	};
	int r = 0;

	for (size_t i = 0; !r && i < location.n_frames; i++) {
		struct worker_frame frame = {
			.line = frames[i].line,
			.start_line = frames[i].start_line,
		};

		r = add_names(b, frames[i].system_name, &frame);
		if (!r)
			r = add_text(b, frames[i].file, &frame.file);
		if (!r)
			r = array_add(&b->frames, &frame, sizeof(frame));
	}
	if (!r)
		r = array_add(&b->locations, &location, sizeof(location));
	if (r)
		return r;
	/* An outcome, no error: too much was asked for at once. */
	return payload_length(b) > WORKER_ANSWER_MAX ? -E2BIG : 0;
}

static uint8_t *append(uint8_t *at, const void *data, size_t length)
{
	if (length > 0)
		memcpy(at, data, length);
	return at + length;
}

int answer_builder_finish(struct answer_builder *b, uint8_t **ret, size_t *ret_length)
{
	const struct worker_names header = {
		.n_locations = (uint32_t)b->locations.n,
		.n_frames = (uint32_t)b->frames.n,
		.text_length = (uint32_t)b->text_length,
	};
	size_t length = (size_t)payload_length(b);
	const struct text *text;
	uint8_t *payload, *at;

	payload = malloc(length);
	if (!payload)
		return error_origin(-ENOMEM);
	at = append(payload, &header, sizeof(header));
	at = append(at, b->locations.data, b->locations.n * sizeof(struct worker_location));
	at = append(at, b->frames.data, b->frames.n * sizeof(struct worker_frame));
	*at++ = '\0';
	for (text = b->texts; text; text = text->hh.next)
		at = append(at, text->bytes, text->length + 1);
	*ret = payload;
	*ret_length = length;
	return 0;
}
