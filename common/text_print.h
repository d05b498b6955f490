/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_TEXT_PRINT_H
#define PROFD_COMMON_TEXT_PRINT_H

/* Texts in memory of their own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"

/* asprintf(3) that leaves NULL behind where there is no memory. Returns 0 or -ENOMEM. */
#define text_print(ret, ...)                               \
	__extension__({                                    \
		int text_r = asprintf((ret), __VA_ARGS__); \
		if (text_r < 0)                            \
			*(ret) = NULL;                     \
		text_r < 0 ? error_origin(-ENOMEM) : 0;    \
	})

/* Of NULL the copy is NULL. Returns 0 or -ENOMEM. */
static inline int text_copy(char **ret, const char *text)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? error_origin(-ENOMEM) : 0;
}

#endif
