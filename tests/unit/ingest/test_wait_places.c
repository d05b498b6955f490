/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/waits.h"
#include "daemon/ingest/wait_places.h"

static const char kallsyms[] = "ffffffff81001000 T ret_from_fork_asm\n"
			       "ffffffff81001040 T other\n"
			       "ffffffff81000fc0 T __switch_to_asm\n"
			       "ffffffff81002000 t exit_to_user_mode_loop.isra.0\n"
			       "ffffffff81002100 T exit_to_user_mode_loop_more\n"
			       "ffffffff81003000 T get_signal\n"
			       "ffffffff81003000 T an_alias\n"
			       "ffffffff81003900 D data\n"
			       "ffffffff81004000 T asm_sysvec_apic_timer_interrupt\n"
			       "ffffffff81004020 T asm_common_interrupt\n"
			       "ffffffff81004040 T asm_exc_page_fault\n"
			       "ffffffff81003a00 t ptrace_stop.part.0\n"
			       "ffffffffc0000000 t of_a_module\t[module]\n"
			       "ffffffff81003b00 w last_one";

static struct wait_places parse(const char *text)
{
	struct wait_places places;

	wait_places_parse(text, strlen(text), &places);
	return places;
}

static void test_places(void **state)
{
	const struct wait_places places = parse(kallsyms);

	(void)state;
	assert_int_equal(places.n, 6);
	assert_int_equal(wait_places_find(&places, 0xffffffff81002000), WAIT_NONE);
	assert_int_equal(wait_places_find(&places, 0xffffffff81002001), WAIT_RUNNABLE);
	assert_int_equal(wait_places_find(&places, 0xffffffff81002100), WAIT_RUNNABLE);
	assert_int_equal(wait_places_find(&places, 0xffffffff81002101), WAIT_NONE);
	assert_int_equal(wait_places_find(&places, 0xffffffff81003500), WAIT_STOPPED);
	/* Data is no function, and does not end one. */
	assert_int_equal(wait_places_find(&places, 0xffffffff81003980), WAIT_STOPPED);
	assert_int_equal(wait_places_find(&places, 0xffffffff81003a80), WAIT_STOPPED);
	assert_int_equal(wait_places_find(&places, 0xffffffff81003b01), WAIT_NONE);
	assert_int_equal(wait_places_find(&places, 0xffffffffc0000010), WAIT_NONE);
	assert_int_equal(wait_places_find(&places, 0), WAIT_NONE);
}

static void test_interrupts(void **state)
{
	const struct wait_places places = parse(kallsyms);

	(void)state;
	assert_true(wait_places_is_interrupt(&places, 0xffffffff81004010));
	assert_true(wait_places_is_interrupt(&places, 0xffffffff81004020));
	assert_true(wait_places_is_interrupt(&places, 0xffffffff81004040));
	assert_false(wait_places_is_interrupt(&places, 0xffffffff81004000));
	assert_false(wait_places_is_interrupt(&places, 0xffffffff81004041));
	assert_false(wait_places_is_interrupt(&places, 0xffffffff81002001));
	assert_false(wait_places_is_interrupt(&places, 0));
	assert_true(wait_places_have_interrupts(&places));
	assert_false(wait_places_have_interrupts(&(struct wait_places){0}));
	/* And they are no place of a wait. */
	assert_int_equal(wait_places_find(&places, 0xffffffff81004010), WAIT_NONE);
}

/* arm64's: entry code, its part in C, and where it leaves for another thread. */
static void test_arm64(void **state)
{
	const struct wait_places places = parse("ffff800008011000 t el1h_64_irq\n"
						"ffff800008011100 t el0t_64_irq\n"
						"ffff800008011200 t el0_svc\n"
						"ffff800008012000 t el1_interrupt\n"
						"ffff800008012100 t el1_abort\n"
						"ffff800008013000 T do_notify_resume\n"
						"ffff800008014000 T other");

	(void)state;
	assert_true(wait_places_is_interrupt(&places, 0xffff800008011010));
	assert_true(wait_places_is_interrupt(&places, 0xffff800008011110));
	assert_false(wait_places_is_interrupt(&places, 0xffff800008011210));
	assert_true(wait_places_is_interrupt(&places, 0xffff800008012010));
	assert_false(wait_places_is_interrupt(&places, 0xffff800008012110));
	assert_int_equal(wait_places_find(&places, 0xffff800008013010), WAIT_RUNNABLE);
	assert_int_equal(wait_places_find(&places, 0xffff800008014010), WAIT_NONE);
}

static void test_beginnings(void **state)
{
	const struct wait_places places = parse(kallsyms);

	(void)state;
	assert_true(wait_places_is_beginning(&places, 0xffffffff81001000));
	assert_false(wait_places_is_beginning(&places, 0xffffffff81001001));
	assert_false(wait_places_is_beginning(&places, 0));
	assert_int_equal(wait_places_find(&places, 0xffffffff81001000), WAIT_RUNNABLE);
}

static void test_hidden_and_malformed(void **state)
{
	static const char *const texts[] = {"",
					    "\n\n",
					    "0000000000000000 T get_signal\n",
					    "ffffffff81003000",
					    "ffffffff81003000 T",
					    "ffffffff81003000 T ",
					    "ffffffff81003000Tget_signal",
					    "get_signal\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct wait_places places = parse(texts[i]);

		assert_int_equal(places.n, 0);
		assert_false(wait_places_is_beginning(&places, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_beginnings),
		cmocka_unit_test(test_hidden_and_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
