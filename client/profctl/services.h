/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_SERVICES_H
#define PROFD_PROFCTL_SERVICES_H

/*
 * Whether there is a service of the name that the user gave, and which ones there are that were
 * meant instead: those that profd has something of, and those that processes run in.
 */
#include <stdbool.h>
#include <stddef.h>

#include "client/profctl/profctl.h"
#include "client/report/nearest.h"

struct services_search {
	struct nearest nearest; /* its `asked` is the name */
	bool is_found;
	bool has_any; /* some service was seen, whatever its name */
};

/* Considers a service. */
void services_add(struct services_search *search, const char *service);
/*
 * Considers the units in @text, /proc/PID/cgroup's, which names each as a directory (cgroups(7)).
 * Pure.
 */
void services_add_groups(struct services_search *search, const char *text);

/*
 * Each returns 0 if the service is there, or if nothing is known of any; else STATUS_FAILED after a
 * complaint. To be recorded, it runs, or profd has sampled it; to be looked at, it was sampled, or
 * each of several (names.h), none of which has an empty name: STATUS_USAGE.
 */
int services_check_running(const struct context *context, const char *service);
int services_check_sampled(const struct context *context, const char *services);

#endif
