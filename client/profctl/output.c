/* SPDX-License-Identifier: MIT */
/*
 * A profile in memory becomes the bytes of a format, and these a file: written beside its name and
 * renamed, so that a file of that name is whole. Whether it can be written is asked before the
 * work.
 */
#include "client/profctl/output.h"

#include <errno.h>
#include <fnmatch.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/symbolize/profile_file.h"
#include "common/error.h"
#include "common/profile/pprof.h"

#define NUMBER_MAX 9999
#define TRIES_MAX  8 /* names that others take in the last moment */

const struct output_kind output_kinds[] = {
	[ANY_PPROF] = {"pprof", ".pb.gz", false},
	[ANY_CPUPROFILE] = {"legacy", ".prof", false},
	[ANY_COLLAPSED] = {"collapsed", ".collapsed", true},
};

bool output_find_format(const char *text, enum any_format *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(output_kinds); i++) {
		if (!output_kinds[i].name || strcmp(text, output_kinds[i].name) != 0)
			continue;
		*ret = (enum any_format)i;
		return true;
	}
	return false;
}

enum any_format output_format_of(const char *path)
{
	return !fnmatch("?*.prof", path, 0)        ? ANY_CPUPROFILE
	       : !fnmatch("?*.collapsed", path, 0) ? ANY_COLLAPSED
						   : ANY_PPROF;
}

/* Whether a file can be made beside @path. */
static bool has_room_beside(const char *path)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	return access(dirname(dir), W_OK | X_OK) == 0;
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

int output_check(const struct context *context, int status, const char *path, bool is_text)
{
	if (strcmp(path, "-") == 0)
		return is_text || !context->terminal
			       ? 0
			       : profctl_complain(
					 context, STATUS_USAGE,
					 "not writing a profile to a terminal; use -o FILE, or a "
					 "pipe");
	if (can_be_written(path))
		return 0;
	return profctl_complain(context, status, "%s cannot be written: %s", path, strerror(errno));
}

/* A name that no file has, as far as it can be seen; a last one that may have. */
static void output_make_name(struct output_file *o)
{
	const char *suffix = output_kinds[o->format].suffix;
	struct stat st;

	snprintf(o->made, sizeof(o->made), "./profd%s", suffix);
	for (unsigned i = 2; i <= NUMBER_MAX && lstat(o->made, &st) == 0; i++)
		snprintf(o->made, sizeof(o->made), "./profd-%u%s", i, suffix);
	o->path = o->made;
}

int output_begin(const struct context *context, int status, struct output_file *output)
{
	if (!*output->path)
		output_make_name(output);
	return output_check(context, status, output->path, output_kinds[output->format].is_text);
}

int output_write(const struct context *context, int status, struct output_file *output,
		 const uint8_t *data, size_t length)
{
	bool is_made = output->path == output->made;
	struct profile_message message;
	int r;

	if (strcmp(output->path, "-") == 0) {
		fwrite(data, 1, length, context->out);
		return 0;
	}
	r = profile_file_save(output->path, data, length, is_made, &message);
	for (unsigned tries = 0; r == PROFILE_FILE_E_EXISTS && tries < TRIES_MAX; tries++) {
		output_make_name(output);
		r = profile_file_save(output->path, data, length, is_made, &message);
	}
	return r ? profctl_complain(context, status, "%s: %s", output->path, message.text) : 0;
}

int output_save(const struct context *context, int status, struct output_file *output,
		const struct profile *p)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = any_write(p, output->format, &data, &length);

	if (r)
		return profctl_complain(context, status, "%s", error_describe(r));
	return output_write(context, status, output, data, length);
}
