/* SPDX-License-Identifier: MIT */
#include "client/profctl/output.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/symbolize/profile_file.h"
#include "common/error.h"
#include "common/profile/collapsed.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/pprof.h"

#define GZIP_LEVEL 6

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length > n && !strcmp(text + length - n, end);
}

enum run_format output_format(const char *path)
{
	return ends_in(path, ".prof")        ? RUN_LEGACY
	       : ends_in(path, ".collapsed") ? RUN_COLLAPSED
					     : RUN_PPROF;
}

/* Whether a file can be made beside @path. */
static bool has_room_beside(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	return access(dirname(folder), W_OK | X_OK) == 0;
}

static bool can_be_written(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT && has_room_beside(path);
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return false;
	}
	/* A regular one is going to be replaced. */
	return access(path, W_OK) == 0 && (!S_ISREG(st.st_mode) || has_room_beside(path));
}

int output_check(const struct context *context, int status, const char *path)
{
	if (can_be_written(path))
		return 0;
	return complain(context, status, "%s cannot be written: %s", path, strerror(errno));
}

int output_save(const struct context *context, int status, const char *path, enum run_format format,
		const struct profile *p)
{
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	size_t length;
	int r;

	if (format == RUN_LEGACY)
		r = cpuprofile_from_profile(p, &data, &length);
	else if (format == RUN_COLLAPSED)
		r = collapsed_write(p, (char **)&data, &length);
	else
		r = pprof_write(p, GZIP_LEVEL, &data, &length);
	if (r)
		return complain(context, status, "%s", error_describe(r));
	if (strcmp(path, "-") == 0) {
		fwrite(data, 1, length, context->out);
		return 0; /* an error stays in the stream */
	}
	if (profile_file_save(path, data, length, &message))
		return complain(context, status, "%s: %s", path, message.text);
	return 0;
}
