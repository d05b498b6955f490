/* SPDX-License-Identifier: MIT */
/* What is built passes answer_names(), whatever it was built of. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/worker/answer.h"
#include "daemon/worker/answer_builder.h"

static struct answer_builder *new_builder(void)
{
	struct answer_builder *b = NULL;

	assert_int_equal(answer_builder_new(&b), 0);
	return b;
}

/* *ret points into the payload, which is the caller's. */
static uint8_t *finish(struct answer_builder *b, const uint64_t *addresses, size_t n,
		       struct answer_names *ret)
{
	uint8_t *data = NULL;
	size_t length = 0;

	assert_int_equal(answer_builder_finish(b, ANSWER_NAMES, &data, &length), 0);
	assert_true(answer_names(data, length, addresses, n, ret));
	answer_builder_free(b);
	return data;
}

static const char *text(const struct answer_names *names, uint32_t offset)
{
	return names->text + offset;
}

static void test_empty(void **state)
{
	struct answer_names names;

	(void)state;
	free(finish(new_builder(), NULL, 0, &names));
	assert_int_equal(names.n_locations, 0);
}

static void test_frames(void **state)
{
	const uint64_t addresses[] = {0x10, 0x20, 0x30};
	const struct frame_name inlined[] = {
		{.system_name = "_ZN3foo3barEv", .file = "a.cc", .line = 7, .start_line = 5},
		{.system_name = "main", .file = "a.cc", .line = 9},
	};
	struct answer_builder *b = new_builder();
	struct answer_names names;
	uint8_t *data;

	(void)state;
	assert_int_equal(answer_builder_add(b, 0x10, 4, WORKER_SOURCE_DWARF, inlined, 2), 0);
	assert_int_equal(answer_builder_add(b, 0x18, 16, WORKER_SOURCE_NONE, NULL, 0), 0);
	assert_int_equal(answer_builder_add(b, 0x30, 1, WORKER_SOURCE_SYMTAB, inlined, 1), 0);
	data = finish(b, addresses, 3, &names);
	assert_int_equal(names.n_frames, 3);
	assert_int_equal(names.locations[0].n_frames, 2);
	assert_int_equal(names.locations[0].source, WORKER_SOURCE_DWARF);
	assert_int_equal(names.locations[1].n_frames, 0);
	assert_int_equal(names.locations[1].start, 0x18);
	assert_int_equal(names.locations[1].size, 16);
	assert_int_equal(names.locations[2].first_frame, 2);
	assert_string_equal(text(&names, names.frames[0].name), "foo::bar()");
	assert_string_equal(text(&names, names.frames[0].system_name), "_ZN3foo3barEv");
	assert_string_equal(text(&names, names.frames[0].file), "a.cc");
	assert_int_equal(names.frames[0].line, 7);
	assert_int_equal(names.frames[0].start_line, 5);
	assert_string_equal(text(&names, names.frames[1].name), "main");
	/* Texts are kept once. */
	assert_int_equal(names.frames[1].name, names.frames[1].system_name);
	assert_int_equal(names.frames[1].file, names.frames[0].file);
	assert_int_equal(names.frames[2].name, names.frames[0].name);
	assert_int_equal(names.frames[2].system_name, names.frames[0].system_name);
	free(data);
}

/* Bytes that are no text, texts that are none, and too long ones. */
static void test_strange_texts(void **state)
{
	const uint64_t addresses[] = {1, 2, 3};
	char *longer = malloc(WORKER_TEXT_MAX + 10);
	struct frame_name frames[] = {
		{.system_name = "a\x1b[31m\xff", .file = "\n"},
		{.system_name = "", .file = ""},
		{.system_name = longer},
	};
	struct answer_builder *b = new_builder();
	struct answer_names names;
	uint8_t *data;

	(void)state;
	assert_non_null(longer);
	memset(longer, 'x', WORKER_TEXT_MAX + 9);
	longer[WORKER_TEXT_MAX + 9] = '\0';
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			answer_builder_add(b, i + 1, 1, WORKER_SOURCE_DYNSYM, &frames[i], 1), 0);
	free(longer);
	data = finish(b, addresses, 3, &names);
	assert_string_equal(text(&names, names.frames[0].name), "a\xef\xbf\xbd[31m\xef\xbf\xbd");
	assert_string_equal(text(&names, names.frames[0].file), "\xef\xbf\xbd");
	assert_int_equal(names.frames[1].name, 0);
	assert_int_equal(names.frames[1].file, 0);
	assert_int_equal(strlen(text(&names, names.frames[2].name)), WORKER_TEXT_MAX);
	free(data);
}

static void test_too_many_frames(void **state)
{
	struct frame_name frames[WORKER_FRAMES_MAX + 3];
	struct answer_builder *b = new_builder();
	const uint64_t address = 5;
	struct answer_names names;

	(void)state;
	for (size_t i = 0; i < WORKER_FRAMES_MAX + 3; i++)
		frames[i] = (struct frame_name){.system_name = i < WORKER_FRAMES_MAX ? "in"
										     : "out"};
	assert_int_equal(
		answer_builder_add(b, 5, 1, WORKER_SOURCE_DWARF, frames, WORKER_FRAMES_MAX + 3), 0);
	free(finish(b, &address, 1, &names));
	assert_int_equal(names.n_frames, WORKER_FRAMES_MAX);
}

/* It ends before the answer is larger than may be. */
static void test_too_large(void **state)
{
	char *name = malloc(WORKER_TEXT_MAX);
	struct answer_builder *b = new_builder();
	unsigned n = 0;
	int r = 0;

	(void)state;
	assert_non_null(name);
	memset(name, 'y', WORKER_TEXT_MAX);
	name[WORKER_TEXT_MAX - 1] = '\0';
	while (!r && n < 100000) {
		struct frame_name frame = {.system_name = name};

		snprintf(name, 9, "%08u", n++);
		name[8] = 'y';
		r = answer_builder_add(b, n, 1, WORKER_SOURCE_SYMTAB, &frame, 1);
	}
	assert_int_equal(r, -E2BIG);
	assert_true(n >= WORKER_ANSWER_MAX / WORKER_TEXT_MAX);
	assert_true(n <= WORKER_ANSWER_MAX / WORKER_TEXT_MAX + 2);
	answer_builder_free(b);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),         cmocka_unit_test(test_frames),
		cmocka_unit_test(test_strange_texts), cmocka_unit_test(test_too_many_frames),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
