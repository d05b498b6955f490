/* SPDX-License-Identifier: MIT */
/* Waits beside CPU samples, and alone: which files have them, and as what. */
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "daemon/output/listing.h"
#include "daemon/output/stored.h"
#include "daemon/output/usage.h"
#include "tests/unit/output/collect_fixture.h"

#define A_SERVICE DAY_A "20261121T090000Z-60s.pb.gz"

/* A wait of process @process, with a stack that is one of `everything`, in a thread that is none.
 */
static void add_waits(struct snapshot *s, uint64_t process, enum wait_state state, int call,
		      unsigned n)
{
	const uint64_t frames[] = {PROGRAM_AT + 0x100, PROGRAM_AT + 0x200};
	const struct aggregate_key key = {.process = process,
					  .wait = aggregate_wait(state, call),
					  .thread_name = "t1",
					  .time_ns = (T0 + 30) * NS,
					  .stack = {.frames = frames, .n_frames = 2}};

	while (n--)
		assert_int_equal(aggregate_add(s->aggregate, &key, 1, 30000000), 0);
}

static struct snapshot *wall_at(const struct fixture *f, const struct script *script, size_t n)
{
	struct snapshot *s = make_snapshot(f, T0, script, n);

	s->off_cpu_frequency = 100;
	s->off_cpu_period = 10000000;
	s->off_cpu_ledger = strdup("off_cpu.expected=8 off_cpu.seen=8");
	s->labels |= LABEL_WAIT;
	add_waits(s, 1, WAIT_SLEEP, SYS_futex, 4);
	add_waits(s, 1, WAIT_RUNNABLE, SYS_futex, 1);
	add_waits(s, 1, WAIT_DISK, WAIT_NO_CALL, 2);
	add_waits(s, 3, WAIT_STOPPED, 32767, 1);
	return s;
}

/* The text of a sample's label; NULL: it has none. */
static const char *label_of(const struct profile *p, size_t sample, const char *key)
{
	const struct profile_sample *s = &p->samples[sample];

	for (uint32_t i = 0; i < s->n_labels; i++)
		if (strcmp(profile_string(p, p->sample_labels[s->first_label + i].key), key) == 0)
			return profile_string(p, p->sample_labels[s->first_label + i].str);
	return NULL;
}

/* The values of all samples with these labels (NULL: without). */
static void sum_of(const struct profile *p, const char *state, const char *wait, int64_t ret[3])
{
	memset(ret, 0, 3 * sizeof(*ret));
	for (size_t i = 0; i < p->n_samples; i++) {
		const char *a = label_of(p, i, "state"), *b = label_of(p, i, "wait");

		if ((a && state ? strcmp(a, state) : a != state) ||
		    (b && wait ? strcmp(b, wait) : b != wait))
			continue;
		for (unsigned j = 0; j < 3; j++)
			ret[j] += p->sample_values[3 * i + j];
	}
}

static void assert_sum(const struct profile *p, const char *state, const char *wait, int64_t n,
		       int64_t cpu_ms, int64_t off_cpu_ms)
{
	int64_t sum[3];

	sum_of(p, state, wait, sum);
	assert_int_equal(sum[0], n);
	assert_int_equal(sum[1], cpu_ms * 1000000);
	assert_int_equal(sum[2], off_cpu_ms * 1000000);
}

static bool has_comment(const struct profile *p, const char *text)
{
	for (size_t i = 0; i < p->n_comments; i++)
		if (strcmp(profile_string(p, p->comments[i]), text) == 0)
			return true;
	return false;
}

/* A value of their own, labels that say what they are, and the ledger of both. */
static void test_wall(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL;

	write_quietly(w, wall_at(f, everything, ARRAY_SIZE(everything)), T0 + 60);
	p = read_pprof(path_of(f, A_SERVICE));
	assert_int_equal(p->n_sample_types, 3);
	assert_string_equal(profile_string(p, p->sample_types[1].type), "cpu");
	assert_string_equal(profile_string(p, p->sample_types[2].type), "off_cpu");
	assert_string_equal(profile_string(p, p->sample_types[2].unit), "nanoseconds");
	assert_int_equal(profile_default_type(p), 1);
	assert_string_equal(profile_string(p, p->period_type.type), "cpu");
	assert_sum(p, NULL, NULL, 66, 660, 0);
	assert_sum(p, "sleep", "futex", 4, 0, 120);
	assert_sum(p, "runnable", NULL, 1, 0, 30);
	assert_sum(p, "disk", NULL, 2, 0, 60);
	assert_int_equal(profile_total(p, 0), 73);
	for (size_t i = 0; i < p->n_samples; i++)
		assert_true(!label_of(p, i, "state") || !p->samples[i].times);
	assert_true(has_comment(p, "# profd ledger: expected=10 seen=9 source=bpf "
				   "off_cpu.expected=8 off_cpu.seen=8"));
	assert_true(has_comment(p, "# profd off_cpu frequency: 100 Hz"));
	profile_free(steal_ptr(&p));
	p = read_pprof(path_of(f, DAY_B "20261121T090000Z-60s.pb.gz"));
	assert_sum(p, "stopped", "syscall 32767", 1, 0, 30);
}

