/* SPDX-License-Identifier: MIT */
#include "common/program_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"

struct choice {
	const char *variable, *name;
	const char
		*beside; /* from the directory of our executable to the file's: "" or "../lib/" */
	const char *folder; /* where it is otherwise */
	int mode;           /* of access(2) */
};

static int program_path_choose(const struct choice *c, char **ret)
{
	const char *chosen = secure_getenv(c->variable);
	char own[4096], *path = NULL;
	ssize_t n;

	if (chosen && chosen[0]) {
		path = strdup(chosen);
		if (!path)
			return error_origin(-ENOMEM);
		*ret = path;
		return 0;
	}
	n = readlink("/proc/self/exe", own, sizeof(own));
	if (n > 0 && (size_t)n < sizeof(own)) {
		char *slash = memrchr(own, '/', (size_t)n);

		if (slash &&
		    asprintf(&path, "%.*s/%s%s", (int)(slash - own), own, c->beside, c->name) < 0)
			return error_origin(-ENOMEM);
		if (path && access(path, c->mode) == 0) {
			*ret = path;
			return 0;
		}
		free(path);
	}
	if (asprintf(&path, "%s/%s", c->folder, c->name) < 0)
		return error_origin(-ENOMEM);
	*ret = path;
	return 0;
}

int program_path(const char *variable, const char *program, char **ret)
{
	const struct choice choice = {variable, program, "", PROFD_LIBEXECDIR, X_OK};

	return program_path_choose(&choice, ret);
}

int library_path(const char *variable, const char *library, char **ret)
{
	const struct choice choice = {variable, library, "../lib/", PROFD_LIBDIR, R_OK};

	return program_path_choose(&choice, ret);
}
