/* SPDX-License-Identifier: MIT */
/* The listener and processes of another user, which only root can become. */
#include "tests/unit/control/attach_fixture.h"

#include <grp.h>
#include <sys/prctl.h>

static int child_of_another(struct world *w, bool is_dumpable)
{
	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return CHILD_OTHER;
	prctl(PR_SET_DUMPABLE, is_dumpable);
	return attach_and_judge(w->path, "does not run as your user and group only");
}

static int child_dumpable(struct world *w)
{
	return child_of_another(w, true);
}

static int child_undumpable(struct world *w)
{
	return child_of_another(w, false);
}

/* Others get rings for what is theirs alone: what a set-id program does is not its user's. */
static void test_others(void **state)
{
	struct world *w = *state;
	pid_t pid;

	assert_int_equal(run_child(w, child_dumpable, &pid), CHILD_GOT_RING);
	assert_int_equal(w->attached_uid, NOBODY);
	assert_int_equal(run_child(w, child_undumpable, &pid), CHILD_REFUSED);
	assert_int_equal(w->n_calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_others)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
