/* SPDX-License-Identifier: MIT */
/* The totals of samplers, over a scripted source whose own counts the test sets. */
#include "tests/support/start.h"
#include "tests/unit/session/session_set_fixture.h"

/* Made anew by each test, one at a time: what the source tells, whichever sampler is asked for. */
static struct source_stats told;

static int tell(struct source *source, unsigned sampler)
{
	source->samplers[sampler].stats = told;
	return SOURCE_E_OK;
}

/* What each sampler tells of all of them is no sum, and outlives the samplers. */
static void test_totals(void **state)
{
	Profd__Control__Start request = START("", "", .target = TARGET_ALL, .rate = 99);
	const struct peer root = {.privileged = true};
	struct world *w = *state;
	const struct source_ops *scripted = w->source->ops;
	struct source_ops ops = *scripted;
	struct source_message message;
	struct source_stats total;
	struct ledger ledger;
	struct session *first, *second;

	told = (struct source_stats){
		.idle = 10, .unfollowed = 3, .fork_misses = 4, .stale_roots = 5};
	ops.update_stats = tell;
	w->source->ops = &ops;
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &first, &message), 0);
	request.rate = 999;
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &second, &message), 0);
	assert_int_not_equal(first->samplings[0].sampler, second->samplings[0].sampler);

	assert_int_equal(session_set_total(w->set, &ledger, &total), 0);
	assert_int_equal(total.idle, 20);
	assert_int_equal(total.unfollowed, 3);
	assert_int_equal(total.fork_misses, 4);
	assert_int_equal(total.stale_roots, 5);
	assert_int_equal(session_set_stop(w->set, first, NULL), 0);
	told.fork_misses = 6;
	assert_int_equal(session_set_stop(w->set, second, NULL), 0);
	assert_int_equal(session_set_total(w->set, &ledger, &total), 0);
	assert_int_equal(total.idle, 20);
	assert_int_equal(total.unfollowed, 3);
	assert_int_equal(total.fork_misses, 6);
	assert_int_equal(total.stale_roots, 5);
	w->source->ops = scripted;
}

int main(void)
{
	const struct CMUnitTest tests[] = {WORLD(test_totals)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
