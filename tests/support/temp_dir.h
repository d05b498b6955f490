/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_TEMP_DIR_H
#define PROFD_TESTS_TEMP_DIR_H

/*
 * A directory of a test's own, for what it makes up: a store, a /proc, a configuration. It is gone
 * when the test is over, with whatever the code under test left in it.
 */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct temp_dir {
	char path[128];
	int fd;
};

/* Below $TMPDIR, else /tmp; other users may look into it. */
static inline void temp_dir_make(struct temp_dir *f)
{
	const char *parent = getenv("TMPDIR");
	int n = snprintf(f->path, sizeof(f->path), "%s/profd-test-XXXXXX",
			 parent ? parent : "/tmp");

	assert_in_range(n, 1, sizeof(f->path) - 1);
	assert_non_null(mkdtemp(f->path));
	assert_int_equal(chmod(f->path, 0755), 0);
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
}

static inline int temp_dir_remove_one(const char *path, const struct stat *st, int type,
				      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void temp_dir_remove(struct temp_dir *f)
{
	assert_int_equal(close(f->fd), 0);
	assert_int_equal(nftw(f->path, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Where @name is in it; kept until eight others were asked for. */
static inline const char *temp_dir_at(const struct temp_dir *f, const char *name)
{
	static char path[8][512];
	static unsigned next;
	int n;

	next = (next + 1) % 8;
	n = snprintf(path[next], sizeof(path[next]), "%s/%s", f->path, name);
	assert_in_range(n, 1, sizeof(path[next]) - 1);
	return path[next];
}

/* Writes a file anew, @path being relative to @dir; the directories on the way are made. */
static inline void write_file(int dir, const char *path, const void *data, size_t length)
{
	char part[256];
	int fd;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdirat(dir, part, 0755);
	}
	fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, length), length);
	close(fd);
}

static inline void write_text(int dir, const char *path, const char *text)
{
	write_file(dir, path, text, strlen(text));
}

#endif
