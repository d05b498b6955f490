/* SPDX-License-Identifier: MIT */
/* The thread and its queues, over a real store. */
#include "tests/unit/output/fixture.h"

#include <poll.h>

static struct output *open_output(struct fixture *f)
{
	const struct output_options o = default_options(f);
	struct output *output = NULL;

	assert_int_equal(output_new(&output, &o), 0);
	return output;
}

static struct output_result *wait_result(struct output *o)
{
	struct pollfd p = {.fd = output_fd(o), .events = POLLIN};
	struct output_result *r = output_take_result(o);

	while (!r) {
		assert_int_equal(poll(&p, 1, 10000), 1);
		r = output_take_result(o);
	}
	return r;
}

static int submit_snapshot(struct output *o, struct snapshot *s, void *cookie)
{
	return output_submit(
		o, &(struct output_request){.task = OUTPUT_WRITE, .snapshot = s, .cookie = cookie});
}

static int submit_epoch(struct output *o, void *cookie)
{
	return output_submit(o, &(struct output_request){.task = OUTPUT_EPOCH, .cookie = cookie});
}

static void test_order(void **state)
{
	struct fixture *f = *state;
	struct output *o = open_output(f);
	struct output_state now;
	struct output_result *r;
	int cookies[4];

	for (unsigned i = 0; i < 2; i++) {
		struct snapshot *s = everything_at(f, T0 + 60 * i);

		assert_int_equal(submit_snapshot(o, s, &cookies[i]), OUTPUT_E_OK);
	}
	assert_int_equal(output_submit(o, &(struct output_request){.task = OUTPUT_LIST,
								   .what.service = "a.service",
								   .cookie = &cookies[2]}),
			 OUTPUT_E_OK);
	assert_int_equal(submit_epoch(o, &cookies[3]), OUTPUT_E_OK);
	for (unsigned i = 0; i < 4; i++) {
		r = wait_result(o);
		assert_ptr_equal(r->request, &cookies[i]);
		assert_int_equal(r->error, 0);
		assert_true(r->started_ns > T0);
		assert_true(r->seconds >= 0);
		if (i < 2)
			assert_true(r->paths.n > 3);
		if (i == 2)
			assert_int_equal(r->listing->n_rows, 6);
		if (i == 3)
			assert_int_equal(strlen(r->paths.all[0]), 10);
		output_result_free(r);
	}
	assert_null(output_take_result(o));
	assert_int_equal(poll(&(struct pollfd){.fd = output_fd(o), .events = POLLIN}, 1, 0), 0);
	output_get_state(o, &now);
	assert_true(now.store.n_files > 8);
	assert_int_equal(now.store.oldest_ns, T0 * NS);
	output_free(o);
}

/* The queue is bounded, and frees with the answers that are taken. */
static void test_busy(void **state)
{
	struct fixture *f = *state;
	struct output *o = open_output(f);
	unsigned n = 0;

	while (submit_epoch(o, NULL) == OUTPUT_E_OK)
		assert_true(++n < 1000);
	assert_true(n >= 16);
	output_result_free(wait_result(o));
	assert_int_equal(submit_epoch(o, NULL), OUTPUT_E_OK);
	output_free(o);
}

/* What is queued when the end comes is written. */
static void test_finishes(void **state)
{
	struct fixture *f = *state;
	struct output *o = open_output(f);
	struct snapshot *s;

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(submit_snapshot(o, everything_at(f, T0 + 60 * i), NULL),
				 OUTPUT_E_OK);
	/* One that is refused stays the caller's. */
	while (submit_epoch(o, NULL) == OUTPUT_E_OK)
		continue;
	s = everything_at(f, T0);
	assert_int_equal(output_submit(o, &(struct output_request){.task = OUTPUT_COLLECT,
								   .snapshot = s}),
			 OUTPUT_E_BUSY);
	snapshot_free(s);
	output_free(o);
	assert_int_equal(take_census(f).pprof % EVERYTHING, 0);
	assert_true(take_census(f).pprof >= 10 * EVERYTHING);
}

static void test_configure(void **state)
{
	struct fixture *f = *state;
	struct output_options options = default_options(f);
	struct output *o = open_output(f);

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(submit_snapshot(o, everything_at(f, T0 + 60 * i), NULL),
				 OUTPUT_E_OK);
	options.limits.max_size = 1;
	options.limits.keep_windows = 1;
	for (unsigned i = 0; i < 5; i++)
		output_result_free(wait_result(o));
	assert_int_equal(take_census(f).n_pprof, 15);
	output_configure(o, &options);
	output_free(o);
	assert_int_equal(take_census(f).n_pprof, 3);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_order), T(test_busy), T(test_finishes),
					   T(test_configure)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
