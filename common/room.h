/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_ROOM_H
#define PROFD_COMMON_ROOM_H

/* Arrays that grow, of whatever they hold. */
#include <stddef.h>

/*
 * Makes *@array, the address of a pointer to malloc'ed elements of @size bytes with room for *@max
 * of them, hold at least @n; on -ENOMEM both are as they were. Returns 0 or -ENOMEM.
 */
int room_make(void *array, size_t *max, size_t n, size_t size);

/*
 * Puts an element, the last argument, behind the *@n that *@array holds; all three are given by
 * their addresses. Returns 0 or -ENOMEM, with which nothing has changed.
 */
#define room_append(array, max, n, ...)                                              \
	__extension__({                                                              \
		int room_r = room_make((array), (max), *(n) + 1, sizeof(**(array))); \
		if (!room_r)                                                         \
			(*(array))[(*(n))++] = (__VA_ARGS__);                        \
		room_r;                                                              \
	})

#endif
