/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_DEBUGINFO_H
#define PROFD_CLIENT_GATEWAY_DEBUGINFO_H

/*
 * Debug files for profd: every ten seconds it is asked which ones it wants, and what is neither in
 * the cache nor was tried lately is fetched, one file at a time, by a fetcher, a process of its own
 * (fetch.h). Nothing here waits for a server: a fetch that does not end in time is ended. Neither
 * profd nor a server has to be there; both are tried again.
 */
#include <stdint.h>

#include <systemd/sd-event.h>

#include "common/cleanup.h"

struct debug_cache;
struct debuginfo;

struct debuginfo_options {
	const char *cache_directory; /* the cache's */
	const char *socket;          /* profd's */
	const char *urls;            /* as urls_join() makes them */
	const char *program;         /* to be started with --fetch; NULL: our own */
	uint64_t interval_ns;        /* between two questions to profd; 0: 10 s */
};

/*
 * @cache is borrowed, @options are copied. Begins when the loop runs; a fatal error ends the loop
 * with it. Returns 0 or negative errno.
 */
int debuginfo_new(struct debuginfo **ret, sd_event *loop, struct debug_cache *cache,
		  const struct debuginfo_options *options);
/* Ends its fetch, which takes 3 s at most. Takes NULL. */
void debuginfo_free(struct debuginfo *d);
DEFINE_CLEANUP(struct debuginfo *, debuginfo_free)

#endif
