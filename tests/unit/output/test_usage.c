/* SPDX-License-Identifier: MIT */
#include "daemon/output/usage.h"

#include "tests/unit/output/rollup_fixture.h"

static Profd__Control__UsageTable *ask(struct writer *w, struct output_request request,
				       struct output_result *result)
{
	request.task = OUTPUT_USAGE;
	writer_usage(w, &request, (T0 + 600) * NS, result);
	assert_int_equal(result->error, 0);
	return result->usage;
}

static struct output_request range(uint64_t since_s, uint64_t until_s, uint32_t steps,
				   uint32_t limit)
{
	return (struct output_request){
		.what.select = {.since_ns = since_s * NS, .until_ns = until_s * NS},
		.steps = steps,
		.limit = limit,
	};
}

static uint64_t row_sum(const Profd__Control__UsageRow *row)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < row->n_step_ns; i++)
		sum += row->step_ns[i];
	return sum;
}

static void assert_near(uint64_t a, uint64_t b)
{
	assert_in_range(a, b - (b > 1000 ? 1000 : b), b + 1000);
}

/* What the listing has of the same range. */
static uint64_t listed_cpu(struct writer *w, const char *service, uint64_t since_s,
			   uint64_t until_s)
{
	struct output_result result = {0};
	uint64_t cpu_ns = 0;

	writer_list(w,
		    &(struct listing_options){.since_ns = since_s * NS, .until_ns = until_s * NS},
		    &result);
	for (size_t i = 0; i < result.listing->n_rows; i++)
		if (strcmp(result.listing->rows[i]->service, service) == 0)
			cpu_ns = result.listing->rows[i]->cpu_ns;
	listing_free(result.listing);
	return cpu_ns;
}

/* Three minutes, a gap of three, three more. */
static void test_steps(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result r = {0};
	Profd__Control__UsageTable *t;

	write_minutes(f, w, 0, 3);
	write_minutes(f, w, 6, 3);
	t = ask(w, range(T0 - 60, T0 + 540, 10, 60), &r);
	assert_int_equal(t->since_ns, (T0 - 60) * NS);
	assert_int_equal(t->step_ns, 60 * NS);
	assert_int_equal(t->n_covered, 10);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal((int)(t->covered[i] * 100 + 0.5F),
				 (i >= 1 && i < 4) || i >= 7 ? 100 : 0);
	assert_int_equal(t->n_rows, 3);
	assert_int_equal(t->n_others, 0);
	for (size_t i = 0; i < t->n_rows; i++) {
		const Profd__Control__UsageRow *row = t->rows[i];

		assert_true(!i || row->cpu_ns <= t->rows[i - 1]->cpu_ns);
		assert_int_equal(row->n_step_ns, 10);
		assert_near(row->cpu_ns, listed_cpu(w, row->service, T0 - 60, T0 + 540));
		assert_near(row->cpu_ns, row_sum(row));
		assert_int_equal(row->step_ns[0], 0);
		assert_int_equal(row->step_ns[5], 0);
		assert_near(row->step_ns[2], row->cpu_ns / 6);
	}
	usage_free(steal_ptr(&r.usage));
	/* Half a minute of the first window, in two steps. */
	t = ask(w, range(T0, T0 + 30, 2, 60), &r);
	assert_near(t->rows[0]->cpu_ns, listed_cpu(w, t->rows[0]->service, T0, T0 + 60) / 2);
	assert_near(t->rows[0]->step_ns[0], t->rows[0]->step_ns[1]);
	assert_int_equal((int)(t->covered[1] * 100 + 0.5F), 100);
	usage_free(steal_ptr(&r.usage));
	/* In steps of days, minutes are no gap either. */
	t = ask(w, range(T0 - 30 * 86400, T0 + 30 * 86400, 10, 60), &r);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(t->covered[i] > 0, i == 5);
	usage_free(r.usage);
	writer_free(w);
}

/* Minutes of two hours, with one between them, become a day. */
static void test_covered_day(void **state)
{
	struct fixture *f = *state;
	const struct output_options options = rolling(f);
	struct writer *w = open_writer(f, &options, NULL, T0);
	struct output_request request = range(T0 - 9 * HOUR, T0 + 15 * HOUR, 24, 60);
	struct output_result r = {0};
	const Profd__Control__UsageTable *t;

	write_minutes(f, w, 0, 2);
	write_minutes(f, w, 120, 2);
	assert_true(roll(w, T0 + 3 * DAY) > 0);
	assert_true(exists(f, DAY_FILE));
	t = ask(w, request, &r);
	for (size_t i = 0; i < 24; i++)
		assert_int_equal((int)(t->covered[i] * 100 + 0.5F), i == 9 || i == 11 ? 100 : 0);
	usage_free(r.usage);
	writer_free(w);
}

