/* SPDX-License-Identifier: MIT */
/*
 * A name is tried as it is, or below each source directory and the directories above that. A file
 * is read whole, its lines ended by NULs in place; the last one that was asked for is kept.
 */
#include "client/code/source_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "client/analysis/source_path.h"
#include "common/error.h"
#include "common/read_end.h"
#include "common/text_print.h"

#define BYTES_MAX ((size_t)64 << 20)
#define MARGIN    5 /* lines before and behind those with samples */

struct source_files {
	const struct files *files;
	char *source_path;
	const char *trim_path;
	struct source_file last; /* its name is NULL: none */
};

int source_files_new(struct source_files **ret, const struct files *files, const char *source_path,
		     const char *trim_path)
{
	cleanup(source_files_freep) struct source_files *s = calloc(1, sizeof(*s));

	if (!s)
		return error_origin(-ENOMEM);
	s->files = files;
	s->trim_path = trim_path;
	/* A working directory that was removed has no name, and no sources. */
	s->source_path = source_path && *source_path ? strdup(source_path) : getcwd(NULL, 0);
	if (!s->source_path)
		s->source_path = strdup("/");
	if (!s->source_path)
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&s);
	return 0;
}

void source_file_deinit(struct source_file *file)
{
	free(file->name);
	free(file->lines);
	free(file->data);
	*file = (struct source_file){0};
}

void source_files_free(struct source_files *s)
{
	if (!s)
		return;
	source_file_deinit(&s->last);
	free(s->source_path);
	free(s);
}

/* In the directory [directory, directory + n), then in those above it. Returns an fd or -1. */
static int source_files_open_upward(const struct source_files *s, const char *dir, size_t n,
				    const char *name, const char **ret_why)
{
	char path[PATH_MAX], real[PATH_MAX];

	if (n >= sizeof(path))
		return -1;
	snprintf(path, sizeof(path), "%.*s", (int)n, dir);
	if (!realpath(n ? path : ".", real))
		return -1;
	for (;;) {
		int fd;

		if (snprintf(path, sizeof(path), "%s/%s", real[1] ? real : "", name) <
		    (int)sizeof(path)) {
			fd = files_open(s->files, path, ret_why);
			if (fd >= 0)
				return fd;
		}
		if (!real[1])
			return -1;
		*strrchr(real, '/') = '\0';
		if (!real[0])
			strcpy(real, "/");
	}
}

int source_files_open(const struct source_files *s, const char *name, const char **ret_why)
{
	const char *path = source_path_trim(name, s->trim_path, s->source_path);

	*ret_why = "no such file here";
	if (path[0] == '/')
		return files_open(s->files, path, ret_why);
	for (const char *at = s->source_path; *at;) {
		size_t n = strcspn(at, ":");
		int fd = source_files_open_upward(s, at, n, path, ret_why);

		if (fd >= 0)
			return fd;
		at += n + (at[n] == ':');
	}
	return -1;
}

static int source_file_split_lines(struct source_file *file, size_t length)
{
	size_t n = 1; /* the last one may have no end */

	for (size_t i = 0; i < length; i++)
		n += file->data[i] == '\n';
	file->lines = calloc(n, sizeof(*file->lines));
	if (!file->lines)
		return error_origin(-ENOMEM);
	for (char *at = file->data, *end = at + length; at < end;) {
		char *newline = memchr(at, '\n', (size_t)(end - at)),
		     *last = newline ? newline : end;

		file->lines[file->n_lines++] = (uint32_t)(at - file->data);
		*last = '\0';
		if (last > at && last[-1] == '\r')
			last[-1] = '\0';
		at = last + 1;
	}
	return 0;
}

int source_file_read(struct source_file *file, int fd, size_t max)
{
	uint8_t *data;
	size_t length;
	int r = read_end(fd, max, &data, &length);

	if (r < 0)
		return r;
	if (r) {
		file->why = r == EFBIG ? "too large for a source file" : "cannot be read";
		return 0;
	}
	file->why = NULL;
	file->data = (char *)data;
	return source_file_split_lines(file, length);
}

static int source_files_read(const struct source_files *s, struct source_file *file)
{
	cleanup(closep) int fd = source_files_open(s, file->name, &file->why);

	return fd < 0 ? 0 : source_file_read(file, fd, BYTES_MAX);
}

int source_files_get(struct source_files *s, const char *name, const struct source_file **ret)
{
	struct source_file *file = &s->last;

	*ret = file;
	if (file->name && strcmp(file->name, name) == 0)
		return 0;
	source_file_deinit(file);
	return text_copy(&file->name, name) ?: source_files_read(s, file);
}

const char *source_file_line(const struct source_file *file, uint64_t line)
{
	return line && line <= file->n_lines ? file->data + file->lines[line - 1] : NULL;
}

int64_t source_lines_from(int64_t line, int64_t function_line)
{
	int64_t from = function_line ? function_line : line > MARGIN ? line - MARGIN : 1;

	return from < 1 ? 1 : from;
}

int64_t source_lines_until(int64_t line)
{
	return line > INT64_MAX - MARGIN ? INT64_MAX : line + MARGIN;
}
