/* SPDX-License-Identifier: MIT */
/*
 * Groups of version 2, as far as they were met. Their ids are never used again (kernfs has 64 bits
 * for them), and they cannot be renamed: each is asked for its path once. A group without one is
 * outside of what is mounted, or was removed before anybody asked; of that, a member that /proc was
 * asked for tells the unit, and so it does where version 1 is there, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "daemon/resolve/group_paths.h"
#include "daemon/resolve/process_private.h"

#define GROUPS_MAX 4096

void process_table_name_groups(struct process_table *t, process_group_path_fn path, void *userdata)
{
	t->group_path = path;
	t->group_path_userdata = userdata;
}

static void forget_group(struct process_table *t, struct group *group)
{
	HASH_DEL(t->groups, group);
	process_unit_unref(group->unit);
	free(group->path);
	free(group);
}

void process_forget_groups(struct process_table *t)
{
	struct group *group, *next;

	HASH_ITER (hh, t->groups, group, next)
		forget_group(t, group);
}

static struct group *lookup_group(const struct process_table *t, uint64_t id)
{
	struct group *group;

	HASH_FIND(hh, t->groups, &id, sizeof(id), group);
	return group;
}

static int add_group(struct process_table *t, uint64_t id, struct group **ret)
{
	struct group *group = calloc(1, sizeof(*group));

	if (!group)
		return error_origin(-ENOMEM);
	group->id = id;
	HASH_ADD(hh, t->groups, id, sizeof(group->id), group);
	if (HASH_COUNT(t->groups) > GROUPS_MAX)
		forget_group(t, t->groups); /* the one that came first */
	*ret = group;
	return 0;
}

/* Whose unit its name tells is a unit of all that are in it. */
static int describe_group(struct process_table *t, struct group *group, const char *path)
{
	struct unit unit;

	group->path = strdup(path);
	if (!group->path)
		return error_origin(-ENOMEM);
	unit_parse_group(path, 0, &unit);
	return unit.is_of_group ? process_make_unit(t, &unit, &group->unit) : 0;
}

int process_find_group(struct process_table *t, uint64_t id, const struct group **ret)
{
	struct group *group = lookup_group(t, id);
	char path[UNIT_CGROUP_SIZE];
	int told, r;

	*ret = group;
	if (group || !t->group_path)
		return 0;
	told = t->group_path(t->group_path_userdata, id, path, sizeof(path));
	if (told == GROUP_PATHS_E_LATER)
		return 0;
	r = add_group(t, id, &group);
	if (!r && told == GROUP_PATHS_E_OK)
		r = describe_group(t, group, path);
	*ret = group;
	return r;
}

int process_remember_group(struct process_table *t, uint64_t id, struct process_unit *unit)
{
	struct group *group = lookup_group(t, id);
	int r = group ? 0 : add_group(t, id, &group);

	if (!r && !group->unit)
		group->unit = process_unit_ref(unit);
	return r;
}
