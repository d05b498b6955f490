/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_FRAME_LIST_H
#define PROFD_CLIENT_FORMATS_FRAME_LIST_H

/* A growing call chain of locations, leaf first. Internal to readers of common/profile. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/error.h"

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
	if (list->n == list->capacity) {
		size_t bigger = list->capacity ? list->capacity * 2 : 64;
		uint32_t *grown = reallocarray(list->locations, bigger, sizeof(*grown));

		if (!grown)
			return error_origin(-ENOMEM);
		list->locations = grown;
		list->capacity = bigger;
	}
	if (list->n == UINT32_MAX)
		return error_origin(-E2BIG);
	list->locations[list->n++] = location;
	return 0;
}

#endif
