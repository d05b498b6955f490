/* SPDX-License-Identifier: MIT */
/*
 * Names are parsed generously, and made again of what came out: only what is the same then is ours.
 * Services' names are escaped, so that none is a path or a name of the store's own.
 */
#include "common/store/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/fnv.h"

#define HASH_DIGITS 17                       /* '-' and 16 hex digits */
#define TIME_END_S  (INT64_MAX / 1000000000) /* of what nanoseconds in 64 bits can express */

static const char hex[] = "0123456789ABCDEF";

static bool names_is_plain_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '@' || c == '.' || c == '_' || c == '-';
}

/* Writes the escaped character at *end; false if it would pass @max. */
static bool escape_one(const char *text, size_t i, size_t max, char *ret, size_t *end)
{
	char c = text[i];

	if (names_is_plain_char(c) && (i || (c != '-' && c != '.'))) {
		if (*end + 1 > max)
			return false;
		ret[(*end)++] = c;
		return true;
	}
	if (*end + 3 > max)
		return false;
	ret[(*end)++] = '%';
	ret[(*end)++] = hex[(uint8_t)c >> 4];
	ret[(*end)++] = hex[(uint8_t)c & 15];
	return true;
}

void names_escape(const char *text, size_t max, char *ret)
{
	size_t length = strlen(text), end = 0, i = 0;

	while (i < length && escape_one(text, i, max, ret, &end))
		i++;
	if (i < length) {
		uint64_t hash = fnv_hash(text, length, FNV_INIT);

		for (end = 0, i = 0; escape_one(text, i, max - HASH_DIGITS, ret, &end);)
			i++;
		snprintf(ret + end, HASH_DIGITS + 1, "-%016" PRIx64, hash);
		return;
	}
	ret[end] = '\0';
}

static int hex_value(char c)
{
	const char *at = c ? strchr(hex, c) : NULL;

	return at ? (int)(at - hex) : -1;
}

