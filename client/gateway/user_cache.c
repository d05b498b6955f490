/* SPDX-License-Identifier: MIT */
#include "client/gateway/user_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/text_print.h"

static const char *getenv_nonempty(const char *variable)
{
	const char *value = getenv(variable);

	return value && value[0] ? value : NULL;
}

static bool is_usable_dir(const char *path)
{
	struct stat st;

	return (mkdir(path, 0700) == 0 || errno == EEXIST) && stat(path, &st) == 0 &&
	       S_ISDIR(st.st_mode) && access(path, W_OK | X_OK) == 0;
}

static bool is_usable_subdir(const char *parent, const char *name)
{
	cleanup(freep) char *path = NULL;

	return !text_print(&path, "%s/%s", parent, name) && is_usable_dir(path);
}

bool user_cache_is_usable(void)
{
	const char *chosen = getenv_nonempty("DEBUGINFOD_CACHE_PATH");
	const char *xdg = getenv_nonempty("XDG_CACHE_HOME"), *home = getenv_nonempty("HOME");
	cleanup(freep) char *old = NULL, *standard = NULL;

	if (chosen)
		return is_usable_dir(chosen);
	if (home && !text_print(&old, "%s/.debuginfod_client_cache", home) &&
	    access(old, F_OK) == 0)
		return is_usable_dir(old);
	if (xdg)
		return is_usable_dir(xdg) && is_usable_subdir(xdg, "debuginfod_client");
	return home && !text_print(&standard, "%s/.cache", home) && is_usable_dir(standard) &&
	       is_usable_subdir(standard, "debuginfod_client");
}
