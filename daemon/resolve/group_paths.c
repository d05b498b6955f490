/* SPDX-License-Identifier: MIT */
/*
 * A handle of the group's directory (open_by_handle_at(2)) is made of its id alone. What that opens
 * has a name in /proc/self/fd, which begins with the one of the mounted root; other paths are those
 * of groups outside of it, as a container sees them.
 */
#include "daemon/resolve/group_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/proc_door.h"

struct group_paths {
	struct proc_door *door;
	int fd; /* of the root; -1: there is none */
	char root[PATH_MAX];
};

static bool read_name(int fd, char ret[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX);
	if (n <= 0 || n >= PATH_MAX)
		return false;
	ret[n] = '\0';
	return true;
}

/* Where systemd mounts it: alone, or beside those of version 1 (file-hierarchy(7)). */
static int group_open_root(void)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		cleanup(closep) int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
			return steal_fd(&fd);
	}
	return -1;
}

int group_paths_new(struct group_paths **ret, struct proc_door *door)
{
	struct group_paths *g = calloc(1, sizeof(*g));

	if (!g)
		return error_origin(-ENOMEM);
	g->door = door;
	g->fd = group_open_root();
	if (g->fd >= 0 && !read_name(g->fd, g->root)) {
		close(g->fd);
		g->fd = -1;
	}
	*ret = g;
	return 0;
}

void group_paths_free(struct group_paths *g)
{
	if (!g)
		return;
	if (g->fd >= 0)
		close(g->fd);
	free(g);
}

/* The part of @name below @root, or NULL. */
static const char *name_below(const char *name, const char *root)
{
	size_t length = strlen(root);

	if (strncmp(name, root, length) != 0)
		return NULL;
	return name[length] == '/' ? name + length : name[length] == '\0' ? "/" : NULL;
}

int group_paths_find(void *userdata, uint64_t id, char *ret, size_t size)
{
	struct group_paths *g = userdata;
	cleanup(closep) int fd = -1;
	char name[PATH_MAX];
	const char *path;
	int r;

	if (g->fd < 0)
		return GROUP_PATHS_E_NONE;
	r = proc_door_open_group(g->door, g->fd, id, &fd);
	if (r)
		return r == FILE_OPENER_E_NONE ? GROUP_PATHS_E_NONE : GROUP_PATHS_E_LATER;
	path = read_name(fd, name) ? name_below(name, g->root) : NULL;
	if (!path || strlen(path) >= size)
		return GROUP_PATHS_E_NONE;
	strcpy(ret, path);
	return GROUP_PATHS_E_OK;
}