static void test_services(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result r = {0};
	struct output_request request = range(T0, T0 + 180, 3, 1);
	Profd__Control__UsageTable *t;
	uint64_t all;

	write_minutes(f, w, 0, 3);
	t = ask(w, request, &r);
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(t->n_others, 2);
	assert_near(t->others->cpu_ns, row_sum(t->others));
	all = listed_cpu(w, "a.service", 0, 0) + listed_cpu(w, "b/x", 0, 0) +
	      listed_cpu(w, "kernel", 0, 0);
	assert_near(t->rows[0]->cpu_ns + t->others->cpu_ns, all);
	usage_free(steal_ptr(&r.usage));
	request.what.service = "ERN";
	t = ask(w, request, &r);
	assert_int_equal(t->n_rows, 1);
	assert_string_equal(t->rows[0]->service, "kernel");
	assert_int_equal(t->n_others, 0);
	assert_int_equal(t->others->cpu_ns, 0);
	/* What others run is covered, too. */
	assert_int_equal((int)(t->covered[0] * 100 + 0.5F), 100);
	usage_free(steal_ptr(&r.usage));
	request.what.service = "nobody";
	assert_int_equal(ask(w, request, &r)->n_rows, 0);
	usage_free(r.usage);
	writer_free(w);
}

static void test_open_window(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_request request = range(T0, T0 + 120, 2, 60);
	struct output_result r = {0};
	Profd__Control__UsageTable *t;

	write_minutes(f, w, 0, 1);
	request.snapshot = everything_at(f, T0 + 60);
	request.snapshot->duration_ns = 30 * NS;
	t = ask(w, request, &r);
	assert_int_equal((int)(t->covered[1] * 100 + 0.5F), 50);
	assert_int_equal(t->n_rows, 3);
	assert_near(t->rows[0]->step_ns[0], t->rows[0]->step_ns[1]);
	usage_free(steal_ptr(&r.usage));
	/* And alone, where nothing is stored. */
	request.what.select.since_ns = (T0 + 60) * NS;
	assert_int_equal(ask(w, request, &r)->n_rows, 3);
	usage_free(r.usage);
	snapshot_free(request.snapshot);
	writer_free(w);
}

static const Profd__Control__UsageRow *row_of(const Profd__Control__UsageTable *t,
					      const char *service)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (strcmp(t->rows[i]->service, service) == 0)
			return t->rows[i];
	fail_msg("%s is not listed", service);
	return NULL;
}

/* Hours and days count likewise; of a day, its hours are known. */
static void test_rolled_up(void **state)
{
	struct fixture *f = *state;
	const struct output_options options = rolling(f);
	struct writer *w = open_writer(f, &options, NULL, T0);
	const uint64_t midnight = T0 - T0 % DAY + DAY, hour_s = T0 / HOUR * HOUR;
	struct output_result r = {0};
	uint64_t first, second;
	Profd__Control__UsageTable *t;

	write_minutes(f, w, 0, 3);
	write_minutes(f, w, 60, 2);
	write_minutes(f, w, 180, 1);
	first = listed_cpu(w, "a.service", hour_s, hour_s + HOUR);
	second = listed_cpu(w, "a.service", hour_s + HOUR, hour_s + 2 * HOUR);
	assert_true(roll(w, midnight + HOUR - 1) > 0);
	t = ask(w, range(hour_s, hour_s + HOUR, 4, 60), &r);
	assert_near(row_sum(row_of(t, "a.service")), first);
	assert_near(row_of(t, "a.service")->step_ns[3], first / 4);
	assert_int_equal((int)(t->covered[3] * 100 + 0.5F), 100);
	usage_free(steal_ptr(&r.usage));
	assert_true(roll(w, midnight + HOUR) > 0);
	assert_true(exists(f, DAY_FILE));
	t = ask(w, range(hour_s - HOUR, hour_s + 2 * HOUR, 3, 60), &r);
	assert_int_equal(row_of(t, "a.service")->step_ns[0], 0);
	assert_near(row_of(t, "a.service")->step_ns[1], first);
	assert_near(row_of(t, "a.service")->step_ns[2], second);
	usage_free(r.usage);
	writer_free(w);
}

/* An empty store, ranges without an end, and those that are over before they begin. */
static void test_bounds(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result r = {0};
	Profd__Control__UsageTable *t = ask(w, range(0, 0, 600, 60), &r);

	assert_int_equal(t->n_rows, 0);
	assert_int_equal(t->n_covered, 600);
	usage_free(steal_ptr(&r.usage));
	write_minutes(f, w, 0, 2);
	t = ask(w, range(0, 0, 1, 60), &r);
	assert_int_equal(t->since_ns, T0 * NS);
	assert_int_equal(t->until_ns, (T0 + 600) * NS);
	assert_int_equal(t->n_rows, 3);
	usage_free(steal_ptr(&r.usage));
	assert_int_equal(ask(w, range(T0 + 900, 0, 7, 60), &r)->n_rows, 0);
	usage_free(r.usage);
	writer_free(w);
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_steps),       T(test_services),  T(test_covered_day),
		T(test_open_window), T(test_rolled_up), T(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
