/* SPDX-License-Identifier: MIT */
#include "client/report/fetched.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/analysis/node_name.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/pprof.h"

#define GZIP_LEVEL 6
#define FILES_MAX  10000 /* of one program and its types */
#define WORDS_MAX  120   /* bytes of a file's name, but for its number and suffix */

/* A stranger's text as part of a file's name. */
static size_t fetched_name_add_word(char *name, size_t length, const char *text)
{
	for (; *text && length < WORDS_MAX; text++)
		name[length++] = isalnum((unsigned char)*text) || strchr("-_.", *text) ? *text
										       : '_';
	if (length < WORDS_MAX)
		name[length++] = '.';
	name[length] = '\0';
	return length;
}

/* "pprof.PROGRAM.TYPE.TYPE." */
static void fetched_make_name(const struct profile *p, char ret[WORDS_MAX + 1])
{
	const char *program = node_name_program(p);
	size_t length = fetched_name_add_word(ret, 0, "pprof");

	if (*program)
		length = fetched_name_add_word(ret, length, program);
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		length = fetched_name_add_word(ret, length,
					       profile_string(p, p->sample_types[i].type));
}

/* To a new file in @folder, which is made if need be. Returns 0 or negative errno. */
static int fetched_save_in(const char *folder, const char *name, const uint8_t *data, size_t length,
			   char ret_path[PATH_MAX])
{
	FILE *out = NULL;
	bool is_whole;
	int r;

	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return -errno;
	for (unsigned i = 1; !out && i < FILES_MAX; i++) {
		if (snprintf(ret_path, PATH_MAX, "%s/%s%03u.pb.gz", folder, name, i) >= PATH_MAX)
			return -ENAMETOOLONG;
		out = fopen(ret_path, "wxe");
		if (!out && errno != EEXIST)
			return -errno;
	}
	if (!out)
		return -EEXIST;
	is_whole = fwrite(data, 1, length, out) == length;
	r = is_whole ? 0 : -errno;
	/* A file system may tell only now that it is full (close(2)). */
	if (fclose(out) != 0 && is_whole)
		r = -errno;
	if (r)
		unlink(ret_path);
	return r;
}

int fetched_save_profile(const struct profile *p, const struct listener *listener)
{
	const char *asked = getenv("PPROF_TMPDIR"), *home = getenv("HOME");
	char name[WORDS_MAX + 1], folder[PATH_MAX], path[PATH_MAX];
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = pprof_write(p, GZIP_LEVEL, &data, &length), why = -ENOENT;

	if (r)
		return r;
	fetched_make_name(p, name);
	if (asked && *asked)
		why = fetched_save_in(asked, name, data, length, path);
	if (why && home && *home &&
	    snprintf(folder, sizeof(folder), "%s/pprof", home) < (int)sizeof(folder))
		why = fetched_save_in(folder, name, data, length, path);
	if (!why)
		listener_note(listener, "saved profile in %.400s", path);
	else
		listener_note(listener, "the profile is not kept in $PPROF_TMPDIR or ~/pprof: %s",
			      strerrordesc_np(-why));
	return 0;
}
