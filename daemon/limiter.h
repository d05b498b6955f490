/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_LIMITER_H
#define PROFD_DAEMON_LIMITER_H

/*
 * When sampling is to slow down because it takes too much of the machine ([sampling]
 * max_cpu), and when it may become faster again. Only its own cost counts: what switches of
 * threads, process events, names, collecting and requests cost is as much at any rate, and a user
 * could take the samples from everybody with it. Rates are halved, as often as it takes, one step
 * at a time:
 *
 *   LIMITER_OVER measurements in a row above the limit: one halving more of the first tier that can
 *   be slowed; of the users' as many as are needed if sampling for them is all that there is;
 *   LIMITER_UNDER in a row so low that twice as much would still be within LIMITER_ROOM of the
 *   limit: of the last tier that is slowed, as many less as keep within that.
 *
 * What is in between changes nothing, so that a load near the limit does not make the rate swing.
 * A single measurement may be one of a start, or of an image whose tables took long. With one every
 * 20 seconds, the rate is back within a minute after a load has ended. Pure.
 */
#include <stdbool.h>

#include "daemon/session/session_set.h"

#define LIMITER_OVER         3u
#define LIMITER_UNDER        2u
#define LIMITER_ROOM         0.8
#define LIMITER_HALVINGS_MAX SLOW_DOWN_MAX

struct limiter {
	unsigned halvings[N_TIERS]; /* in force */
	unsigned n_over, n_under;
};

/* What profd's CPU time counts as. */
enum cost {
	COST_SAMPLING, /* and writing windows: more samples are more stacks */
	COST_SWITCHES, /* of threads, which are looked at for waits */
	COST_EVENTS,
	COST_NAMES,
	COST_OUTPUT, /* what is left: files that are listed, collected, deleted */
	COST_CONTROL,
	N_COSTS,
};

/*
 * @share: what sampling cost of the whole machine, 0 .. 1, as measured since the last call, all of
 * it with the halvings in force. @can_slow: another halving of the tier would change something.
 * Returns whether halvings changed.
 */
bool limiter_judge(struct limiter *l, double share, double max_share, const bool can_slow[N_TIERS]);
/*
 * What to blame when all @shares together are more than @max_share: sampling if it is more alone,
 * else the largest of the others; N_COSTS: they are not more.
 */
enum cost limiter_blame(const double shares[N_COSTS], double max_share);

double limiter_sum(const double shares[N_COSTS]);

#endif
