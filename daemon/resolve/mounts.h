/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_MOUNTS_H
#define PROFD_RESOLVE_MOUNTS_H

/*
 * The text of /proc/PID/mountinfo (proc(5)), as far as it tells which files should not even be
 * opened. Pure; the text need not end in NUL.
 */
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

#endif
