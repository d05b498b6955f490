/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_MAPPING_ROOM_H
#define PROFD_RESOLVE_MAPPING_ROOM_H

/*
 * The room that all processes' mappings have together, and whose they are: a user has half of it at
 * most, all users three quarters, so that who maps much leaves enough for root's services. It is
 * counted anew once in a while, in bytes, and what comes in between is added.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mapping_user;

struct mapping_room {
	size_t max_bytes, bytes, users_bytes;
	size_t ended_bytes; /* of processes that have ended: kept by windows that count them */
	uid_t self;         /* a user who has as much as root; (uid_t)-1: nobody */
	struct mapping_user *users;
};

/* Nothing is counted; may be called again. */
void mapping_room_reset(struct mapping_room *room);
/* Of a user that there is no memory for, only the sum is counted. */
void mapping_room_add(struct mapping_room *room, uid_t uid, size_t bytes, bool has_ended);
/* Whether @uid has had what he may have. */
bool mapping_room_is_full(const struct mapping_room *room, uid_t uid);
/* Whether he, and all together, have not had half of that. */
bool mapping_room_has_plenty(const struct mapping_room *room, uid_t uid);
/* Whether half of it is of processes that have ended. */
bool mapping_room_wants_end(const struct mapping_room *room);

#endif
