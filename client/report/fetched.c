/* SPDX-License-Identifier: MIT */
#include "client/report/fetched.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
	const char *path = p->n_mappings ? profile_string(p, p->mappings[0].path) : "";
	size_t length = fetched_name_add_word(ret, 0, "pprof");

	if (*path)
		length = fetched_name_add_word(ret, length, node_name_base(path));
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		length = fetched_name_add_word(ret, length,
					       profile_string(p, p->sample_types[i].type));
}

/* A new file in @folder, which is made if need be. Returns an fd, or negative errno. */
static int fetched_open_new(const char *folder, const char *name, char ret[PATH_MAX])
{
	int fd = -1;

	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return -errno;
	for (unsigned i = 1; fd < 0 && i < FILES_MAX; i++) {
		if (snprintf(ret, PATH_MAX, "%s/%s%03u.pb.gz", folder, name, i) >= PATH_MAX)
			return -ENAMETOOLONG;
		fd = open(ret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	return fd < 0 ? -EEXIST : fd;
}

/* Takes @fd. Returns 0 or negative errno. */
static int fetched_write_and_close(int fd, const uint8_t *data, size_t length)
{
	int r = 0;

	while (length && !r) {
		ssize_t n = write(fd, data, length);

		if (n < 0)
			r = errno == EINTR ? 0 : -errno;
		data += n > 0 ? n : 0;
		length -= n > 0 ? (size_t)n : 0;
	}
	/* A file system may tell only now that it is full (close(2)). */
	return close(fd) < 0 && !r ? -errno : r;
}

static int fetched_save_in(const char *folder, const char *name, const uint8_t *data, size_t length,
			   char ret_path[PATH_MAX])
{
	int fd = fetched_open_new(folder, name, ret_path), r;

	if (fd < 0)
		return fd;
	r = fetched_write_and_close(fd, data, length);
	if (r)
		unlink(ret_path);
	return r;
}

int fetched_save_profile(const struct profile *p, const struct remote_options *options)
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
		remote_note(options, "saved profile in %.400s", path);
	else
		remote_note(options, "the profile is not kept in $PPROF_TMPDIR or ~/pprof: %s",
			    strerrordesc_np(-why));
	return 0;
}
