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

#endif
