/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_USER_PATHS_H
#define PROFD_COMMON_USER_PATHS_H

/*
 * Where a user's own profd (--user) keeps what the system's has in /var, /run and /etc: below the
 * directories of the XDG Base Directory Specification. One that is not absolute does not count
 * there; without the variable the one below $HOME is meant, but for the runtime directory, which
 * has no default.
 */
#include "common/cleanup.h"

/* Of the environment: NULL or "" is as good as not set. */
struct user_environment {
	const char *home, *state_home, *cache_home, *config_home, *runtime_dir;
};

/* Each NULL where the environment does not tell. Owned. */
struct user_paths {
	char *state;   /* $XDG_STATE_HOME/profd */
	char *cache;   /* $XDG_CACHE_HOME/profd */
	char *config;  /* $XDG_CONFIG_HOME/profd/profd.conf */
	char *runtime; /* $XDG_RUNTIME_DIR/profd */
	char *socket;  /* in there */
};

/* This process's, all of it (user_environment.c). */
void user_environment_get(struct user_environment *ret);
/* Pure. Returns 0 or -ENOMEM. */
int user_paths_find(struct user_paths *ret, const struct user_environment *environment);
/* Takes one of zeroes. */
void user_paths_deinit(struct user_paths *p);

/* Makes the directory @path with all those above it, each for its owner alone. Returns 0 or -errno.
 */
int user_paths_make(const char *path);

#endif
