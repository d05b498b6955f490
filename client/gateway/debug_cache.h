/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_DEBUG_CACHE_H
#define PROFD_CLIENT_GATEWAY_DEBUG_CACHE_H

/*
 * Debug files below a directory, by build id, where profd looks for them and a debugger can:
 *
 *   DIR/debuginfo/.build-id/ab/cdef0123.debug    whole, 0644; directories 0755
 *   DIR/.fetch-*                                 what a fetcher works in; it removes it
 *   DIR/.lock                                    held while a gateway uses DIR
 *
 * Bounded by allocated blocks: what was stored or read longest ago goes first. Whatever else lies
 * there is left alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

#define DEBUG_CACHE_MAX_BYTES (UINT64_C(4) << 30)
#define DEBUG_CACHE_ID_MIN    2u /* bytes of a build id: a directory, and a name in it */
#define DEBUG_CACHE_ID_MAX    64u

struct debug_cache;

enum {
	DEBUG_CACHE_E_OK,
	DEBUG_CACHE_E_IN_USE,   /* another gateway has it */
	DEBUG_CACHE_E_UNUSABLE, /* cannot be written; errno says why */
};

/*
 * @directory exists; what a dead gateway left in it is removed, and what is more than @max_bytes.
 * Returns DEBUG_CACHE_E_OK, _IN_USE, _UNUSABLE or negative errno.
 */
int debug_cache_open(struct debug_cache **ret, const char *directory, uint64_t max_bytes);
/* Takes NULL. */
void debug_cache_close(struct debug_cache *c);
DEFINE_CLEANUP(struct debug_cache *, debug_cache_close)

bool debug_cache_has(const struct debug_cache *c, const uint8_t *id, size_t length);
/*
 * Makes the file @fd, which is ours and lies on the disk somewhere below the directory, the one of
 * build id @id: it appears there whole, as a second name of itself. Blocks on the disk. Returns
 * DEBUG_CACHE_E_OK, _UNUSABLE or negative errno. No file is larger than @max_bytes.
 */
int debug_cache_store(struct debug_cache *c, const uint8_t *id, size_t length, int fd);
/* Removes what fetchers left that were killed. There must be none at work. */
void debug_cache_sweep(struct debug_cache *c);

#endif