/* A value between CPU time and waits, which have none of it; also without waits. */
static void test_latency(void **state)
{
	static const char *const types[] = {"samples", "cpu", "latency", "off_cpu"};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	for (unsigned i = 0; i < 2; i++) {
		struct snapshot *s = i ? make_snapshot(f, T0 + 60, everything,
						       ARRAY_SIZE(everything))
				       : wall_at(f, everything, ARRAY_SIZE(everything));
		cleanup(profile_freep) struct profile *p = NULL;
		const struct aggregate_entry *entries;
		int64_t wanted = 0;
		size_t n;

		s->has_latency = true;
		assert_int_equal(aggregate_want_latency(s->aggregate), 0);
		entries = aggregate_entries(s->aggregate, &n);
		for (uint32_t e = 0; e < n; e++) {
			if (entries[e].wait)
				continue;
			aggregate_add_latency(s->aggregate, e, entries[e].weight / 2);
			wanted += entries[e].process == 1 ? (int64_t)entries[e].weight / 2 : 0;
		}
		write_quietly(w, s, T0 + 60 * (i + 1));
		p = read_pprof(path_of(f, i ? DAY_A "20261121T090100Z-60s.pb.gz" : A_SERVICE));
		assert_int_equal(p->n_sample_types, i ? 3 : 4);
		for (uint32_t t = 0; t < p->n_sample_types; t++)
			assert_string_equal(profile_string(p, p->sample_types[t].type), types[t]);
		assert_int_equal(profile_default_type(p), 1);
		assert_true(wanted > 0 && profile_total(p, 2) >= wanted);
		assert_int_equal(profile_total(p, 2), profile_total(p, 1) / 2);
		if (!i)
			assert_int_equal(profile_total(p, 3), 210 * 1000000);
	}
}

/* The label `wait` can be switched off; what a wait is can be seen all the same. */
static void test_labels(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct snapshot *s = wall_at(f, everything, ARRAY_SIZE(everything));
	cleanup(profile_freep) struct profile *p = NULL;

	s->labels = 0;
	write_quietly(w, s, T0 + 60);
	p = read_pprof(path_of(f, A_SERVICE));
	assert_sum(p, "sleep", NULL, 4, 0, 120);
	assert_sum(p, NULL, NULL, 66, 660, 0);
}

/* A wait of process 1 that @waker of process @process has ended. */
static void add_woken(struct snapshot *s, uint64_t process, const char *waker, struct stack stack,
		      bool by_interrupt)
{
	const uint64_t frames[] = {PROGRAM_AT + 0x100, PROGRAM_AT + 0x200};
	const struct aggregate_key by = {.process = process, .thread_name = waker, .stack = stack};
	struct aggregate_key key = {.process = 1,
				    .wait = aggregate_wait(WAIT_SLEEP, SYS_read),
				    .thread_name = "t1",
				    .stack = {.frames = frames, .n_frames = 2}};

	assert_int_equal(aggregate_add_waker(s->aggregate, &by, by_interrupt, &key.waker), 0);
	assert_int_equal(aggregate_add(s->aggregate, &key, 1, 10000000), 0);
}

/* How many samples have @waker as their label. */
static int64_t woken_by(const struct profile *p, const char *waker)
{
	int64_t n = 0;

	for (size_t i = 0; i < p->n_samples; i++) {
		const char *have = label_of(p, i, "waker");

		n += have && strcmp(have, waker) == 0 ? p->sample_values[3 * i] : 0;
	}
	return n;
}

