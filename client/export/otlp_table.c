/* SPDX-License-Identifier: MIT */
#include "client/export/otlp_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/profile.h"
#include "common/room.h"

struct otlp_table_key {
	const void *bytes;
	size_t length;
};

int otlp_table_init(struct otlp_table *t)
{
	uint32_t zero;

	profile_hash_key_init(&t->key);
	return otlp_table_add(t, "", 0, &zero);
}

void otlp_table_deinit(struct otlp_table *t)
{
	free(t->bytes);
	free(t->ends);
	profile_table_deinit(&t->table);
}

static size_t otlp_table_begin(const struct otlp_table *t, size_t i)
{
	return i ? t->ends[i - 1] : 0;
}

const uint8_t *otlp_table_get(const struct otlp_table *t, size_t i, size_t *ret_length)
{
	size_t begin = otlp_table_begin(t, i);

	*ret_length = t->ends[i] - begin;
	return t->bytes + begin;
}

static int otlp_table_is_equal(const void *owner, uint32_t index, const void *key)
{
	const struct otlp_table_key *k = key;
	size_t length;
	const uint8_t *bytes = otlp_table_get(owner, index, &length);

	return length == k->length && memcmp(bytes, k->bytes, length) == 0;
}

int otlp_table_add(struct otlp_table *t, const void *bytes, size_t length, uint32_t *ret)
{
	const struct otlp_table_key key = {length ? bytes : "", length};
	const uint32_t hash = profile_hash(&t->key, key.bytes, length);
	const size_t begin = otlp_table_begin(t, t->n);
	uint32_t found = profile_table_find(&t->table, hash, otlp_table_is_equal, t, &key);
	int r;

	if (found != PROFILE_NONE) {
		*ret = found;
		return 0;
	}
	if (t->n > INT32_MAX)
		return error_origin(-E2BIG);
	r = profile_table_reserve(&t->table)
		    ?: room_make(&t->bytes, &t->max_bytes, begin + length + 1, 1)
		    ?: room_append(&t->ends, &t->max, &t->n, begin + length);
	if (r)
		return r;
	memcpy(t->bytes + begin, key.bytes, length);
	*ret = (uint32_t)t->n - 1;
	profile_table_insert(&t->table, hash, *ret);
	return 0;
}
