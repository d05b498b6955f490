/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_EXPORT_REST_H
#define PROFD_CLIENT_GATEWAY_EXPORT_REST_H

/*
 * How long a target that does not answer is left alone, how long a window that it failed over, and
 * when such a window is given up. Times are of CLOCK_MONOTONIC, in nanoseconds. Pure but for
 * randomness.
 */
#include <stdbool.h>
#include <stdint.h>

#define REST_ASKED_MAX_S 3600u /* seconds of a Retry-After that are heeded */

/*
 * After the @n_failed-th time in a row: from a second on, twice as long each time, up to five
 * minutes; at random between half of that and all of it, so that a target of many machines is not
 * asked by all of them at once.
 */
uint64_t rest_after(unsigned n_failed);

/* A target. All zero: it answers. */
struct rest {
	unsigned n_failed; /* times in a row */
	uint64_t until_ns;
	uint64_t asked_until_ns; /* by the target itself, which a success does not shorten */
	uint64_t stored_ns;      /* it took something last */
};

bool rest_is_on(const struct rest *r, uint64_t now_ns);
uint64_t rest_end(const struct rest *r);
/*
 * It did not take a request; @asked_s: the seconds that it asked to be left alone (Retry-After), 0:
 * it did not. Returns whether it took the one before. Of a rest's further failures only that
 * counts: requests that were under way fail in company.
 */
bool rest_begin(struct rest *r, uint64_t now_ns, uint64_t asked_s);
/* It took one. Returns whether it did not take the one before. */
bool rest_note_stored(struct rest *r, uint64_t now_ns);

/* Of a window: how often the target failed over it, and how often of these others were stored. */
struct rest_failures {
	unsigned n, n_own;
	uint64_t last_ns, begun_ns; /* the last one; the request's begin */
};

enum rest_doubt {
	REST_DOUBT_WINDOW, /* it rests until *ret_until_ns */
	REST_DOUBT_TARGET, /* the target does as well: it has stored nothing meanwhile */
	REST_DOUBT_GIVEN_UP,
};

/* The target failed over a window, which may be the fault of either. */
enum rest_doubt rest_doubt(struct rest_failures *f, const struct rest *target, uint64_t now_ns,
			   uint64_t *ret_until_ns);

#endif
