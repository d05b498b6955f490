/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_CODE_OWNER_H
#define PROFD_COMMON_PROFILE_CODE_OWNER_H

/*
 * Whose a function is that waits or wakes, from the program's point of view: the kernel's, one of
 * the libraries that everybody's waits go through, the interpreter's of a script, or the program's
 * own. Pure; by names, which is all that profiles of all formats have.
 */
#include <stdbool.h>

/* From the leaf to the root, about. */
enum code_owner { CODE_KERNEL, CODE_LIBRARY, CODE_INTERPRETER, CODE_OWN };

/* Texts are "" where they are not known. */
struct code_names_known {
	const char *object; /* without directories */
	const char *file;   /* of source */
	const char *name;
	const char
		*call; /* the system call that it waits in: a function of its name is a wrapper */
	bool is_kernel, is_script;
};

enum code_owner code_owner_of(const struct code_names_known *code);

#endif
