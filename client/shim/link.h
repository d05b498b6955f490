/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_LINK_H
#define PROFD_CLIENT_SHIM_LINK_H

/*
 * The connection of this process to a server that gathers its samples (common/shim): asked for, or
 * to be asked for at the first tick, or there. A process has one, besides the profile that it may
 * write itself.
 *
 * All but link_init() and link_after_fork() may be called by handlers of many threads at once.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "client/shim/images.h"
#include "common/shim/attach.h"
#include "common/shim/ring_writer.h"

#define LINK_PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)
/* A process is kept waiting for an answer no longer than that. */
#define LINK_TIMEOUT_MS 1000

enum link_state {
	LINK_NONE,   /* not asked for, refused, or the server has gone */
	LINK_WANTED, /* nobody was asked yet */
	LINK_ASKING,
	LINK_ON,
};

struct link {
	_Atomic int state; /* enum link_state */
	char path[LINK_PATH_SIZE];
	struct ring_writer ring;
	uint32_t guess; /* while there is no server: what the parent's wanted */

	/* The mappings that the server has: all of this generation, and a part of the next. */
	_Atomic uint32_t generation;
	_Atomic bool is_writing; /* taken by who touches the two below */
	uint32_t next;
	size_t n_done;
};

/* A server is wanted, at @path. */
void link_init(struct link *link, const char *path);
/*
 * Asks for a ring if one is wanted and nobody else is asking: at most LINK_TIMEOUT_MS. Returns
 * ATTACH_E_*; ATTACH_E_OK also when nothing was to be done.
 */
int link_ask(struct link *link, struct attach_reason *ret_reason);
/* In a forked child: the ring is its parent's; it wants one of its own. */
void link_after_fork(struct link *link);

bool link_is_on(const struct link *link);
/*
 * What the server wants, samples per second of CPU time: 0 for none. While it is still to be asked:
 * what it may want.
 */
uint32_t link_frequency(const struct link *link);

/* Looks whether the server is still there, and gives it up if not. */
void link_check(struct link *link);

/* The rest with link_is_on(). */

/* Makes the server know the mappings of @view, as far as there is room. */
void link_maps(struct link *link, const struct images_view *view);
/* Those who know everything of @sample but its time, its thread's name and its generation. */
void link_sample(struct link *link, const struct images_view *view, struct ring_sample *sample);
/* Counts @weight ticks that were lost before they were walked. */
void link_lost(struct link *link, uint32_t weight);
/* Counts @weight ticks that the program's filter would not have. */
void link_filtered(struct link *link, uint32_t weight);

#endif
