/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_PROFILE_ENCODE_H
#define PROFD_CLIENT_SHIM_CORE_PROFILE_ENCODE_H

/* A profile's file: the legacy CPU profile (common/profile/cpuprofile.h), with our own account. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct images;
struct tally;

/*
 * X(name): what became of the ticks, each as often as its timer had run out.
 *
 *   seen = complete + truncated + broken + filtered + unseen + what was lost before the walk
 */
#define PROFILE_COUNTERS(X)                                                                \
	X(seen)                                                                            \
	X(complete)                                                                        \
	X(truncated) /* more frames than there is room for */                              \
	X(broken)    /* no root was reached */                                             \
	X(filtered)  /* the program's own filter would not have it */                      \
	X(cut)       /* the table of stacks is full: only the leaf was kept */             \
	X(lost)      /* the same, of the leaf as well; or the mappings just changed */     \
	X(unseen)    /* of threads too short for a tick: count for what they began with */ \
	X(repeated)  /* of those seen: count for the last stack of a thread */

#define PROFILE_COUNTER_FIELD(name) _Atomic uint64_t name;
struct profile_counters {
	PROFILE_COUNTERS(PROFILE_COUNTER_FIELD)
};

struct profile_facts {
	uint64_t period_us;
	const struct profile_counters *counters;
};

/* *ret is malloc'ed. Returns 0 or negative errno. */
int profile_encode(const struct tally *tally, struct images *images,
		   const struct profile_facts *facts, uint8_t **ret, size_t *ret_length);

#endif
