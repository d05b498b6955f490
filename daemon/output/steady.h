/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_STEADY_H
#define PROFD_OUTPUT_STEADY_H

/*
 * Whether the wall clock is reliable enough to delete files by their age. A clock that is set
 * forward by a year makes every file old at once, and one that was wrong and was set right leaves
 * files from the future. CLOCK_BOOTTIME, which goes on through suspends and which nobody can set,
 * tells how long the wall clock has gone on without a jump. Pure.
 */
#include <stdbool.h>
#include <stdint.h>

#define STEADY_JUMP_S  60u    /* more between two looks than a clock is slewed */
#define STEADY_TRUST_S 86400u /* after a jump */

struct steady {
	bool known;
	bool doubtful;     /* something did not fit */
	int64_t offset_ns; /* wall clock less CLOCK_BOOTTIME at the last look */
	uint64_t since_ns; /* CLOCK_BOOTTIME: no jump since */
	uint64_t boot_ns;  /* of the last look */
};

/*
 * The first look. @newest_s: the end of the newest window of the store, Unix time, 0 without one: a
 * clock that is far from it may be wrong, or the machine was off for long.
 */
void steady_begin(struct steady *s, uint64_t wall_ns, uint64_t boot_ns, uint64_t newest_s);
/* Another look, a minute or so later. */
void steady_follow(struct steady *s, uint64_t wall_ns, uint64_t boot_ns);
/* For how long the wall clock has gone on as it does, seconds. */
uint64_t steady_seconds(const struct steady *s);
/* Whether ages by the wall clock are reliable. */
bool steady_is_reliable(const struct steady *s);

#endif
