/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_FUNCTION_CPU_H
#define PROFD_CLIENT_GATEWAY_FUNCTION_CPU_H

/*
 * CPU time of functions, of each service, as counters: of those that use most. What they use is
 * what view/flat.h has of windows.
 *
 * Which ones are kept is decided at each addition, by what each has used lately. One that is kept
 * loses its place to one that uses more than twice as much only, so that series do not come and go.
 * Its counter never falls as long as it is kept, and begins anew when it comes back. Pure.
 */
#include <stdint.h>

#include "common/cleanup.h"

struct function_cpu;
struct function_cpu_entry;

enum {
	FUNCTION_CPU_E_OK,
	FUNCTION_CPU_E_MALFORMED, /* the rest is not added */
};

/* At most @max are kept. 0 or -ENOMEM. */
int function_cpu_new(struct function_cpu **ret, uint32_t max);
/* Takes NULL. */
void function_cpu_free(struct function_cpu *f);
DEFINE_CLEANUP(struct function_cpu *, function_cpu_free)

/*
 * Lines of view/flat.h, without the first one, of windows that were not added before; @text is cut
 * to pieces. FUNCTION_CPU_E_* or -ENOMEM.
 */
int function_cpu_add(struct function_cpu *f, char *text);
/* Forgets all. */
void function_cpu_reset(struct function_cpu *f);

/* The kept entry after @e; the first one after NULL. NULL: no more. */
const struct function_cpu_entry *function_cpu_next(const struct function_cpu *f,
						   const struct function_cpu_entry *e);
const char *function_cpu_service(const struct function_cpu_entry *e);
const char *function_cpu_name(const struct function_cpu_entry *e);
uint64_t function_cpu_ns(const struct function_cpu_entry *e);

#endif
