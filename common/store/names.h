/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_STORE_NAMES_H
#define PROFD_COMMON_STORE_NAMES_H

/*
 * The names of files and directories in the store: made and parsed here and nowhere else. Pure.
 *
 * A name that does not come out of these functions again exactly as it went in is not ours; the
 * store leaves such files alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/store/contents.h"

#define NAMES_ESCAPED_MAX 200 /* bytes of an escaped service name */
#define NAMES_IMAGE_MAX   150 /* leaves room for build id and event within NAME_MAX */
#define NAMES_START_SIZE  17  /* "20261121T090000Z" */
#define NAMES_DAY_SIZE    9   /* "20261121" */
#define NAMES_EPOCH_SIZE  11  /* "2611210900" */
#define NAMES_TEMPORARY   ".tmp-"

/* What roll-ups make files of, seconds (daemon/output/rollup.h). */
#define NAMES_ROLLED_HOUR_S 3600u
#define NAMES_ROLLED_DAY_S  86400u

/* One window's file: "<start>-<seconds>s.<tail>"; both ends in int64_t nanoseconds, till 2262. */
struct names_window {
	uint64_t start_s; /* Unix time */
	uint32_t seconds;
	enum contents_format format;
	const char *tail; /* "pb.gz", "pb.gz.1", "sh-12.prof" ... ; within the parsed name */
};

/*
 * [A-Za-z0-9@._-] stay, anything else and a leading '-' or '.' becomes %XX. Longer than @max bytes
 * (>= 40): cut and ended by '-' and 16 hex digits of a hash of the whole. @ret has @max + 1 bytes.
 */
void names_escape(const char *text, size_t max, char *ret);
/* The reverse; false when @name is no escaped text or does not fit into @size bytes. */
bool names_unescape(const char *name, char *ret, size_t size);
/*
 * Whether @asked leaves out ".service", as one may with systemctl: units have a suffix, and of what
 * profd names itself only kernel, other, transient, user-UID and containers have none. A name as
 * long as the longest directory's may be one, whose end was cut.
 */
bool names_lacks_suffix(const char *asked);
/*
 * Whether @asked means @service: its name, perhaps without ".service", or what its directory's name
 * says, which is less where that was cut. Cheap unless the name is long.
 */
bool names_match_service(const char *asked, const char *service);
/* Whether the service of this name is a user's own, who is not root: "user-UID", or his manager's.
 */
bool names_parse_user_service(const char *service, uint32_t *ret_uid);

/*
 * Several services: names as they are asked for, and patterns of them with * and ?, separated by
 * commas, none of which is in a unit's name (systemd.unit(5)). The first returns whether @asked is
 * more than one name, the second whether @service is one of them. No more work than the product of
 * the lengths.
 */
bool names_is_pattern(const char *asked);
bool names_select_service(const char *asked, const char *service);

void names_start(uint64_t start_s, char ret[NAMES_START_SIZE]);
void names_day(uint64_t start_s, char ret[NAMES_DAY_SIZE]);
bool names_parse_day(const char *name);
/* The file's name without directory; false if it does not fit. */
bool names_window(const struct names_window *window, char *ret, size_t size);
bool names_parse_window(const char *name, struct names_window *ret);
/* Whether a file holds an hour or a day: rolled up, or a window of that length. */
static inline bool names_is_rolled_up(uint64_t start_s, uint32_t seconds)
{
	return (seconds == NAMES_ROLLED_HOUR_S || seconds == NAMES_ROLLED_DAY_S) &&
	       start_s % seconds == 0;
}
/* From its start on, what it holds begins within these seconds, and may end an hour later. */
static inline uint64_t names_rolled_up_span(uint32_t seconds)
{
	return (uint64_t)seconds + NAMES_ROLLED_HOUR_S;
}

void names_epoch(uint64_t begin_s, char ret[NAMES_EPOCH_SIZE]);
bool names_parse_epoch(const char *name, uint64_t *ret_begin_s);

#endif
