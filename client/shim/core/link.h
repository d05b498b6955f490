/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_LINK_H
#define PROFD_CLIENT_SHIM_CORE_LINK_H

/*
 * The connection of this process to a server that gathers its samples (common/shim): asked for, or
 * to be asked for at the next tick, or there. A process has one, besides the profile that it may
 * write itself. A server that is not there yet, or goes (profd is started anew), is looked for
 * again, at ticks: they are of CPU time, so a process that is idle is not woken for it.
 *
 * All but link_init() and link_after_fork() may be called by handlers of many threads at once.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "client/shim/core/images.h"
#include "common/shim/attach.h"
#include "common/shim/ring_writer.h"

#define LINK_PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)
/* A process is kept waiting for an answer no longer than that; in the middle of its work: */
#define LINK_TIMEOUT_MS       1000
#define LINK_AGAIN_TIMEOUT_MS 20
/* Between two times that a server is looked for. */
#define LINK_AGAIN_S 10

enum link_state {
	LINK_NONE,   /* not asked for */
	LINK_WANTED, /* to be asked at the next tick */
	LINK_ALONE,  /* there is none, or none any more: looked for now and then */
	LINK_ASKING,
	LINK_ON,
};

struct link {
	_Atomic int state; /* enum link_state */
	char path[LINK_PATH_SIZE];
	uint32_t guess;           /* while there is no server: what the parent's wanted */
	_Atomic int64_t looked_s; /* CLOCK_MONOTONIC: when the server was looked for */

	/* Not touched but by those who have entered; taken away when there are none. */
	_Atomic unsigned n_users;
	struct ring_writer ring;

	/* The mappings that the server has: all of this generation, and a part of the next. */
	_Atomic uint32_t generation;
	_Atomic bool is_writing; /* of the two below; a lock that is only tried */
	uint32_t next;
	size_t n_done;
};

/*
 * A server is wanted, at @path: asks it. Returns ATTACH_E_*; if it is not there, link_tick() looks
 * for it from now on.
 */
int link_init(struct link *link, const char *path, struct attach_reason *ret_reason);
/* In a forked child: the ring is its parent's; it wants one of its own. */
void link_after_fork(struct link *link);

/*
 * At each tick, before anything else: asks a server that is wanted, sees when it goes, and looks
 * for it again. Seldom takes longer than a microsecond, and never longer than the times above.
 */
void link_tick(struct link *link);
/*
 * What the server wants, samples per second of CPU time: 0 for none. While it is still to be asked:
 * what it may want.
 */
uint32_t link_frequency(struct link *link);

/* Whether there is a server; then it stays until link_leave(). */
bool link_enter(struct link *link);
void link_leave(struct link *link);

static inline void shim_counter_add(_Atomic uint64_t *counter, uint32_t weight)
{
	atomic_fetch_add_explicit(counter, weight, memory_order_relaxed);
}

/* The rest in between. */

/* Makes the server know the mappings of @view, as far as there is room. */
void link_maps(struct link *link, const struct images_view *view);
/* Fills in @sample's time, its thread's name and its generation; the caller has set the rest. */
void link_sample(struct link *link, const struct images_view *view, struct ring_sample *sample);
/* Counts @weight ticks that were not walked: lost, or the program's filter would not have them. */
void link_not_walked(struct link *link, uint32_t weight, bool is_filtered);
/* Whether the server has been given any. */
bool link_has_samples(const struct link *link);

#endif