/* What ended waits, in words; its frames are in no sample, and no part of the file. */
static void test_wakers(void **state)
{
	const uint64_t interrupt[] = {STEXT + 0x3010, STEXT + 0x1010}, nobody[] = {0x1234};
	const uint64_t own[] = {LIBRARY_AT + 0x100, PROGRAM_2 + 0x100};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(profile_freep) struct profile *p = NULL, *without = NULL;

	for (unsigned i = 0; i < 2; i++) {
		struct snapshot *s = wall_at(f, everything, ARRAY_SIZE(everything));

		s->start_ns += i * 60 * NS;
		s->labels |= i ? 0 : LABEL_WAKER;
		add_woken(s, 0, "",
			  (struct stack){.frames = interrupt, .n_frames = 2, .n_kernel = 2}, true);
		add_woken(s, 0, "", (struct stack){.frames = interrupt}, true);
		add_woken(s, 2, "flusher", (struct stack){.frames = own + 1, .n_frames = 1}, false);
		add_woken(s, 77, "gone", (struct stack){.frames = nobody, .n_frames = 1}, false);
		add_woken(s, 2, "cut",
			  (struct stack){.frames = own, .n_frames = 1, .quality = STACK_TRUNCATED},
			  false);
		write_quietly(w, s, T0 + 60 * (i + 1));
	}
	p = read_pprof(path_of(f, A_SERVICE));
	without = read_pprof(path_of(f, DAY_A "20261121T090100Z-60s.pb.gz"));
	assert_int_equal(woken_by(p, "interrupt in do_work"), 1);
	assert_int_equal(woken_by(p, "interrupt"), 1);
	assert_int_equal(woken_by(p, "flusher"), 1); /* no worker is there to name it */
	assert_int_equal(woken_by(p, "gone"), 1);
	assert_int_equal(woken_by(p, "cut"), 1);
	assert_sum(p, "sleep", "read", 5, 0, 50);
	assert_int_equal(p->n_locations, without->n_locations);
	assert_int_equal(p->n_functions, without->n_functions);
	assert_int_equal(p->n_mappings, without->n_mappings);
	for (size_t i = 0; i < without->n_samples; i++)
		assert_null(label_of(without, i, "waker"));
	assert_sum(without, "sleep", "read", 5, 0, 50);
}

/* What the listing says of a.service, up to the open window, if there is one. */
static void listed(struct writer *w, const struct snapshot *open, uint64_t *ret_samples,
		   uint64_t *ret_cpu_ns, uint64_t *ret_off_ns)
{
	struct output_result result = {0};

	writer_list(w, &(struct listing_options){0}, &result);
	assert_int_equal(result.error, 0);
	if (open)
		assert_int_equal(listing_add_open(result.listing, open, 0, 0), 0);
	assert_string_equal(result.listing->rows[0]->service, "a.service");
	*ret_samples = result.listing->rows[0]->samples;
	*ret_cpu_ns = result.listing->rows[0]->cpu_ns;
	*ret_off_ns = result.listing->rows[0]->off_cpu_ns;
	listing_free(result.listing);
}

/* CPU time of a.service by the usage table, with the open window. */
static uint64_t used(struct writer *w, struct snapshot *open)
{
	struct output_request request = {
		.task = OUTPUT_USAGE,
		.what.select = {.since_ns = T0 * NS, .until_ns = (T0 + 180) * NS},
		.steps = 3,
		.limit = 5,
		.snapshot = open,
	};
	struct output_result result = {0};
	uint64_t cpu_ns = 0;

	writer_usage(w, &request, (T0 + 600) * NS, &result);
	assert_int_equal(result.error, 0);
	for (size_t i = 0; i < result.usage->n_rows; i++)
		if (strcmp(result.usage->rows[i]->service, "a.service") == 0)
			cpu_ns = result.usage->rows[i]->cpu_ns;
	usage_free(result.usage);
	return cpu_ns;
}

/*
 * Other formats and all sums are as if there were no waits: by what was written, by reading it, and
 * of a window that is open.
 */
static void test_all_else_has_none(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct snapshot *s = wall_at(f, everything, ARRAY_SIZE(everything)), *open;
	struct census one, two;
	uint64_t n, cpu_ns, off_ns;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	one = take_census(f);
	s->start_ns += 60 * NS;
	write_quietly(w, s, T0 + 120);
	two = take_census(f);
	assert_int_equal(two.legacy, 2 * one.legacy);
	assert_int_equal(two.n_legacy, 2 * one.n_legacy);
	assert_int_equal(two.images, 2 * one.images);
	assert_int_equal(two.n_images, one.n_images);
	assert_int_equal(two.pprof, 2 * one.pprof + 8);
	listed(w, NULL, &n, &cpu_ns, &off_ns);
	assert_int_equal(n, 2 * 66);
	assert_int_equal(cpu_ns, 2 * 66 * UINT64_C(10000000));

	removexattr(path_of(f, DAY_A "20261121T090100Z-60s.pb.gz"), STORE_COUNTS_ATTRIBUTE);
	writer_free(w);
	w = open_writer(f, NULL, NULL, T0 + 120);
	open = wall_at(f, everything, ARRAY_SIZE(everything));
	open->start_ns += 120 * NS;
	listed(w, open, &n, &cpu_ns, &off_ns);
	assert_int_equal(n, 3 * 66);
	assert_int_equal(cpu_ns, 3 * 66 * UINT64_C(10000000));
	assert_int_equal(off_ns, 2 * 7 * UINT64_C(30000000)); /* the first window had none */
	assert_int_equal(used(w, open), cpu_ns);
	snapshot_free(open);
	writer_free(w);
}

