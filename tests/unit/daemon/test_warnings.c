/* SPDX-License-Identifier: MIT */
/* What warnings advise is what helps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/text_print.h"
#include "daemon/daemon_private.h"
#include "tests/unit/session/session_set_fixture.h"

/* More budget is what lacked unless a user's sessions have used up their part of it. */
static void test_early_closes(void **state)
{
	const struct peer root = {.privileged = true}, user = {.uid = 1000};
	Profd__Control__Start request = PROFD__CONTROL__START__INIT;
	cleanup(texts_deinit) struct texts texts = {0};
	struct session *of_root, *of_user, *system;
	struct source_message message;
	struct world *w = *state;

	request.target = TARGET_UID;
	request.number = 1000;
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	system = w->set->sessions[0];
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &of_root, &message), 0);
	assert_int_equal(session_set_start(w->set, &user, &request, -1, &of_user, &message), 0);
	daemon_warn_of_early_closes(w->set, &texts);
	assert_int_equal(texts.n, 0);
	of_user->counts.early_closes = 7;
	daemon_warn_of_early_closes(w->set, &texts);
	assert_int_equal(texts.n, 1);
	assert_non_null(strstr(texts.all[0], "7 windows of users' sessions were closed early"));
	assert_null(strstr(texts.all[0], "budget"));
	of_root->counts.early_closes = 2;
	system->counts.early_closes = 3;
	daemon_warn_of_early_closes(w->set, &texts);
	assert_int_equal(texts.n, 3);
	assert_string_equal(texts.all[1], "5 windows were closed early for lack of memory: raise "
					  "[memory] budget");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD(test_early_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
