/* SPDX-License-Identifier: MIT */
/*
 * When samples were counted: the same from the windows' files, from hours and days that these were
 * rolled up to, and from the open window; and how much space it takes, whatever was sampled.
 */
#include "common/profile/sample_times.h"
#include "common/profile/times_block.h"
#include "tests/support/random.h"
#include "tests/unit/output/rollup_fixture.h"

#define N_TIMED   5
#define FIRST_S   (T0 + 58 * 60) /* they are of two hours */
#define N_BUCKETS (N_TIMED * 600)

/* The same snapshot, its samples all over its minute; *counts: of each bucket since T0. */
static void set_times(struct snapshot *s, uint64_t seed, uint64_t *counts)
{
	struct aggregate *timed = NULL;
	const struct aggregate_entry *entries;
	const uint64_t first = s->start_ns / PROFILE_BUCKET_NS;
	size_t n;

	assert_int_equal(aggregate_new(&timed, 64 << 20), 0);
	entries = aggregate_entries(s->aggregate, &n);
	for (size_t i = 0; i < n; i++)
		for (uint64_t j = 0; j < entries[i].count; j++) {
			const struct aggregate_entry *e = &entries[i];
			struct aggregate_key key = {
				.process = e->process,
				.generation = e->generation,
				.time_ns = (first + random_next(&seed) % 600) * PROFILE_BUCKET_NS,
				.thread_name = aggregate_thread_name(s->aggregate, e->thread_name),
				.stack = aggregate_stack(s->aggregate, e->stack),
			};

			assert_int_equal(aggregate_add(timed, &key, 1, 10000000), 0);
			counts[key.time_ns / PROFILE_BUCKET_NS - FIRST_S * UINT64_C(10)]++;
		}
	aggregate_free(s->aggregate);
	s->aggregate = timed;
}

static struct snapshot *timed_minute(const struct fixture *f, unsigned i, uint64_t *counts)
{
	struct snapshot *s = everything_at(f, FIRST_S + i * 60);

	s->formats = FORMAT_PPROF;
	set_times(s, i + 1, counts);
	return s;
}

static struct profile *collect_all(struct writer *w, bool times, const struct snapshot *open)
{
	const struct collect_options o = {.max_bytes = 8 << 20,
					  .max_result = 8 << 20,
					  .times = times};
	cleanup(collected_freep) struct collected *result = NULL;
	cleanup(collect_freep) struct collect *c = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	struct profile *p = NULL;
	int r = writer_collect(w, &o, open, &c);

	while (r == COLLECT_E_OK)
		r = collect_step(c);
	assert_int_equal(r, COLLECT_E_DONE);
	result = collect_take_result(c);
	data = malloc(result->bytes + 1);
	assert_non_null(data);
	assert_int_equal(pread(result->fd, data, result->bytes + 1, 0), result->bytes);
	assert_int_equal(pprof_read(data, result->bytes, 64 << 20, &p, &message), 0);
	return p;
}

static void assert_counts(const struct profile *p, const uint64_t *wanted)
{
	uint64_t counts[N_BUCKETS] = {0};

	for (uint32_t i = 0; i < p->n_samples; i++)
		assert_true(profile_knows_times(p, i));
	for (size_t i = 0; i < p->n_times; i++) {
		uint64_t at = p->times[i].bucket - FIRST_S * UINT64_C(10);

		assert_true(at < N_BUCKETS);
		assert_int_equal(p->times[i].scale, 0);
		counts[at] += p->times[i].count;
	}
	for (size_t i = 0; i < N_BUCKETS; i++)
		assert_int_equal(counts[i], wanted[i]);
}

static void assert_collected(struct writer *w, const struct snapshot *open, const uint64_t *wanted)
{
	cleanup(profile_freep) struct profile *p = collect_all(w, true, open);
	cleanup(profile_freep) struct profile *without = collect_all(w, false, open);

	assert_counts(p, wanted);
	assert_int_equal(without->n_times, 0);
	assert_int_equal(without->n_samples, p->n_samples);
}

static void test_from_windows_to_days(void **state)
{
	const struct fixture *f = *state;
	const struct output_options o = rolling(f);
	cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);
	uint64_t counts[N_BUCKETS] = {0};
	cleanup(snapshot_freep) struct snapshot *open = NULL;

	for (unsigned i = 0; i < N_TIMED - 1; i++)
		write_quietly(w, timed_minute(f, i, counts), FIRST_S + i * 60 + 60);
	assert_collected(w, NULL, counts);
	roll(w, T0 + 4 * HOUR);
	assert_false(exists(f, minute_name(DAY_A, 58)));
	assert_collected(w, NULL, counts);
	roll(w, T0 + 3 * 24 * HOUR);
	assert_true(exists(f, DAY_FILE));
	assert_collected(w, NULL, counts);
	open = timed_minute(f, N_TIMED - 1, counts);
	assert_collected(w, open, counts);
}

/* The wall clock was set while the window was open: its edges are of the new time, and so are its
 * samples'. */
static void test_a_clock_that_was_set(void **state)
{
	static const int64_t moves[] = {30000000, -30000000, 86400000000000, -70000000};
	const struct fixture *f = *state;
	const struct output_options o = rolling(f);

	for (unsigned i = 0; i < ARRAY_SIZE(moves); i++) {
		cleanup(writer_freep) struct writer *w = open_writer(f, &o, NULL, T0);
		uint64_t counts[N_BUCKETS] = {0};
		cleanup(snapshot_freep) struct snapshot *s = timed_minute(f, 0, counts);
		cleanup(profile_freep) struct profile *before = collect_all(w, true, s), *p = NULL;
		int64_t moved;

		s->times_moved_ns = moves[i];
		p = collect_all(w, true, s);
		moved = (int64_t)p->times[0].bucket - (int64_t)before->times[0].bucket;
		assert_int_equal(moved, i < 2 ? 0 : i == 2 ? 864000 : -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_from_windows_to_days, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_a_clock_that_was_set, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
