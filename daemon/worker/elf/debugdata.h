/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_ELF_DEBUGDATA_H
#define PROFD_DAEMON_WORKER_ELF_DEBUGDATA_H

/*
 * .gnu_debugdata: an ELF file with the local functions of a stripped one, under xz (GDB's manual,
 * "MiniDebugInfo").
 */
#include <stddef.h>
#include <stdint.h>

enum {
	DEBUGDATA_E_OK,
	DEBUGDATA_E_MALFORMED, /* no whole xz stream; or one whose unpacking takes too much memory
				*/
	DEBUGDATA_E_TOO_BIG,   /* @max bytes or more */
};

/* Pure. *ret: malloc'ed, the caller's. Returns DEBUGDATA_E_* or -ENOMEM. */
int debugdata_unpack(const uint8_t *xz, size_t length, size_t max, uint8_t **ret,
		     size_t *ret_length);

#endif
