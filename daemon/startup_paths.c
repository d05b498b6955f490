/* SPDX-License-Identifier: MIT */
/*
 * Where profd keeps its things: by its options, else by the configuration, else, for a user, by the
 * environment. The store's directory itself carries the lock: nothing else has to lie in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/output/store.h"
#include "daemon/startup.h"

#define CACHE_DIRECTORY   "/var/cache/profd"
#define SESSION_ATTRIBUTE "user.profd.last-session"

int daemon_find_user_paths(struct daemon *d)
{
	struct user_environment environment;
	int r;

	if (!d->options.user)
		return 0;
	user_environment_get(&environment);
	r = user_paths_find(&d->places.user, &environment);
	if (r)
		return r;
	if (!d->places.user.runtime && !d->options.runtime_directory)
		return daemon_refuse("--user needs XDG_RUNTIME_DIR, which is not set; log in "
				     "through systemd, or give --runtime-directory");
	if (!d->places.user.state && !d->options.state_directory)
		return daemon_refuse("--user needs XDG_STATE_HOME or HOME, and neither is set; "
				     "give --state-directory");
	return 0;
}

/* Nobody else looks into what is a user's. */
static int make_state_directory(const struct daemon *d, const char *path)
{
	int r = d->options.user                            ? user_paths_make(path)
		: mkdir(path, 0751) < 0 && errno != EEXIST ? -errno
							   : 0;

	return r ? daemon_refuse("cannot make the state directory %s: %s", path, strerror(-r)) : 0;
}

/* Who may write to a directory decides what profd reads, deletes and answers there. */
int daemon_check_directory(int fd, const char *what, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_origin(-errno);
	if (!store_is_safe(&st) && st.st_uid != 0 && st.st_uid != geteuid())
		return daemon_refuse("the %s directory %s belongs to another user, %u; give it to "
				     "%u, or use another one",
				     what, path, (unsigned)st.st_uid, (unsigned)geteuid());
	if (!store_is_safe(&st))
		return daemon_refuse("the %s directory %s is writable by its group or others; "
				     "chmod go-w %s",
				     what, path, path);
	return DAEMON_E_OK;
}

/* The whole path, as clients run elsewhere. */
static int choose_socket_path(struct daemon *d, const char *dir)
{
	cleanup(freep) char *here = dir[0] == '/' ? strdup("") : getcwd(NULL, 0);

	if (!here || asprintf(&d->places.socket_path, "%s%s%s/control.sock", here, *here ? "/" : "",
			      dir) < 0) {
		d->places.socket_path = NULL;
		return error_origin(-ENOMEM);
	}
	return 0;
}

int daemon_choose_paths(struct daemon *d)
{
	const char *path = d->config->store_path;
	const char *given = d->options.state_directory;
	const char *cache = d->options.cache_directory;
	int r = 0;

	if (!cache && d->options.user)
		cache = d->places.user.cache;
	if (asprintf(&d->places.fetched_path, "%s/debuginfo", cache ? cache : CACHE_DIRECTORY) < 0)
		return error_origin(-ENOMEM);

	if (given) {
		r = d->options.read_only ? 0 : make_state_directory(d, given);
		if (r)
			return r;
		d->places.store_path = realpath(given, NULL);
		if (!d->places.store_path)
			return daemon_refuse("cannot use the state directory %s: %s", given,
					     strerror(errno));
	} else {
		d->places.store_path = strdup(path);
	}
	if (d->options.runtime_directory)
		r = choose_socket_path(d, d->options.runtime_directory);
	else
		d->places.socket_path = strdup(d->config->control_socket);
	if (r || !d->places.store_path || !d->places.socket_path)
		return r ? r : error_origin(-ENOMEM);
	return config_set_paths(d->config, d->places.store_path, d->places.socket_path);
}

/* The store's group, inherited by all that is made below through the set-group-id bit. */
static void give_to_group(struct daemon *d)
{
	const struct group *group = getgrnam(d->config->store_group);
	struct stat st;

	if (!group || fstat(d->places.store_fd, &st) < 0 || st.st_gid == group->gr_gid)
		return;
	if (fchown(d->places.store_fd, (uid_t)-1, group->gr_gid) == 0)
		fchmod(d->places.store_fd, 02751);
}

static int open_state_directory(struct daemon *d)
{
	d->places.store_fd = open(d->places.store_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->places.store_fd < 0)
		return daemon_refuse("cannot open the state directory %s: %s", d->places.store_path,
				     strerror(errno));
	return DAEMON_E_OK;
}

/* Whoever it belongs to, and whoever may be writing to it: what is read is strangers'. */
static int open_foreign_store(struct daemon *d)
{
	cleanup(closep) int fd = -1;
	int r = open_state_directory(d);

	if (r)
		return r;
	fd = openat(d->places.store_fd, "services",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return DAEMON_E_OK;
	if (errno == EACCES)
		return daemon_refuse("cannot read the store %s: %s", d->places.store_path,
				     strerror(errno));
	return daemon_refuse("%s is not a store of profd: it has no directory services",
			     d->places.store_path);
}

int daemon_open_store(struct daemon *d)
{
	int r;

	if (d->options.read_only)
		return open_foreign_store(d);
	r = make_state_directory(d, d->places.store_path) ?: open_state_directory(d);
	if (r)
		return r;
	r = daemon_check_directory(d->places.store_fd, "state", d->places.store_path);
	if (r)
		return r;
	if (flock(d->places.store_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return daemon_refuse("another profd uses the state directory %s; stop it, "
					     "or use another directory with --state-directory",
					     d->places.store_path);
		return daemon_refuse("cannot lock the state directory %s: %s", d->places.store_path,
				     strerror(errno));
	}
	if (faccessat(d->places.store_fd, ".", W_OK, AT_EACCESS) < 0)
		return daemon_refuse("cannot write to the state directory %s: %s",
				     d->places.store_path, strerror(errno));
	give_to_group(d);
	return DAEMON_E_OK;
}

static int open_sessions(int store_fd)
{
	return openat(store_fd, "sessions", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

uint64_t daemon_next_session_id(int store_fd)
{
	cleanup(closep) int fd = open_sessions(store_fd);
	uint64_t last, id;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return 1;
	last = store_get_number(fd, SESSION_ATTRIBUTE);
	if (last == UINT64_MAX)
		last = 0;
	dir = fdopendir(fd);
	if (!dir)
		return last + 1;
	steal_fd(&fd);
	while ((entry = readdir(dir)))
		if (sscanf(entry->d_name, "s%" SCNu64 "-", &id) == 1 && id > last)
			last = id;
	closedir(dir);
	return last + 1;
}

void daemon_use_session_id(int store_fd, uint64_t id)
{
	cleanup(closep) int fd = open_sessions(store_fd);

	if (fd >= 0)
		store_set_number(fd, SESSION_ATTRIBUTE, id);
}
