/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/ledger/ledger.h"
#include "tests/support/ledger_closes.h"

static void count(struct ledger *l, unsigned quality, unsigned reason, unsigned n)
{
	struct sample sample = {.quality = (uint16_t)quality, .reason = (uint16_t)reason};

	while (n--)
		ledger_count(l, &sample);
}

static void test_both_equations(void **state)
{
	struct source_stats stats = {.expected = 112, .seen = 105};
	struct ledger l = {};

	(void)state;
	count(&l, STACK_COMPLETE, 0, 40);
	count(&l, STACK_GUESSED, 0, 10);
	count(&l, STACK_NO_USER, 0, 20);
	count(&l, STACK_TRUNCATED, TRUNCATED_DEPTH, 10);
	count(&l, STACK_BROKEN, BROKEN_UNREADABLE, 5);
	stats.lost[LOST_SKIPPED] = 7;
	stats.lost[LOST_RING_FULL] = 15;
	ledger_set_source(&l, &stats);
	assert_int_equal(l.in_flight, 5);
	assert_true(ledger_closes(&l));

	count(&l, STACK_COMPLETE, 0, 5);
	ledger_set_source(&l, &stats);
	assert_int_equal(l.in_flight, 0);
	assert_true(ledger_closes(&l));
	/* More arrived than the source saw: that can never close. */
	count(&l, STACK_COMPLETE, 0, 1);
	ledger_set_source(&l, &stats);
	assert_false(ledger_closes(&l));
}

/* Windows add up to the whole, whatever was in flight at their edges. */
static void test_windows_add_up(void **state)
{
	struct source_stats stats = {};
	struct ledger now = {}, then = {}, since, sum = {};

	(void)state;
	for (unsigned i = 1; i <= 20; i++) {
		stats.seen += 10;
		stats.expected += 12;
		stats.lost[LOST_SKIPPED] += 2;
		count(&now, i % 3 ? STACK_COMPLETE : STACK_BROKEN, 0, i == 20 ? 29 : 9);
		ledger_set_source(&now, &stats);
		ledger_since(&now, &then, &since);
		assert_true(ledger_closes(&since));
		ledger_add(&sum, &since);
		then = now;
	}
	assert_int_equal(sum.expected, stats.expected);
	assert_int_equal(sum.seen, stats.seen);
	assert_int_equal(sum.lost[LOST_SKIPPED], stats.lost[LOST_SKIPPED]);
}

static void test_text_has_what_is_not_zero(void **state)
{
	struct ledger l = {.expected = UINT64_MAX, .seen = 3, .in_flight = 1};
	cleanup(freep) char *text = NULL;
	cleanup(freep) char *guessed = NULL;

	(void)state;
	l.stacks.complete = 2;
	l.stacks.broken[BROKEN_UNREADABLE] = 5;
	text = ledger_text(&l, "");
	assert_string_equal(text, "expected=18446744073709551615 seen=3 complete=2 no_user=0 "
				  "broken.unreadable=5 in_flight=1");
	l.stacks.guessed = 3;
	guessed = ledger_text(&l, "");
	assert_non_null(strstr(guessed, " no_user=0 guessed=3 broken.unreadable=5 "));
}

/* Two in one line: no word of one is a word of the other. */
static void test_text_of_a_second_one(void **state)
{
	struct ledger l = {.expected = 4, .seen = 3, .lost[LOST_SKIPPED] = 1};
	cleanup(freep) char *text = NULL;
	char skipped[32];

	(void)state;
	text = ledger_text(&l, "off_cpu.");
	snprintf(skipped, sizeof(skipped), "off_cpu.lost.%s=1", lost_names[LOST_SKIPPED]);
	assert_non_null(strstr(text, skipped));
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		assert_int_equal(strncmp(word, "off_cpu.", 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_equations),
		cmocka_unit_test(test_windows_add_up),
		cmocka_unit_test(test_text_has_what_is_not_zero),
		cmocka_unit_test(test_text_of_a_second_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
