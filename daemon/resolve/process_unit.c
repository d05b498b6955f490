/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/process_unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

static int process_unit_copy_text(char **ret, const char *text)
{
	if (!text[0])
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : error_origin(-ENOMEM);
}

int process_unit_new(struct process_unit **ret, const char *service, const char *cgroup,
		     const char *container)
{
	cleanup(process_unit_unrefp) struct process_unit *unit = calloc(1, sizeof(*unit));
	int r;

	if (!unit)
		return error_origin(-ENOMEM);
	unit->n_references = 1;
	unit->service = strdup(service);
	if (!unit->service)
		return error_origin(-ENOMEM);
	r = process_unit_copy_text(&unit->cgroup, cgroup);
	if (!r)
		r = process_unit_copy_text(&unit->container, container);
	if (r)
		return r;
	*ret = steal_ptr(&unit);
	return 0;
}

struct process_unit *process_unit_ref(struct process_unit *unit)
{
	unit->n_references++;
	return unit;
}

void process_unit_unref(struct process_unit *unit)
{
	if (!unit || --unit->n_references > 0)
		return;
	free(unit->service);
	free(unit->cgroup);
	free(unit->container);
	free(unit);
}

static bool same_text(const char *kept, const char *text)
{
	return kept ? strcmp(kept, text) == 0 : !text[0];
}

bool process_unit_is(const struct process_unit *unit, const char *service, const char *cgroup,
		     const char *container)
{
	return same_text(unit->service, service) && same_text(unit->cgroup, cgroup) &&
	       same_text(unit->container, container);
}
