/* SPDX-License-Identifier: MIT */
/* The directory of debug files: names, modes, who may use it, and what goes when there is too much.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/gateway/debug_cache.h"

#define MAX_BYTES (UINT64_C(1) << 20)

struct world {
	char dir[40];
	struct debug_cache *cache;
	unsigned n_files;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/profd-debug-cache-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(debug_cache_open(&w->cache, w->dir, MAX_BYTES), DEBUG_CACHE_E_OK);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	char command[64];

	debug_cache_close(w->cache);
	snprintf(command, sizeof(command), "rm -rf '%s'", w->dir);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

/* A file as a fetcher leaves it: old, for nobody else to read, with a name of its own. */
static int make_file(struct world *w, size_t size)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	char path[80], *data = calloc(1, size + 1);
	int fd, again;

	assert_non_null(data);
	memset(data, 'd', size);
	snprintf(path, sizeof(path), "%s/.fetch-%u", w->dir, w->n_files++);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	assert_int_equal(fsync(fd), 0); /* blocks are allocated by now */
	assert_int_equal(futimens(fd, old), 0);
	again = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(again >= 0);
	close(fd);
	free(data);
	return again;
}

static int store(struct world *w, uint8_t first, size_t size)
{
	const uint8_t id[] = {first, 0x0c, 0xde, 0xf0};
	int fd = make_file(w, size), r;

	r = debug_cache_store(w->cache, id, sizeof(id), fd);
	close(fd);
	return r;
}

static bool has(struct world *w, uint8_t first)
{
	const uint8_t id[] = {first, 0x0c, 0xde, 0xf0};

	return debug_cache_has(w->cache, id, sizeof(id));
}

static void file_path(struct world *w, uint8_t first, char ret[160])
{
	snprintf(ret, 160, "%s/debuginfo/.build-id/%02x/0cdef0.debug", w->dir, first);
}

/* Its times of reading and storing: @seconds since the epoch. */
static void use_at(struct world *w, uint8_t first, time_t read, time_t stored)
{
	const struct timespec times[2] = {{.tv_sec = read}, {.tv_sec = stored}};
	char path[160];

	file_path(w, first, path);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void test_store(void **state)
{
	struct world *w = *state;
	char path[160];
	struct stat st;

	umask(077);
	assert_false(has(w, 0xab));
	assert_int_equal(store(w, 0xab, 100), DEBUG_CACHE_E_OK);
	umask(022);
	assert_true(has(w, 0xab));
	assert_false(has(w, 0xac));
	file_path(w, 0xab, path);
	assert_int_equal(mode_of(path), 0644);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 100);
	assert_true(st.st_mtim.tv_sec > 1000);
	*strrchr(path, '/') = '\0';
	assert_int_equal(mode_of(path), 0755);
	*strrchr(path, '/') = '\0';
	assert_int_equal(mode_of(path), 0755);
	*strrchr(path, '/') = '\0';
	assert_int_equal(mode_of(path), 0755);
	/* What is there already stays. */
	assert_int_equal(store(w, 0xab, 200), DEBUG_CACHE_E_OK);
	file_path(w, 0xab, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 100);
}

static void test_odd_ids(void **state)
{
	struct world *w = *state;
	uint8_t id[DEBUG_CACHE_ID_MAX + 1] = {0};
	int fd = make_file(w, 10);

	assert_int_equal(debug_cache_store(w->cache, id, 1, fd), DEBUG_CACHE_E_UNUSABLE);
	assert_int_equal(debug_cache_store(w->cache, id, sizeof(id), fd), DEBUG_CACHE_E_UNUSABLE);
	assert_false(debug_cache_has(w->cache, id, 1));
	assert_int_equal(debug_cache_store(w->cache, id, DEBUG_CACHE_ID_MAX, fd), DEBUG_CACHE_E_OK);
	assert_true(debug_cache_has(w->cache, id, DEBUG_CACHE_ID_MAX));
	close(fd);
}

/* Of four files for which there is no room, those go that were used longest ago. */
static void test_bound(void **state)
{
	struct world *w = *state;
	const size_t third = MAX_BYTES / 3 - 65536;

	assert_int_equal(store(w, 1, third), DEBUG_CACHE_E_OK);
	assert_int_equal(store(w, 2, third), DEBUG_CACHE_E_OK);
	assert_int_equal(store(w, 3, third), DEBUG_CACHE_E_OK);
	assert_true(has(w, 1) && has(w, 2) && has(w, 3));
	use_at(w, 1, 5000, 100); /* stored first, but read since */
	use_at(w, 2, 200, 200);
	use_at(w, 3, 300, 300);
	assert_int_equal(store(w, 4, third), DEBUG_CACHE_E_OK);
	assert_true(has(w, 1) && has(w, 3) && has(w, 4));
	assert_false(has(w, 2));
	assert_int_equal(store(w, 5, 2 * third), DEBUG_CACHE_E_OK);
	assert_true(has(w, 4) && has(w, 5));
	assert_false(has(w, 1) || has(w, 3));
}

