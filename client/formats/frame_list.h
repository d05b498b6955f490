/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_FRAME_LIST_H
#define PROFD_CLIENT_FORMATS_FRAME_LIST_H

/* A growing call chain of locations, leaf first. Internal to readers of common/profile. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/room.h"

struct frame_list {
	uint32_t *locations;
	size_t n, capacity;
};

static inline void frame_list_deinit(struct frame_list *list)
{
	free(list->locations);
}

static inline int frame_list_add(struct frame_list *list, uint32_t location)
{
	int r = room_make(&list->locations, &list->capacity, list->n + 1, sizeof(location));

	if (r)
		return r;
	if (list->n == UINT32_MAX)
		return error_origin(-E2BIG);
	list->locations[list->n++] = location;
	return 0;
}

#endif
