/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/resolve/user_room.h"

#define MAX 8000

enum { ROOT = 0, ONE = 1000, TWO = 1001, THREE = 1002 };

static void test_user_has_half(void **state)
{
	struct user_room room = {.max_bytes = MAX, .self = (uid_t)-1};

	(void)state;
	user_room_add(&room, ONE, MAX / 2, false);
	assert_false(user_room_is_full(&room, ONE));
	user_room_add(&room, ONE, 1, false);
	assert_true(user_room_is_full(&room, ONE));
	assert_false(user_room_is_full(&room, TWO));
	assert_false(user_room_is_full(&room, ROOT));
	user_room_reset(&room);
	assert_false(user_room_is_full(&room, ONE));
	user_room_reset(&room);
}

static void test_users_leave_something(void **state)
{
	struct user_room room = {.max_bytes = MAX, .self = (uid_t)-1};

	(void)state;
	user_room_add(&room, ONE, MAX / 8 * 3, false);
	user_room_add(&room, TWO, MAX / 8 * 3 + 1, false);
	assert_true(user_room_is_full(&room, THREE));
	assert_false(user_room_is_full(&room, ROOT));
	user_room_add(&room, ROOT, MAX / 4, false);
	assert_true(user_room_is_full(&room, ROOT));
	user_room_reset(&room);
}

/* Those that take all they get leave room for one that comes later. */
static void test_newcomer_finds_room(void **state)
{
	struct user_room room = {.max_bytes = MAX, .self = (uid_t)-1};

	(void)state;
	for (uid_t uid = ONE; uid < ONE + 4; uid++) {
		for (int i = 0; i < MAX && !user_room_is_full(&room, uid); i++)
			user_room_add(&room, uid, 1, false);
		assert_true(user_room_is_full(&room, uid));
	}
	assert_false(user_room_is_full(&room, ONE + 4));
	user_room_reset(&room);
}

static void test_own_user_has_all(void **state)
{
	struct user_room room = {.max_bytes = MAX, .self = ONE};

	(void)state;
	user_room_add(&room, ONE, MAX, false);
	assert_false(user_room_is_full(&room, ONE));
	user_room_add(&room, ONE, 1, false);
	assert_true(user_room_is_full(&room, ONE));
	user_room_reset(&room);
}

static void test_plenty_is_half_of_that(void **state)
{
	struct user_room room = {.max_bytes = MAX, .self = (uid_t)-1};

	(void)state;
	user_room_add(&room, ONE, MAX / 4 + 1, false);
	assert_false(user_room_is_full(&room, ONE));
	assert_false(user_room_has_plenty(&room, ONE));
	assert_true(user_room_has_plenty(&room, TWO));
	user_room_reset(&room);
}

static void test_ended_are_let_go(void **state)
{
	struct user_room room = {.max_bytes = MAX, .self = (uid_t)-1};

	(void)state;
	user_room_add(&room, ROOT, MAX, false);
	user_room_add(&room, ROOT, MAX / 2, true);
	assert_false(user_room_wants_end(&room));
	user_room_add(&room, ONE, 1, true);
	assert_true(user_room_wants_end(&room));
	user_room_reset(&room);
	assert_false(user_room_wants_end(&room));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_has_half),
		cmocka_unit_test(test_users_leave_something),
		cmocka_unit_test(test_newcomer_finds_room),
		cmocka_unit_test(test_own_user_has_all),
		cmocka_unit_test(test_plenty_is_half_of_that),
		cmocka_unit_test(test_ended_are_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
