/* SPDX-License-Identifier: MIT */
#include "common/profile/intern.h"

#include <string.h>

#include "common/profile/profile.h"
#include "common/room.h"

struct intern_things {
	const char *all;
	size_t size, key_size;
};

void intern_deinit(struct intern *in)
{
	profile_table_deinit(&in->table);
	*in = (struct intern){0};
}

void intern_clear(struct intern *in)
{
	profile_table_clear(&in->table);
	in->n = 0;
}

static int intern_is_equal(const void *owner, uint32_t index, const void *key)
{
	const struct intern_things *things = owner;

	return memcmp(things->all + index * things->size, key, things->key_size) == 0;
}

uint32_t intern_find(const struct intern *in, const void *array, const void *key, size_t size,
		     size_t key_size)
{
	const struct intern_things things = {array, size, key_size};

	return profile_table_find(&in->table, profile_hash(&in->hash_key, key, key_size),
				  intern_is_equal, &things, key);
}

int intern_add(struct intern *in, void *array, const void *thing, size_t size, size_t key_size,
	       uint32_t *ret)
{
	struct intern_things things = {.size = size, .key_size = key_size};
	uint32_t hash;
	int r;

	if (!in->n)
		profile_hash_key_init(&in->hash_key);
	memcpy(&things.all, array, sizeof(things.all));
	hash = profile_hash(&in->hash_key, thing, key_size);
	*ret = profile_table_find(&in->table, hash, intern_is_equal, &things, thing);
	if (*ret != PROFILE_NONE)
		return 0;
	r = profile_table_reserve(&in->table) ?: room_make(array, &in->max, in->n + 1, size);
	if (r)
		return r;
	memcpy(&things.all, array, sizeof(things.all));
	memcpy((char *)(uintptr_t)things.all + in->n * size, thing, size);
	*ret = (uint32_t)in->n++;
	profile_table_insert(&in->table, hash, *ret);
	return 0;
}
