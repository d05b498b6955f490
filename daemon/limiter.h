/* SPDX-License-Identifier: MIT */
#ifndef PROFD_LIMITER_H
#define PROFD_LIMITER_H

/*
 * When sampling is to slow down because profd itself takes too much of the machine ([sampling]
 * max_cpu), and when it may become faster again. Rates are halved, as often as it takes, one step
 * at a time:
 *
 *   LIMITER_OVER measurements in a row above the limit: one halving more;
 *   LIMITER_UNDER in a row so low that twice as much would still be within LIMITER_ROOM of the
 *   limit: one less.
 *
 * What is in between changes nothing, so that a load near the limit does not make the rate swing.
 * A single measurement may be one of a start, or of an image whose tables took long. Pure.
 */
#include <stdbool.h>

#define LIMITER_OVER         2u
#define LIMITER_UNDER        5u
#define LIMITER_ROOM         0.8
#define LIMITER_HALVINGS_MAX 10u

struct limiter {
	unsigned halvings; /* in force */
	unsigned n_over, n_under;
};

/*
 * @share: of the whole machine, 0 .. 1, as measured since the last call, all of it with the
 * halvings in force. @can_slow: another halving would change something. Returns whether halvings
 * changed.
 */
bool limiter_judge(struct limiter *l, double share, double max_share, bool can_slow);

#endif
