/* SPDX-License-Identifier: MIT */
/*
 * Each path is that of the XDG variable if that is absolute, else the default below the home
 * directory, else there is none.
 */
#include "common/user_paths.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/text_print.h"

static bool is_absolute(const char *path)
{
	return path && path[0] == '/';
}

/* @xdg/@name, else @home/@below/@name, else NULL. */
static int user_paths_choose(char **ret, const char *xdg, const char *home, const char *below,
			     const char *name)
{
	*ret = NULL;
	if (is_absolute(xdg))
		return text_print(ret, "%s/%s", xdg, name);
	if (is_absolute(home) && below)
		return text_print(ret, "%s/%s/%s", home, below, name);
	return 0;
}

int user_paths_find(struct user_paths *ret, const struct user_environment *e)
{
	struct user_paths p = {};
	int r = user_paths_choose(&p.state, e->state_home, e->home, ".local/state", "profd") ?:
		user_paths_choose(&p.cache, e->cache_home, e->home, ".cache", "profd") ?:
		user_paths_choose(&p.config, e->config_home, e->home, ".config",
				  "profd/profd.conf") ?:
		user_paths_choose(&p.runtime, e->runtime_dir, NULL, NULL, "profd") ?:
		user_paths_choose(&p.socket, e->runtime_dir, NULL, NULL, "profd/control.sock");

	if (r)
		user_paths_deinit(&p);
	else
		*ret = p;
	return r;
}

void user_paths_deinit(struct user_paths *p)
{
	free(p->state);
	free(p->cache);
	free(p->config);
	free(p->runtime);
	free(p->socket);
	*p = (struct user_paths){};
}

int user_paths_make(const char *path)
{
	cleanup(freep) char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(copy, 0700);
		*slash = '/';
	}
	return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}
