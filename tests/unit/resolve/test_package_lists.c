/* SPDX-License-Identifier: MIT */
/* Which lists have a path, and what is no list; by itself, and by the opener's child. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/helper/memory_file.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/package_lists.h"
#include "tests/support/temp_dir.h"

struct world {
	struct temp_dir dir;
	struct file_opener *opener;
};

static void write_list(struct world *w, const char *name, const char *text)
{
	write_file(w->dir.fd, name, text, strlen(text));
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	temp_dir_make(&w->dir);
	assert_int_equal(file_opener_new(&w->opener, 0), 0);
	write_list(w, "lists/bash.list", "/.\n/bin\n/bin/bash\n/etc\n");
	write_list(w, "lists/libc6:amd64.list", "/.\n/usr/lib/ld.so\n/usr/bin/ldd");
	write_list(w, "lists/both.list", "/.\n/bin/bash\n");
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	file_opener_free(w->opener);
	temp_dir_remove(&w->dir);
	free(w);
	return 0;
}

/* "PACKAGE=PATH " of all that is found, in any order; it is looked for in both ways. */
static void search(struct world *w, const char *paths, char found[4096])
{
	cleanup(closep) int dir = openat(w->dir.fd, "lists", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closep) int to = memory_file_new("test");
	cleanup(closep) int of_opener = -1;
	struct span package, path, rest;
	char text[4096] = "", same[4096] = "";

	assert_int_equal(package_lists_search(dir, true, paths, to), 0);
	assert_true(pread(to, text, sizeof(text) - 1, 0) >= 0);
	assert_int_equal(file_opener_search_lists(w->opener, w->dir.fd, "/lists", paths,
						  FILE_OPENER_TRUST_OVERLAYS, &of_opener),
			 FILE_OPENER_E_OK);
	assert_true(read(of_opener, same, sizeof(same) - 1) >= 0);
	assert_string_equal(same, text);
	rest = (struct span){text, strlen(text)};
	found[0] = '\0';
	while (package_lists_take(&rest, &package, &path)) {
		strncat(found, package.at, package.length);
		strcat(found, "=");
		strncat(found, path.at, path.length);
		strcat(found, " ");
	}
	assert_int_equal(rest.length, 0);
}

static bool has(const char *found, const char *what)
{
	return strstr(found, what);
}

static void test_paths(void **state)
{
	struct world *w = *state;
	char found[4096];

	search(w, "/usr/bin/ldd\n/usr/bin/bash\n/bin/bash\n\n/bin/ba\n/none", found);
	assert_true(has(found, "bash=/bin/bash "));
	assert_true(has(found, "both=/bin/bash "));
	assert_true(has(found, "libc6:amd64=/usr/bin/ldd "));
	assert_int_equal(strlen(found),
			 strlen("bash=/bin/bash both=/bin/bash libc6:amd64=/usr/bin/ldd "));
	search(w, "", found);
	assert_string_equal(found, "");
}

/* What waits, leads elsewhere or has another name is no list; a long line hides no other. */
static void test_what_is_no_list(void **state)
{
	struct world *w = *state;
	char long_list[20000], found[4096];

	write_list(w, "outside", "/x\n");
	write_list(w, "lists/Upper.list", "/x\n");
	write_list(w, "lists/new\nline.list", "/x\n");
	write_list(w, "lists/.list", "/x\n");
	write_list(w, "lists/x.conffiles", "/x\n");
	assert_int_equal(mkfifoat(w->dir.fd, "lists/pipe.list", 0600), 0);
	assert_int_equal(symlinkat("../outside", w->dir.fd, "lists/link.list"), 0);
	assert_int_equal(mkdirat(w->dir.fd, "lists/dir.list", 0700), 0);
	search(w, "/x", found);
	assert_string_equal(found, "");
	memset(long_list, '/', sizeof(long_list));
	memcpy(long_list, "/x\n", 3);
	strcpy(long_list + sizeof(long_list) - 4, "\n/x");
	write_list(w, "lists/long.list", long_list);
	search(w, "/x", found);
	assert_string_equal(found, "long=/x long=/x ");
}

static void test_no_directory(void **state)
{
	struct world *w = *state;
	char *paths = malloc(5000);
	int fd = -1;

	assert_non_null(paths);
	assert_int_equal(file_opener_search_lists(w->opener, w->dir.fd, "/none", "/x",
						  FILE_OPENER_TRUST_OVERLAYS, &fd),
			 FILE_OPENER_E_NONE);
	assert_int_equal(file_opener_search_lists(w->opener, w->dir.fd, "/lists/bash.list", "/x",
						  FILE_OPENER_TRUST_OVERLAYS, &fd),
			 FILE_OPENER_E_NONE);
	/* Longer than a request. */
	memset(paths, 'x', 5000);
	paths[4999] = '\0';
	assert_int_equal(file_opener_search_lists(w->opener, w->dir.fd, "/lists", paths,
						  FILE_OPENER_TRUST_OVERLAYS, &fd),
			 FILE_OPENER_E_NONE);
	free(paths);
	assert_int_equal(fd, -1);
}

static void test_answers(void **state)
{
	static const char *const bad[] = {"",        "\n",           "a.list\n",     "a.list\t\n",
					  "a\t/x\n", "/.list\t/x\n", "A.list\t/x\n", "\t/x\n"};
	struct span package, path;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct span text = {bad[i], strlen(bad[i])};

		assert_false(package_lists_take(&text, &package, &path));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_no_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_directory, setup, teardown),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