/* A window of waits alone: no file that would be empty, and no new epoch. */
static void test_nothing_but_waits(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct census census;
	uint64_t n, cpu_ns, off_ns;

	write_quietly(w, wall_at(f, NULL, 0), T0 + 60);
	census = take_census(f);
	assert_int_equal(census.n_pprof, 2);
	assert_int_equal(census.pprof, 8);
	assert_int_equal(census.n_legacy, 0);
	assert_int_equal(census.n_images, 0);
	listed(w, NULL, &n, &cpu_ns, &off_ns);
	assert_int_equal(n, 0);
	assert_int_equal(cpu_ns, 0);
	assert_int_equal(off_ns, 7 * 30000000);
}

/* A session of waits alone: they are what its second value is of, and its samples. */
static void test_off_cpu_alone(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct snapshot *s = wall_at(f, NULL, 0);
	cleanup(profile_freep) struct profile *p = NULL;
	struct index_counts counts;

	snprintf(s->event, sizeof(s->event), "off-cpu");
	s->off_cpu_frequency = s->off_cpu_period = 0;
	free(steal_ptr(&s->off_cpu_ledger));
	write_quietly(w, s, T0 + 60);
	p = read_pprof(path_of(f, A_SERVICE));
	assert_int_equal(p->n_sample_types, 2);
	assert_string_equal(profile_string(p, p->sample_types[1].type), "off_cpu");
	assert_string_equal(profile_string(p, p->period_type.type), "off_cpu");
	assert_int_equal(p->period, 10000000);
	assert_int_equal(profile_total(p, 0), 7);
	assert_int_equal(profile_total(p, 1), 7 * INT64_C(30000000));
	counts = stored_count_profile(p);
	assert_int_equal(counts.samples, 7);
	assert_int_equal(counts.cpu_ns, 0);
}

/* Beside cycles, which stand for time by their number, and page faults, which do not. */
static void test_beside_counters(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct snapshot *s = wall_at(f, everything, ARRAY_SIZE(everything));
	cleanup(profile_freep) struct profile *p = NULL;

	snprintf(s->event, sizeof(s->event), "cycles");
	s->is_clock = false;
	s->period = 0;
	write_quietly(w, s, T0 + 60);
	p = read_pprof(path_of(f, A_SERVICE));
	assert_sum(p, NULL, NULL, 66, 660, 0);
	assert_sum(p, "sleep", "futex", 4, 0, 120);
	assert_int_equal(stored_count_profile(p).samples, 66);
	profile_free(steal_ptr(&p));

	s = wall_at(f, everything, ARRAY_SIZE(everything));
	snprintf(s->event, sizeof(s->event), "page-faults");
	s->start_ns += 60 * NS;
	s->is_clock = false;
	s->frequency = 0;
	write_quietly(w, s, T0 + 120);
	p = read_pprof(path_of(f, DAY_A "20261121T090100Z-60s.pb.gz"));
	assert_string_equal(profile_string(p, p->sample_types[1].type), "page-faults");
	assert_sum(p, "sleep", "futex", 4, 0, 120);
	assert_int_equal(profile_default_type(p), 1);
}

/* --- of several windows ----------------------------------------------------------------------- */

#define MINUTES 6
#define SAMPLES 400 /* on a CPU, of a minute */

/* Minute @i of a service, with waits or without. */
static struct snapshot *wall_minute(const struct fixture *f, unsigned i, bool has_waits)
{
	struct script script[SAMPLES];
	struct snapshot *s;

