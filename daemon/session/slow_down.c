/* SPDX-License-Identifier: MIT */
#include "daemon/session/slow_down.h"

#include <math.h>
#include <stdlib.h>

#include "common/order.h"

static struct slow_down_user *slow_down_find(struct slow_down *s, uid_t uid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->users[i].uid == uid)
			return &s->users[i];
	return NULL;
}

/* The first of those who are not slowed gives way. */
static struct slow_down_user *slow_down_take_place(struct slow_down *s)
{
	if (s->n < SLOW_DOWN_USERS_MAX)
		return &s->users[s->n++];
	for (size_t i = 0; i < s->n; i++)
		if (!s->users[i].halvings)
			return &s->users[i];
	return NULL;
}

void slow_down_count(struct slow_down *s, uid_t uid, uint64_t samples)
{
	struct slow_down_user *user = slow_down_find(s, uid);

	if (!user) {
		user = slow_down_take_place(s);
		if (!user)
			return;
		*user = (struct slow_down_user){.uid = uid};
	}
	user->counted += samples;
}

void slow_down_measure(struct slow_down *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct slow_down_user *user = &s->users[i];

		user->wanted = ldexp((double)user->counted, (int)user->halvings);
		user->counted = 0;
	}
}

static int compare_wanted(const void *a, const void *b)
{
	return order_of(*(const double *)a, *(const double *)b);
}

/* As many as each may have, so that all have @sum at most. */
static double slow_down_level(double *wanted, size_t n, double sum)
{
	qsort(wanted, n, sizeof(*wanted), compare_wanted);
	for (size_t i = 0; i < n; i++) {
		double each = sum / (double)(n - i);

		if (wanted[i] > each)
			return each;
		sum -= wanted[i];
	}
	return HUGE_VAL;
}

void slow_down_share(struct slow_down *s, unsigned halvings)
{
	double wanted[SLOW_DOWN_USERS_MAX], sum = 0, level;

	if (!halvings) {
		*s = (struct slow_down){0};
		return;
	}
	for (size_t i = 0; i < s->n; i++)
		sum += wanted[i] = s->users[i].wanted;
	level = slow_down_level(wanted, s->n, ldexp(sum, -(int)halvings));
	for (size_t i = 0; i < s->n; i++) {
		struct slow_down_user *user = &s->users[i];

		/* Nothing is known of who has had no sample. */
		if (user->wanted > 0)
			user->halvings = 0;
		else if (!(sum > 0))
			user->halvings = halvings < SLOW_DOWN_MAX ? halvings : SLOW_DOWN_MAX;
		/* Steps are halves: an eighth more is near enough. */
		for (double has = user->wanted * 7 / 8; has > level; has /= 2)
			user->halvings += user->halvings < SLOW_DOWN_MAX;
	}
}

unsigned slow_down_of(const struct slow_down *s, uid_t uid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->users[i].uid == uid)
			return s->users[i].halvings;
	return 0;
}

const struct slow_down_user *slow_down_most(const struct slow_down *s)
{
	const struct slow_down_user *most = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (s->users[i].halvings > (most ? most->halvings : 0))
			most = &s->users[i];
	return most;
}
