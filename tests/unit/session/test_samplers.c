/* SPDX-License-Identifier: MIT */
/* The totals of samplers, over a scripted source whose own counts the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/session/samplers.h"
#include "tests/support/source_scripted.h"

struct world {
	struct source *source;
	const struct source_ops *scripted;
	struct process_table *processes;
	struct samplers *samplers;
};

/* Made anew by each test, one at a time: what the source tells, whichever sampler is asked for. */
static struct source_stats told;

static int tell(struct source *source, unsigned sampler)
{
	source->samplers[sampler].stats = told;
	return SOURCE_E_OK;
}

static bool wants_all(void *userdata, unsigned sampler)
{
	(void)userdata, (void)sampler;
	return true;
}

static int settle(void *userdata, unsigned sampler, bool is_last)
{
	(void)userdata, (void)sampler, (void)is_last;
	return 0;
}

static void ignore_sample(void *userdata, const struct sample *sample)
{
	(void)userdata, (void)sample;
}

static void ignore_event(void *userdata, const struct process_event *event)
{
	(void)userdata, (void)event;
}

/* What each sampler tells of all of them is no sum, and outlives the samplers. */
static void test_totals(void **state)
{
	static const struct samplers_policy policy = {.wants_all = wants_all, .settle = settle};
	const struct source_sink sink = {.sample = ignore_sample, .process_event = ignore_event};
	const struct source_options options = {.sink = &sink};
	struct sampler_spec spec = {.event = {.name = "cpu-clock"}, .rate = 99};
	struct source_message message;
	struct source_stats total;
	struct source_ops ops;
	struct world w = {};
	struct ledger ledger;
	unsigned first, second;

	(void)state;
	assert_int_equal(source_scripted_new(&w.source, &options), 0);
	ops = *w.source->ops;
	ops.update_stats = tell;
	w.scripted = w.source->ops;
	w.source->ops = &ops;
	assert_int_equal(process_table_new(&w.processes, -1, 1 << 20), 0);
	assert_int_equal(samplers_new(&w.samplers, w.source, w.processes, &policy), 0);
	assert_int_equal(samplers_acquire(w.samplers, &spec, 0, &first, &message), SOURCE_E_OK);
	spec.rate = 999;
	assert_int_equal(samplers_acquire(w.samplers, &spec, 0, &second, &message), SOURCE_E_OK);
	assert_int_not_equal(first, second);

	told = (struct source_stats){
		.idle = 10, .unfollowed = 3, .fork_misses = 4, .stale_roots = 5};
	assert_int_equal(samplers_total(w.samplers, &ledger, &total), 0);
	assert_int_equal(total.idle, 20);
	assert_int_equal(total.unfollowed, 3);
	assert_int_equal(total.fork_misses, 4);
	assert_int_equal(total.stale_roots, 5);
	assert_int_equal(samplers_release(w.samplers, first, &ledger), 0);
	told.fork_misses = 6;
	assert_int_equal(samplers_release(w.samplers, second, &ledger), 0);
	assert_int_equal(samplers_total(w.samplers, &ledger, &total), 0);
	assert_int_equal(total.idle, 20);
	assert_int_equal(total.unfollowed, 3);
	assert_int_equal(total.fork_misses, 6);
	assert_int_equal(total.stale_roots, 5);

	samplers_free(w.samplers);
	process_table_free(w.processes);
	w.source->ops = w.scripted;
	source_free(w.source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_totals)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
