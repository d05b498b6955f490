/* SPDX-License-Identifier: MIT */
/* Requests that are kept of a window that is begun. */
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

#include "client/export/target.h"
#include "client/gateway/export/begun.h"
#include "client/gateway/export/progress.h"

#define WINDOW "services/a.service/20261121/20261121T140300Z-60s.pb.gz"
#define OTHER  "services/b.service/20261121/20261121T140300Z-60s.pb.gz"

static void add_body(struct export_bodies *bodies, const char *data, size_t length)
{
	uint8_t *copy = malloc(length + 1);

	assert_non_null(copy);
	memcpy(copy, data, length);
	assert_int_equal(export_bodies_add(bodies, copy, length), 0);
}

static int make_directory(void **state)
{
	char *directory = strdup("/tmp/profd-test-begun-XXXXXX");

	assert_non_null(mkdtemp(directory));
	*state = directory;
	return 0;
}

static int remove_directory(void **state)
{
	int r = rmdir(*state); /* all is gone */

	free(*state);
	return r;
}

static void keep_window(const char *directory, const char *window)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};

	add_body(&bodies, "first\n", 6);
	add_body(&bodies, "", 0);
	add_body(&bodies, "\0\xff", 2);
	assert_int_equal(begun_keep(directory, "main", window, &bodies), 0);
}

static bool is_there(const char *directory, const char *target, const char *window)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};

	if (!begun_read(directory, target, window, &bodies)) {
		assert_int_equal(bodies.n, 0);
		return false;
	}
	assert_int_equal(bodies.n, 3);
	assert_int_equal(bodies.all[0].length, 6);
	assert_memory_equal(bodies.all[0].data, "first\n", 6);
	assert_int_equal(bodies.all[1].length, 0);
	assert_int_equal(bodies.all[2].length, 2);
	assert_memory_equal(bodies.all[2].data, "\0\xff", 2);
	return true;
}

static void test_kept(void **state)
{
	const char *directory = *state;

	assert_false(is_there(directory, "main", WINDOW));
	keep_window(directory, WINDOW);
	keep_window(directory, WINDOW);
	assert_true(is_there(directory, "main", WINDOW));
	assert_false(is_there(directory, "main", OTHER));
	assert_false(is_there(directory, "mai", WINDOW));
	begun_forget(directory, "main", OTHER);
	assert_true(is_there(directory, "main", WINDOW));
	begun_forget(directory, "main", WINDOW);
	assert_false(is_there(directory, "main", WINDOW));
	assert_true(begun_keep("/nowhere", "main", WINDOW, &(struct export_bodies){0}) < 0);
}

static void test_sweep(void **state)
{
	static const char text[] = "since 5\npart 1 77 " WINDOW "\n";
	cleanup(progress_freep) struct progress *progress = NULL;
	const char *directory = *state;

	assert_int_equal(progress_parse(&progress, text, strlen(text)), 0);
	keep_window(directory, WINDOW);
	keep_window(directory, OTHER);
	begun_sweep(directory, "mai", progress);
	assert_true(is_there(directory, "main", OTHER));
	begun_sweep(directory, "main", progress);
	assert_true(is_there(directory, "main", WINDOW));
	assert_false(is_there(directory, "main", OTHER));
	begun_forget(directory, "main", WINDOW);
}

/* Cut anywhere, or of another window, it is none. */
static void test_damaged(void **state)
{
	static const uint8_t file[] = WINDOW "\n\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0a\0\0\0\0\0\0\0\0";
	const size_t whole = sizeof(file) - 1;

	(void)state;
	for (size_t length = 0; length <= whole; length++) {
		cleanup(export_bodies_deinit) struct export_bodies bodies = {0};

		assert_int_equal(begun_parse(file, length, WINDOW, &bodies), length == whole);
		assert_int_equal(bodies.n, length == whole ? 2 : 0);
		assert_false(begun_parse(file, length, OTHER, &bodies));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(test_sweep, make_directory, remove_directory),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("begun", tests, NULL, NULL);
}
