/* SPDX-License-Identifier: MIT */
/*
 * Lines of mountinfo become points with two flags, in their order. A path is compared with all of
 * them: the longest point above it is where it lies.
 */
#include "client/symbolize/mount_list.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
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

static bool is_type(const char *type, const char *end, const char *name)
{
	size_t length = strlen(name);

	return (size_t)(end - type) == length && memcmp(type, name, length) == 0;
}

/*
 * "fuse", "fuse.sshfs", "fuseblk"; but not "fusectl", which is the kernel's own, and mounted nearly
 * everywhere (Linux, Documentation/filesystems/fuse.rst).
 */
static bool mount_type_is_fuse(const char *type, const char *end)
{
	const char *dot = memchr(type, '.', (size_t)(end - type));

	return is_type(type, dot ? dot : end, "fuse") || is_type(type, dot ? dot : end, "fuseblk");
}

static int add_mount(struct mount_list *m, const char *point, size_t length, const char *type,
		     const char *type_end)
{
	struct mount *mount;

	if (room_make(&m->mounts, &m->n_allocated, m->n + 1, sizeof(*m->mounts)))
		return -ENOMEM;
	mount = &m->mounts[m->n];
	*mount = (struct mount){
		.point = mount_unescape_point(point, length),
		.is_fuse = mount_type_is_fuse(type, type_end),
		.is_autofs = is_type(type, type_end, "autofs"),
	};
	if (!mount->point)
		return error_origin(-ENOMEM);
	m->n++;
	return 0;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS" */
static int mount_list_add_line(struct mount_list *m, const char *line, const char *end)
{
	const char *at = line, *point, *type, *type_end;

	for (unsigned i = 0; i < 4; i++) {
		at = memchr(at, ' ', (size_t)(end - at));
		if (!at)
			return 0;
		at++;
	}
	point = at;
	at = memchr(at, ' ', (size_t)(end - at));
	type = at ? memmem(at, (size_t)(end - at), " - ", 3) : NULL;
	if (!type || *point != '/' || at - point >= PATH_MAX)
		return 0;
	type += 3;
	type_end = memchr(type, ' ', (size_t)(end - type));
	if (!type_end)
		return 0;
	return add_mount(m, point, (size_t)(at - point), type, type_end);
}

int mount_list_new(struct mount_list **ret, const char *text, size_t length)
{
	cleanup(mount_list_freep) struct mount_list *m = calloc(1, sizeof(*m));
	const char *end = text + length;
	int r = 0;

	if (!m)
		return error_origin(-ENOMEM);
	while (text < end && !r) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		r = mount_list_add_line(m, text, newline ? newline : end);
		text = newline ? newline + 1 : end;
	}
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
