/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_MOUNTS_H
#define PROFD_RESOLVE_MOUNTS_H

/*
 * The text of /proc/PID/mountinfo (proc(5)), as far as it tells which files should not even be
 * opened, and which file system one is on. Pure; the text need not end in NUL.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mounts_kind {
	MOUNTS_ABSENT, /* the device is not mounted there, as far as the text goes */
	MOUNTS_FUSE,
	MOUNTS_OTHER,
};

/*
 * Whether the file system on this device is served by a process (FUSE), which may let those who
 * open or read a file wait for as long as it likes. Asking the file system itself, by fstatfs(2),
 * would be such a wait.
 */
enum mounts_kind mounts_kind(const char *text, size_t length, uint32_t device_major,
			     uint32_t device_minor);

/* One mount. */
struct mounts_mount {
	uint32_t device_major, device_minor; /* the file system's own, where stat(2) may differ */
	bool is_fuse;
	bool is_overlay;
};

/* The mount of that number (statx(2), stx_mnt_id). False: it is not there, as far as the text goes.
 */
bool mounts_find(const char *text, size_t length, uint64_t id, struct mounts_mount *ret);
/* Whether any file system there is FUSE; also if the text was cut, so that one may be. */
bool mounts_may_have_fuse(const char *text, size_t length);

#endif
