/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/mapping_room.h"

#include <stdlib.h>
#include <uthash.h>

struct mapping_user {
	uid_t uid;
	size_t bytes;
	UT_hash_handle hh;
};

void mapping_room_reset(struct mapping_room *room)
{
	struct mapping_user *user, *next;

	HASH_ITER (hh, room->users, user, next) {
		HASH_DEL(room->users, user);
		free(user);
	}
	room->bytes = room->users_bytes = room->ended_bytes = 0;
}

static struct mapping_user *mapping_room_user(const struct mapping_room *room, uid_t uid)
{
	struct mapping_user *user;

	HASH_FIND(hh, room->users, &uid, sizeof(uid), user);
	return user;
}

static bool has_all(const struct mapping_room *room, uid_t uid)
{
	return uid == 0 || uid == room->self;
}

void mapping_room_add(struct mapping_room *room, uid_t uid, size_t bytes, bool has_ended)
{
	struct mapping_user *user;

	room->bytes += bytes;
	room->ended_bytes += has_ended ? bytes : 0;
	if (has_all(room, uid))
		return;
	room->users_bytes += bytes;
	user = mapping_room_user(room, uid);
	if (!user) {
		user = calloc(1, sizeof(*user));
		if (!user)
			return;
		user->uid = uid;
		HASH_ADD(hh, room->users, uid, sizeof(uid), user);
	}
	user->bytes += bytes;
}

/* Whether that much of it, of 8, has been had by all, by all users or by @uid. */
static bool mapping_room_had(const struct mapping_room *room, uid_t uid, unsigned eighths)
{
	size_t max = room->max_bytes / 8 * eighths;
	const struct mapping_user *user;

	if (room->bytes > max)
		return true;
	if (has_all(room, uid))
		return false;
	user = mapping_room_user(room, uid);
	return room->users_bytes > max / 4 * 3 || (user && user->bytes > max / 2);
}

bool mapping_room_is_full(const struct mapping_room *room, uid_t uid)
{
	return mapping_room_had(room, uid, 8);
}

bool mapping_room_has_plenty(const struct mapping_room *room, uid_t uid)
{
	return !mapping_room_had(room, uid, 4);
}

bool mapping_room_wants_end(const struct mapping_room *room)
{
	return room->ended_bytes > room->max_bytes / 2;
}
