/* SPDX-License-Identifier: MIT */
#include "client/analysis/frames.h"

#include <errno.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/profile/profile.h"
#include "common/room.h"

void frames_init(struct frames *f)
{
	*f = (struct frames){0};
	profile_hash_key_init(&f->hash_key);
}

void frames_deinit(struct frames *f)
{
	profile_table_deinit(&f->table);
	free(f->all);
	*f = (struct frames){0};
}

static uint32_t frame_hash(const struct frames *f, const struct frame *key)
{
	const uint64_t words[] = {
		(uint64_t)key->name << 32 | key->system_name,
		(uint64_t)key->filename << 32 | key->object,
		(uint64_t)key->build_id << 32 | (uint32_t)key->column,
		(uint64_t)key->line,
		(uint64_t)key->start_line,
		key->address,
	};

	return profile_hash(&f->hash_key, words, sizeof(words));
}

static int frame_equal(const void *owner, uint32_t index, const void *key)
{
	const struct frame *a = &((const struct frames *)owner)->all[index];
	const struct frame *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->filename == b->filename && a->object == b->object && a->build_id == b->build_id &&
	       a->line == b->line && a->column == b->column && a->start_line == b->start_line &&
	       a->address == b->address;
}

int frames_intern(struct frames *f, const struct frame *key, uint32_t *ret)
{
	uint32_t hash = frame_hash(f, key);
	uint32_t index = profile_table_find(&f->table, hash, frame_equal, f, key);
	int r;

	if (index != PROFILE_NONE) {
		*ret = index;
		return 0;
	}
	if (f->n >= PROFILE_NONE)
		return error_origin(-E2BIG);
	r = profile_table_reserve(&f->table);
	if (r)
		return r;
	if (room_make(&f->all, &f->max, f->n + 1, sizeof(*f->all)))
		return -ENOMEM;
	index = (uint32_t)f->n++;
	f->all[index] = *key;
	profile_table_insert(&f->table, hash, index);
	*ret = index;
	return 0;
}
