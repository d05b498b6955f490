/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_MEASURE_H
#define PROFD_COMMON_PROFILE_MEASURE_H

/*
 * Values of profiles in units, as `go tool pprof` scales and prints them: "1.23s", "45.60ms",
 * "12", "100%". A unit is a name that the profile gives: bytes and their multiples, nanoseconds to
 * hours, GCUs; upper and lower case and a plural's s do not count. Of other units ("samples")
 * nothing is known: their values are printed as they are, and the unit behind them unless it is
 * "count", "sample" or "unit".
 *
 * As a unit to scale to, "auto" and "minimum" are the largest one that leaves at least 1.
 *
 * Printers fill @buffer, always NUL-terminated, and return it; MEASURE_TEXT_MAX bytes suffice but
 * for units of strange lengths, which are cut. A unit is a stranger's text: its control characters
 * are printed as '?' (utf8.h), all others as they are, also those that mean something to HTML or
 * graphviz. Pure.
 */
#include <stddef.h>
#include <stdint.h>

#define MEASURE_TEXT_MAX 64

/*
 * @value of @from in @to. *ret_unit: the unit that it is in then, as it is printed: static, or @to
 * itself; "" where none is printed. (A unit of another kind than @from's is not one to scale to:
 * the value comes in bytes, seconds or GCUs.)
 */
double measure_scale(int64_t value, const char *from, const char *to, const char **ret_unit);
/* The same as a text: at most two decimals, "0" without a unit. */
const char *measure_print(char *buffer, size_t size, int64_t value, const char *from,
			  const char *to);
/* The share of @total, in five columns and a %, without its sign: " 1.23%", "  100%". */
const char *measure_print_percentage(char *buffer, size_t size, int64_t value, int64_t total);
/*
 * The one unit for a report whose smallest value (but 0) and largest value are these, of unit
 * @unit, where the user left the choice ("minimum"). Static, or @unit itself. For callgrind the
 * smallest alone decides: say that the largest is the same.
 */
const char *measure_choose_unit(int64_t smallest, int64_t largest, const char *unit);
/*
 * What the values of @a are to be multiplied with to be values of @b; 0: the two units are not of
 * one kind.
 */
double measure_ratio(const char *a, const char *b);

#endif
