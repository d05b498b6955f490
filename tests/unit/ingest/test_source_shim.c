/* SPDX-License-Identifier: MIT */
/* Who is attached and let go, and what samplers ask of them. */
#include "tests/support/leftovers.h"
#include "tests/unit/ingest/shim_fixture.h"

static void test_who_wants_what(void **state)
{
	struct world *w = *state;
	struct ring_writer writer;
	unsigned slow, fast;

	attach(w, getpid(), &writer);
	assert_int_equal(ring_writer_frequency(&writer), 0);
	slow = add_sampler(w, 99, false);
	assert_int_equal(ring_writer_frequency(&writer), 0);
	assert_int_equal(source_add_pid(w->source, slow, getpid(), false), 0);
	assert_int_equal(source_add_pid(w->source, slow, 1, false), SOURCE_E_GONE);
	assert_int_equal(ring_writer_frequency(&writer), 99);
	fast = add_sampler(w, 1000, false);
	assert_int_equal(ring_writer_frequency(&writer), 99);
	assert_int_equal(source_set_all(w->source, fast, true), 0);
	assert_int_equal(ring_writer_frequency(&writer), 1000);
	assert_int_equal(source_remove_pid(w->source, slow, getpid()), 0);
	put(&writer, 1000, 3);
	drain(w);
	assert_int_equal(w->n_samples, 3);
	assert_int_equal(w->samples[0].sample.sampler, fast);
	put(&writer, 1000, 2);
	assert_int_equal(source_remove_sampler(w->source, fast), 0);
	assert_int_equal(w->n_samples, 5); /* the last ones are not left in the ring */
	assert_int_equal(ring_writer_frequency(&writer), 0);
	assert_closed(w, fast);
	/* What comes after is nobody's. */
	put(&writer, 1000, 2);
	drain(w);
	slow = add_sampler(w, 500, true);
	drain(w);
	assert_int_equal(stats_of(w, fast).seen, 5);
	assert_int_equal(stats_of(w, slow).seen, 0);
	assert_int_equal(w->n_samples, 5);
	ring_writer_close(&writer);
}

static void test_two_rates(void **state)
{
	struct world *w = *state;
	unsigned slow = add_sampler(w, 99, true), fast = add_sampler(w, 990, true);
	struct ring_writer writer;
	uint64_t weights[2] = {};

	attach(w, getpid(), &writer);
	assert_int_equal(ring_writer_frequency(&writer), 990);
	for (int i = 0; i < 10; i++) {
		burn(100 * MS);
		put(&writer, 990, 99);
		drain(w);
	}
	for (unsigned i = 0; i < w->n_samples; i++)
		weights[w->samples[i].sample.sampler == fast] += w->samples[i].sample.weight;
	assert_int_equal(stats_of(w, fast).seen, 990);
	assert_in_range(stats_of(w, slow).seen, 98, 99);
	assert_in_range(weights[1], S - MS, S);
	assert_in_range(weights[0], S - 20 * MS, S);
	assert_int_equal(stats_of(w, fast).excess_ticks, 0);
	ring_writer_close(&writer);
}

/* Processes tick once a second at least: a longer period takes several ticks. */
static void test_long_period(void **state)
{
	struct world *w = *state;
	struct sampler_spec spec = spec_of(3 * S, true);
	struct source_message message;
	struct ring_writer writer;
	unsigned sampler;

	spec.is_period = true;
	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message), 0);
	attach(w, getpid(), &writer);
	assert_int_equal(ring_writer_frequency(&writer), 1);
	burn(S);
	put(&writer, 1, 1);
	drain(w);
	assert_int_equal(w->n_samples, 0);
	assert_int_equal(stats_of(w, sampler).excess_ticks, 0);
	ring_writer_close(&writer);
}

static void test_refused_samplers(void **state)
{
	struct world *w = *state;
	struct source_message message = {};
	struct sampler_spec spec = spec_of(4001, true);
	unsigned sampler;

	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message),
			 SOURCE_E_UNSUPPORTED);
	assert_non_null(strstr(message.text, "4000"));
	spec = spec_of(99, true);
	spec.event.is_clock = false;
	strcpy(spec.event.name, "cycles");
	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message),
			 SOURCE_E_UNSUPPORTED);
	assert_non_null(strstr(message.text, "cycles"));
	for (int i = 0; i < SAMPLERS_MAX; i++)
		add_sampler(w, 10, true);
	spec = spec_of(99, true);
	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message), SOURCE_E_FULL);
}

