/* SPDX-License-Identifier: MIT */
/* Texts in memory: whole, or an error. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/memory_text.h"
#include "common/room.h"

#define PIECES      40
#define PIECE_BYTES 1000

static unsigned n_made, fails_at;

/* In place of the product's: there is no memory for the @fails_at-th time, and for no other. */
int room_make(void *array, size_t *max, size_t n, size_t size)
{
	char **text = array;
	char *grown;

	if (++n_made == fails_at)
		return -ENOMEM;
	grown = realloc(*text, n * size);
	assert_non_null(grown);
	*text = grown;
	*max = n;
	return 0;
}

static int print(struct memory_text *ret)
{
	n_made = 0;
	assert_int_equal(memory_text_open(ret), 0);
	for (int i = 0; i < PIECES; i++) {
		assert_true(ferror(ret->out) || ftell(ret->out) == (long)i * PIECE_BYTES);
		fprintf(ret->out, "%*d", PIECE_BYTES, i);
	}
	return memory_text_close(ret);
}

static void test_whole(void **state)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};

	(void)state;
	fails_at = 0;
	assert_int_equal(print(&text), 0);
	assert_int_equal(text.length, PIECES * PIECE_BYTES);
	assert_int_equal(strlen(text.text), text.length);
	for (int i = 0; i < PIECES; i++)
		assert_int_equal(strtol(text.text + i * PIECE_BYTES, NULL, 10), i);
}

/* What comes after a piece that is lost would be written, if that were left to the C library. */
static void test_no_memory_for_a_piece(void **state)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	unsigned n;

	(void)state;
	fails_at = 0;
	assert_int_equal(print(&text), 0);
	n = n_made;
	assert_true(n > 2);
	for (unsigned i = 1; i <= n; i++) {
		free(text.text);
		fails_at = i;
		assert_int_equal(print(&text), -ENOMEM);
		assert_null(text.text);
	}
}

static void test_empty(void **state)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};

	(void)state;
	assert_int_equal(memory_text_open(&text), 0);
	assert_int_equal(memory_text_close(&text), 0);
	assert_int_equal(text.length, 0);
	assert_string_equal(text.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_no_memory_for_a_piece),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
