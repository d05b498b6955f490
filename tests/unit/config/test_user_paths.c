/* SPDX-License-Identifier: MIT */
/* Where a user's own profd keeps its things, and what its configuration is by default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/config/config.h"
#include "common/user_paths.h"
#include "tests/support/temp_dir.h"

static void test_from_home(void **state)
{
	const struct user_environment e = {.home = "/home/u", .state_home = "", .cache_home = "x"};
	cleanup(user_paths_deinit) struct user_paths p = {};

	(void)state;
	assert_int_equal(user_paths_find(&p, &e), 0);
	assert_string_equal(p.state, "/home/u/.local/state/profd");
	assert_string_equal(p.cache, "/home/u/.cache/profd"); /* "x" is not absolute */
	assert_string_equal(p.config, "/home/u/.config/profd/profd.conf");
	assert_null(p.runtime); /* has no default */
	assert_null(p.socket);
}

static void test_from_xdg(void **state)
{
	const struct user_environment e = {.home = "/home/u",
					   .state_home = "/s",
					   .cache_home = "/c",
					   .config_home = "/e",
					   .runtime_dir = "/run/user/7"};
	cleanup(user_paths_deinit) struct user_paths p = {};

	(void)state;
	assert_int_equal(user_paths_find(&p, &e), 0);
	assert_string_equal(p.state, "/s/profd");
	assert_string_equal(p.cache, "/c/profd");
	assert_string_equal(p.config, "/e/profd/profd.conf");
	assert_string_equal(p.runtime, "/run/user/7/profd");
	assert_string_equal(p.socket, "/run/user/7/profd/control.sock");
}

static void test_from_nothing(void **state)
{
	const struct user_environment e = {.home = "relative"};
	cleanup(user_paths_deinit) struct user_paths p = {};

	(void)state;
	assert_int_equal(user_paths_find(&p, &e), 0);
	assert_null(p.state);
	assert_null(p.cache);
	assert_null(p.config);
	assert_null(p.runtime);
}

/* The user's defaults, what his file changes of them, and a file that must be there. */
static void test_config(void **state)
{
	cleanup(config_freep) struct config *standard = NULL, *own = NULL, *none = NULL;
	struct user_environment e = {.runtime_dir = "/run/user/7"};
	cleanup(user_paths_deinit) struct user_paths p = {};
	struct config_message message;
	struct temp_dir dir;
	char path[256];

	(void)state;
	temp_dir_make(&dir);
	e.home = e.config_home = dir.path;
	assert_int_equal(user_paths_find(&p, &e), 0);
	assert_int_equal(config_load(&standard, NULL, &p, &message), CONFIG_E_OK);
	assert_string_equal(standard->store_path, p.state);
	assert_string_equal(standard->control_socket, p.socket);
	assert_string_equal(standard->store_group, "none");
	assert_int_equal(standard->control_socket_mode, 0600);
	assert_int_equal(standard->frequency, 99);
	write_text(dir.fd, "profd/profd.conf",
		   "[sampling]\nfrequency=49\n[store]\npath=/s\n[control]\nsocket_mode=0660\n");
	write_text(dir.fd, "profd/profd.conf.d/a.conf", "[control]\nsocket=/x\n");
	assert_int_equal(config_load(&own, NULL, &p, &message), CONFIG_E_OK);
	assert_int_equal(own->frequency, 49);
	assert_string_equal(own->store_path, "/s");
	assert_string_equal(own->control_socket, "/x");
	assert_int_equal(own->control_socket_mode, 0660);
	snprintf(path, sizeof(path), "%s/nowhere.conf", dir.path);
	assert_int_equal(config_load(&none, path, &p, &message), CONFIG_E_INVALID);
	assert_non_null(strstr(message.text, "nowhere.conf"));
	temp_dir_remove(&dir);
}

static void test_make(void **state)
{
	struct temp_dir dir;
	struct stat st;
	char path[256];

	(void)state;
	temp_dir_make(&dir);
	snprintf(path, sizeof(path), "%s/a/b/c", dir.path);
	assert_int_equal(user_paths_make(path), 0);
	assert_int_equal(user_paths_make(path), 0);
	assert_int_equal(fstatat(dir.fd, "a/b/c", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstatat(dir.fd, "a", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	write_text(dir.fd, "file", "");
	snprintf(path, sizeof(path), "%s/file/d", dir.path);
	assert_true(user_paths_make(path) < 0);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_home),    cmocka_unit_test(test_from_xdg),
		cmocka_unit_test(test_from_nothing), cmocka_unit_test(test_config),
		cmocka_unit_test(test_make),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
