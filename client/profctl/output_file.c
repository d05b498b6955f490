/* SPDX-License-Identifier: MIT */
#include "client/profctl/output_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/cleanup.h"

/* Also what the disk says only at the end: it is full, or it failed. */
static int put(FILE *out, const uint8_t *data, size_t length)
{
	int error = fwrite(data, 1, length, out) == length ? 0 : -errno;

	if (fclose(out) != 0 && !error)
		error = -errno;
	return error;
}

static int save_into(const char *path, const uint8_t *data, size_t length)
{
	FILE *out = fopen(path, "we");

	return out ? put(out, data, length) : -errno;
}

static int save_beside(const char *path, const uint8_t *data, size_t length)
{
	cleanup(freep) char *temporary = NULL;
	mode_t mask = umask(0);
	FILE *out;
	int fd, r;

	umask(mask);
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	fd = mkstemp(temporary);
	if (fd < 0)
		return -errno;
	out = fchmod(fd, 0666 & ~mask) == 0 ? fdopen(fd, "we") : NULL;
	if (!out) {
		r = -errno;
		close(fd);
	} else {
		r = put(out, data, length);
	}
	if (!r && rename(temporary, path) < 0)
		r = -errno;
	if (r)
		unlink(temporary);
	return r;
}

int output_file_save(const char *path, const uint8_t *data, size_t length)
{
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return save_into(path, data, length);
	return save_beside(path, data, length);
}
