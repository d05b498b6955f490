/* SPDX-License-Identifier: MIT */
/* Some dozens of entries at most: linear searches. */
#include "daemon/worker/cache.h"

#include <errno.h>

#include "common/error.h"

struct entry {
	struct cache_key key;
	const struct cache_class *class;
	void *thing; /* NULL: free */
	uint64_t used;
};

struct cache {
	struct entry entries[CACHE_ENTRIES_MAX];
	size_t max_bytes;
	uint64_t now;     /* counts uses */
	uint64_t settled; /* what was used since is borrowed */
};

int cache_new(struct cache **ret, size_t max_bytes)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (!c)
		return error_origin(-ENOMEM);
	c->max_bytes = max_bytes;
	*ret = c;
	return 0;
}

static void cache_drop_entry(struct entry *e)
{
	if (e->thing)
		e->class->free(e->thing);
	*e = (struct entry){0};
}

void cache_clear(struct cache *c)
{
	for (size_t i = 0; i < CACHE_ENTRIES_MAX; i++)
		cache_drop_entry(&c->entries[i]);
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	cache_clear(c);
	free(c);
}

static bool cache_keys_match(const struct cache_key *a, const struct cache_key *b)
{
	return a->key == b->key && a->type == b->type && a->made_of == b->made_of;
}

void *cache_get(struct cache *c, const struct cache_key *key)
{
	for (size_t i = 0; key->key && i < CACHE_ENTRIES_MAX; i++) {
		struct entry *e = &c->entries[i];

		if (!e->thing || !cache_keys_match(&e->key, key) || e->key.size != key->size ||
		    e->key.mtime != key->mtime)
			continue;
		e->used = ++c->now;
		return e->thing;
	}
	return NULL;
}

/* The one that was not used for longest, or NULL: only those of this request are left. */
static struct entry *cache_find_oldest(struct cache *c)
{
	struct entry *found = NULL;

	for (size_t i = 0; i < CACHE_ENTRIES_MAX; i++) {
		struct entry *e = &c->entries[i];

		if (e->thing && e->used < c->settled && (!found || e->used < found->used))
			found = e;
	}
	return found;
}

size_t cache_bytes(const struct cache *c)
{
	size_t bytes = 0;

	for (size_t i = 0; i < CACHE_ENTRIES_MAX; i++)
		if (c->entries[i].thing)
			bytes += c->entries[i].class->bytes(c->entries[i].thing);
	return bytes;
}

static void cache_make_room(struct cache *c)
{
	while (cache_bytes(c) > c->max_bytes) {
		struct entry *oldest = cache_find_oldest(c);

		if (!oldest)
			return;
		cache_drop_entry(oldest);
	}
}

static struct entry *cache_find_free(struct cache *c)
{
	for (size_t i = 0; i < CACHE_ENTRIES_MAX; i++)
		if (!c->entries[i].thing)
			return &c->entries[i];
	return NULL;
}

void cache_put(struct cache *c, const struct cache_key *key, const struct cache_class *class,
	       void *thing)
{
	struct entry *e;

	for (size_t i = 0; i < CACHE_ENTRIES_MAX; i++)
		if (c->entries[i].thing && cache_keys_match(&c->entries[i].key, key))
			cache_drop_entry(&c->entries[i]);
	e = cache_find_free(c);
	if (!e) {
		/* A request puts two things: there are older ones. */
		e = cache_find_oldest(c);
		cache_drop_entry(e);
	}
	*e = (struct entry){.key = *key, .class = class, .thing = thing, .used = ++c->now};
	cache_make_room(c);
}

void cache_settle(struct cache *c)
{
	c->settled = ++c->now;
	/* What nobody can ask for again was kept for one request. */
	for (size_t i = 0; i < CACHE_ENTRIES_MAX; i++)
		if (c->entries[i].thing && !c->entries[i].key.key)
			cache_drop_entry(&c->entries[i]);
	cache_make_room(c);
}
