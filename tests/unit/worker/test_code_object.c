/* SPDX-License-Identifier: MIT */
/* What is put is taken, and nothing is that is not whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/worker/code_object.h"

static const uint32_t offsets[] = {1, 2, UINT32_MAX};

static struct code_object object_of(uint32_t n_offsets, uint16_t name, uint16_t file,
				    uint32_t table)
{
	static const uint8_t bytes[] = "abcdefgh";

	return (struct code_object){
		.code = {.version = 0x030b,
			 .first_line = 7,
			 .name = {bytes, name, 2},
			 .file = {bytes + 1, file, 4},
			 .table = bytes + 2,
			 .table_bytes = table},
		.offsets = offsets,
		.n_offsets = n_offsets,
	};
}

static void assert_same(const struct code_object *a, const struct code_object *b)
{
	assert_int_equal(a->code.version, b->code.version);
	assert_int_equal(a->code.first_line, b->code.first_line);
	assert_int_equal(a->n_offsets, b->n_offsets);
	assert_memory_equal(a->offsets, b->offsets, a->n_offsets * sizeof(*a->offsets));
	assert_int_equal(a->code.name.width, b->code.name.width);
	assert_int_equal(a->code.name.n_bytes, b->code.name.n_bytes);
	assert_memory_equal(a->code.name.bytes, b->code.name.bytes, a->code.name.n_bytes);
	assert_int_equal(a->code.file.width, b->code.file.width);
	assert_int_equal(a->code.file.n_bytes, b->code.file.n_bytes);
	assert_memory_equal(a->code.file.bytes, b->code.file.bytes, a->code.file.n_bytes);
	assert_int_equal(a->code.table_bytes, b->code.table_bytes);
	assert_memory_equal(a->code.table, b->code.table, a->code.table_bytes);
}

static void test_some(void **state)
{
	const struct code_object objects[] = {
		object_of(0, 0, 0, 0),
		object_of(3, 4, 4, 5),
		object_of(0, 2, 0, 0),
		object_of(1, 0, 4, 3),
	};
	uint32_t payload[64];
	uint8_t *to = (uint8_t *)payload;
	const uint8_t *at = to;
	struct code_object got;

	(void)state;
	memset(payload, 0xff, sizeof(payload));
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		assert_int_equal(code_object_bytes(&objects[i]) % 4, 0);
		code_object_put(&objects[i], to);
		to += code_object_bytes(&objects[i]);
	}
	assert_int_equal(to[0], 0xff);
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		assert_true(code_object_take(&at, to, &got));
		assert_same(&got, &objects[i]);
	}
	assert_ptr_equal(at, to);
	assert_false(code_object_take(&at, to, &got));
}

static void test_cut(void **state)
{
	const struct code_object object = object_of(3, 4, 4, 5);
	const size_t length = code_object_bytes(&object);
	uint32_t payload[64];
	struct code_object got;

	(void)state;
	code_object_put(&object, (uint8_t *)payload);
	for (size_t i = 0; i < length; i++) {
		const uint8_t *at = (const uint8_t *)payload;

		assert_false(code_object_take(&at, at + i, &got));
		assert_ptr_equal(at, payload);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_some),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
