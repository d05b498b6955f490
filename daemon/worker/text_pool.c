/* SPDX-License-Identifier: MIT */
/*
 * Texts are kept in a hash of their own memory each, with the offsets that they will have, and put
 * together at the end: uthash goes through its entries in the order in which they came.
 */
#include "daemon/worker/text_pool.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM        1
#define uthash_nonfatal_oom(obj) ((obj)->is_lost = true)
#include <stdbool.h>
#include <uthash.h>

#include "common/error.h"
#include "common/worker/protocol.h"
#include "common/worker/text.h"
#include "daemon/worker/names/demangle.h"

struct text {
	UT_hash_handle hh;
	uint32_t offset;
	uint32_t name;   /* offset of what it is demangled; 0: not asked for yet */
	uint32_t length; /* without the NUL */
	bool is_lost;    /* no memory to hash it */
	char bytes[];
};

struct text_pool {
	struct text *texts;
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
	struct text *text, *next;

	if (!pool)
		return;
	HASH_ITER (hh, pool->texts, text, next) {
		HASH_DEL(pool->texts, text);
		free(text);
	}
	free(pool);
}

/* The text's entry, made if need be; *ret NULL: the empty one. */
static int text_pool_intern(struct text_pool *pool, const char *raw, struct text **ret)
{
	size_t length = text_clean(raw, strlen(raw), pool->scratch, WORKER_TEXT_MAX);
	struct text *text = NULL;

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
	struct text *text = NULL;
	int r = raw ? text_pool_intern(pool, raw, &text) : 0;

	*ret = !r && text ? text->offset : 0;
	return r;
}

int text_pool_add_name(struct text_pool *pool, const char *raw, uint32_t *ret_system_name,
		       uint32_t *ret_name)
{
	cleanup(freep) char *demangled = NULL;
	struct text *text = NULL;
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
	for (const struct text *text = pool->texts; text; text = text->hh.next)
		at = mempcpy(at, text->bytes, text->length + 1);
	*ret = payload;
	*ret_length = length;
	return 0;
}
