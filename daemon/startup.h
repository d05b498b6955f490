/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_STARTUP_H
#define PROFD_DAEMON_STARTUP_H

/* All that comes before the loop, and what a reload does again. */
#include "daemon/daemon_private.h"

/* Everything up to the loop. Returns DAEMON_E_* or negative errno. */
int daemon_start(struct daemon *d);
/* Reads the configuration that applies. Returns CONFIG_E_* with @message, or negative errno. */
int daemon_load_config(struct daemon *d, struct config **ret, struct config_message *message);
/* Applies the configuration to what is made from it: sessions, store limits. */
int daemon_apply_config(struct daemon *d);

/* startup_paths.c. All return DAEMON_E_*, after a line on what was refused, or negative errno. */
/* With --user: what cannot be guessed without the environment must have been given. */
int daemon_find_user_paths(struct daemon *d);
/* Refuses a directory that others can change; @what it is and its @path are for the message. */
int daemon_check_directory(int fd, const char *what, const char *path);
/* Of the store, the control socket and fetched files; the configuration then has the same. */
int daemon_choose_paths(struct daemon *d);
/*
 * Makes the store's directory if need be, locks it, and gives it to its group. Of one that is only
 * read: whether it is a store.
 */
int daemon_open_store(struct daemon *d);
/*
 * Session ids never repeat within a state directory: the highest one given out is kept as an
 * extended attribute of the directory sessions/, and the directories in it tell the rest where the
 * file system has no such attributes. The first id that was never given out, at least 1:
 */
uint64_t daemon_next_session_id(int store_fd);
/* @id has been given out. Best effort. */
void daemon_use_session_id(int store_fd, uint64_t id);

/* startup_privileges.c. Warns of each capability that is not held, of those that sampling can do
 * without. */
void daemon_warn_of_privileges(struct daemon *d);

/* startup_source.c. The recording that is to be played back; NULL: none. */
const char *daemon_replay_path(const struct daemon *d);
/*
 * Makes the source that was asked for; else BPF, and where that cannot be had, plain perf events.
 * Returns SOURCE_E_* with @message, or negative errno.
 */
int daemon_choose_source(struct daemon *d, const struct source_options *options,
			 struct source_message *message);
/* For programs with libprofd that ask for a ring; @is_idle: another source samples them already. */
int daemon_make_shim(struct daemon *d, const struct source_options *options, bool is_idle);
/* What an event is by its name, for the source that there is. As event_parse() (sources.h). */
int daemon_parse_event(const struct daemon *d, const char *name, struct event *ret,
		       struct source_message *message);

#endif
