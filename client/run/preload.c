/* SPDX-License-Identifier: MIT */
#include "client/run/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/text_print.h"

/* Above the root there is the root: more steps than any distribution's folder is deep. */
#define THROUGH_LIB "/$LIB/../../../../../../../.."

/* Whether our own loader finds by such a path what it has: the C library. */
static bool is_expanded(void)
{
	cleanup(freep) char *path = NULL;
	Dl_info libc;
	void *found;

	if (!dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) || libc.dli_fname[0] != '/' ||
	    text_print(&path, THROUGH_LIB "%s", libc.dli_fname))
		return false;
	found = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (found)
		dlclose(found);
	return found;
}

int preload_path(const char *library, char **ret)
{
	bool is_good = library[0] == '/' && is_expanded();

	if (text_print(ret, "%s%s", is_good ? THROUGH_LIB : "", library))
		return -ENOMEM;
	return is_good ? PRELOAD_E_OK : PRELOAD_E_PLAIN;
}
