/* SPDX-License-Identifier: MIT */
/* Where libdebuginfod keeps a user's files, and whether it can. */
#include <fcntl.h>
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

#include "client/gateway/fetch/fetch.h"

static const char *const variables[] = {"DEBUGINFOD_CACHE_PATH", "XDG_CACHE_HOME", "HOME"};

static int set_up(void **state)
{
	static char dir[40];

	strcpy(dir, "/tmp/profd-user-cache-XXXXXX");
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	*state = dir;
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	assert_int_equal(system(command), 0);
	return 0;
}

static void set(const char *variable, const char *dir, const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(setenv(variable, path, 1), 0);
}

static void assert_made(const char *dir, const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_true(user_cache_is_usable());
	assert_int_equal(access(path, F_OK), 0);
}

static void test_places(void **state)
{
	const char *dir = *state;
	char path[80];

	assert_false(user_cache_is_usable());
	set("HOME", dir, "");
	assert_made(dir, ".cache/debuginfod_client");
	set("XDG_CACHE_HOME", dir, "xdg");
	assert_made(dir, "xdg/debuginfod_client");
	set("DEBUGINFOD_CACHE_PATH", dir, "chosen");
	assert_made(dir, "chosen");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	snprintf(path, sizeof(path), "%s/.debuginfod_client_cache", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	set("XDG_CACHE_HOME", dir, "other");
	assert_true(user_cache_is_usable());
	snprintf(path, sizeof(path), "%s/other", dir);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_unusable(void **state)
{
	const char *dir = *state;
	char path[80];

	set("HOME", dir, "not/there");
	assert_false(user_cache_is_usable());
	set("DEBUGINFOD_CACHE_PATH", dir, "nor/here");
	assert_false(user_cache_is_usable());
	unsetenv("DEBUGINFOD_CACHE_PATH");
	/* A file is no directory. */
	set("HOME", dir, "");
	snprintf(path, sizeof(path), "%s/.cache", dir);
	assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700)), 0);
	assert_false(user_cache_is_usable());
	set("DEBUGINFOD_CACHE_PATH", dir, ".cache");
	assert_false(user_cache_is_usable());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unusable, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
