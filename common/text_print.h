/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_TEXT_PRINT_H
#define PROFD_COMMON_TEXT_PRINT_H

#include <errno.h>
#include <stdio.h>

#include "common/error.h"

/* asprintf(3) that leaves NULL behind where there is no memory. Returns 0 or -ENOMEM. */
#define text_print(ret, ...)                               \
	__extension__({                                    \
		int text_r = asprintf((ret), __VA_ARGS__); \
		if (text_r < 0)                            \
			*(ret) = NULL;                     \
		text_r < 0 ? error_origin(-ENOMEM) : 0;    \
	})

#endif
