/* SPDX-License-Identifier: MIT */
/* A text in pieces of any length has the lines that it has as a whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/line_reader.h"

/* Its lines with '|' behind each. */
static char *read_in_pieces(const char *text, size_t length, size_t size)
{
	struct line_reader *r = calloc(1, sizeof(*r));
	char *lines = calloc(1, 2 * length + 2);
	struct span line;
	size_t n = 0;

	assert_non_null(r);
	assert_non_null(lines);
	for (size_t at = 0; at < length; at += size) {
		struct span piece = {text + at, length - at < size ? length - at : size};

		while (line_reader_next(r, &piece, &line))
			n += (size_t)sprintf(lines + n, "%.*s|", (int)line.length, line.at);
		assert_int_equal(piece.length, 0);
	}
	if (line_reader_end(r, &line))
		sprintf(lines + n, "%.*s|", (int)line.length, line.at);
	assert_false(line_reader_end(r, &line));
	free(r);
	return lines;
}

static void test_pieces(void **state)
{
	static const char text[] = "one\n\ntwo three\n\n\nfour";

	(void)state;
	for (size_t size = 1; size <= sizeof(text); size++) {
		cleanup(freep) char *lines = read_in_pieces(text, sizeof(text) - 1, size);
		cleanup(freep) char *ended = read_in_pieces("a\nb\n", 4, size);

		assert_string_equal(lines, "one||two three|||four|");
		assert_string_equal(ended, "a|b|");
	}
}

/* One that is too long is left out, not those around it. */
static void test_long_lines(void **state)
{
	const size_t length = 3 * LINE_READER_MAX;
	char *text = malloc(length);

	(void)state;
	assert_non_null(text);
	for (size_t n = LINE_READER_MAX - 2; n < LINE_READER_MAX + 3; n++) {
		memset(text, 'x', length);
		memcpy(text, "a\n", 2);
		memcpy(text + 2 + n, "\nb", 2);
		for (size_t size = 1; size < length; size = size * 3 + 1) {
			cleanup(freep) char *lines = read_in_pieces(text, n + 4, size);

			assert_int_equal(strlen(lines), n > LINE_READER_MAX ? 4 : 4 + n + 1);
			assert_memory_equal(lines, "a|", 2);
			assert_string_equal(lines + strlen(lines) - 2, "b|");
		}
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_long_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
