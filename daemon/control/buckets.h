/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_BUCKETS_H
#define PROFD_CONTROL_BUCKETS_H

/*
 * Token buckets, one per uid: what a uid's requests cost profd is drawn from its bucket, and as
 * long as that is empty, its next request waits. A cost is drawn as a whole whenever anything is
 * left, so a bucket may owe some.
 *
 * A bucket is the moment at which it will be full again: a cost moves that ahead by the time that
 * refills it, and what is further ahead than BUCKETS_BURST_NS has to wait. A uid that has none
 * takes over the one that is nearest to full, as it is. If that is full, as most are, nothing is
 * lost; if none is, many uids, perhaps of one person, get no more than as many places, and the
 * others of those that have places are not touched. Pure.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/clock.h"

#define BUCKETS_UIDS     32
#define BUCKETS_BURST_NS (10 * NS_PER_S) /* it takes so long to fill one */
#define BUCKETS_OWED_NS  (60 * NS_PER_S) /* and this much longer at most, after buckets_owe() */

struct bucket {
	uid_t uid;
	uint64_t full_ns;
};

/* All zero but for the share: all are full. Times are of one clock that never goes back. */
struct buckets {
	double share; /* of one CPU's time, which fills each; above 0 */
	struct bucket uids[BUCKETS_UIDS];
};

/* How long @uid has to wait until it may draw; 0: it may now. */
uint64_t buckets_wait_ns(struct buckets *b, uid_t uid, uint64_t now_ns);
/* Draws @cost_us of CPU time, also if it had to wait. */
void buckets_draw(struct buckets *b, uid_t uid, uint64_t cost_us, uint64_t now_ns);
/*
 * Draws what is known only afterwards, and may be much: nobody has to wait for longer than
 * BUCKETS_OWED_NS because of it.
 */
void buckets_owe(struct buckets *b, uid_t uid, uint64_t cost_us, uint64_t now_ns);

#endif
