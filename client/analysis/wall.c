/* SPDX-License-Identifier: MIT */
#include "client/analysis/wall.h"

#include <string.h>

#include "common/profile/pprof.h"
#include "common/profile/profile.h"

/* Both parts, in one unit, and room for their sum, which is not there yet. */
static bool wall_find_parts(const struct profile *p, unsigned *ret_cpu, unsigned *ret_off)
{
	unsigned own;

	return p->n_sample_types < PROFILE_TYPES_MAX && !profile_find_type(p, WALL_TYPE, &own) &&
	       profile_find_type(p, WALL_CPU_TYPE, ret_cpu) &&
	       profile_find_type(p, WALL_OFF_TYPE, ret_off) &&
	       strcmp(profile_string(p, p->sample_types[*ret_cpu].unit),
		      profile_string(p, p->sample_types[*ret_off].unit)) == 0;
}

bool wall_is_possible(const struct profile *p)
{
	unsigned cpu, off;

	return wall_find_parts(p, &cpu, &off);
}

static int wall_refuse(const struct profile *p, struct profile_message *message)
{
	char names[120] = "";
	size_t length = 0;

	if (!message)
		return WALL_E_MISSING;
	for (uint32_t i = 0; i < p->n_sample_types && length < sizeof(names); i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s/%s",
					   i ? ", " : "",
					   profile_string(p, p->sample_types[i].type),
					   profile_string(p, p->sample_types[i].unit));
	return profile_refuse(message, WALL_E_MISSING,
			      "wall needs " WALL_CPU_TYPE " and " WALL_OFF_TYPE
			      " in one unit; the profile has %s",
			      names);
}

int wall_add(struct profile *p, struct profile_message *message)
{
	unsigned cpu, off;

	if (!wall_find_parts(p, &cpu, &off))
		return wall_refuse(p, message);
	return profile_add_sum(p, WALL_TYPE, cpu, off);
}

void wall_remove(struct profile *p)
{
	uint32_t types[PROFILE_TYPES_MAX];

	for (uint32_t i = 0; i < p->n_sample_types; i++)
		types[i] = i;
	profile_keep_types(p, types, p->n_sample_types - 1);
}
