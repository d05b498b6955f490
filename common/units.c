/* SPDX-License-Identifier: MIT */
/*
 * Parsers consume a text from its front, each part by one function that moves the pointer behind
 * what it has read; what is left over at the end is an error. Durations and sizes are numbers and
 * units of a table, which their printers use as well. Broken-down times are the C library's.
 */
#include "common/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"

struct unit_row {
	const char *name;
	uint64_t factor;
};

/* Largest first: the printers take the first that divides; weeks are not printed. */
static const struct unit_row durations[] = {
	{"w", 7 * 86400 * NS_PER_S}, {"d", 86400 * NS_PER_S}, {"h", 3600 * NS_PER_S},
	{"m", 60 * NS_PER_S},        {"s", NS_PER_S},         {"ms", NS_PER_MS},
};

static const struct unit_row sizes[] = {
	{"T", UINT64_C(1) << 40},
	{"G", UINT64_C(1) << 30},
	{"M", UINT64_C(1) << 20},
	{"K", UINT64_C(1) << 10},
	{"", 1},
};

static bool units_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads digits at *@text and moves past them. */
static int units_consume_number(const char **text, uint64_t *ret)
{
	const char *c = *text;
	uint64_t value = 0;

	if (!units_is_digit(*c))
		return UNITS_E_INVALID;
	for (; units_is_digit(*c); c++) {
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
			return UNITS_E_RANGE;
	}
	*text = c;
	*ret = value;
	return UNITS_E_OK;
}

int units_parse_number(const char *text, uint64_t *ret)
{
	uint64_t value;
	int r = units_consume_number(&text, &value);

	if (r)
		return r;
	if (*text)
		return UNITS_E_INVALID;
	*ret = value;
	return UNITS_E_OK;
}

/*
 * A number and its unit, of those from *at on; moves *at past the unit, so that the next one is
 * smaller. The first number of all may be a 0 without.
 */
static int units_consume_with_unit(const char **text, const struct unit_row *units, size_t n_units,
				   size_t *at, uint64_t *ret)
{
	uint64_t value;
	int r = units_consume_number(text, &value);
	size_t length = strcspn(*text, "0123456789");

	if (r)
		return r;
	if (value == 0 && !**text && !*at) {
		*ret = 0;
		return UNITS_E_OK;
	}
	while (*at < n_units &&
	       (strlen(units[*at].name) != length || strncmp(*text, units[*at].name, length) != 0))
		++*at;
	if (*at == n_units)
		return UNITS_E_INVALID;
	*text += length;
	return __builtin_mul_overflow(value, units[(*at)++].factor, ret) ? UNITS_E_RANGE
									 : UNITS_E_OK;
}

int units_parse_duration(const char *text, uint64_t *ret_ns)
{
	uint64_t part, total = 0;
	size_t at = 0;

	do {
		int r = units_consume_with_unit(&text, durations, ARRAY_SIZE(durations), &at,
						&part);

		if (r)
			return r;
		if (__builtin_add_overflow(total, part, &total))
			return UNITS_E_RANGE;
	} while (*text);
	*ret_ns = total;
	return UNITS_E_OK;
}

int units_parse_seconds(const char *text, uint64_t *ret_ns)
{
	uint64_t seconds, fraction = 0, digit_ns = NS_PER_S;
	const char *c = text;
	int r = units_consume_number(&c, &seconds);

	if (!r && *c == '.')
		for (c++; units_is_digit(*c); c++) {
			digit_ns /= 10;
			fraction += (uint64_t)(*c - '0') * digit_ns;
		}
	if (r || *c)
		return units_parse_duration(text, ret_ns);
	if (__builtin_mul_overflow(seconds, NS_PER_S, &seconds) ||
	    __builtin_add_overflow(seconds, fraction, &seconds))
		return UNITS_E_RANGE;
	*ret_ns = seconds;
	return UNITS_E_OK;
}

int units_parse_size(const char *text, uint64_t *ret_bytes)
{
	uint64_t bytes;
	size_t at = 0;
	int r = units_consume_with_unit(&text, sizes, ARRAY_SIZE(sizes), &at, &bytes);

	if (r)
		return r;
	if (*text)
		return UNITS_E_INVALID;
	*ret_bytes = bytes;
	return UNITS_E_OK;
}

int units_parse_share(const char *text, double *ret)
{
	uint64_t whole, fraction = 0;
	double divisor = 1;
	int r = units_consume_number(&text, &whole);

	if (r)
		return r;
	if (*text == '.') {
		const char *start = ++text;

		r = units_consume_number(&text, &fraction);
		if (r)
			return r;
		for (const char *c = start; c < text; c++)
			divisor *= 10;
	}
	if (strcmp(text, "%") != 0)
		return UNITS_E_INVALID;
	if (whole > 100 || (whole == 100 && fraction))
		return UNITS_E_RANGE;
	*ret = ((double)whole + (double)fraction / divisor) / 100;
	return UNITS_E_OK;
}

