/* SPDX-License-Identifier: MIT */
#include "daemon/limiter.h"

double limiter_sum(const double shares[N_COSTS])
{
	double sum = 0;

	for (unsigned i = 0; i < N_COSTS; i++)
		sum += shares[i];
	return sum;
}

enum cost limiter_blame(const double shares[N_COSTS], double max_share)
{
	enum cost dear = COST_SWITCHES;

	if (limiter_sum(shares) <= max_share)
		return N_COSTS;
	if (shares[COST_SAMPLING] > max_share)
		return COST_SAMPLING;
	for (enum cost i = dear; i < N_COSTS; i++)
		if (shares[i] > shares[dear])
			dear = i;
	return dear;
}

/* @excess: what is to be divided. */
static bool limiter_slow_down(struct limiter *l, double excess, const bool can_slow[N_TIERS])
{
	enum session_tier tier = 0;

	while (tier < N_TIERS && (!can_slow[tier] || l->halvings[tier] >= LIMITER_HALVINGS_MAX))
		tier++;
	if (tier == N_TIERS)
		return false;
	do {
		l->halvings[tier]++;
		excess /= 2;
	} while (tier == TIER_USERS && excess > 1 && l->halvings[tier] < LIMITER_HALVINGS_MAX);
	return true;
}

/* @room: what the share may be multiplied by; at least 2. */
static bool limiter_recover(struct limiter *l, double room)
{
	for (unsigned tier = N_TIERS; tier-- > 0;) {
		if (!l->halvings[tier])
			continue;
		for (; l->halvings[tier] && room >= 2; room /= 2)
			l->halvings[tier]--;
		return true;
	}
	return false;
}

bool limiter_judge(struct limiter *l, double share, double max_share, const bool can_slow[N_TIERS])
{
	bool over = share > max_share, changed = false;
	bool under = 2 * share <= LIMITER_ROOM * max_share;

	l->n_over = over ? l->n_over + 1 : 0;
	l->n_under = under ? l->n_under + 1 : 0;
	if (l->n_over >= LIMITER_OVER)
		changed = limiter_slow_down(l, share / max_share, can_slow);
	else if (l->n_under >= LIMITER_UNDER)
		changed = limiter_recover(l, LIMITER_ROOM * max_share / share);
	if (changed)
		l->n_over = l->n_under = 0;
	return changed;
}
