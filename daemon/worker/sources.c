/* SPDX-License-Identifier: MIT */
/*
 * A source's key is the request's key, its kind, and which files it was made of. The cache is
 * asked for that before the files are read. It has some dozens of entries at most: linear searches.
 */
#include "daemon/worker/sources.h"

#include <errno.h>
#include <stdbool.h>

#include "common/error.h"
#include "daemon/worker/elf/debuglink.h"

enum thing { THING_NAMES, THING_FUNCTIONS, THING_LINES };

/* The class of @name's things, by its two functions. */
#define SOURCES_CLASS(name)                                                          \
	static void sources_free_##name(void *thing)                                 \
	{                                                                            \
		name##_free(thing);                                                  \
	}                                                                            \
	static size_t sources_bytes_##name(const void *thing)                        \
	{                                                                            \
		return name##_bytes(thing);                                          \
	}                                                                            \
	static const struct cache_class class_##name = {.free = sources_free_##name, \
							.bytes = sources_bytes_##name};

SOURCES_CLASS(symtab)
SOURCES_CLASS(frame_functions)
SOURCES_CLASS(dwarf_lines)

static struct cache_key sources_cache_key(const struct request *request, enum thing type)
{
	return (struct cache_key){
		.key = request->header.key,
		.type = type,
		.made_of = request->header.files | (request->header.flags & WORKER_CHECK_CRC)
							   << N_WORKER_FILES,
	};
}

int sources_names(struct cache *cache, const struct request *request, struct symtab **ret)
{
	const struct cache_key key = sources_cache_key(request, THING_NAMES);
	const struct elf_names_files files = {
		.image = request->files[WORKER_FILE_IMAGE],
		.debug = request->files[WORKER_FILE_DEBUG],
		.check_crc = request->header.flags & WORKER_CHECK_CRC,
	};
	int r;

	*ret = cache_get(cache, &key);
	if (*ret)
		return WORKER_DONE;
	r = elf_names_new(ret, &files);
	if (r == WORKER_DONE)
		cache_put(cache, &key, &class_symtab, *ret);
	return r;
}

int sources_functions(struct cache *cache, const struct request *request,
		      struct frame_functions **ret)
{
	const struct cache_key key = sources_cache_key(request, THING_FUNCTIONS);
	int r;

	*ret = cache_get(cache, &key);
	if (*ret)
		return WORKER_DONE;
	r = frame_functions_new(ret, request->files[WORKER_FILE_IMAGE]);
	if (!r)
		cache_put(cache, &key, &class_frame_functions, *ret);
	return r;
}

/* What the request may use besides what is kept of others; @own: of that, its own. */
static uint64_t sources_memory_left(const struct cache *cache, const struct request *request,
				    size_t own)
{
	uint64_t others = cache_bytes(cache) - own, all = request->header.memory_bytes;

	return others < all ? all - others : 0;
}

int sources_lines(struct cache *cache, const struct request *request, struct dwarf_lines **ret)
{
	const struct cache_key key = sources_cache_key(request, THING_LINES);
	struct dwarf_lines_files files = {
		.image = request->files[WORKER_FILE_IMAGE],
		.debug = request->files[WORKER_FILE_DEBUG],
		.alternate = request->files[WORKER_FILE_ALTERNATE],
		.memory_bytes = sources_memory_left(cache, request, 0),
	};
	int r;

	*ret = cache_get(cache, &key);
	if (*ret) {
		dwarf_lines_allow(*ret,
				  sources_memory_left(cache, request, dwarf_lines_bytes(*ret)));
		return WORKER_DONE;
	}
	if (request->header.flags & WORKER_CHECK_CRC && files.debug >= 0 &&
	    !debuglink_crc_matches(files.image, files.debug))
		files.debug = files.alternate = -1;
	r = dwarf_lines_new(ret, &files);
	if (r == WORKER_DONE)
		cache_put(cache, &key, &class_dwarf_lines, *ret);
	else
		*ret = NULL;
	/* Nothing else is kept, the next time. */
	if (r == WORKER_NO_MEMORY)
		return -ENOMEM;
	return r < 0 ? r : WORKER_DONE;
}

struct sources_entry {
	struct cache_key key;
	const struct cache_class *class;
	void *thing; /* NULL: free */
	uint64_t used;
};

struct cache {
	struct sources_entry entries[CACHE_ENTRIES_MAX];
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

static void cache_drop_entry(struct sources_entry *e)
{
	if (e->thing)
		e->class->free(e->thing);
	*e = (struct sources_entry){0};
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
		struct sources_entry *e = &c->entries[i];

		if (!e->thing || !cache_keys_match(&e->key, key))
			continue;
		e->used = ++c->now;
		return e->thing;
	}
	return NULL;
}

/* The one that was not used for longest, or NULL: only those of this request are left. */
static struct sources_entry *cache_find_oldest(struct cache *c)
{
	struct sources_entry *found = NULL;

	for (size_t i = 0; i < CACHE_ENTRIES_MAX; i++) {
		struct sources_entry *e = &c->entries[i];

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
		struct sources_entry *oldest = cache_find_oldest(c);

		if (!oldest)
			return;
		cache_drop_entry(oldest);
	}
}

static struct sources_entry *cache_find_free(struct cache *c)
{
	for (size_t i = 0; i < CACHE_ENTRIES_MAX; i++)
		if (!c->entries[i].thing)
			return &c->entries[i];
	return NULL;
}

void cache_put(struct cache *c, const struct cache_key *key, const struct cache_class *class,
	       void *thing)
{
	struct sources_entry *e = cache_find_free(c);

	if (!e) {
		/* A request puts three things: there are older ones. */
		e = cache_find_oldest(c);
		cache_drop_entry(e);
	}
	*e = (struct sources_entry){.key = *key, .class = class, .thing = thing, .used = ++c->now};
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