/* Exactly @n digits, at most @max. */
static bool units_consume_digits(const char **text, int n, int max, int *ret)
{
	const char *c = *text;
	int value = 0;

	for (int i = 0; i < n; i++, c++) {
		if (!units_is_digit(*c))
			return false;
		value = value * 10 + (*c - '0');
	}
	if (value > max)
		return false;
	*text = c;
	*ret = value;
	return true;
}

static bool units_consume_char(const char **text, const char *of)
{
	if (!**text || !strchr(of, **text))
		return false;
	++*text;
	return true;
}

/* HH:MM[:SS[.digits]]; leap seconds are taken, and 24:00, the end of a day. */
static bool units_consume_clock(const char **text, struct tm *tm, uint64_t *ret_fraction_ns)
{
	uint64_t digit_ns = NS_PER_S;

	if (!units_consume_digits(text, 2, 24, &tm->tm_hour) || !units_consume_char(text, ":") ||
	    !units_consume_digits(text, 2, tm->tm_hour == 24 ? 0 : 59, &tm->tm_min))
		return false;
	tm->tm_sec = 0;
	if (!units_consume_char(text, ":"))
		return true;
	if (!units_consume_digits(text, 2, tm->tm_hour == 24 ? 0 : 60, &tm->tm_sec))
		return false;
	if (tm->tm_hour == 24 || !units_consume_char(text, "."))
		return true;
	if (!units_is_digit(**text))
		return false;
	for (; units_is_digit(**text); ++*text) {
		digit_ns /= 10;
		*ret_fraction_ns += digit_ns * (uint64_t)(**text - '0');
	}
	return true;
}

/* Z, +HH:MM, -HH:MM or nothing: local time. */
static bool units_consume_zone(const char **text, bool *ret_local, long *ret_offset_s)
{
	struct tm tm = {0};

	*ret_local = !**text;
	if (**text == '+' || **text == '-')
		*text = strptime(*text, "%z", &tm);
	else if (**text && !units_consume_char(text, "Zz"))
		return false;
	*ret_offset_s = tm.tm_gmtoff;
	return *text;
}

/* Not 30 February; a day 0 is the last of the month before. */
static bool is_valid_date(const struct tm *asked)
{
	struct tm day = {.tm_year = asked->tm_year,
			 .tm_mon = asked->tm_mon,
			 .tm_mday = asked->tm_mday};

	timegm(&day);
	return day.tm_mon == asked->tm_mon || asked->tm_mday <= 28;
}

/* Unix time of a broken-down time; a day that does not exist is out of range. */
static int units_tm_to_ns(const struct tm *asked, bool local, long offset_s, uint64_t *ret_ns)
{
	struct tm tm = *asked;
	time_t seconds;

	tm.tm_isdst = -1;
	seconds = local ? mktime(&tm) : timegm(&tm);
	if (!is_valid_date(asked))
		return UNITS_E_RANGE;
	seconds -= offset_s;
	if (seconds < 0 || (uint64_t)seconds > UINT64_MAX / NS_PER_S)
		return UNITS_E_RANGE;
	*ret_ns = (uint64_t)seconds * NS_PER_S;
	return UNITS_E_OK;
}

static bool units_consume_word(const char **text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*text, word, length) != 0)
		return false;
	*text += length;
	return true;
}

/* [today|yesterday][ HH:MM[:SS]][Z], not nothing: counted from the day that @now_ns is in. */
static int units_parse_day_time(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	time_t now = (time_t)(now_ns / NS_PER_S);
	struct tm clock = {0}, tm = {0};
	uint64_t fraction_ns = 0;
	int days = units_consume_word(&text, "yesterday");
	bool is_day = days || units_consume_word(&text, "today"), utc;
	int r;

	if ((!is_day || units_consume_char(&text, "Tt ")) &&
	    !units_consume_clock(&text, &clock, &fraction_ns))
		return UNITS_E_INVALID;
	utc = units_consume_char(&text, "Zz");
	if (*text)
		return UNITS_E_INVALID;
	if (!(utc ? gmtime_r(&now, &tm) : localtime_r(&now, &tm)))
		return UNITS_E_RANGE;
	clock.tm_year = tm.tm_year;
	clock.tm_mon = tm.tm_mon;
	clock.tm_mday = tm.tm_mday - days;
	/* The first of a month less a day is day 0, which the C library brings into range. */
	r = units_tm_to_ns(&clock, !utc, 0, ret_ns);
	*ret_ns += r ? 0 : fraction_ns;
	return r;
}