static void make_strange_file(struct world *w, const char *name)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)MAX_BYTES), 0);
	close(fd);
}

static bool exists(struct world *w, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	return access(path, F_OK) == 0;
}

/* A smaller bound than last time; what a killed fetcher left; what others put there. */
static void test_open_again(void **state)
{
	static const char *const strange[] = {"notes", "debuginfo/notes",
					      "debuginfo/.build-id/ab/notes",
					      "debuginfo/.build-id/ab/XY.debug"};
	struct world *w = *state;
	struct debug_cache *second;
	char path[160];
	uint64_t bytes;
	struct stat st;

	assert_int_equal(store(w, 0xab, 10000), DEBUG_CACHE_E_OK);
	assert_int_equal(store(w, 0xac, 10000), DEBUG_CACHE_E_OK);
	file_path(w, 0xab, path);
	assert_int_equal(stat(path, &st), 0);
	bytes = (uint64_t)st.st_blocks * 512;
	use_at(w, 0xac, 300, 300);
	snprintf(path, sizeof(path), "%s/.fetch-killed", w->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	make_strange_file(w, ".fetch-killed/part");
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
		make_strange_file(w, strange[i]);
	assert_int_equal(debug_cache_open(&second, w->dir, MAX_BYTES), DEBUG_CACHE_E_IN_USE);
	assert_true(exists(w, ".fetch-killed"));
	debug_cache_close(w->cache);
	w->cache = NULL;
	assert_int_equal(debug_cache_open(&w->cache, w->dir, 2 * bytes), DEBUG_CACHE_E_OK);
	assert_false(exists(w, ".fetch-killed"));
	assert_true(has(w, 0xab) && has(w, 0xac));
	debug_cache_close(w->cache);
	w->cache = NULL;
	assert_int_equal(debug_cache_open(&w->cache, w->dir, 2 * bytes - 1), DEBUG_CACHE_E_OK);
	assert_true(has(w, 0xab));
	assert_false(has(w, 0xac));
	assert_false(exists(w, "debuginfo/.build-id/ac"));
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
		assert_true(exists(w, strange[i]));
}

static void make_strange_dir(struct world *w, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void make_strange_link(struct world *w, const char *name, const char *target)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	assert_int_equal(symlink(target, path), 0);
}

/* Neither counted nor removed: what lies too deep, or behind a link, or is no regular file. */
static void test_skipped(void **state)
{
#define FILES "debuginfo/.build-id/"
	static const char *const dirs[] = {"elsewhere", FILES "ab/00.debug", FILES "abc"};
	static const char *const files[] = {"elsewhere/22.debug", FILES "ab/00.debug/11.debug",
					    FILES "abc/33.debug", "debuginfo/.fetch-inner"};
	struct world *w = *state;

	assert_int_equal(store(w, 0xab, 10000), DEBUG_CACHE_E_OK);
	use_at(w, 0xab, 100, 100);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		make_strange_dir(w, dirs[i]);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make_strange_file(w, files[i]);
	make_strange_link(w, FILES "ad", "../../elsewhere");
	make_strange_link(w, FILES "ab/44.debug", "../../../elsewhere/22.debug");
	make_strange_link(w, ".fetch-link", "elsewhere");
	debug_cache_close(w->cache);
	w->cache = NULL;
	assert_int_equal(debug_cache_open(&w->cache, w->dir, MAX_BYTES), DEBUG_CACHE_E_OK);
	assert_true(has(w, 0xab));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		assert_true(exists(w, files[i]));
	assert_true(exists(w, FILES "ad/22.debug") && exists(w, FILES "ab/44.debug"));
	assert_false(exists(w, ".fetch-link"));
#undef FILES
}

static void test_unusable(void **state)
{
	struct world *w = *state;
	struct debug_cache *c;
	char path[64];

	snprintf(path, sizeof(path), "%s/nowhere", w->dir);
	assert_int_equal(debug_cache_open(&c, path, MAX_BYTES), DEBUG_CACHE_E_UNUSABLE);
	assert_int_equal(errno, ENOENT);
	/* A link in place of one of our directories is not followed. */
	snprintf(path, sizeof(path), "%s/elsewhere", w->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/debuginfo/.build-id/ad", w->dir);
	assert_int_equal(symlink("../../elsewhere", path), 0);
	assert_int_equal(store(w, 0xad, 10), DEBUG_CACHE_E_UNUSABLE);
}

#define CACHE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(test_store),      CACHE_TEST(test_odd_ids), CACHE_TEST(test_bound),
		CACHE_TEST(test_open_again), CACHE_TEST(test_skipped), CACHE_TEST(test_unusable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
