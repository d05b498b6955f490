/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SHIM_MAPS_LINES_H
#define PROFD_COMMON_SHIM_MAPS_LINES_H

/* Lines of /proc/PID/maps (proc(5)). Pure: whoever wrote the text may be a stranger. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_line {
	uint64_t start, end, offset, device, inode;
	bool is_executable;
	const char *path; /* behind the blanks, to the end of the line; not terminated */
	size_t path_length;
	size_t length; /* of the line, without its newline */
};

/* The line at @text, which ends in a newline or at @end. False: it is none, but for its length. */
bool maps_parse(const char *text, const char *end, struct maps_line *ret);

#endif