bool names_unescape(const char *name, char *ret, size_t size)
{
	size_t end = 0;

	for (size_t i = 0; name[i]; i++) {
		char c = name[i];

		if (end + 1 >= size)
			return false;
		if (c == '%') {
			int high = hex_value(name[i + 1]);
			int low = high < 0 ? -1 : hex_value(name[i + 2]);

			if (low < 0 || (high == 0 && low == 0))
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (!names_is_plain_char(c) || (i == 0 && (c == '-' || c == '.'))) {
			return false;
		}
		ret[end++] = c;
	}
	if (end == 0)
		return false;
	ret[end] = '\0';
	return true;
}

/* Broken-down UTC; years that do not have four digits are clamped. */
static struct tm names_utc_time(uint64_t seconds)
{
	const uint64_t last = UINT64_C(253402300799); /* 9999-12-31T23:59:59Z */
	time_t t = (time_t)(seconds > last ? last : seconds);
	struct tm tm;

	gmtime_r(&t, &tm);
	return tm;
}

bool names_parse_user_service(const char *service, uint32_t *ret_uid)
{
	const char *digits = service + strlen("user-");
	unsigned long uid;
	char *end;

	/* As profd writes them: no sign, no space, no zero in front. */
	if ((strncmp(service, "user-", 5) != 0 && strncmp(service, "user@", 5) != 0) ||
	    *digits < '1' || *digits > '9')
		return false;
	uid = strtoul(digits, &end, 10);
	if (uid > UINT32_MAX || strcmp(end, service[4] == '@' ? ".service" : "") != 0)
		return false;
	*ret_uid = (uint32_t)uid;
	return true;
}

bool names_lacks_suffix(const char *asked)
{
	static const char *const own[] = {"", "kernel", "other", "transient"};
	const char *uid = strncmp(asked, "user-", 5) == 0 ? asked + 5 : "";

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (strcmp(asked, own[i]) == 0)
			return false;
	if (*uid && strspn(uid, "0123456789") == strlen(uid))
		return false;
	return !strchr(asked, '.') && strlen(asked) < NAMES_ESCAPED_MAX;
}

bool names_match_service(const char *asked, const char *service)
{
	char escaped[NAMES_ESCAPED_MAX + 1], dir[NAMES_ESCAPED_MAX + 1];
	const size_t length = strlen(asked);

	if (strcmp(asked, service) == 0)
		return true;
	if (strncmp(asked, service, length) == 0 && strcmp(service + length, ".service") == 0 &&
	    names_lacks_suffix(asked))
		return true;
	if (strlen(service) <= NAMES_ESCAPED_MAX / 3)
		return false;
	names_escape(asked, NAMES_ESCAPED_MAX, escaped);
	names_escape(service, NAMES_ESCAPED_MAX, dir);
	return strcmp(escaped, dir) == 0;
}

bool names_is_pattern(const char *asked)
{
	return asked[strcspn(asked, ",*?")] != '\0';
}

/* Whether the @n bytes of @pattern are all of @text, whose last bytes may be @may_lack. */
static bool names_glob(const char *pattern, size_t n, const char *text, const char *may_lack)
{
	size_t at = 0, star = n, text_n = strlen(text), i = 0, resume = 0;

	while (i < text_n) {
		if (at == n && strcmp(text + i, may_lack) == 0)
			return true;
		if (at < n && pattern[at] == '*') {
			star = at++;
			resume = i;
		} else if (at < n && (pattern[at] == '?' || pattern[at] == text[i])) {
			at++;
			i++;
		} else if (star < n) {
			/* The last star takes a byte more. */
			at = star + 1;
			i = ++resume;
		} else {
			return false;
		}
	}
	while (at < n && pattern[at] == '*')
		at++;
	return at == n;
}

bool names_select_service(const char *asked, const char *service)
{
	char part[NAMES_ESCAPED_MAX + 1];
	size_t n;

	if (names_match_service(asked, service))
		return true;
	for (; *asked; asked += n + (asked[n] == ',')) {
		n = strcspn(asked, ",");
		if (n >= sizeof(part))
			continue;
		memcpy(part, asked, n);
		part[n] = '\0';
		if (names_match_service(part, service) ||
		    names_glob(part, n, service, names_lacks_suffix(part) ? ".service" : ""))
			return true;
	}
	return false;
}

void names_start(uint64_t start_s, char ret[NAMES_START_SIZE])
{
	struct tm tm = names_utc_time(start_s);

	strftime(ret, NAMES_START_SIZE, "%Y%m%dT%H%M%SZ", &tm);
}

void names_day(uint64_t start_s, char ret[NAMES_DAY_SIZE])
{
	struct tm tm = names_utc_time(start_s);

	strftime(ret, NAMES_DAY_SIZE, "%Y%m%d", &tm);
}

bool names_parse_day(const char *name)
{
	return strlen(name) == NAMES_DAY_SIZE - 1 && strspn(name, "0123456789") == strlen(name) &&
	       strspn(name, "0") < strlen(name);
}

bool names_window(const struct names_window *window, char *ret, size_t size)
{
	char start[NAMES_START_SIZE];
	int n;

	names_start(window->start_s, start);
	n = snprintf(ret, size, "%s-%" PRIu32 "s.%s", start, window->seconds, window->tail);
	return n > 0 && (size_t)n < size;
}

/* The length of @tail without a suffix ".<number>" that makes names unique; 0: not ours. */
static size_t tail_length(const char *tail)
{
	size_t length = strlen(tail), i = length;

	while (i && tail[i - 1] >= '0' && tail[i - 1] <= '9')
		i--;
	if (i < length && i && tail[i - 1] == '.' && tail[i] != '0')
		return i - 1;
	return length;
}

#define CONTENTS_ROW(format, name, suffix, has_stem) \
	{                                            \
		name, suffix, has_stem               \
	}

const struct contents_format_row contents_formats[N_CONTENTS_FORMATS] = {
	CONTENTS_WINDOWS(CONTENTS_ROW),
	[CONTENTS_IMAGES] = {.name = "images"},
};

unsigned contents_find(const char *name, size_t length)
{
	unsigned i = 0;

	while (i < N_CONTENTS_FORMATS && (strlen(contents_formats[i].name) != length ||
					  strncmp(contents_formats[i].name, name, length) != 0))
		i++;
	return i;
}

static bool tail_format(const char *tail, enum contents_format *ret)
{
	size_t length = tail_length(tail);

	for (unsigned i = 0; i < N_CONTENTS_WINDOWS; i++) {
		const struct contents_format_row *row = &contents_formats[i];
		size_t n = strlen(row->suffix);

		if (row->has_stem ? length <= n + 1 || tail[length - n - 1] != '.' : length != n)
			continue;
		if (memcmp(tail + length - n, row->suffix, n) != 0)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

bool names_parse_window(const char *name, struct names_window *ret)
{
	struct names_window window;
	char again[300];
	const char *p;
	uint64_t seconds = 0;
	struct tm tm = {0};

	if (strnlen(name, 256) > 255 || !(p = strptime(name, "%Y%m%dT%H%M%SZ-", &tm)) ||
	    tm.tm_year < 70)
		return false;
	window.start_s = (uint64_t)timegm(&tm);
	if (*p < '1' || *p > '9')
		return false;
	while (*p >= '0' && *p <= '9' && seconds <= UINT32_MAX)
		seconds = seconds * 10 + (uint64_t)(*p++ - '0');
	if (seconds > UINT32_MAX || *p++ != 's' || *p++ != '.')
		return false;
	if (window.start_s + seconds > TIME_END_S)
		return false;

	window.seconds = (uint32_t)seconds;
	window.tail = p;
	if (!tail_format(p, &window.format))
		return false;
	if (!names_window(&window, again, sizeof(again)) || strcmp(again, name) != 0)
		return false;
	*ret = window;
	return true;
}

void names_epoch(uint64_t begin_s, char ret[NAMES_EPOCH_SIZE])
{
	struct tm tm = names_utc_time(begin_s);
	char text[NAMES_EPOCH_SIZE + 2];

	strftime(text, sizeof(text), "%Y%m%d%H%M", &tm);
	memcpy(ret, text + 2, NAMES_EPOCH_SIZE); /* the format has no century */
}

bool names_parse_epoch(const char *name, uint64_t *ret_begin_s)
{
	char again[NAMES_EPOCH_SIZE];
	struct tm tm = {0};
	uint64_t begin_s;
	const char *end = strptime(name, "%y%m%d%H%M", &tm);

	if (!end || *end)
		return false;
	if (tm.tm_year < 100)
		tm.tm_year += 100; /* the format has no century */
	begin_s = (uint64_t)timegm(&tm);
	names_epoch(begin_s, again);
	if (strcmp(again, name) != 0)
		return false;
	*ret_begin_s = begin_s;
	return true;
}
