/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_NAMES_FRAME_NAME_H
#define PROFD_DAEMON_WORKER_NAMES_FRAME_NAME_H

/* What a source of names says of one address. Texts are borrowed from the source. */
#include <stdint.h>

struct frame_name {
	const char *system_name; /* raw, as in the file; never NULL */
	const char *file;        /* NULL unknown */
	uint32_t line;           /* 0 unknown */
	uint32_t start_line;     /* of the function; 0 unknown */
};

#endif
