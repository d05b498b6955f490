/* SPDX-License-Identifier: MIT */

/* Every hostile file has an outcome, as an image, as a debug file, and when asked what it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/worker/names/elf_names.h"
#include "tests/support/hostile_elf.h"

#define MEMORY_MAX (64u << 20) /* what may stay of any of these files */

static void check_outcome(int r)
{
	assert_true(r >= WORKER_DONE && r < N_WORKER_OUTCOMES);
}

static void check_answers(const struct symtab *names)
{
	static const uint64_t addresses[] = {
		0,          1,          BUILDER_FIRST, BUILDER_FIRST + 0x41, 0x10000000,
		1ull << 32, 1ull << 62, 1ull << 63,    UINT64_MAX - 1,       UINT64_MAX};

	for (unsigned i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct symtab_symbol name;
		bool found = symtab_find(names, addresses[i], &name);

		assert_true(name.start <= addresses[i] && addresses[i] - name.start < name.size);
		assert_true(!found || (name.name[0] && name.source != WORKER_SOURCE_NONE));
	}
	assert_true(symtab_bytes(names) <= MEMORY_MAX);
}

/* The bounds hold back what they are there for, and nothing else. */
static void check_what_is_left(const char *file, const struct symtab *names)
{
	static const struct {
		const char *file;
		uint64_t address;
		const char *expected;
	} cases[] = {
		{"plain", BUILDER_FIRST + 0x50, "second"},
		{"xz-bomb", BUILDER_FIRST, "first"},
		{"xz-dictionary", BUILDER_FIRST, "first"},
		{"xz-in-xz", BUILDER_FIRST, "first"},
		{"hash-huge", BUILDER_FIRST + 0x50, "second"},
		{"gnu-hash-endless", BUILDER_FIRST, "first"},
		{"million-at-one", BUILDER_FIRST + 0x5f, "aa"},
		{"million-nested", BUILDER_FIRST + 999998, "aa"},
		{"claims-tera", BUILDER_FIRST, NULL},
		{"zip-bomb", BUILDER_FIRST, NULL},
		{"zip-bomb-within", BUILDER_FIRST, "first"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct symtab_symbol found;

		if (strcmp(cases[i].file, file) != 0)
			continue;
		assert_non_null(names);
		assert_int_equal(symtab_find(names, cases[i].address, &found),
				 cases[i].expected != NULL);
		if (cases[i].expected)
			assert_string_equal(found.name, cases[i].expected);
	}
}

static void test_all(void **state)
{
	struct builder plain;
	int good;

	(void)state;
	hostile_plain(&plain);
	good = builder_memfd(&plain);
	builder_deinit(&plain);
	for (size_t i = 0; i < ARRAY_SIZE(hostile_cases); i++) {
		struct worker_image inspected;
		struct symtab *names = NULL;
		struct builder b;
		int fd, r;

		hostile_cases[i].make(&b);
		fd = builder_memfd(&b);
		builder_deinit(&b);
		check_outcome(elf_inspect(fd, &inspected));
		r = elf_names_new(&names, &(struct elf_names_files){fd, fd, true});
		check_outcome(r);
		assert_int_equal(r == WORKER_DONE, names != NULL);
		if (names)
			check_answers(names);
		check_what_is_left(hostile_cases[i].name, names);
		symtab_free(names);
		names = NULL;
		r = elf_names_new(&names, &(struct elf_names_files){good, fd, false});
		assert_int_equal(r, WORKER_DONE);
		check_answers(names);
		symtab_free(names);
		close(fd);
	}
	close(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
