/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/user_room.h"

#include <stdlib.h>
#include <uthash.h>

struct room_user {
	uid_t uid;
	size_t bytes;
	UT_hash_handle hh;
};

void user_room_reset(struct user_room *room)
{
	struct room_user *user, *next;

	HASH_ITER (hh, room->users, user, next) {
		HASH_DEL(room->users, user);
		free(user);
	}
	room->bytes = room->users_bytes = room->ended_bytes = 0;
}

static struct room_user *user_room_user(const struct user_room *room, uid_t uid)
{
	struct room_user *user;

	HASH_FIND(hh, room->users, &uid, sizeof(uid), user);
	return user;
}

static bool has_all(const struct user_room *room, uid_t uid)
{
	return uid == 0 || uid == room->self;
}

void user_room_add(struct user_room *room, uid_t uid, size_t bytes, bool has_ended)
{
	struct room_user *user;

	room->bytes += bytes;
	room->ended_bytes += has_ended ? bytes : 0;
	if (has_all(room, uid))
		return;
	room->users_bytes += bytes;
	user = user_room_user(room, uid);
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
static bool user_room_had(const struct user_room *room, uid_t uid, unsigned eighths)
{
	const size_t max = room->max_bytes / 8 * eighths, users_max = max / 4 * 3;
	const struct room_user *user;

	if (room->bytes > max)
		return true;
	if (has_all(room, uid))
		return false;
	if (room->users_bytes > users_max)
		return true;
	user = user_room_user(room, uid);
	return user && user->bytes > 2 * (users_max - room->users_bytes);
}

bool user_room_is_full(const struct user_room *room, uid_t uid)
{
	return user_room_had(room, uid, 8);
}

bool user_room_has_plenty(const struct user_room *room, uid_t uid)
{
	return !user_room_had(room, uid, 4);
}

bool user_room_wants_end(const struct user_room *room)
{
	return room->ended_bytes > room->max_bytes / 2;
}
