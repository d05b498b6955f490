/* SPDX-License-Identifier: MIT */
#include "common/program_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"

int program_path(const char *variable, const char *program, char **ret)
{
	const char *chosen = secure_getenv(variable);
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

		if (slash && asprintf(&path, "%.*s/%s", (int)(slash - own), own, program) < 0)
			return error_origin(-ENOMEM);
		if (path && access(path, X_OK) == 0) {
			*ret = path;
			return 0;
		}
		free(path);
	}
	if (asprintf(&path, "%s/%s", PROFD_LIBEXECDIR, program) < 0)
		return error_origin(-ENOMEM);
	*ret = path;
	return 0;
}
