/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_OUTPUT_CODE_FIXTURE_H
#define PROFD_TESTS_UNIT_OUTPUT_CODE_FIXTURE_H

/* Code objects of Python 3.11, in /app/f.py from line 10 on. */
#include "daemon/ingest/code_book.h"
#include "tests/unit/output/fixture.h"

/* Instructions 0 to 15 are line 11, the next two line 13. */
static const uint8_t code_table[] = {0x80 | 11 << 3 | 7, 0, 1, 0x80 | 12 << 3 | 1, 0, 1};

static inline uint32_t add_code(struct code_book *book, uint64_t id, const char *name)
{
	const struct runtime_code code = {
		.version = 0x030b,
		.first_line = 10,
		.name = {(const uint8_t *)name, (uint16_t)strlen(name), 1},
		.file = {(const uint8_t *)"/app/f.py", 9, 1},
		.table = code_table,
		.table_bytes = sizeof(code_table),
	};
	uint32_t number;
	bool forgot;

	assert_int_equal(code_book_add(book, &(struct code_origin){.id = id}, &code, &forgot), 0);
	assert_true(code_book_find(book, id, &number));
	return number;
}

#endif
