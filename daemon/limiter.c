/* SPDX-License-Identifier: MIT */
#include "daemon/limiter.h"

bool limiter_judge(struct limiter *l, double share, double max_share, bool can_slow)
{
	bool over = share > max_share;
	bool under = l->halvings && 2 * share <= LIMITER_ROOM * max_share;

	l->n_over = over ? l->n_over + 1 : 0;
	l->n_under = under ? l->n_under + 1 : 0;
	if (l->n_over >= LIMITER_OVER && can_slow && l->halvings < LIMITER_HALVINGS_MAX)
		l->halvings++;
	else if (l->n_under >= LIMITER_UNDER)
		l->halvings--;
	else
		return false;
	l->n_over = l->n_under = 0;
	return true;
}
