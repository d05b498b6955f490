/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_CONTAINERS_H
#define PROFD_RESOLVE_CONTAINERS_H

/*
 * The containers that processes are in, each once, and what they are called. A container is known
 * by its control group as soon as a process is; its names come later, when containers_look() finds
 * them, and then hold for all that was counted in it and is not written yet. So no sample waits.
 *
 * A container that is not found is looked for again, each time after a longer pause, and given up
 * in the end. Main thread only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/resolve/container_names.h"

struct container;
struct containers;

enum {
	CONTAINERS_E_ALL,    /* all names that there will ever be */
	CONTAINERS_E_PARTLY, /* perhaps there are more later */
	CONTAINERS_E_BUSY,   /* the answer comes soon: ask for the same one again then */
	CONTAINERS_E_SLOW,   /* it took too long: better not to ask for any again soon */
};

/* Adds what is known of @path to *ret. Returns CONTAINERS_E_*. */
typedef int (*containers_ask_fn)(void *userdata, const struct container_path *path, uint64_t now_ns,
				 struct container_names *ret);

int containers_new(struct containers **ret);
/* Containers that are still referred to keep their names. */
void containers_free(struct containers *c);
DEFINE_CLEANUP(struct containers *, containers_free)

/* From now on they are looked for by @ask. */
void containers_ask_by(struct containers *c, containers_ask_fn ask, void *userdata);

/* The one that the group @cgroup is in, a reference; *ret is NULL: none. Returns 0 or -ENOMEM. */
int containers_find(struct containers *c, const char *cgroup, struct container **ret);
struct container *container_ref(struct container *container);
/* Takes NULL. */
void container_unref(struct container *container);
const struct container_names *container_names(const struct container *container);

#define CONTAINERS_LOOK_MAX 128 /* some 2 ms */
/*
 * Asks for the names of those that are due, at most CONTAINERS_LOOK_MAX. @now_ns: CLOCK_MONOTONIC.
 * Returns whether one has got another name of a service.
 */
bool containers_look(struct containers *c, uint64_t now_ns);
size_t containers_count(const struct containers *c);

#endif
