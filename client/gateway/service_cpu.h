/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_SERVICE_CPU_H
#define PROFD_CLIENT_GATEWAY_SERVICE_CPU_H

/*
 * CPU time of each service as a counter, which never falls, made of listings of the store, which
 * has windows that come, are merged and go. A listing has what all windows have that end after a
 * moment, the anchor. The counter is that, and a base. The anchor moves on before the windows
 * behind it are merged: then two listings at the same time, from the old and from the new one,
 * differ by what the base grows by. Times are of Unix, in ns. Pure.
 *
 * What nobody has asked for in an hour begins anew, from 0.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "control.pb-c.h"

#define SERVICE_CPU_MAX 4096u /* services; others are not counted */

struct service_cpu;
struct service_cpu_entry;

/* 0 or -ENOMEM. */
int service_cpu_new(struct service_cpu **ret);
/* Takes NULL. */
void service_cpu_free(struct service_cpu *s);
DEFINE_CLEANUP(struct service_cpu *, service_cpu_free)

/* The anchor: since when a listing is wanted. */
uint64_t service_cpu_since(struct service_cpu *s, uint64_t now_ns);
/*
 * Such a listing. *ret_since: 0, or a new anchor: a listing from then on is wanted at once. 0 or
 * -ENOMEM.
 */
int service_cpu_update(struct service_cpu *s, const Profd__Control__Listing *listing,
		       uint64_t now_ns, uint64_t *ret_since);
/* The listing from the new anchor @since_ns on. */
void service_cpu_move(struct service_cpu *s, const Profd__Control__Listing *listing,
		      uint64_t since_ns);

/* The entry after @e; the first one after NULL. NULL: no more. */
const struct service_cpu_entry *service_cpu_next(const struct service_cpu *s,
						 const struct service_cpu_entry *e);
const char *service_cpu_name(const struct service_cpu_entry *e);
uint64_t service_cpu_ns(const struct service_cpu_entry *e);

#endif
