/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_STORE_H
#define PROFD_OUTPUT_STORE_H

/*
 * The state directory on disk: its layout, modes and ACLs, what a dead profd left half-written,
 * and the index of what is there. Written to by batch.c, thinned out by retention.c.
 *
 *   services/<service>/<YYYYMMDD>/<window>   0750, files 0640
 *   sessions/<id>-<name>/<window>            sessions/ 0711; each 0700 with an ACL for its owner
 *   images/<epoch>/<host>/<image>            0750, files 0640
 *
 * A set-group-id bit that a directory inherits stays, so that the group of the state directory
 * becomes the group of everything below. Directories are entered without following symbolic links:
 * a session's directory may belong to its user (see store_open_dir()).
 *
 * All functions may block on the disk. One thread only.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "daemon/output/index.h"

#define STORE_PATH_SIZE INDEX_PATH_SIZE
#define STORE_NOBODY    ((uid_t)-1)

/*
 * The system calls that change the store, in a table, so that tests can make any one of them fail
 * or be the last thing a process does. Each sets errno like the call it stands for.
 */
struct file_ops {
	int (*make_dir)(int dir, const char *name, mode_t mode);
	int (*open)(int dir, const char *name, int flags, mode_t mode);
	ssize_t (*write)(int fd, const void *data, size_t length);
	int (*sync)(int fd); /* the whole file system */
	int (*sync_file)(int fd);
	int (*rename)(int dir, const char *from, const char *to, unsigned flags);
	int (*sync_dir)(int fd);
	int (*unlink)(int dir, const char *name, int flags);
};

/* The real ones. */
extern const struct file_ops file_ops_system;
/* None that changes anything. What is to be removed is said to be gone: it is not counted then. */
extern const struct file_ops file_ops_read_only;

struct store {
	int fd;     /* the state directory; borrowed */
	char *path; /* of it, for messages */
	const struct file_ops *ops;
	struct index index;
	uint64_t n_temporary; /* names of temporary files so far */
	uint64_t n_cleaned;   /* temporary files removed at start */
	uint64_t n_scans;     /* times the index was built anew, and all it said of files is void */
	bool full;            /* the last write found no room */
	bool is_stale;        /* the index does not have what is there: rescan */
	bool acl_refused;     /* a session's directory could not be opened to its owner */
};

/*
 * Makes the three directories, if @ops can. What is there is not looked at: store_rescan() is to
 * follow before anything else. @ops must outlive the store. Returns 0 or negative errno.
 */
int store_new(struct store **ret, int fd, const char *path, const struct file_ops *ops);
void store_free(struct store *store);
DEFINE_CLEANUP(struct store *, store_free)

/* Whether nobody but profd's user and root can change a directory; an ACL's mask counts. */
bool store_is_safe(const struct stat *st);

/*
 * Removes temporary files, makes directories that are missing and builds the index anew; everything
 * that is not ours is left alone. Returns 0 or negative errno.
 */
int store_rescan(struct store *store);
/*
 * If the state directory was removed: makes it again, or opens what is in its place by now, locks
 * it, puts it under store->fd and builds the index (*ret_revived). Returns 0, also if it is there
 * as it was, or negative errno, unlogged, if that cannot be done.
 */
int store_revive(struct store *store, bool *ret_revived);

/*
 * Opens the directory @path (below the store) after making what is missing of it. @owner: who may
 * read it besides profd, if it is a session's, else STORE_NOBODY. Where the file system has no
 * ACLs, the directory is given to the owner if profd may do that; *ret_given is then true, and
 * files made in it are to be given away too. Returns 0 or negative errno.
 */
int store_open_dir(struct store *store, const char *path, uid_t owner, int *ret, bool *ret_given);
/* Opens the directory @name in @parent to be read; NULL with errno. */
DIR *store_open_to_read(int parent, const char *name);
/* Reads the whole file @name below @dir. Returns as read_end() (read_end.h). */
int store_read(int dir, const char *name, size_t max, uint8_t **ret, size_t *ret_length);

/*
 * The one walk over the store (scan.c): removes temporary files and empty directories of ours, and
 * fills store->index. Names that are not ours, and what is no directory or regular file, are passed
 * over. Returns 0 or negative errno.
 */
int store_scan(struct store *store);

/* As unlinkat(2) with ops->unlink; no directory on the way to it may be a link. */
int store_unlink(struct store *store, const char *path, int flags);
/* Removes the directory @path below the store with all that is in it, two levels deep. */
int store_remove_tree(struct store *store, const char *path);
/* Removes @path and then its parents down to the second level, as far as they are empty. */
void store_prune(struct store *store, const char *path);

/* A number kept as an extended attribute, best effort; UINT64_MAX: there is none. */
void store_set_number(int fd, const char *attribute, uint64_t number);
uint64_t store_get_number(int fd, const char *attribute);
/* Of a session's directory: whose share its files take. */
#define STORE_PAYER_ATTRIBUTE "user.profd.payer"
/* What a window's file holds (counts_text.h): with more of them, ext4 needs a block for each file.
 */
#define STORE_COUNTS_ATTRIBUTE "user.profd.counts"
/* The same of each hour of a day's file. */
#define STORE_HOURS_ATTRIBUTE "user.profd.hours"
#define STORE_HOURS           24
/* What happened while its window was open (window_events.h); few files have it. */
#define STORE_EVENTS_ATTRIBUTE "user.profd.events"
void store_set_events(int fd, const char *events);
/* malloc'ed; NULL: there are none. */
char *store_get_events(int fd);
/* Of what an earlier profd wrote: samples, and their CPU time, ns. */
#define STORE_SAMPLES_ATTRIBUTE "user.profd.samples"
#define STORE_CPU_ATTRIBUTE     "user.profd.cpu_ns"
/* Of at most STORE_HOURS. Best effort; false: there are none, or no such. */
void store_set_counts(int fd, const char *attribute, const struct index_counts *counts, size_t n);
bool store_get_counts(int fd, const char *attribute, struct index_counts *ret, size_t n);

#endif
