/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SYMBOLS_KERNEL_MODULES_H
#define PROFD_COMMON_SYMBOLS_KERNEL_MODULES_H

/* The text of /proc/modules: "name size uses users state address" (address hexadecimal). Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_module_line {
	const char *name; /* in the text, not ended by a NUL */
	size_t name_length;
	uint64_t start, size; /* start: 0 for whom the kernel hides it */
};

/*
 * The next line: *at moves behind it; false at the end of the text. A line that is not understood
 * yields an empty name.
 */
bool kernel_module_next(const char **at, const char *end, struct kernel_module_line *ret);

#endif
