/* SPDX-License-Identifier: MIT */
/*
 * Lines of mountinfo become points with two flags, in their order. A path is compared with all of
 * them: the longest point above it is where it lies.
 */
#include "client/symbolize/mount_list.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "common/error.h"
#include "common/mounts.h"
#include "common/room.h"

struct mount {
	char *point;
	bool is_fuse, is_autofs;
};

struct mount_list {
	struct mount *mounts; /* as in the text: of several at one point, the last is on top */
	size_t n, n_allocated;
};

void mount_list_free(struct mount_list *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->mounts[i].point);
	free(m->mounts);
	free(m);
}

/* Blank, tab, newline and backslash are written in octal: \040. */
static char *mount_unescape_point(const char *text, size_t length)
{
	char *point = malloc(length + 1);
	size_t n = 0;

	if (!point)
		return NULL;
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\\' && length - i > 3 && strspn(text + i + 1, "01234567") >= 3) {
			point[n++] = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
					    (text[i + 3] - '0'));
			i += 3;
		} else {
			point[n++] = text[i];
		}
	}
	point[n] = '\0';
	return point;
}

static int mount_list_add(struct mount_list *m, const struct mounts_mount *found)
{
	struct mount *mount;

	if (found->point_length >= PATH_MAX)
		return 0;
	if (room_make(&m->mounts, &m->n_allocated, m->n + 1, sizeof(*m->mounts)))
		return -ENOMEM;
	mount = &m->mounts[m->n];
	*mount = (struct mount){
		.point = mount_unescape_point(found->point, found->point_length),
		.is_fuse = found->is_fuse,
		.is_autofs = found->is_autofs,
	};
	if (!mount->point)
		return error_origin(-ENOMEM);
	m->n++;
	return 0;
}

int mount_list_new(struct mount_list **ret, const char *text, size_t length)
{
	cleanup(mount_list_freep) struct mount_list *m = calloc(1, sizeof(*m));
	const char *end = text + length;
	struct mounts_mount found;
	bool good;
	int r = 0;

	if (!m)
		return error_origin(-ENOMEM);
	while (!r && mounts_next(&text, end, &found, &good))
		if (good)
			r = mount_list_add(m, &found);
	if (r)
		return r;
	*ret = steal_ptr(&m);
	return 0;
}

static bool is_root(const struct mount *mount)
{
	return strcmp(mount->point, "/") == 0;
}

bool mount_list_has_slow(const struct mount_list *m)
{
	for (size_t i = 0; i < m->n; i++)
		if ((m->mounts[i].is_fuse || m->mounts[i].is_autofs) && !is_root(&m->mounts[i]))
			return true;
	return false;
}

static bool is_above(const char *point, const char *path)
{
	size_t length = strlen(point);

	return strncmp(point, path, length) == 0 && (path[length] == '/' || !path[length]);
}

/*
 * What is mounted on top of a slow one, at the same point, hides it. Below a FUSE mount everything
 * is behind it; what autofs has mounted is reached without asking for it.
 */
const char *mount_list_find(const struct mount_list *m, const char *path, bool *ret_slow)
{
	const struct mount *found = NULL, *fuse = NULL;
	size_t length = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct mount *mount = &m->mounts[i];

		if (is_root(mount) || !is_above(mount->point, path))
			continue;
		if (mount->is_fuse)
			fuse = mount;
		else if (fuse && strcmp(fuse->point, mount->point) == 0)
			fuse = NULL;
		if (strlen(mount->point) < length)
			continue;
		length = strlen(mount->point);
		found = mount;
	}
	*ret_slow = fuse || (found && found->is_autofs);
	return found ? found->point : "/";
}
