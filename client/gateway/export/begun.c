/* SPDX-License-Identifier: MIT */
/*
 * A file is the window's path and a line end, the number of its requests (8 bytes of this
 * machine's), and these, each behind its length (view/pieces.h).
 */
#include "client/gateway/export/begun.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/export/target.h"
#include "client/gateway/export/place.h"
#include "client/gateway/export/progress.h"
#include "client/gateway/view/pieces.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/fnv.h"
#include "common/text_print.h"

static int begun_print_path(const char *directory, const char *target, const char *window,
			    char **ret)
{
	return text_print(ret, "%s/%s~%016" PRIx64, directory, target,
			  fnv_hash(window, strlen(window), FNV_INIT));
}

static int begun_write(const char *path, const char *window, const struct export_bodies *bodies)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	const uint64_t n = bodies->n;
	bool failed;

	if (!out) {
		int r = error_origin(-errno);

		closep(&fd);
		return r;
	}
	fprintf(out, "%s\n", window);
	fwrite(&n, sizeof(n), 1, out);
	for (size_t i = 0; i < bodies->n; i++)
		pieces_print(out, bodies->all[i].data, bodies->all[i].length);
	failed = ferror(out);
	failed |= fclose(out) != 0;
	return failed ? error_origin(-EIO) : 0;
}

int begun_keep(const char *directory, const char *target, const char *window,
	       const struct export_bodies *bodies)
{
	cleanup(freep) char *path = NULL, *unfinished = NULL;
	int r = begun_print_path(directory, target, window, &path)
			?: text_print(&unfinished, "%s.new", path);

	if (r)
		return r;
	r = begun_write(unfinished, window, bodies);
	if (!r && rename(unfinished, path) < 0)
		r = error_origin(-errno);
	if (r)
		unlink(unfinished);
	return r;
}

bool begun_parse(const uint8_t *data, size_t length, const char *window, struct export_bodies *ret)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};
	size_t at = strlen(window) + 1, n;
	const uint8_t *piece;
	uint64_t n_bodies;

	if (length < at + sizeof(n_bodies) || memcmp(data, window, at - 1) != 0 ||
	    data[at - 1] != '\n')
		return false;
	memcpy(&n_bodies, data + at, sizeof(n_bodies));
	at += sizeof(n_bodies);
	while (pieces_next(data, length, &at, &piece, &n)) {
		uint8_t *copy = malloc(n + 1);

		if (!copy)
			return false;
		memcpy(copy, piece, n);
		if (export_bodies_add(&bodies, copy, n))
			return false;
	}
	if (at != length || !bodies.n || bodies.n != n_bodies)
		return false;
	*ret = bodies;
	bodies = (struct export_bodies){0};
	return true;
}

/* The contents of the file, malloc'ed; NULL: it cannot be had. */
static uint8_t *begun_read_file(int directory_fd, const char *path, size_t *ret_length)
{
	cleanup(closep) int fd = openat(directory_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint8_t *data = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size > BEGUN_FILE_MAX ||
	    view_read_file(fd, &data, ret_length))
		return NULL;
	return data;
}

bool begun_read(const char *directory, const char *target, const char *window,
		struct export_bodies *ret)
{
	cleanup(freep) char *path = NULL;
	cleanup(freep) uint8_t *data = NULL;
	size_t length = 0;

	if (begun_print_path(directory, target, window, &path))
		return false;
	data = begun_read_file(AT_FDCWD, path, &length);
	return data && begun_parse(data, length, window, ret);
}

void begun_forget(const char *directory, const char *target, const char *window)
{
	cleanup(freep) char *path = NULL;

	if (!begun_print_path(directory, target, window, &path))
		unlink(path);
}

static bool begun_is_wanted(int directory_fd, const char *name, const struct progress *progress)
{
	size_t length = 0;
	cleanup(freep) uint8_t *data = begun_read_file(directory_fd, name, &length);
	const uint8_t *end = data ? memchr(data, '\n', length) : NULL;
	char window[PLACE_PATH_MAX + 1];
	uint64_t digest;

	if (!end || end - data >= (ptrdiff_t)sizeof(window))
		return false;
	memcpy(window, data, (size_t)(end - data));
	window[end - data] = '\0';
	return progress_parts(progress, window, &digest) > 0;
}

void begun_sweep(const char *directory, const char *target, const struct progress *progress)
{
	DIR *dir = opendir(directory);
	size_t length = strlen(target);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, target, length) != 0 || entry->d_name[length] != '~')
			continue;
		if (!begun_is_wanted(dirfd(dir), entry->d_name, progress))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}
