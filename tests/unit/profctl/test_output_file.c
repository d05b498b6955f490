/* SPDX-License-Identifier: MIT */
/* A file that nobody named is never one that was there. */
#include "client/profctl/output.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"

static const struct context *context_new(void)
{
	static struct context context;

	context = (struct context){.verb = "collect", .out = stdout, .err = stderr};
	return &context;
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *path, const char *text)
{
	char found[32] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_non_null(fgets(found, sizeof(found), file));
	fclose(file);
	assert_string_equal(found, text);
}

static void output_put(struct output_file *o, const char *text)
{
	assert_int_equal(output_write(context_new(), 1, o, (const uint8_t *)text, strlen(text)), 0);
}

static void test_new_names(void **state)
{
	struct output_file first = {.path = "", .format = ANY_PPROF}, second = first, third = first;
	struct output_file other = {.path = "", .format = ANY_COLLAPSED};

	(void)state;
	assert_int_equal(output_begin(context_new(), 1, &first), 0);
	assert_string_equal(first.path, "./profd.pb.gz");
	output_put(&first, "first");
	assert_int_equal(output_begin(context_new(), 1, &second), 0);
	assert_string_equal(second.path, "./profd-2.pb.gz");
	/* What comes meanwhile stays as well, and be it what leads to nothing, or no file. */
	put_file("profd-2.pb.gz", "another's");
	assert_int_equal(symlink("nowhere", "profd-3.pb.gz"), 0);
	output_put(&second, "second");
	assert_string_equal(second.path, "./profd-4.pb.gz");
	assert_int_equal(output_begin(context_new(), 1, &third), 0);
	assert_string_equal(third.path, "./profd-5.pb.gz");
	assert_int_equal(mkfifo("profd-5.pb.gz", 0600), 0);
	output_put(&third, "third");
	assert_file("profd.pb.gz", "first");
	assert_file("profd-2.pb.gz", "another's");
	assert_file("profd-4.pb.gz", "second");
	assert_file("profd-6.pb.gz", "third");
	assert_int_equal(access("nowhere", F_OK), -1);
	assert_int_equal(output_begin(context_new(), 1, &other), 0);
	assert_string_equal(other.path, "./profd.collapsed");
}

/* One that is named is replaced. */
static void test_named(void **state)
{
	struct output_file named = {.path = "named", .format = ANY_PPROF};

	(void)state;
	put_file("named", "old");
	assert_int_equal(output_begin(context_new(), 1, &named), 0);
	output_put(&named, "new");
	assert_file("named", "new");
}

static int before_fd; /* the directory that other tests are run in */

static int setup_directory(void **state)
{
	static char path[] = "/tmp/profd-output-XXXXXX";

	before_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = mkdtemp(path);
	return before_fd >= 0 && *state ? chdir(path) : -1;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"profd.pb.gz",   "profd-2.pb.gz", "profd-3.pb.gz",
					    "profd-4.pb.gz", "profd-5.pb.gz", "profd-6.pb.gz",
					    "named"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlink(names[i]);
	return fchdir(before_fd) ?: close(before_fd) ?: rmdir(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_names),
		cmocka_unit_test(test_named),
	};

	return cmocka_run_group_tests(tests, setup_directory, remove_directory);
}
