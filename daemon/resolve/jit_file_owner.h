/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_JIT_FILE_OWNER_H
#define PROFD_RESOLVE_JIT_FILE_OWNER_H

/*
 * What /proc/PID/status (proc(5)) says of a process that makes files for profilers: by which number
 * it calls them, and as whom. Pure; the text need not end in NUL.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct jit_file_owner {
	/*
	 * Its pid inside of its own pid namespace: the last one of the line NSpid. A kernel without
	 * pid namespaces has no such line, and one pid only.
	 */
	pid_t inner_pid;
	uid_t uid; /* the effective one */
};

/* False: that is not said. */
bool jit_file_owner_parse(const char *text, size_t length, struct jit_file_owner *ret);

#endif
