/* SPDX-License-Identifier: MIT */

/* Every file with hostile DWARF has an outcome, and what is sound in it is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/worker/dwarf/dwarf_lines.h"
#include "tests/support/hostile_elf_dwarf_lines.h"

#define MEMORY_MAX (1u << 30) /* a worker has no more */
#define FRAMES_MAX 8

static size_t find(struct dwarf_lines *d, uint64_t address, struct frame_name *frames)
{
	uint64_t start = 0, size = 0;
	size_t n = dwarf_lines_find(d, address, frames, FRAMES_MAX, &start, &size);

	assert_true(n <= FRAMES_MAX);
	assert_true(n == 0 || (start <= address && address - start < size));
	for (size_t i = 0; i < n; i++) {
		assert_true(strlen(frames[i].system_name) < 4 * HOSTILE_MILLION);
		assert_true(!frames[i].file || strlen(frames[i].file) < HOSTILE_MILLION);
	}
	return n;
}

/* The bounds hold back what they are there for, and nothing else. */
static const struct {
	const char *file;
	size_t n; /* frames at BUILDER_FIRST */
	const char *innermost, *outermost;
	uint32_t line; /* of the innermost */
} expected[] = {
	{"dwarf-plain", 2, "inlined", "outer", 1},
	{"dwarf-bomb-info", 2, "inlined", "outer", 1},
	{"dwarf-bomb-line", 2, "inlined", "outer", 1},
	{"dwarf-origin-itself", 1, "outer", "outer", 7},
	{"dwarf-origin-cycle", 1, "outer", "outer", 7},
	{"dwarf-origin-chain", 1, "outer", "outer", 7},
	{"dwarf-specification-cycle", 1, "outer", "outer", 7},
	{"dwarf-references-astray", 1, "outer", "outer", 7},
	{"dwarf-nested-inlined", FRAMES_MAX, "inlined", "outer", 1},
	{"dwarf-many-inlined", 2, "inlined", "outer", 1},
	{"dwarf-dolls", 1, "doll", "doll", 1},
	{"dwarf-nested-blocks", 1, "", "", 1},
	{"dwarf-siblings-back", 1, "", "", 1},
	{"dwarf-unit-past-end", 1, "outer", "outer", 1},
	{"dwarf-blocks", 1, "before", "before", 0},
	{"dwarf-rows", 1, "outer", "outer", 0}, /* too many: no line at all */
	{"dwarf-rows-back", 1, "outer", "outer", 1},
	{"dwarf-files", 1, "outer", "outer", 1},
	{"dwarf-texts", 1, "text", "text", 0},
	{"dwarf-abbreviation-long", 0, NULL, NULL, 0},
	{"dwarf-abbreviations", 0, NULL, NULL, 0},
};

static void check_what_is_left(const char *file, struct dwarf_lines *d)
{
	struct frame_name frames[FRAMES_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		size_t n;

		if (strcmp(expected[i].file, file) != 0)
			continue;
		assert_non_null(d);
		n = find(d, BUILDER_FIRST, frames);
		if (n != expected[i].n)
			fail_msg("%s: %zu frames", file, n);
		if (n == 0)
			continue;
		assert_string_equal(frames[0].system_name, expected[i].innermost);
		assert_string_equal(frames[n - 1].system_name, expected[i].outermost);
		assert_int_equal(frames[0].line, expected[i].line);
	}
}

/* Refused as a whole: there is not the memory for it. */
static bool is_too_big(const char *file)
{
	static const char *const files[] = {"dwarf-units", "dwarf-units-partial", "dwarf-bomb-str"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i], file) == 0)
			return true;
	return false;
}

static void check_answers(struct dwarf_lines *d)
{
	static const uint64_t addresses[] = {0,
					     1,
					     BUILDER_FIRST,
					     BUILDER_FIRST + 0x41,
					     BUILDER_FIRST + DWARF_CODE_SIZE - 1,
					     1ull << 63,
					     UINT64_MAX};
	struct frame_name frames[FRAMES_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		find(d, addresses[i], frames);
	assert_true(dwarf_lines_bytes(d) <= MEMORY_MAX);
}

static void test_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostile_dwarf_cases); i++) {
		const char *file = hostile_dwarf_cases[i].name;
		cleanup(dwarf_lines_freep) struct dwarf_lines *d = NULL;
		cleanup(closep) int fd = -1;
		struct builder b;
		int r;

		hostile_dwarf_cases[i].make(&b);
		fd = builder_memfd(&b);
		builder_deinit(&b);
		/* The file is its own alternate as well. */
		r = dwarf_lines_new(&d, &(struct dwarf_lines_files){fd, -1, fd, 1u << 30});
		if (r < WORKER_DONE || r >= N_WORKER_OUTCOMES || (r == WORKER_DONE) != (d != NULL))
			fail_msg("%s: %d", file, r);
		if (is_too_big(file) != (r == WORKER_NO_MEMORY))
			fail_msg("%s: %d", file, r);
		if (d)
			check_answers(d);
		check_what_is_left(file, d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
