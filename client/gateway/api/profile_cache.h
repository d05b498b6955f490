/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_API_PROFILE_CACHE_H
#define PROFD_CLIENT_GATEWAY_API_PROFILE_CACHE_H

/*
 * Profiles that were collected, by what was asked for, so that the next view of the same range is
 * quick. Bounded: those that were used longest ago go first. What may still change (the range
 * reaches into the present) is kept for a moment only; and all goes after a while, since profd
 * deletes, and adds what it had not written.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "control.pb-c.h"

struct profile_cache;

/* @max: bytes. 0 or negative errno. */
int profile_cache_new(struct profile_cache **ret, size_t max);
/* Takes NULL. */
void profile_cache_free(struct profile_cache *c);
DEFINE_CLEANUP(struct profile_cache *, profile_cache_free)

struct profile_key {
	const char *service; /* "": none */
	int64_t pid;         /* 0: none */
	uint64_t since_ns, until_ns;
};

/* The profile's descriptor, the cache's, until the next call; -1: there is none. */
int profile_cache_find(struct profile_cache *c, const struct profile_key *key, uint64_t now_ns,
		       uint64_t *ret_windows);
/* @fd is duplicated. What is too large, or for which there is no memory, is not kept. */
void profile_cache_add(struct profile_cache *c, const struct profile_key *key, int fd,
		       const Profd__Control__Collected *collected, uint64_t now_ns);
size_t profile_cache_bytes(const struct profile_cache *c);

#endif
