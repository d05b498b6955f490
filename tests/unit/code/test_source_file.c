/* SPDX-License-Identifier: MIT */
/* Sources of every shape, in directories and above them. */
#include "client/code/source_file.h"

#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
	char dir[PATH_MAX];
	int root_fd;
	struct files *files;
};

static void put(const struct world *w, const char *name, const char *data, size_t length)
{
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, length), length);
	close(fd);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char path[PATH_MAX + 64], made[] = "/tmp/profd-source-XXXXXX";

	assert_non_null(w);
	assert_non_null(mkdtemp(made));
	assert_non_null(realpath(made, w->dir));
	snprintf(path, sizeof(path), "%s/project", w->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/fifo", w->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	w->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(files_new(&w->files, w->root_fd), 0);
	put(w, "a.c", "one\n\tthree\r\n\nlast", 17);
	put(w, "project/b.c", "b\n", 2);
	put(w, "empty.c", "", 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {"a.c",  "project/b.c", "project", "empty.c",
					    "fifo", "large.c",     ""};
	struct world *w = *state;
	char path[PATH_MAX + 64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", w->dir, names[i]);
		remove(path);
	}
	files_free(w->files);
	close(w->root_fd);
	free(w);
	return 0;
}

static struct source_files *make(const struct world *w, const char *source_path,
				 const char *trim_path)
{
	struct source_files *s = NULL;

	assert_int_equal(source_files_new(&s, w->files, source_path, trim_path), 0);
	return s;
}

/* The first line of the file that is found, or NULL. */
static const char *first(struct source_files *s, const char *name)
{
	const struct source_file *file = NULL;

	assert_int_equal(source_files_get(s, name, &file), 0);
	assert_int_equal(!file->why, file->n_lines > 0);
	return source_file_line(file, 1);
}

static void test_lines(void **state)
{
	const struct world *w = *state;
	struct source_files *s = make(w, w->dir, NULL);
	const struct source_file *file, *again;
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/a.c", w->dir);
	assert_int_equal(source_files_get(s, path, &file), 0);
	assert_null(file->why);
	assert_int_equal(file->n_lines, 4);
	assert_string_equal(source_file_line(file, 1), "one");
	assert_string_equal(source_file_line(file, 2), "\tthree");
	assert_string_equal(source_file_line(file, 3), "");
	assert_string_equal(source_file_line(file, 4), "last");
	assert_null(source_file_line(file, 0));
	assert_null(source_file_line(file, 5));
	assert_null(source_file_line(file, UINT64_MAX));
	assert_int_equal(source_files_get(s, path, &again), 0);
	assert_ptr_equal(file, again);
	assert_int_equal(source_files_get(s, "empty.c", &file), 0);
	assert_null(file->why);
	assert_int_equal(file->n_lines, 0);
	source_files_free(s);
}

static void test_places(void **state)
{
	const struct world *w = *state;
	char project[PATH_MAX + 64], two[2 * PATH_MAX];
	struct source_files *s;

	snprintf(project, sizeof(project), "%s/project", w->dir);
	/* In the directory, and above it. */
	s = make(w, project, NULL);
	assert_string_equal(first(s, "b.c"), "b");
	assert_string_equal(first(s, "a.c"), "one");
	/* Behind the directory's name, wherever it was built. */
	assert_string_equal(first(s, "/build/project/b.c"), "b");
	assert_null(first(s, "/build/elsewhere/b.c"));
	source_files_free(s);
	s = make(w, project, "/other:/build/elsewhere");
	assert_string_equal(first(s, "/build/elsewhere/b.c"), "b");
	source_files_free(s);
	snprintf(two, sizeof(two), "/nonexistent::%s", project);
	s = make(w, two, NULL);
	assert_string_equal(first(s, "b.c"), "b");
	source_files_free(s);
	s = make(w, "/usr", NULL);
	assert_null(first(s, "a.c"));
	source_files_free(s);
}

/* Many names of one large file: not all of them are kept. */
static void test_many_names(void **state)
{
	const struct world *w = *state;
	struct source_files *s = make(w, w->dir, NULL);
	char path[PATH_MAX + 64];
	int fd;

	put(w, "large.c", "large\n", 6);
	snprintf(path, sizeof(path), "%s/large.c", w->dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, 40 << 20), 0);
	close(fd);
	for (size_t i = 0, end = strlen(path); i < 12; i++) {
		assert_string_equal(first(s, path), "large");
		memmove(path + 1, path, ++end);
	}
	/* Of twelve, four at most, in up to twice the memory each. */
	assert_true(mallinfo2().hblkhd < ((size_t)400 << 20));
	source_files_free(s);
}

static void test_no_file(void **state)
{
	const struct world *w = *state;
	struct source_files *s = make(w, w->dir, NULL);
	char long_name[2 * PATH_MAX];

	/* Nobody writes to it: that it comes back at all is the test. */
	assert_null(first(s, "fifo"));
	assert_null(first(s, "project"));
	assert_null(first(s, "/dev/zero"));
	assert_null(first(s, ""));
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_null(first(s, long_name));
	long_name[0] = '/';
	assert_null(first(s, long_name));
	source_files_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_many_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
