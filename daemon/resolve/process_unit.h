/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_PROCESS_UNIT_H
#define PROFD_RESOLVE_PROCESS_UNIT_H

/*
 * The unit that a process belongs to, as unit.h tells it; never changed. A child shares its
 * parent's, and what counted samples in one keeps it when the process moves to another.
 *
 * Main thread only.
 */
#include <stdbool.h>

#include "common/cleanup.h"

struct process_unit {
	char *service;   /* INTERFACE.md, <service>, unescaped; never NULL */
	char *cgroup;    /* or NULL */
	char *container; /* or NULL */
	unsigned n_references;
};

/* Texts are copied; "" stands for none. Returns 0 or -ENOMEM. */
int process_unit_new(struct process_unit **ret, const char *service, const char *cgroup,
		     const char *container);
struct process_unit *process_unit_ref(struct process_unit *unit);
/* Takes NULL. */
void process_unit_unref(struct process_unit *unit);
DEFINE_CLEANUP(struct process_unit *, process_unit_unref)

/* Whether these texts are its own. */
bool process_unit_is(const struct process_unit *unit, const char *service, const char *cgroup,
		     const char *container);

#endif
