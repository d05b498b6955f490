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

/* A list of them, which it owns; all zero is empty. */
struct texts {
	char **all; /* NULL-terminated, once there is one */
	size_t n, max;
};

void texts_deinit(struct texts *t);
/* @text is taken over, also if that fails; NULL: there was no memory for it. 0 or -ENOMEM. */
int texts_add(struct texts *t, char *text);
/* The same for one that is put together as by printf(3). */
__attribute__((format(printf, 2, 3))) int texts_printf(struct texts *t, const char *format, ...);
/* By their bytes, those from @first on. */
void texts_sort(struct texts *t, size_t first);

#endif