static void test_ends(void **state)
{
	struct world *w = *state;
	struct ring_writer writer, again;
	pid_t pid = make_child();
	unsigned sampler = add_sampler(w, 100, true);
	size_t done = 0;

	attach(w, pid, &writer);
	put(&writer, 100, 4);
	/* Another program of the same process: what the first one left is not lost. */
	attach(w, pid, &again);
	assert_int_equal(w->n_samples, 4);
	assert_int_equal(w->n_begun, 2);
	assert_int_equal(w->n_exits, 0);
	assert_int_equal(source_shim_count(w->source), 1);
	ring_writer_close(&writer);
	put(&again, 100, 3);
	/* Of the mappings that it tells nothing is kept, and nothing is lost by them. */
	assert_true(ring_writer_maps(&again, 1, "1000-2000 r-xp 0 0:0 0 x\n", 24, &done));
	end_child(pid); /* though we have the bell, as a child of its own would */
	drain(w);
	assert_int_equal(w->n_samples, 7);
	assert_closed(w, sampler);
	assert_int_equal(stats_of(w, sampler).seen, 7);
	assert_int_equal(w->n_exits, 1);
	assert_int_equal(w->exited, pid);
	assert_int_equal(source_shim_count(w->source), 0);
	ring_writer_close(&again);
	drain(w);
	/* One that closes its bell has left; its end is told when it comes. */
	pid = make_child();
	attach(w, pid, &writer);
	ring_writer_close(&writer);
	drain(w);
	assert_false(source_shim_has(w->source, pid));
	assert_int_equal(w->n_exits, 1);
	end_child(pid);
	drain(w);
	assert_int_equal(w->n_exits, 2);
	assert_int_equal(w->exited, pid);
}

static void test_gone_at_once(void **state)
{
	struct world *w = *state;
	pid_t pid = make_child();
	const struct source_shim_process process = {.pid = pid};

	w->begin_result = SOURCE_E_GONE;
	assert_int_equal(try_attach(w, process, NULL), SOURCE_E_GONE);
	assert_int_equal(source_shim_count(w->source), 0);
	w->begin_result = 0;
	assert_int_equal(try_attach(w, process, NULL), 0);
	source_shim_sent(w->source, pid, false);
	assert_int_equal(source_shim_count(w->source), 0);
	end_child(pid);
	drain(w);
	assert_int_equal(w->n_exits, 2);
}

static void test_places(void **state)
{
	struct world *w = *state;
	unsigned n_fds = count_fds(), n = 0;
	struct source_shim_process process = {.uid = 1000};
	pid_t pids[64];

	open_source(w, 16 * (RING_PAGE + 8 * (UINT64_C(1) << 14)), false);
	for (int i = 0; i < 40; i++) {
		pids[i] = make_child();
		process.pid = pids[i];
		n += try_attach(w, process, NULL) == 0;
	}
	assert_true(n > 0 && n <= 4); /* a quarter is one stranger's */
	for (int i = 0; i < 20; i++) {
		process = (struct source_shim_process){.pid = pids[i], .uid = 2000 + (uid_t)i};
		n += !source_shim_has(w->source, pids[i]) && try_attach(w, process, NULL) == 0;
	}
	assert_true(n > 4 && n <= 12); /* three quarters are all strangers' */
	for (int i = 20; i < 40; i++) {
		process = (struct source_shim_process){.pid = pids[i], .privileged = true};
		n += try_attach(w, process, NULL) == 0;
	}
	assert_true(n > 12 && n <= 16);
	assert_int_equal(source_shim_count(w->source), n);
	for (int i = 0; i < 40; i++)
		end_child(pids[i]);
	drain(w);
	assert_int_equal(source_shim_count(w->source), 0);
	assert_int_equal(count_fds(), n_fds);
}

/* One that asks again and again, as if it executed one program after the other. */
static void test_pace(void **state)
{
	struct world *w = *state;
	struct source_shim_process process = {.pid = getpid(), .uid = 1000};
	unsigned n = 0;

	for (int i = 0; i < 1000; i++)
		n += try_attach(w, process, NULL) == 0;
	assert_in_range(n, 100, 200);
	assert_int_equal(w->n_begun, n);
	process.privileged = true;
	assert_int_equal(try_attach(w, process, NULL), 0);
}

static void test_beside_another_source(void **state)
{
	struct world *w = *state;
	struct ring_writer writer;
	pid_t pid = make_child();

	open_source(w, 1 << 20, true);
	attach(w, pid, &writer);
	assert_int_equal(ring_writer_frequency(&writer), 0);
	assert_int_equal(w->n_begun, 0);
	put(&writer, 100, 10);
	drain(w);
	end_child(pid);
	drain(w);
	assert_int_equal(w->n_samples + w->n_exits, 0);
	assert_int_equal(source_shim_count(w->source), 0);
	ring_writer_close(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_who_wants_what, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_rates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_period, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_samplers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beside_another_source, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
