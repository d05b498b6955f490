/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/run/program.h"
#include "common/cleanup.h"

/* The path of a library that is part of this program. */
static void find_own(char ret[4096])
{
	char line[4352];
	FILE *maps = fopen("/proc/self/maps", "re");

	assert_non_null(maps);
	ret[0] = '\0';
	while (!ret[0] && fgets(line, sizeof(line), maps))
		if (strstr(line, "libcmocka"))
			snprintf(ret, 4096, "%s", strchr(line, '/'));
	fclose(maps);
	assert_true(ret[0] == '/');
	ret[strcspn(ret, "\n")] = '\0';
}

/* glibc finds by it what is there; who takes it as it stands, as musl does, finds nothing. */
static void test_only_glibc(void **state)
{
	cleanup(freep) char *preload = NULL;
	char own[4096];
	void *found;

	(void)state;
	find_own(own);
	assert_int_equal(preload_path(own, &preload), PRELOAD_E_OK);
	found = dlopen(preload, RTLD_LAZY | RTLD_NOLOAD);
	assert_non_null(found);
	dlclose(found);
	assert_int_equal(open(preload, O_RDONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, ENOENT);
}

static void test_relative(void **state)
{
	cleanup(freep) char *preload = NULL;

	(void)state;
	assert_int_equal(preload_path("lib/x.so", &preload), PRELOAD_E_PLAIN);
	assert_string_equal(preload, "lib/x.so");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_glibc),
		cmocka_unit_test(test_relative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
