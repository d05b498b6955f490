/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_MOUNTS_H
#define PROFD_COMMON_MOUNTS_H

/*
 * The text of /proc/PID/mountinfo (proc(5)): which file systems are mounted, and which of them may
 * keep those who open or read a file waiting for as long as somebody likes. Asking such a file
 * system itself, by fstatfs(2), would be such a wait. Pure; the text need not end in NUL, and may
 * have been cut.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One mount. */
struct mounts_mount {
	uint64_t id;                         /* statx(2), stx_mnt_id */
	uint32_t device_major, device_minor; /* the file system's own, where stat(2) may differ */
	const char *point; /* where it is mounted, escaped: "\040" for a blank; not terminated */
	size_t point_length;
	/*
	 * A process serves it: "fuse", "fuse.sshfs", "fuseblk"; but not "fusectl", which is the
	 * kernel's own, and mounted nearly everywhere (Linux, Documentation/filesystems/fuse.rst).
	 */
	bool is_fuse;
	bool is_fusectl;
	bool is_autofs; /* something is mounted there only when it is looked at */
	bool is_overlay;
	const char *options; /* of the file system, escaped; not terminated */
	size_t options_length;
};

/*
 * Cuts the first line off *text. False: there is none. *ret_good tells whether it is a line of
 * mountinfo; only then *ret is written.
 */
bool mounts_next(const char **text, const char *end, struct mounts_mount *ret, bool *ret_good);

/* The mount of that number. False: it is not there, as far as the text goes. */
bool mounts_find(const char *text, size_t length, uint64_t id, struct mounts_mount *ret);
/* Whether any file system there is FUSE; also if the text was cut, so that one may be. */
bool mounts_may_have_fuse(const char *text, size_t length);
/* The length of the mount point, as text, if it is @path or above it, else 0. */
size_t mounts_covers(const struct mounts_mount *m, const char *path);
/*
 * Whether a directory that @overlay is made of is below FUSE, by its path and the mounts in @text.
 * Relative paths say nothing, since nobody knows to which directory they are relative; and a user
 * who may mount can unmount FUSE again, and the overlay keeps it. So this holds only for overlays
 * of users with nothing to hide.
 */
bool mounts_overlay_has_fuse(const struct mounts_mount *overlay, const char *text, size_t length);

#endif
