/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_SOURCES_H
#define PROFD_WORKER_SOURCES_H

/*
 * What addresses are looked up in: read of a request's files now, or for an earlier request with
 * the same key (struct cache). Each returns enum worker_outcome or -ENOMEM; *ret is the cache's,
 * borrowed until the request is answered.
 */
#include <stddef.h>
#include <stdint.h>

#include "daemon/worker/dwarf/dwarf_lines.h"
#include "daemon/worker/names/elf_names.h"
#include "daemon/worker/names/frame_functions.h"
#include "daemon/worker/serve.h"

int sources_names(struct cache *cache, const struct request *request, struct symtab **ret);
/* Where functions begin, by .eh_frame; none where that cannot be read, or would take too much. */
int sources_functions(struct cache *cache, const struct request *request,
		      struct frame_functions **ret);
/* *ret: NULL where the files have none that can be used. WORKER_DONE or -ENOMEM. */
int sources_lines(struct cache *cache, const struct request *request, struct dwarf_lines **ret);

/*
 * What was read of files, for the next request about the same ones. Bounded in bytes and number;
 * what was not used for longest goes first.
 */
struct cache;

#define CACHE_ENTRIES_MAX 64

/* What a thing was made of. Compared as a whole. */
struct cache_key {
	uint64_t key;     /* the request's; 0: not kept */
	uint32_t type;    /* the owner's enum */
	uint32_t made_of; /* files and flags that matter */
};

/* How to get rid of what is kept, and how large it is by now. */
struct cache_class {
	void (*free)(void *thing);
	size_t (*bytes)(const void *thing);
};

int cache_new(struct cache **ret, size_t max_bytes);
void cache_free(struct cache *c);

/* The thing of @key, borrowed until cache_settle() or cache_clear(); or NULL. */
void *cache_get(struct cache *c, const struct cache_key *key);
/*
 * Takes @thing, whose class is @class, for a key that cache_get() has nothing of. Borrowed from
 * then on, as by cache_get(), whatever its size.
 */
void cache_put(struct cache *c, const struct cache_key *key, const struct cache_class *class,
	       void *thing);
/* A request is over: nothing is borrowed any more. Things may have grown: makes room. */
void cache_settle(struct cache *c);
void cache_clear(struct cache *c);
size_t cache_bytes(const struct cache *c);

#endif
