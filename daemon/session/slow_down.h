/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SLOW_DOWN_H
#define PROFD_DAEMON_SESSION_SLOW_DOWN_H

/*
 * Which user's sessions are sampled how much slower, where users' samples together are to be
 * halved so many times: first those of who has most. All have as many as there are for each
 * (max-min fairness): who has fewer keeps his rates. Pure.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SLOW_DOWN_USERS_MAX 64u
#define SLOW_DOWN_MAX       14u /* halvings: of 100000 Hz to the floor */

struct slow_down_user {
	uid_t uid;
	uint64_t counted; /* since the last measurement, at the rates in force */
	double wanted;    /* what would have been measured then at the rates that were asked for */
	unsigned halvings;
};

/* All zero: nobody is slowed. Who has no session any more is remembered as long as others are. */
struct slow_down {
	struct slow_down_user users[SLOW_DOWN_USERS_MAX];
	size_t n;
};

/* @samples more of @uid; where there are too many users, those who are not slowed are forgotten. */
void slow_down_count(struct slow_down *s, uid_t uid, uint64_t samples);
/* What was counted is the measurement. */
void slow_down_measure(struct slow_down *s);
/* What was measured is to be halved @halvings times; 0: nobody is slowed. */
void slow_down_share(struct slow_down *s, unsigned halvings);
/* How often the rates of @uid are halved. */
unsigned slow_down_of(const struct slow_down *s, uid_t uid);
/* Who is slowed most; NULL: nobody is. */
const struct slow_down_user *slow_down_most(const struct slow_down *s);

#endif
