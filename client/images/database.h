/* SPDX-License-Identifier: MIT */
#ifndef PROFD_IMAGES_DATABASE_H
#define PROFD_IMAGES_DATABASE_H

/*
 * A directory of image profiles: EPOCH/PLATFORM/FILE, as profd's store has it (images/) and the
 * tools of DCPI before it. An epoch is named YYMMDDHHMM, or with seconds, or with the century, in
 * UTC.
 */
#include <stdbool.h>
#include <stdint.h>

#include "client/images/image_set.h"
#include "client/symbolize/notes.h"
#include "common/cleanup.h"
#include "common/profile/image_profile.h"

#define DATABASE_ALL "all" /* epochs */

struct database;

enum {
	DATABASE_E_OK,
	DATABASE_E_FAILED, /* the message says why */
	DATABASE_E_GONE,   /* there is no such epoch (any more), as the message says */
	DATABASE_E_DENIED, /* it may not be read, as the message says */
};

/* Pure. */
bool database_is_epoch_name(const char *name);
/* Reads the names of its epochs. Returns DATABASE_E_* or negative errno. */
int database_open(struct database **ret, const char *path, struct profile_message *message);
void database_free(struct database *db);
DEFINE_CLEANUP(struct database *, database_free)

/*
 * The newest one. Those that begin more than a day after @now_s (Unix time) are a wrong clock's,
 * and count only if there are no others. NULL: there are none at all.
 */
const char *database_newest(const struct database *db, uint64_t now_s);

/*
 * Gathers all profiles of @epoch, or of DATABASE_ALL, the oldest first, one after the other, in the
 * order of their names. What is none is noted and left out. Returns DATABASE_E_* or negative errno.
 */
int database_read(const struct database *db, const char *epoch, struct image_set *set,
		  struct notes *notes, struct profile_message *message);

/* One profile: of the file @path, "-" is standard input. DATABASE_E_* or negative errno. */
int database_read_file(const char *path, struct image_profile **ret,
		       struct profile_message *message);

#endif
