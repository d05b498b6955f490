/* SPDX-License-Identifier: MIT */
/*
 * Locations and frames are collected in arrays, texts in a pool; all are joined at the end. Texts
 * are kept in a hash of their own memory each, with the offsets that they will have, and put
 * together at the end: uthash goes through its entries in the order in which they came.
 */
#include "daemon/worker/answer_builder.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HASH_NONFATAL_OOM        1
#define uthash_nonfatal_oom(obj) ((obj)->is_lost = true)
#include <uthash.h>

#include "common/error.h"
#include "common/room.h"
#include "common/worker/answer.h"
#include "common/worker/protocol.h"
#include "daemon/worker/names/demangle.h"

struct answer_builder {
	struct worker_location *locations;
	size_t n_locations, max_locations;
	struct worker_frame *frames;
	size_t n_frames, max_frames;
	struct text_pool *texts;
};

int answer_builder_new(struct answer_builder **ret)
{
	cleanup(answer_builder_freep) struct answer_builder *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return error_origin(-ENOMEM);
	r = text_pool_new(&b->texts);
	if (!r)
		*ret = steal_ptr(&b);
	return r;
}

void answer_builder_free(struct answer_builder *b)
{
	if (!b)
		return;
	text_pool_free(b->texts);
	free(b->locations);
	free(b->frames);
	free(b);
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
	uint64_t length;
	int r = 0;

	for (size_t i = 0; !r && i < location.n_frames; i++) {
		struct worker_frame frame = {
			.line = frames[i].line,
			.start_line = frames[i].start_line,
		};

		r = text_pool_add_name(b->texts, frames[i].system_name, &frame.system_name,
				       &frame.name) ?:
		    text_pool_add(b->texts, frames[i].file, &frame.file) ?:
		    room_append(&b->frames, &b->max_frames, &b->n_frames, frame);
	}
	if (!r)
		r = room_append(&b->locations, &b->max_locations, &b->n_locations, location);
	if (r)
		return r;
	/* An outcome, no error: too much was asked for at once. */
	length = sizeof(struct worker_names) + b->n_locations * sizeof(*b->locations) +
		 b->n_frames * sizeof(*b->frames) + text_pool_length(b->texts);
	return length > WORKER_ANSWER_MAX ? -E2BIG : 0;
}

int answer_builder_finish(struct answer_builder *b, uint8_t **ret, size_t *ret_length)
{
	struct worker_names header = {
		.n_locations = (uint32_t)b->n_locations,
		.n_frames = (uint32_t)b->n_frames,
		.text_length = (uint32_t)text_pool_length(b->texts),
	};
	const struct iovec parts[] = {
		{&header, sizeof(header)},
		{b->locations, b->n_locations * sizeof(*b->locations)},
		{b->frames, b->n_frames * sizeof(*b->frames)},
	};

	return text_pool_finish(b->texts, parts, ARRAY_SIZE(parts), ret, ret_length);
}

struct answer_builder_text {
	UT_hash_handle hh;
	uint32_t offset;
	uint32_t name;   /* offset of what it is demangled; 0: not asked for yet */
	uint32_t length; /* without the NUL */
	bool is_lost;    /* no memory to hash it */
	char bytes[];
};

struct text_pool {
	struct answer_builder_text *texts;
	uint64_t length; /* of all, with their NULs */
	char scratch[WORKER_TEXT_MAX + 1];
};

int text_pool_new(struct text_pool **ret)
{
	struct text_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return error_origin(-ENOMEM);
	pool->length = 1; /* the empty one */
	*ret = pool;
	return 0;
}

void text_pool_free(struct text_pool *pool)
{
	struct answer_builder_text *text, *next;

	if (!pool)
		return;
	HASH_ITER (hh, pool->texts, text, next) {
		HASH_DEL(pool->texts, text);
		free(text);
	}
	free(pool);
}

/* The text's entry, made if need be; *ret NULL: the empty one. */
static int text_pool_intern(struct text_pool *pool, const char *raw,
			    struct answer_builder_text **ret)
{
	size_t length = text_clean(raw, strlen(raw), pool->scratch, WORKER_TEXT_MAX);
	struct answer_builder_text *text = NULL;

	if (length > 0)
		HASH_FIND(hh, pool->texts, pool->scratch, length, text);
	if (!length || text) {
		*ret = text;
		return 0;
	}
	text = calloc(1, sizeof(*text) + length + 1);
	if (!text)
		return error_origin(-ENOMEM);
	memcpy(text->bytes, pool->scratch, length);
	text->length = (uint32_t)length;
	text->offset = (uint32_t)pool->length;
	HASH_ADD_KEYPTR(hh, pool->texts, text->bytes, length, text);
	if (text->is_lost) {
		free(text);
		return error_origin(-ENOMEM);
	}
	pool->length += length + 1;
	*ret = text;
	return 0;
}

int text_pool_add(struct text_pool *pool, const char *raw, uint32_t *ret)
{
	struct answer_builder_text *text = NULL;
	int r = raw ? text_pool_intern(pool, raw, &text) : 0;

	*ret = !r && text ? text->offset : 0;
	return r;
}

int text_pool_add_name(struct text_pool *pool, const char *raw, uint32_t *ret_system_name,
		       uint32_t *ret_name)
{
	cleanup(freep) char *demangled = NULL;
	struct answer_builder_text *text = NULL;
	int r = text_pool_intern(pool, raw, &text);

	*ret_system_name = *ret_name = 0;
	if (r || !text)
		return r;
	if (!text->name) {
		demangled = demangle_name(raw, DEMANGLE_WHOLE);
		if (!demangled)
			return error_origin(-ENOMEM);
		r = text_pool_add(pool, demangled, &text->name);
		if (r)
			return r;
	}
	*ret_system_name = text->offset;
	*ret_name = text->name;
	return 0;
}

uint64_t text_pool_length(const struct text_pool *pool)
{
	return pool->length;
}

int text_pool_finish(const struct text_pool *pool, const struct iovec *parts, size_t n_parts,
		     uint8_t **ret, size_t *ret_length)
{
	size_t length = (size_t)pool->length;
	uint8_t *payload, *at;

	for (size_t i = 0; i < n_parts; i++)
		length += parts[i].iov_len;
	payload = malloc(length);
	if (!payload)
		return error_origin(-ENOMEM);
	at = payload;
	for (size_t i = 0; i < n_parts; i++)
		at = parts[i].iov_len ? mempcpy(at, parts[i].iov_base, parts[i].iov_len) : at;
	*at++ = '\0';
	for (const struct answer_builder_text *text = pool->texts; text; text = text->hh.next)
		at = mempcpy(at, text->bytes, text->length + 1);
	*ret = payload;
	*ret_length = length;
	return 0;
}
