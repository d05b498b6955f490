/* SPDX-License-Identifier: MIT */
#include "client/export/target.h"

#include <errno.h>
#include <string.h>

#include "client/export/kinds.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/room.h"

static const struct export_target *const export_targets[] = {
	&export_pyroscope,
	&export_parca,
	&export_otlp,
};

const struct export_target *export_target_at(size_t i)
{
	return i < ARRAY_SIZE(export_targets) ? export_targets[i] : NULL;
}

const struct export_target *export_find_target(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(export_targets); i++)
		if (strcmp(export_targets[i]->name, name) == 0)
			return export_targets[i];
	return NULL;
}

int export_bodies_add(struct export_bodies *b, uint8_t *data, size_t length)
{
	int r = data ? room_append(&b->all, &b->max, &b->n, (struct export_body){data, length})
		     : error_origin(-ENOMEM);

	if (r)
		free(data);
	return r;
}
