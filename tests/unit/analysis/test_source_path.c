/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/analysis/source_path.h"
#include "common/cleanup.h"

static void test_clean(void **state)
{
	/* By hand, from the description of Go's path.Clean, which pprof uses. */
	static const char *const pairs[][2] = {
		{"", "."},
		{"/", "/"},
		{"//", "/"},
		{".", "."},
		{"a", "a"},
		{"a/", "a"},
		{"/a//b/", "/a/b"},
		{"./a/./b", "a/b"},
		{"a/..", "."},
		{"a/../b", "b"},
		{"..", ".."},
		{"../a/../..", "../.."},
		{"/..", "/"},
		{"/../a", "/a"},
		{"/a/../..", "/"},
		{"a/b/../../c", "c"},
		{"a/../..", ".."},
		{"...", "..."},
		{"/a/..b/.", "/a/..b"},
		{"../../x/../y/", "../../y"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		cleanup(freep) char *clean = source_path_clean(pairs[i][0]), *again = NULL;

		assert_non_null(clean);
		assert_string_equal(clean, pairs[i][1]);
		again = source_path_clean(clean);
		assert_non_null(again);
		assert_string_equal(again, clean);
	}
}

static void check_trim(const char *path, const char *trim, const char *source, const char *expected)
{
	assert_string_equal(source_path_trim(path, trim, source), expected);
}

static void test_trim(void **state)
{
	(void)state;
	check_trim("/build/app/x.c", NULL, NULL, "/build/app/x.c");
	check_trim("/build/app/x.c", "/build", NULL, "app/x.c");
	check_trim("/build/app/x.c", "/build/", NULL, "app/x.c");
	check_trim("/build/app/x.c", "/build/app:/build", NULL, "x.c");
	check_trim("/build/app/x.c", "/build:/build/app", NULL, "app/x.c");
	check_trim("/build/app/x.c", "/bui", NULL, "/build/app/x.c");
	check_trim("/proc/self/cwd/app/x.c", NULL, NULL, "app/x.c");
	check_trim("/proc/self/cwd/./app/x.c", "", "", "app/x.c");
	check_trim("/proc/self/cwd/app/x.c", "/build", NULL, "app/x.c");
	/* The directory that the reader has under another name. */
	check_trim("/remote/my-project/foo/x.c", NULL, "/home/u/my-project", "foo/x.c");
	check_trim("/remote/my-project/foo/x.c", NULL, "/else:/home/u/my-project/", "foo/x.c");
	check_trim("/remote/my-project/foo/x.c", NULL, "/home/u/project",
		   "/remote/my-project/foo/x.c");
	check_trim("/remote/my-project2/foo/x.c", NULL, "/my-project",
		   "/remote/my-project2/foo/x.c");
	check_trim("/remote/p/foo/p/x.c", NULL, "/home/p", "foo/p/x.c");
	check_trim("/remote/p/foo/x.c", NULL, "p/", "foo/x.c");
	check_trim("/remote//foo/x.c", NULL, "/", "/remote//foo/x.c");
	/* Told what to trim, it does not guess. */
	check_trim("/remote/my-project/foo/x.c", "/build", "/home/u/my-project",
		   "/remote/my-project/foo/x.c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_trim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
