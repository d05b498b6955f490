/* SPDX-License-Identifier: MIT */
/* Pictures that cannot be drawn or shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/report/picture.h"
#include "tests/unit/report/fixture.h"

static void test_bad_picture(void **state)
{
	static const char text[] = "digraph {";
	struct profile_message message;
	cleanup(freep) char *picture = NULL, *path = NULL;
	cleanup(freep) char *programs = strdup(getenv("PATH"));
	size_t length;
	FILE *out = open_memstream(&picture, &length);
	int r;

	(void)state;
	assert_non_null(out);
	r = picture_draw("svg", text, strlen(text), out, &message);
	assert_true(r == REPORT_E_BAD || r == REPORT_E_NO_PROGRAM);
	setenv("PATH", "/nonexistent", 1);
	unsetenv("BROWSER");
	assert_int_equal(picture_draw("svg", text, strlen(text), out, &message),
			 REPORT_E_NO_PROGRAM);
	assert_contains(message.text, "graphviz");
	assert_int_equal(fclose(out), 0);
	assert_string_equal(picture, "");
	/* Without a program to show it there still is the file. */
	assert_int_equal(picture_show(PICTURE_GV, ".ps", text, 3, &path, &message),
			 REPORT_E_NO_PROGRAM);
	assert_contains(message.text, path);
	assert_int_equal(unlink(path), 0);
	setenv("PATH", programs, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_bad_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
