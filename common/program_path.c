/* SPDX-License-Identifier: MIT */
#include "common/program_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text_print.h"

/* Programs are beside our executable while nothing is installed, libraries in ../lib of that. */
static int program_path_choose(const char *variable, const char *name, bool is_library, char **ret)
{
	const char *chosen = secure_getenv(variable), *slash;
	char own[4096], *path;
	ssize_t n;

	if (chosen && chosen[0])
		return text_copy(ret, chosen);
	n = readlink("/proc/self/exe", own, sizeof(own));
	slash = n > 0 && (size_t)n < sizeof(own) ? memrchr(own, '/', (size_t)n) : NULL;
	if (slash) {
		if (text_print(&path, "%.*s/%s%s", (int)(slash - own), own,
			       is_library ? "../lib/" : "", name))
			return -ENOMEM;
		if (access(path, is_library ? R_OK : X_OK) == 0) {
			*ret = path;
			return 0;
		}
		free(path);
	}
	return text_print(ret, "%s/%s", is_library ? PROFD_LIBDIR : PROFD_LIBEXECDIR, name);
}

int program_path(const char *variable, const char *program, char **ret)
{
	return program_path_choose(variable, program, false, ret);
}

int library_path(const char *variable, const char *library, char **ret)
{
	return program_path_choose(variable, library, true, ret);
}
