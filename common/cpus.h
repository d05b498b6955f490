/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_CPUS_H
#define PROFD_COMMON_CPUS_H

/*
 * Sets of CPUs, as the kernel lists them in /sys/devices/system/cpu/: "0-3,8"
 * (Documentation/admin-guide/cputopology.rst).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUS_MAX 8192

enum {
	CPUS_E_OK,
	CPUS_E_MALFORMED, /* not a list, or a CPU past CPUS_MAX */
};

struct cpus {
	uint64_t bits[CPUS_MAX / 64];
	unsigned n; /* how many are in the set */
};

/* Pure. A newline at the end is allowed; the empty list is a list. Returns CPUS_E_*. */
int cpus_parse(const uint8_t *text, size_t length, struct cpus *ret);
bool cpus_has(const struct cpus *cpus, unsigned cpu);
/* The CPUs that are online now, and those that may ever be. Return 0 or negative errno. */
int cpus_read_online(struct cpus *ret);
int cpus_read_possible(struct cpus *ret);

#endif
