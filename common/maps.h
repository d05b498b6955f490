/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_MAPS_H
#define PROFD_COMMON_MAPS_H

/* Lines of /proc/PID/maps (proc(5)). Pure: the process that they describe chose the paths. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_line {
	uint64_t start, end; /* addresses [start, end) */
	uint64_t offset;     /* of start in the file, bytes */
	uint64_t device;     /* the major number in the upper half */
	uint64_t inode;      /* 0: no file */
	uint32_t prot;       /* PROT_* of mmap(2) */
	uint32_t flags;      /* MAP_SHARED or MAP_PRIVATE */
	/*
	 * As the kernel writes it, up to the end of the line, not terminated: with a newline as
	 * "\012" and " (deleted)" behind. "" for anonymous memory; what is no file reads "[vdso]",
	 * "[anon:x]", "/memfd:x", "anon_inode:x".
	 */
	const char *path;
	size_t path_length;
	size_t length; /* of the line, without its newline */
};

/* The line at @text, which ends in a newline or at @end. False: malformed; only length is set. */
bool maps_parse(const char *text, const char *end, struct maps_line *ret);

#endif
