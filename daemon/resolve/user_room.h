/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_USER_ROOM_H
#define PROFD_RESOLVE_USER_ROOM_H

/*
 * Room that users share, and who has how much of it: that of all processes' mappings, or of a
 * window. A user has half of it at most, and all users three quarters, so that who takes much
 * leaves enough for root's services. Of these three quarters a user may have twice what all users
 * have left of them: one alone half of the room, two together three fifths, and somebody who comes
 * later finds some.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct room_user;

struct user_room {
	size_t max_bytes, bytes, users_bytes;
	size_t ended_bytes; /* kept by windows though it is of processes that have ended */
	uid_t self;         /* a user who has as much as root; (uid_t)-1: nobody */
	struct room_user *users;
};

/* Nothing is counted; may be called again. */
void user_room_reset(struct user_room *room);
/* Of a user that there is no memory for, only the sum is counted. */
void user_room_add(struct user_room *room, uid_t uid, size_t bytes, bool has_ended);
/* Whether @uid has had what he may have. What is added then counts all the same. */
bool user_room_is_full(const struct user_room *room, uid_t uid);
/* Whether he, and all together, have not had half of that. */
bool user_room_has_plenty(const struct user_room *room, uid_t uid);
/* Whether half of it is of processes that have ended. */
bool user_room_wants_end(const struct user_room *room);

#endif
