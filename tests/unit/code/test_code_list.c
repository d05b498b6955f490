/* SPDX-License-Identifier: MIT */
/* Ranges longer than a question, from something that answers like a worker. */
#include "client/code/code_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define START 0x1000
#define SIZE  3 /* of every instruction */

static const char text[] = "\0nop\0a.c\0b.c"; /* at 0, 1, 5 and 9 */

struct worker {
	uint64_t end; /* of the code */
	unsigned n_questions;
	struct worker_instruction *answer;
};

static struct worker *asked; /* what answers object_code() */

/* In place of the one that asks an image worker. */
int object_code(struct object *o, const struct worker_range *range, uint32_t flags,
		struct answer_code *ret)
{
	struct worker *w = asked;
	uint32_t n = 0;

	(void)o;
	if (!w)
		return OBJECT_E_NONE;
	assert_int_equal(flags, WORKER_INTEL);
	assert_true(range->start < range->end && range->end - range->start <= WORKER_CODE_MAX);
	free(w->answer);
	w->answer = calloc(WORKER_CODE_MAX, sizeof(*w->answer));
	assert_non_null(w->answer);
	for (uint64_t at = range->start; at < range->end && at < w->end; at += SIZE)
		w->answer[n++] = (struct worker_instruction){
			.address = at, .size = SIZE, .text = 1, .file = at & 1 ? 5 : 9, .line = 7};
	w->n_questions++;
	*ret = (struct answer_code){.instructions = w->answer, .text = text, .n_instructions = n};
	return 0;
}

static void test_long(void **state)
{
	const struct worker_range range = {START, START + 2 * WORKER_CODE_MAX + 10};
	struct worker w = {.end = UINT64_MAX};
	struct code_list list = {0};

	(void)state;
	asked = &w;
	assert_int_equal(code_list_add(&list, NULL, &range, WORKER_INTEL), 0);
	assert_int_equal(w.n_questions, 3);
	assert_int_equal(list.n, (range.end - range.start + SIZE - 1) / SIZE);
	for (size_t i = 0; i < list.n; i++) {
		assert_int_equal(list.rows[i].address, START + i * SIZE);
		assert_string_equal(list.rows[i].text, "nop");
		assert_string_equal(list.rows[i].file, i & 1 ? "a.c" : "b.c");
	}
	free(w.answer);
	code_list_deinit(&list);
}

static void test_end(void **state)
{
	const struct worker_range range = {START, START + 100};
	struct worker w = {.end = START + 4};
	struct code_list list = {0};

	(void)state;
	asked = &w;
	assert_int_equal(code_list_add(&list, NULL, &range, WORKER_INTEL), 0);
	assert_int_equal(list.n, 2);
	asked = NULL;
	assert_int_equal(code_list_add(&list, NULL, &range, 0), OBJECT_E_NONE);
	free(w.answer);
	code_list_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
