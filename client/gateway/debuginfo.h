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
#include "control.pb-c.h"

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

struct debuginfo_message {
	char text[400]; /* one line */
};

/* The servers that the configuration names. */
enum {
	URLS_E_OK,
	URLS_E_BAD, /* the message says which one, and why */
};

/*
 * The texts of @list, which ends with NULL, with blanks between them, malloc'ed: as libdebuginfod
 * takes them. Only http:// and https:// are servers. Returns URLS_E_* or negative errno.
 */
int urls_join(char *const *list, char **ret, struct debuginfo_message *message);

/* What profd is asked for over its control socket: which debug files it wants. */
enum {
	WANTED_E_OK,
	WANTED_E_AWAY,    /* no profd answers at the socket */
	WANTED_E_REFUSED, /* it answers, but not this: the message says why */
};

/*
 * Takes 2 s at most, if profd does not answer. *ret is the caller's and has build_ids, of whatever
 * lengths. Returns WANTED_E_* or negative errno.
 */
int wanted_query(const char *socket, Profd__Control__Response **ret,
		 struct debuginfo_message *message);

#endif
