/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_ATTEMPTS_H
#define PROFD_CLIENT_GATEWAY_ATTEMPTS_H

/*
 * When servers may be asked again, and for what. Those that did not answer rest: a minute, then
 * twice as long each time, up to an hour. What was answered, with a file or without, is not asked
 * for again for a day; what was not, for an hour, so that others have their turn first. In memory
 * alone, and bounded: where it is full, what may be asked again soonest is forgotten.
 *
 * Times are CLOCK_MONOTONIC's, in ns. Pure: no I/O.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTEMPTS_ID_MAX 64u /* bytes of a build id; longer ones are never asked for */
#define ATTEMPTS_MAX    4096u

/* All 0 at first. */
struct attempt {
	uint64_t until_ns;
	size_t length; /* 0: an empty place */
	uint8_t id[ATTEMPTS_ID_MAX];
};

struct attempts {
	struct attempt by_id[ATTEMPTS_MAX];
	uint64_t rest_ns, rests_until_ns;
};

/* Whether servers may be asked, and whether for @id. */
bool attempts_may_query(const struct attempts *a, uint64_t now_ns);
bool attempts_may_query_id(const struct attempts *a, const uint8_t *id, size_t length,
			   uint64_t now_ns);
/* The servers answered. @length: 1 to ATTEMPTS_ID_MAX. */
void attempts_answered(struct attempts *a, const uint8_t *id, size_t length, uint64_t now_ns);
/* They did not. Returns for how long they rest now, ns. */
uint64_t attempts_failed(struct attempts *a, const uint8_t *id, size_t length, uint64_t now_ns);

#endif
