/* SPDX-License-Identifier: MIT */
/* Users whose processes hold up every reader, and the processes of all others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "daemon/resolve/held_up.h"

#define USER    20000
#define SERVICE 100
#define NOBODY  INT32_MAX /* no process has that number */

/* A new process of his each time, as long as he is asked; it lives. */
static unsigned hold_up_all(struct held_up *h, uid_t uid, pid_t *pid, uint64_t *now_ns)
{
	unsigned n = 0, refused = 0;

	while (refused < 2) {
		*now_ns += 31 * NS_PER_S;
		if (!held_up_may_ask(h, ++*pid, PROC_LOCKS_OWN, uid, *now_ns)) {
			refused++;
			continue;
		}
		held_up_note_wait(h, *pid, PROC_LOCKS_OWN, uid, *now_ns);
		n++;
	}
	return n;
}

static void test_strangers_stop_no_others(void **state)
{
	struct held_up h = {.n_waits = 0};
	uint64_t now_ns = NS_PER_S;
	pid_t pid = 1000;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		unsigned n = hold_up_all(&h, USER + i, &pid, &now_ns);

		assert_true(n > 0 && n <= HELD_UP_MAX / 6);
	}
	assert_true(held_up_may_ask(&h, ++pid, PROC_LOCKS_ALL, USER + 3, now_ns));
	/* However many they are. */
	for (unsigned i = 3; i < HELD_UP_MAX; i++)
		hold_up_all(&h, USER + i, &pid, &now_ns);
	assert_int_equal(h.n_waits, HELD_UP_MAX / 2);
	assert_true(held_up_may_ask(&h, ++pid, PROC_LOCKS_ALL, SERVICE, now_ns));
	for (unsigned i = 0; i < HELD_UP_MAX; i++)
		hold_up_all(&h, SERVICE + i, &pid, &now_ns);
	assert_true(held_up_may_ask(&h, ++pid, PROC_LOCKS_ALL, 0, now_ns));
	assert_in_range(hold_up_all(&h, 0, &pid, &now_ns), 4, HELD_UP_MAX / 8);
}

/* A second or so of half a minute is all that he costs. */
static void test_a_few_in_a_short_time(void **state)
{
	struct held_up h = {.n_waits = 0};
	unsigned n = 0;

	(void)state;
	while (held_up_may_ask(&h, 1000 + (pid_t)n, PROC_LOCKS_OWN, USER, NS_PER_S)) {
		held_up_note_wait(&h, 1000 + (pid_t)n, PROC_LOCKS_OWN, USER, NS_PER_S);
		n++;
	}
	assert_int_equal(n, 4);
	assert_true(held_up_may_ask(&h, 999, PROC_LOCKS_OWN, USER + 1, NS_PER_S));
	assert_true(held_up_may_ask(&h, 999, PROC_LOCKS_OWN, USER, 32 * NS_PER_S));
}

static void test_asked_again_later_each_time(void **state)
{
	struct held_up h = {.n_waits = 0};
	const pid_t pid = getpid();

	(void)state;
	held_up_note_wait(&h, pid, PROC_LOCKS_OWN, USER, NS_PER_S);
	assert_false(held_up_may_ask(&h, pid, PROC_LOCKS_OWN, USER, 2 * NS_PER_S));
	assert_false(held_up_may_ask(&h, pid, PROC_LOCKS_ALL, USER, 2 * NS_PER_S));
	assert_true(held_up_may_ask(&h, pid + 1, PROC_LOCKS_OWN, USER, 2 * NS_PER_S));
	assert_true(held_up_may_ask(&h, pid, PROC_LOCKS_OWN, USER, 3 * NS_PER_S));
	held_up_note_wait(&h, pid, PROC_LOCKS_OWN, USER, 3 * NS_PER_S);
	assert_false(held_up_may_ask(&h, pid, PROC_LOCKS_OWN, USER, 18 * NS_PER_S));
	held_up_note_answer(&h, pid, PROC_LOCKS_NONE);
	assert_false(held_up_may_ask(&h, pid, PROC_LOCKS_OWN, USER, 18 * NS_PER_S));
	held_up_note_answer(&h, pid, PROC_LOCKS_ALL);
	assert_true(held_up_may_ask(&h, pid, PROC_LOCKS_OWN, USER, 18 * NS_PER_S));
}

/* As long as a child may be stuck, and for a while in any case. */
static void test_forgotten(void **state)
{
	struct held_up h = {.n_waits = 0};

	(void)state;
	held_up_note_wait(&h, getpid(), PROC_LOCKS_OWN, USER, NS_PER_S);
	held_up_note_wait(&h, NOBODY, PROC_LOCKS_OWN, USER, NS_PER_S);
	held_up_forget(&h, 31 * NS_PER_S);
	assert_int_equal(h.n_waits, 2);
	held_up_forget(&h, 32 * NS_PER_S);
	assert_int_equal(h.n_waits, 1);
	assert_int_equal(h.waits[0].pid, getpid());
	held_up_note_answer(&h, getpid(), PROC_LOCKS_OWN);
	held_up_forget(&h, 32 * NS_PER_S);
	assert_int_equal(h.n_waits, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strangers_stop_no_others),
		cmocka_unit_test(test_a_few_in_a_short_time),
		cmocka_unit_test(test_asked_again_later_each_time),
		cmocka_unit_test(test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
