/* SPDX-License-Identifier: MIT */
/* profd's children are found when it begins, and followed from then on. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/ingest/members.h"
#include "tests/support/temp_dir.h"

static bool is_own(const struct members *m, pid_t pid)
{
	return members_has(m, OWN_SAMPLER, pid);
}

static void test_family(void **state)
{
	const struct process_event born = {
		.kind = PROCESS_EVENT_FORK, .pid = 20, .tid = 20, .parent = 9};
	const struct process_event stranger = {
		.kind = PROCESS_EVENT_FORK, .pid = 21, .tid = 21, .parent = 11};
	cleanup(members_deinit) struct members m = {0};
	struct temp_dir proc;

	(void)state;
	temp_dir_make(&proc);
	write_text(proc.fd, "7/task/7/children", "8 9 ");
	write_text(proc.fd, "8/task/8/children", "10 \n");
	write_text(proc.fd, "9/task/9/children", "");
	write_text(proc.fd, "10/task/10/children", "not a number");
	write_text(proc.fd, "11/task/11/children", "12 ");
	assert_int_equal(own_processes_add(&m, proc.fd, 7), 0);
	for (pid_t pid = 7; pid <= 10; pid++)
		assert_true(is_own(&m, pid));
	assert_false(is_own(&m, 11) || is_own(&m, 12));
	assert_int_equal(members_follow(&m, &born), 0);
	assert_int_equal(members_follow(&m, &stranger), 0);
	assert_true(is_own(&m, 20));
	assert_false(is_own(&m, 21));
	temp_dir_remove(&proc);
}

/* One that is its own ancestor, which no kernel says, ends all the same; so does a long line. */
static void test_nonsense(void **state)
{
	cleanup(members_deinit) struct members m = {0};
	struct temp_dir proc;
	char text[10000];

	(void)state;
	temp_dir_make(&proc);
	write_text(proc.fd, "7/task/7/children", "7 ");
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "8 ", 3);
	write_text(proc.fd, "9/task/9/children", text);
	assert_int_equal(own_processes_add(&m, proc.fd, 7), 0);
	assert_int_equal(own_processes_add(&m, proc.fd, 9), 0);
	assert_int_equal(own_processes_add(&m, proc.fd, 100), 0);
	assert_true(is_own(&m, 7) && is_own(&m, 8) && is_own(&m, 9) && is_own(&m, 100));
	assert_false(is_own(&m, 0));
	temp_dir_remove(&proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_family),
					   cmocka_unit_test(test_nonsense)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
