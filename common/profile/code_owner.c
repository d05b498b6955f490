/* SPDX-License-Identifier: MIT */
#include "common/profile/code_owner.h"

#include <stddef.h>
#include <string.h>

#include "common/cleanup.h"

/* How names of libraries begin. */
static const char *const owner_libraries[] = {
	"libc.so",   "libc-",    "libpthread", "librt",  "ld-linux", "ld-musl",
	"libstdc++", "libgcc_s", "libc++",     "[vdso]", "[anon",
};

static const char *const owner_interpreters[] = {"libpython", "python2", "python3", "node",
						 "libnode"};

/*
 * How names of functions begin, in programs that have their libraries in them. Names with two
 * underscores are the C library's (C11, 7.1.3).
 */
static const char *const owner_functions[] = {
	"runtime.", "runtime/", "internal/", "syscall.",    "std::",    "core::", "alloc::",
	"<std::",   "<core::",  "<alloc::",  "parking_lot", "pthread_", "__",
};

static bool owner_begins(const char *text, const char *const *with, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(text, with[i], strlen(with[i])) == 0)
			return true;
	return false;
}

/* Of a function in a script: of the language's own library, not of a package. */
static bool owner_is_standard(const char *file)
{
	return strncmp(file, "node:", 5) == 0 || *file == '<' ||
	       (strstr(file, "/lib/python") && !strstr(file, "-packages/"));
}

/* Wrappers of system calls have their names. Of a template's function, its type comes first. */
static bool owner_is_runtime(const char *name, const char *call)
{
	if (strcmp(name, call) == 0 || strcmp(name, "syscall") == 0)
		return true;
	if (strncmp(name, "void ", 5) == 0)
		name += 5;
	return owner_begins(name, owner_functions, ARRAY_SIZE(owner_functions));
}

enum code_owner code_owner_of(const struct code_names_known *code)
{
	if (code->is_kernel)
		return CODE_KERNEL;
	if (code->is_script)
		return owner_is_standard(code->file) ? CODE_LIBRARY : CODE_OWN;
	if (owner_begins(code->object, owner_interpreters, ARRAY_SIZE(owner_interpreters)))
		return CODE_INTERPRETER;
	if (owner_begins(code->object, owner_libraries, ARRAY_SIZE(owner_libraries)) ||
	    owner_is_runtime(code->name, code->call))
		return CODE_LIBRARY;
	return CODE_OWN;
}
