/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_FAIR_SHARE_H
#define PROFD_COMMON_FAIR_SHARE_H

/*
 * Places of a bounded number that a user's processes can keep for as long as he likes: who may have
 * one more, so that nobody is left without because of others.
 *
 * A user may have half of what stays free to his kind: there is some for the next one, who has
 * none. Of all places ordinary users can reach half, system services three quarters, and root and
 * our own user all. A person with many uids has as many shares: those of ordinary users, that is.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* Of places that one's kind may have, of which it and lesser ones have @n, and one's own uid. */
static inline bool fair_share_leaves_one(unsigned max, unsigned n, unsigned n_own)
{
	return n < max && n_own < (max - n + 1) / 2;
}

/* What a user can reach of all places, in quarters. */
enum fair_kind { FAIR_KIND_USER = 2, FAIR_KIND_SERVICE = 3, FAIR_KIND_ROOT = 4 };

/* Services: below SYS_UID_MAX of login.defs(5), or of systemd.exec(5), DynamicUser=. */
static inline enum fair_kind fair_kind_of(uid_t uid)
{
	if (uid == 0 || uid == geteuid())
		return FAIR_KIND_ROOT;
	return uid < 1000 || (uid >= 61184 && uid <= 65519) ? FAIR_KIND_SERVICE : FAIR_KIND_USER;
}

/* For one user's question; the places that are taken are counted. */
struct fair_share {
	uid_t uid;
	enum fair_kind kind;
	unsigned all, n_all; /* places, and those that are taken */
	unsigned n, n_own;   /* of these by that kind and lesser ones, and by @uid */
};

static inline struct fair_share fair_share_for(uid_t uid, unsigned all)
{
	return (struct fair_share){.uid = uid, .kind = fair_kind_of(uid), .all = all};
}

/* One is taken by @uid. */
static inline void fair_share_count(struct fair_share *s, uid_t uid)
{
	s->n_all++;
	s->n += fair_kind_of(uid) <= s->kind;
	s->n_own += uid == s->uid;
}

static inline bool fair_share_has_room(const struct fair_share *s)
{
	return s->n_all < s->all && fair_share_leaves_one(s->all / 4 * s->kind, s->n, s->n_own);
}

/* What gives way where a new one takes the place of an old one. */
struct fair_holder {
	uid_t uid;
	uint64_t used; /* the smaller, the longer ago */
};

/*
 * The one of @all (@n of them, at least one) to give way: the oldest of the ordinary user who has
 * the most, where such users have more than half; else the oldest of all.
 */
size_t fair_share_find_oldest(const struct fair_holder *all, size_t n);

#endif
