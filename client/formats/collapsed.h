/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_COLLAPSED_H
#define PROFD_CLIENT_FORMATS_COLLAPSED_H

/*
 * Collapsed stacks, as flame graph programs take them: a line for each distinct stack of functions,
 * from root to leaf, `main;work;memcpy 42`. Inlined functions are frames of their own; what has no
 * name is `module+0xoffset` or `0xaddress`. Threads, labels and lines do not tell stacks apart. In
 * names ';' becomes ':', and control characters '?'.
 */
#include <stddef.h>

struct profile;

/*
 * Lines of the first sample value, in order of their texts; *ret malloc'ed, NUL-terminated, the
 * caller's. Returns 0 or negative errno.
 */
int collapsed_write(const struct profile *p, char **ret, size_t *ret_length);

#endif