	/* Of few addresses: it is the samples that take room. */
	for (unsigned k = 0; k < SAMPLES; k++)
		script[k] = (struct script){.process = 1,
					    .user = {PROGRAM_AT + 0x100 + k % 20,
						     PROGRAM_AT + 0x200 + k / 20 + 20 * i},
					    .count = 1};
	s = has_waits ? wall_at(f, script, ARRAY_SIZE(script))
		      : make_snapshot(f, T0, script, ARRAY_SIZE(script));
	s->start_ns += i * 60 * NS;
	s->formats = FORMAT_PPROF;
	return s;
}

/*
 * What is there of @p: CPU samples of all minutes, and the waits of @n_waits of them. What was
 * written before all was read has all columns that there may be.
 */
static void assert_all_of(const struct profile *p, unsigned n, unsigned n_waits)
{
	assert_in_range(p->n_sample_types, 3, 4);
	assert_string_equal(profile_string(p, p->sample_types[1].type), "cpu");
	assert_string_equal(profile_string(p, p->sample_types[2].type), "off_cpu");
	if (p->n_sample_types > 3)
		assert_string_equal(profile_string(p, p->sample_types[3].type), "latency");
	assert_int_equal(profile_default_type(p), 1);
	assert_int_equal(profile_total(p, 1), n * SAMPLES * INT64_C(10000000));
	assert_int_equal(profile_total(p, 2), n_waits * 7 * INT64_C(30000000));
	assert_int_equal(profile_total(p, 0), n * SAMPLES + n_waits * 7);
}

/* A range in which waits were switched on, whole and in pieces, and off again. */
static void test_collected(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct collect_options o = {.service = "a.service",
				    .max_bytes = 8 << 20,
				    .max_result = 8 << 20};
	bool was_in_pieces = false;

	for (unsigned i = 0; i < MINUTES; i++)
		write_quietly(w, wall_minute(f, i, i == MINUTES - 2), T0 + i * 60 + 60);
	for (unsigned kb = 8 << 10; kb > 16; kb -= kb > 512 ? kb / 2 : 8) {
		cleanup(collected_freep) struct collected *c = NULL;
		cleanup(profile_freep) struct profile *p = NULL;
		int r;

		o.max_bytes = (size_t)kb << 10;
		r = run(w, &o, NULL, &c);
		if (r == COLLECT_E_REFUSED) {
			assert_non_null(strstr(c->message.text, "too many different"));
			break;
		}
		assert_int_equal(r, COLLECT_E_DONE);
		was_in_pieces |= c->in_pieces;
		p = read_collected(c);
		assert_all_of(p, MINUTES, 1);
		assert_true(has_comment(p, "# profd ledger: expected=60 seen=54 source=bpf "
					   "off_cpu.expected=8 off_cpu.seen=8"));
	}
	assert_true(was_in_pieces);
}

/* An hour in which waits were switched on: no sample of it is lost, and its sums have no waits. */
static void test_rolled_up(void **state)
{
	struct fixture *f = *state;
	const size_t bytes[] = {8 << 20, 80 << 10};

	for (size_t k = 0; k < ARRAY_SIZE(bytes); k++) {
		struct output_options o = rolling(f);
		struct writer *w;
		struct census census;
		uint64_t n, cpu_ns, off_ns;

		o.background_bytes = bytes[k];
		w = open_writer(f, &o, NULL, T0);
		for (unsigned i = 0; i < MINUTES; i++) {
			struct snapshot *s = wall_minute(f, i, i >= MINUTES / 2);

			s->start_ns += k * HOUR * NS;
			write_quietly(w, s, T0 + k * HOUR + i * 60 + 60);
		}
		while (writer_background(w, (T0 + (k + 2) * HOUR + 300) * NS))
			;
		census = take_census(f);
		assert_int_equal(census.pprof,
				 (int64_t)((k + 1) * (MINUTES * SAMPLES + MINUTES / 2 * 8)));
		listed(w, NULL, &n, &cpu_ns, &off_ns);
		assert_int_equal(n, (k + 1) * MINUTES * SAMPLES);
		assert_int_equal(cpu_ns, n * 10000000);
		assert_int_equal(off_ns, (k + 1) * MINUTES / 2 * 7 * UINT64_C(30000000));
		if (!k) {
			cleanup(profile_freep) struct profile *p = read_pprof(
				path_of(f, DAY_A "20261121T090000Z-3600s.pb.gz"));

			assert_all_of(p, MINUTES, MINUTES / 2);
		}
		writer_free(w);
	}
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_wall),
		T(test_labels),
		T(test_wakers),
		T(test_latency),
		T(test_all_else_has_none),
		T(test_nothing_but_waits),
		T(test_off_cpu_alone),
		T(test_beside_counters),
		T(test_collected),
		T(test_rolled_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
