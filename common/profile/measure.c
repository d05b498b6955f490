/* SPDX-License-Identifier: MIT */
/*
 * A unit belongs to a kind, in which all are multiples of one. Numbers are scaled and printed as
 * pprof does it, to the digit: its reports and these can be compared.
 */
#include "common/profile/measure.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/utf8.h"

struct measure_unit {
	const char *printed;
	const char *names[3]; /* without the plural's s */
	double factor;        /* of the kind's base unit */
};

struct kind {
	const struct measure_unit *units; /* smallest first */
	size_t n_units;
	const struct measure_unit *otherwise; /* where the unit asked for is none of them */
};

static const struct measure_unit bytes[] = {
	{"B", {"b", "byte"}, 1},
	{"kB", {"kb", "kbyte", "kilobyte"}, 0x1p10},
	{"MB", {"mb", "mbyte", "megabyte"}, 0x1p20},
	{"GB", {"gb", "gbyte", "gigabyte"}, 0x1p30},
	{"TB", {"tb", "tbyte", "terabyte"}, 0x1p40},
	{"PB", {"pb", "pbyte", "petabyte"}, 0x1p50},
};

static const struct measure_unit times[] = {
	{"ns", {"ns", "nanosecond"}, 1},     {"us", {"μs", "us", "microsecond"}, 1e3},
	{"ms", {"ms", "millisecond"}, 1e6},  {"s", {"s", "sec", "second"}, 1e9},
	{"hrs", {"hour", "hr"}, 3600 * 1e9},
};

static const struct measure_unit gcus[] = {
	{"n*GCU", {"nanogcu"}, 1e-9}, {"u*GCU", {"microgcu"}, 1e-6}, {"m*GCU", {"milligcu"}, 1e-3},
	{"GCU", {"gcu"}, 1},          {"k*GCU", {"kilogcu"}, 1e3},   {"M*GCU", {"megagcu"}, 1e6},
	{"G*GCU", {"gigagcu"}, 1e9},  {"T*GCU", {"teragcu"}, 1e12},  {"P*GCU", {"petagcu"}, 1e15},
};

static const struct kind kinds[] = {
	{bytes, ARRAY_SIZE(bytes), &bytes[0]},
	{times, ARRAY_SIZE(times), &times[3]},
	{gcus, ARRAY_SIZE(gcus), &gcus[3]},
};

static bool unit_has_name(const char *name, const char *text, size_t length)
{
	return name && strncasecmp(name, text, length) == 0 && !name[length];
}

/* The unit called @text, or NULL. */
static const struct measure_unit *measure_find_unit(const struct kind *kind, const char *text)
{
	size_t length = strlen(text), n_characters = 0;

	for (size_t i = 0; i < length; i++)
		n_characters += ((unsigned char)text[i] & 0xc0) != 0x80;
	if (n_characters > 2 && (text[length - 1] == 's' || text[length - 1] == 'S'))
		length--;
	for (size_t i = 0; i < kind->n_units; i++)
		for (size_t j = 0; j < ARRAY_SIZE(kind->units[i].names); j++)
			if (unit_has_name(kind->units[i].names[j], text, length))
				return &kind->units[i];
	return NULL;
}

static const struct measure_unit *measure_pick_unit(const struct kind *kind, double value)
{
	const struct measure_unit *best = NULL;

	for (size_t i = 0; i < kind->n_units; i++)
		if (value / kind->units[i].factor >= 1)
			best = &kind->units[i];
	return best ? best : kind->otherwise;
}

/* @magnitude is the value without its sign. */
static double measure_scale_magnitude(double magnitude, const char *from, const char *to,
				      const char **ret_unit)
{
	const bool is_automatic = strcmp(to, "auto") == 0 || strcmp(to, "minimum") == 0;
	static const char *const no_units[] = {"count", "sample", "unit", "minimum", "auto"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct measure_unit *unit = measure_find_unit(&kinds[i], from), *target;
		double base;

		if (!unit)
			continue;
		base = magnitude * unit->factor;
		target = is_automatic ? measure_pick_unit(&kinds[i], base)
				      : measure_find_unit(&kinds[i], to);
		if (!target)
			target = kinds[i].otherwise;
		*ret_unit = target->printed;
		return base / target->factor;
	}
	*ret_unit = to;
	for (size_t i = 0; i < ARRAY_SIZE(no_units); i++)
		if (strcmp(to, no_units[i]) == 0)
			*ret_unit = "";
	return magnitude;
}

double measure_scale(int64_t value, const char *from, const char *to, const char **ret_unit)
{
	/* INT64_MIN has no magnitude: pprof leaves it negative, then "auto" finds no unit. */
	if (value < 0 && value != INT64_MIN)
		return -measure_scale_magnitude((double)-value, from, to, ret_unit);
	return measure_scale_magnitude((double)value, from, to, ret_unit);
}

const char *measure_print(char *buffer, size_t size, int64_t value, const char *from,
			  const char *to)
{
	char digits[400];
	const char *unit;
	size_t n;

	snprintf(digits, sizeof(digits), "%.2f", measure_scale(value, from, to, &unit));
	n = strlen(digits);
	if (n > 3 && strcmp(digits + n - 3, ".00") == 0)
		digits[n - 3] = '\0';
	if (strcmp(digits, "0") == 0 || strcmp(digits, "-0") == 0)
		snprintf(buffer, size, "0");
	else
		snprintf(buffer, size, "%s%s", digits, unit);
	utf8_make_harmless(buffer, "");
	return buffer;
}

const char *measure_print_percentage(char *buffer, size_t size, int64_t value, int64_t total)
{
	double share = total ? fabs((double)value / (double)total) * 100 : 0;

	if (share >= 99.95 && share <= 100.05)
		snprintf(buffer, size, "  100%%");
	else if (share >= 1)
		snprintf(buffer, size, "%5.2f%%", share);
	else
		snprintf(buffer, size, "%5.2g%%", share);
	return buffer;
}

const char *measure_choose_unit(int64_t smallest, int64_t largest, const char *unit)
{
	const char *of_smallest, *of_largest;
	int64_t hundredfold;

	if (!smallest)
		smallest = largest;
	measure_scale(smallest, unit, "minimum", &of_smallest);
	measure_scale(largest, unit, "minimum", &of_largest);
	/* One of more than two figures before the point for the smallest, if it can be. */
	if (strcmp(of_smallest, of_largest) != 0 &&
	    !__builtin_mul_overflow(smallest, INT64_C(100), &hundredfold) && hundredfold < largest)
		measure_scale(hundredfold, unit, "minimum", &of_smallest);
	return *of_smallest ? of_smallest : unit;
}

double measure_ratio(const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct measure_unit *from = measure_find_unit(&kinds[i], a),
					  *to = measure_find_unit(&kinds[i], b);

		if (from && to)
			return from->factor / to->factor;
	}
	return 0;
}
