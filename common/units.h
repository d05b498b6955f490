/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_UNITS_H
#define PROFD_COMMON_UNITS_H

/*
 * The units of the configuration and the command line: durations `500ms 10s 5m 2h30m 7d 1w`, sizes
 * `64K 512M 2G` (powers of 1024), shares `1%`, moments `-10m 14:03 now today "yesterday 14:03"` and
 * RFC 3339. Parsers take the whole text, without blanks, and write the result only on success.
 * Pure, but that local time is the time zone's ($TZ, tzset(3)).
 *
 * Printers fill @buffer, always NUL-terminated, and return it; UNITS_TEXT_MAX bytes suffice.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT_MAX 48

/* How the noun ends that @n of something are counted in. */
#define UNITS_PLURAL(n) ((n) == 1 ? "" : "s")

enum {
	UNITS_E_OK,
	UNITS_E_INVALID, /* not of the form */
	UNITS_E_RANGE,   /* of the form, but too large, or no such day */
};

/* A number in decimal digits, nothing else. */
int units_parse_number(const char *text, uint64_t *ret);
/* Numbers with their units (w d h m s ms), the larger ones first; only 0 may lack its unit. */
int units_parse_duration(const char *text, uint64_t *ret_ns);
/* The same, or seconds without a unit, `10` or `0.5`, as perf(1), top(1) and sleep(1) have them. */
int units_parse_seconds(const char *text, uint64_t *ret_ns);
/* A number, in bytes or with K, M, G, T. */
int units_parse_size(const char *text, uint64_t *ret_bytes);
/* `1%`, `2.5%`: a share, 0 .. 1. The % is required. */
int units_parse_share(const char *text, double *ret);
/*
 * Nanoseconds of Unix time. @now_ns is the present. `-DURATION` is that long ago; `HH:MM[:SS]` is
 * today, 24:00 its end; `now` is the present; `today` and `yesterday` are their midnights, or with
 * `HH:MM[:SS]` behind a blank that time of theirs; RFC 3339 dates may lack the time, the seconds or
 * the zone (then local). A trailing `Z` makes any clock time or date UTC.
 */
int units_parse_moment(const char *text, uint64_t now_ns, uint64_t *ret_ns);
/*
 * Whether two words of a command line are the @day and the @clock of one moment, which is of less
 * than UNITS_TEXT_MAX bytes.
 */
bool units_moment_continues(const char *day, const char *clock);

/* What the parsers read back to the same value; durations are cut to milliseconds. */
const char *units_print_duration(char *buffer, size_t size, uint64_t ns);
const char *units_print_size(char *buffer, size_t size, uint64_t bytes);
const char *units_print_share(char *buffer, size_t size, double share);
/* RFC 3339 with seconds: UTC with `Z`, or local time with its offset. */
const char *units_print_moment(char *buffer, size_t size, uint64_t ns, bool utc);

/* For people: `1.4 GiB`, `3 d 4 h`, `12.3 s`. Two or three figures, not read back. */
const char *units_print_size_short(char *buffer, size_t size, uint64_t bytes);
const char *units_print_span(char *buffer, size_t size, double seconds);

#endif