static int units_parse_date(const char *text, uint64_t *ret_ns)
{
	uint64_t fraction_ns = 0;
	struct tm tm = {0};
	long offset_s;
	bool local;
	int year, r;

	if (!units_consume_digits(&text, 4, 9999, &year) || !units_consume_char(&text, "-") ||
	    !units_consume_digits(&text, 2, 12, &tm.tm_mon) || !units_consume_char(&text, "-") ||
	    !units_consume_digits(&text, 2, 31, &tm.tm_mday))
		return UNITS_E_INVALID;
	if (tm.tm_mon == 0 || tm.tm_mday == 0)
		return UNITS_E_RANGE;
	tm.tm_year = year - 1900;
	tm.tm_mon--;
	if (units_consume_char(&text, "Tt ") && !units_consume_clock(&text, &tm, &fraction_ns))
		return UNITS_E_INVALID;
	if (!units_consume_zone(&text, &local, &offset_s) || *text)
		return UNITS_E_INVALID;
	r = units_tm_to_ns(&tm, local, offset_s, ret_ns);
	*ret_ns += r ? 0 : fraction_ns;
	return r;
}

bool units_moment_continues(const char *day, const char *clock)
{
	return (strcmp(day, "today") == 0 || strcmp(day, "yesterday") == 0 ||
		(strlen(day) == strlen("YYYY-MM-DD") && day[4] == '-' && day[7] == '-')) &&
	       units_is_digit(clock[0]) && units_is_digit(clock[1]) && clock[2] == ':' &&
	       strlen(clock) < UNITS_TEXT_MAX / 2;
}

int units_parse_moment(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	uint64_t ago;
	int r;

	if (*text == '-') {
		r = units_parse_duration(text + 1, &ago);
		if (r)
			return r;
		if (ago > now_ns)
			return UNITS_E_RANGE;
		*ret_ns = now_ns - ago;
		return UNITS_E_OK;
	}
	if (strcmp(text, "now") == 0) {
		*ret_ns = now_ns;
		return UNITS_E_OK;
	}
	if (units_is_digit(text[0]) && strlen(text) > 4 && text[4] == '-')
		return units_parse_date(text, ret_ns);
	return units_parse_day_time(text, now_ns, ret_ns);
}

static const char *print_with_unit(char *buffer, size_t size, uint64_t value,
				   const struct unit_row *units, size_t n_units)
{
	for (size_t i = 0; i < n_units; i++) {
		if (value == 0 || value % units[i].factor)
			continue;
		snprintf(buffer, size, "%" PRIu64 "%s", value / units[i].factor, units[i].name);
		return buffer;
	}
	snprintf(buffer, size, "0");
	return buffer;
}

const char *units_print_duration(char *buffer, size_t size, uint64_t ns)
{
	return print_with_unit(buffer, size, ns - ns % NS_PER_MS, durations + 1,
			       ARRAY_SIZE(durations) - 1);
}

const char *units_print_size(char *buffer, size_t size, uint64_t bytes)
{
	return print_with_unit(buffer, size, bytes, sizes, ARRAY_SIZE(sizes));
}

const char *units_print_share(char *buffer, size_t size, double share)
{
	char digits[UNITS_TEXT_MAX];
	size_t n;

	/* Fixed notation, because that is what is read back; then without idle zeros. */
	snprintf(digits, sizeof(digits), "%.9f", share * 100);
	n = strlen(digits);
	while (n && digits[n - 1] == '0')
		n--;
	if (n && digits[n - 1] == '.')
		n--;
	snprintf(buffer, size, "%.*s%%", (int)n, digits);
	return buffer;
}

const char *units_print_moment(char *buffer, size_t size, uint64_t ns, bool utc)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm;
	size_t n;

	if (!(utc ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm))) {
		snprintf(buffer, size, "?");
		return buffer;
	}
	n = strftime(buffer, size, utc ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%S%z", &tm);
	/* strftime has +0100, RFC 3339 wants +01:00. */
	if (n > 2 && !utc && n + 1 < size) {
		memmove(buffer + n - 1, buffer + n - 2, 3);
		buffer[n - 2] = ':';
	}
	return buffer;
}

const char *units_print_size_short(char *buffer, size_t size, uint64_t bytes)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t i = 0;

	while (value >= 1023.5 && i + 1 < ARRAY_SIZE(names)) {
		value /= 1024;
		i++;
	}
	snprintf(buffer, size, "%.*f %s", i && value < 9.95 ? 1 : 0, value, names[i]);
	return buffer;
}

const char *units_print_span(char *buffer, size_t size, double seconds)
{
	uint64_t whole;

	if (!isfinite(seconds) || seconds < 0 || seconds > 1e15) {
		snprintf(buffer, size, "?");
		return buffer;
	}
	if (seconds < 1) {
		snprintf(buffer, size, "%.3g ms", seconds * 1e3);
		return buffer;
	}
	if (seconds < 60) {
		snprintf(buffer, size, "%.*f s", seconds < 9.95 ? 1 : 0, seconds);
		return buffer;
	}
	whole = (uint64_t)seconds;
	if (whole < 3600)
		snprintf(buffer, size, "%" PRIu64 " min %" PRIu64 " s", whole / 60, whole % 60);
	else if (whole < 86400)
		snprintf(buffer, size, "%" PRIu64 " h %" PRIu64 " min", whole / 3600,
			 whole % 3600 / 60);
	else
		snprintf(buffer, size, "%" PRIu64 " d %" PRIu64 " h", whole / 86400,
			 whole % 86400 / 3600);
	return buffer;
}
