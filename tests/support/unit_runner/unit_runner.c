/* SPDX-License-Identifier: MIT */
/*
 * The program of a directory of unit tests: `unit_output store` runs
 * tests/unit/output/test_store.c, whose main() is test_main_store() here (tests/CMakeLists.txt).
 * Without arguments it runs all of them, one after the other. The exit status is the number of test
 * cases that failed.
 */
#include <stdio.h>
#include <string.h>

#define UNIT_TEST(name) int test_main_##name(void);
#include "unit_tests.h"
#undef UNIT_TEST

static const struct unit_test {
	const char *name;
	int (*run)(void);
} unit_tests[] = {
#define UNIT_TEST(name) {#name, test_main_##name},
#include "unit_tests.h"
#undef UNIT_TEST
};

int main(int argc, char **argv)
{
	int n_failed = 0, n_run = 0;

	for (size_t i = 0; i < sizeof(unit_tests) / sizeof(unit_tests[0]); i++) {
		if (argc > 1 && strcmp(argv[1], unit_tests[i].name) != 0)
			continue;
		n_failed += unit_tests[i].run();
		n_run++;
	}
	if (n_run == 0) {
		fprintf(stderr, "%s: there is no test \"%s\"\n", argv[0], argv[1]);
		return 1;
	}
	return n_failed > 125 ? 125 : n_failed;
}
