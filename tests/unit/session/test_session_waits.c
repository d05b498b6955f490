/* SPDX-License-Identifier: MIT */
/* Sessions with two samplers: of CPU time, and of waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/session/session_set.h"
#include "tests/support/start.h"
#include "tests/unit/session/session_set_fixture.h"

#define OFF_CPU_CONFIG 0x0ff

static void allow_waits(struct world *w, uint64_t frequency)
{
	struct event *event = &w->set->defaults.off_cpu;

	strcpy(event->name, "off-cpu");
	event->is_clock = true;
	event->cause = CAUSE_SCHEDULER;
	event->config = OFF_CPU_CONFIG;
	w->set->defaults.off_cpu_frequency = frequency;
}

static void waits_of(struct world *w, unsigned sampler, pid_t pid, unsigned n, int call)
{
	uint64_t frames[] = {0x1000, 0x2000};
	struct sample sample = {.time_ns = 1000,
				.weight = 30000000,
				.pid = pid,
				.tid = pid,
				.sampler = (uint16_t)sampler,
				.wait = WAIT_SLEEP,
				.call = (int16_t)call,
				.n_frames = 2,
				.frames = frames,
				.comm = "x"};

	while (n--)
		assert_int_equal(source_scripted_add_sample(w->source, &sample), 0);
}

static unsigned n_accounted;

/* A wait ends meanwhile, which is in the ring then. */
static int count_account(struct source *source, unsigned sampler)
{
	uint64_t frames[] = {0x1000, 0x2000};
	const struct sample sample = {.time_ns = 30000,
				      .weight = 1,
				      .pid = 10,
				      .tid = 10,
				      .sampler = (uint16_t)sampler,
				      .wait = WAIT_SLEEP,
				      .n_frames = 2,
				      .frames = frames,
				      .comm = "x"};

	n_accounted++;
	return source_scripted_add_sample(source, &sample);
}

/* Operations of the source that can be changed, until its end. */
static struct source_ops *set_ops(struct world *w)
{
	static struct source_ops ops;

	ops = *w->source->ops;
	w->source->ops = &ops;
	return &ops;
}

/* Of a source without them. */
static int refuse_waits(struct source *source, unsigned sampler, struct source_message *message)
{
	return source->samplers[sampler].spec.event.config == OFF_CPU_CONFIG
		       ? source_refuse(message, SOURCE_E_UNSUPPORTED, "no waits here")
		       : SOURCE_E_OK;
}

static unsigned samplers_in_use(const struct world *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		n += w->set->samplers[i].n_users > 0;
	return n;
}

/* Weight of the entries with waits, or of the others, of a copy of the open window. */
static uint64_t weight_of(struct world *w, struct session *s, bool is_wait)
{
	cleanup(snapshot_freep) struct snapshot *copy = NULL;
	const struct aggregate_entry *entries;
	uint64_t sum = 0;
	size_t n;

	assert_int_equal(session_set_copy_window(w->set, s, NULL, &copy), 0);
	assert_non_null(copy);
	entries = aggregate_entries(copy->aggregate, &n);
	for (size_t i = 0; i < n; i++)
		sum += (entries[i].wait != 0) == is_wait ? entries[i].weight : 0;
	return sum;
}

/* Two share a sampler: the second one has of a wait what is of its own time, and ends by itself. */
static void test_a_wait_that_began_before(void **state)
{
	const struct peer root = {.privileged = true};
	const Profd__Control__Start request = START("", "off-cpu", .target = TARGET_ALL);
	uint64_t frames[] = {0x1000, 0x2000};
	struct sample sample = {.weight = 5000,
				.pid = 10,
				.tid = 10,
				.wait = WAIT_SLEEP,
				.n_frames = 2,
				.frames = frames,
				.comm = "x"};
	struct session *first, *second;
	struct source_message message;
	struct world *w = *state;

	allow_waits(w, 40);
	set_ops(w)->account = count_account;
	n_accounted = 0;
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &first, &message), 0);
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &second, &message), 0);
	assert_int_equal(first->samplings[0].sampler, second->samplings[0].sampler);
	first->attached_ns = 1000;
	second->attached_ns = 9000;
	sample.sampler = (uint16_t)first->samplings[0].sampler;
	for (sample.time_ns = 10000; sample.time_ns <= 20000; sample.time_ns += 10000)
		assert_int_equal(source_scripted_add_sample(w->source, &sample), 0);
	assert_true(source_drain(w->source, UINT32_MAX) >= 0);
	assert_int_equal(weight_of(w, first, true), 2 * 5000);
	assert_int_equal(weight_of(w, second, true), 1000 + 5000);
	assert_int_equal(session_set_stop(w->set, second, NULL), 0);
	assert_int_equal(n_accounted, 1);
	assert_int_equal(second->counts.counted, 3);
	assert_int_equal(session_set_stop(w->set, first, NULL), 0);
	await_all(w);
	check_ledgers(w);
}

/* Samples of both arrive in one window, whose ledger has both; each has its own rate. */
static void test_wall_has_both(void **state)
{
	const struct peer root = {.privileged = true};
	const Profd__Control__Start request = START("", "wall", .target = TARGET_ALL);
	cleanup(snapshot_freep) struct snapshot *copy = NULL;
	const struct aggregate_entry *entries;
	struct source_message message;
	struct world *w = *state;
	unsigned cpu, waits;
	struct session *s;
	size_t n;

	allow_waits(w, 40);
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_string_equal(session_event(s), "wall");
	assert_int_equal(samplers_in_use(w), 2);
	cpu = s->samplings[0].sampler;
	waits = s->samplings[1].sampler;
	assert_int_not_equal(cpu, waits);
	assert_int_equal(w->source->samplers[cpu].spec.rate, 100);
	assert_int_equal(w->source->samplers[waits].spec.rate, 40);
	assert_true(w->source->samplers[waits].spec.all);
	samples_of(w, cpu, 10, 40, 1);
	waits_of(w, waits, 10, 5, 202);
	waits_of(w, waits, 10, 2, WAIT_NO_CALL);
	assert_int_equal(session_set_tick(w->set, 1), 0);
	assert_true(source_drain(w->source, UINT32_MAX) >= 0);
	assert_int_equal(s->counts.counted, 47);

	assert_int_equal(session_set_copy_window(w->set, s, NULL, &copy), 0);
	assert_string_equal(copy->event, "cpu-clock");
	assert_int_equal(copy->frequency, 100);
	assert_int_equal(copy->off_cpu_frequency, 40);
	assert_int_equal(copy->off_cpu_period, 25000000);
	assert_non_null(strstr(copy->ledger, "expected=40 seen=40"));
	assert_non_null(strstr(copy->off_cpu_ledger, "off_cpu.expected=7 off_cpu.seen=7"));
	entries = aggregate_entries(copy->aggregate, &n);
	assert_int_equal(n, 3);
	assert_int_equal(entries[0].wait, 0);
	assert_int_equal(entries[1].wait, aggregate_wait(WAIT_SLEEP, 202));
	assert_int_equal(entries[1].weight, 5 * 30000000);
	assert_int_equal(entries[2].wait, aggregate_wait(WAIT_SLEEP, WAIT_NO_CALL));

	assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	assert_int_equal(samplers_in_use(w), 0);
	await_all(w);
	assert_int_equal(w->n_settled, 0);
	check_ledgers(w);
}

/* What has ended a wait of process 10, by a thread of @pid, or an interrupt, and then the wait. */
static void wake(struct world *w, unsigned sampler, pid_t pid, bool by_interrupt, uint64_t id)
{
	uint64_t frames[] = {0x3000, 0x4000};
	struct sample sample = {.time_ns = 1000,
				.weight = 30000000,
				.pid = pid,
				.tid = pid,
				.sampler = (uint16_t)sampler,
				.waker = id,
				.is_waker = true,
				.by_interrupt = by_interrupt,
				.call = WAIT_NO_CALL,
				.n_frames = 2,
				.n_kernel = by_interrupt ? 2 : 0,
				.frames = frames,
				.comm = "waker"};

	assert_int_equal(source_scripted_add_sample(w->source, &sample), 0);
	sample.is_waker = sample.by_interrupt = false;
	sample.pid = sample.tid = 10;
	sample.wait = WAIT_SLEEP;
	sample.n_kernel = 0;
	assert_int_equal(source_scripted_add_sample(w->source, &sample), 0);
}

/* A session that asks for them knows what ended its waits, as far as its owner may see that. */
static void test_wakers(void **state)
{
	const struct peer root = {.privileged = true}, user = {.uid = 1000};
	const Profd__Control__Start requests[] = {
		START("", "off-cpu", .target = TARGET_PID, .number = 10, .wakers = true),
		START("", "off-cpu", .target = TARGET_PID, .number = 10),
	};
	const struct {
		const struct peer *peer;
		unsigned request;
		bool knows_own, knows_others, knows_interrupt;
		unsigned interrupt_frames;
	} cases[] = {
		{&root, 0, true, true, true, 2},
		{&root, 1, false, false, false, 0},
		{&user, 0, true, false, true, 0},
	};
	struct world *w = *state;

	allow_waits(w, 40);
	exec_of(w, 10, "a");
	exec_of(w, 11, "b");
	exec_of(w, 12, "c");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(snapshot_freep) struct snapshot *copy = NULL;
		const struct aggregate_entry *entries;
		struct source_message message;
		struct session *s;
		unsigned sampler;
		size_t n;

		assert_true(source_drain(w->source, UINT32_MAX) >= 0);
		for (pid_t pid = 10; pid <= 12; pid++) {
			struct process *p = process_table_living(w->processes, pid);

			assert_non_null(p);
			p->uid = pid == 12 ? 1001 : 1000;
			p->uid_known = p->only_uid = true;
		}
		assert_int_equal(session_set_start(w->set, cases[i].peer,
						   &requests[cases[i].request], -1, &s, &message),
				 0);
		sampler = s->samplings[0].sampler;
		assert_int_equal(w->source->samplers[sampler].spec.has_wakers, !cases[i].request);
		wake(w, sampler, 11, false, 1);
		wake(w, sampler, 12, false, (UINT64_C(3) << 48) + 1);
		wake(w, sampler, 12, true, 2);
		wake(w, sampler, 12, true, 0); /* not known which */
		assert_true(source_drain(w->source, UINT32_MAX) >= 0);
		assert_int_equal(s->counts.counted, 4);
		assert_int_equal(session_set_copy_window(w->set, s, NULL, &copy), 0);
		entries = aggregate_entries(copy->aggregate, &n);
		assert_true(n <= 4);
		for (size_t k = 0; k < n; k++) {
			const struct aggregate_waker *waker =
				entries[k].waker
					? aggregate_waker(copy->aggregate, entries[k].waker)
					: NULL;
			struct stack stack;

			if (!waker) {
				assert_int_equal(entries[k].count,
						 1 + !cases[i].knows_own + !cases[i].knows_others +
							 !cases[i].knows_interrupt);
				continue;
			}
			stack = aggregate_stack(copy->aggregate, waker->stack);
			if (waker->by_interrupt) {
				assert_true(cases[i].knows_interrupt);
				assert_int_equal(stack.n_frames, cases[i].interrupt_frames);
				continue;
			}
			assert_string_equal(aggregate_thread_name(copy->aggregate,
								  waker->thread_name),
					    "waker");
			assert_int_equal(stack.n_frames, 2);
			assert_true(cases[i].knows_others ||
				    waker->process == process_table_living(w->processes, 11)->stay);
		}
		assert_int_equal(n, 1 + cases[i].knows_own + cases[i].knows_others +
					    cases[i].knows_interrupt);
		assert_int_equal(session_set_stop(w->set, s, NULL), 0);
		await_all(w);
	}
	check_ledgers(w);
}

/* What was asked for holds for both; without privileges not more than policy allows. */
static void test_rates_of_wall(void **state)
{
	const struct peer root = {.privileged = true}, user = {.uid = 1000};
	const struct {
		const struct peer *peer;
		Profd__Control__Start request;
		uint64_t cpu, waits;
		bool is_period;
	} cases[] = {
		{&root, START("", "wall", .target = TARGET_ALL, .rate = 50), 50, 50, false},
		{&user, START("", "wall", .target = TARGET_UID, .number = 1000), 100, POLICY_HZ_MAX,
		 false},
		{&root, START("", "wall", .target = TARGET_ALL, .rate = 5000000, .is_period = true),
		 5000000, 5000000, true},
	};
	struct world *w = *state;

	allow_waits(w, POLICY_HZ_MAX + 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct source_message message;
		struct session *s;

		assert_int_equal(session_set_start(w->set, cases[i].peer, &cases[i].request, -1, &s,
						   &message),
				 0);
		assert_int_equal(s->samplings[0].spec.rate, cases[i].cpu);
		assert_int_equal(s->samplings[1].spec.rate, cases[i].waits);
		assert_int_equal(s->samplings[1].spec.is_period, cases[i].is_period);
		assert_int_equal(session_set_stop(w->set, s, NULL), 0);
	}
}

/* A period of wall time is time, whatever CPU time is counted by. */
static void test_periods_of_wall(void **state)
{
	const struct peer root = {.privileged = true};
	const Profd__Control__Start request = START("", "wall", .target = TARGET_ALL,
						    .rate = 5000000, .is_period = true);
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	allow_waits(w, 100);
	w->set->defaults.event.is_clock = false;
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_false(s->samplings[0].spec.is_period);
	assert_int_equal(s->samplings[0].spec.rate, 200);
	assert_true(s->samplings[1].spec.is_period);
	assert_int_equal(s->samplings[1].spec.rate, 5000000);
}

/* Who asked for waits is told why there are none, and nothing of the attempt is left. */
static void test_wall_is_refused(void **state)
{
	const struct peer root = {.privileged = true};
	const Profd__Control__Start request = START("", "wall", .target = TARGET_ALL);
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message),
			 SESSION_START_E_REFUSED);
	assert_string_equal(message.text, "this profd cannot sample waits");
	assert_int_equal(samplers_in_use(w), 0);
	allow_waits(w, 100);
	set_ops(w)->add_sampler = refuse_waits;
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message),
			 SESSION_START_E_REFUSED);
	assert_string_equal(message.text, "no waits here");
	assert_int_equal(samplers_in_use(w), 0);
	assert_int_equal(w->set->n_sessions, 0);
	assert_null(session_set_waits_trouble(w->set));
}

/* The system session goes on without, says why, and has them when they can be had. */
static void test_system_goes_on_without(void **state)
{
	struct source_message message;
	struct world *w = *state;
	const struct source_ops *before = w->source->ops;
	struct session *s;

	allow_waits(w, 50);
	set_ops(w)->add_sampler = refuse_waits;
	exec_of(w, 10, "a");
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	assert_null(session_set_waits_trouble(w->set)); /* not wanted */
	assert_int_equal(session_set_waits_rate(w->set), 0);
	w->set->defaults.has_waits = true;
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	assert_string_equal(session_set_waits_trouble(w->set), "no waits here");
	assert_null(session_set_trouble(w->set));
	assert_int_equal(session_set_waits_rate(w->set), 0);
	s = w->set->sessions[0];
	samples_of(w, s->samplings[0].sampler, 10, 20, 1);
	assert_true(source_drain(w->source, UINT32_MAX) >= 0);
	assert_int_equal(s->counts.counted, 20);
	assert_int_equal(weight_of(w, s, true), 0);

	w->source->ops = before;
	assert_int_equal(slow_down(w, 0, 1), 0);
	assert_null(session_set_waits_trouble(w->set));
	assert_int_equal(session_set_waits_rate(w->set), 25);
	samples_of(w, s->samplings[0].sampler, 10, 2, 1);
	waits_of(w, s->samplings[1].sampler, 10, 3, 0);
	assert_true(source_drain(w->source, UINT32_MAX) >= 0);
	assert_int_equal(weight_of(w, s, false), 2 * 10000000);
	assert_int_equal(weight_of(w, s, true), 3 * 30000000);
	assert_int_equal(s->counts.counted, 25);

	/* A pause is of both. */
	assert_int_equal(session_set_pause(w->set, UINT64_MAX), 0);
	assert_int_equal(samplers_in_use(w), 0);
	assert_int_equal(session_set_resume(w->set), 0);
	assert_int_equal(samplers_in_use(w), 2);
	w->set->defaults.has_waits = false;
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	assert_int_equal(samplers_in_use(w), 1);
	await_all(w);
	check_ledgers(w);
}

/* Both are halved, and one of them alone is reason enough to go on. */
static void test_both_are_slowed(void **state)
{
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	allow_waits(w, 400);
	w->set->defaults.has_waits = true;
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	s = w->set->sessions[0];
	assert_int_equal(slow_down(w, 0, 1), 0);
	assert_int_equal(s->samplings[0].spec.rate, 50);
	assert_int_equal(s->samplings[1].spec.rate, 200);
	assert_int_equal(slow_down(w, 0, 4), 0);
	assert_int_equal(s->samplings[0].spec.rate, SESSION_HZ_FLOOR);
	assert_int_equal(s->samplings[1].spec.rate, 25);
	assert_true(session_set_can_slow_down(w->set, TIER_SYSTEM));
	assert_int_equal(slow_down(w, 0, 9), 0);
	assert_int_equal(s->samplings[0].spec.rate, SESSION_HZ_FLOOR);
	assert_int_equal(s->samplings[1].spec.rate, SESSION_WAITS_HZ_FLOOR);
	assert_false(session_set_can_slow_down(w->set, TIER_SYSTEM));
	assert_int_equal(slow_down(w, 0, 0), 0);
	assert_int_equal(s->samplings[0].spec.rate, 100);
	assert_int_equal(s->samplings[1].spec.rate, 400);
	await_all(w);
}

static uint32_t filtered[2]; /* pids that each of two samplers was given */

static int note_filter(struct source *source, unsigned sampler, pid_t pid, bool adds, bool children)
{
	(void)source, (void)children;
	if (adds && sampler < ARRAY_SIZE(filtered))
		filtered[sampler] |= 1u << pid;
	return SOURCE_E_OK;
}

/* A target is that of both filters, for who lives and for who is born. */
static void test_both_filters(void **state)
{
	const struct peer root = {.privileged = true};
	const Profd__Control__Start request = START("", "wall", .target = TARGET_PID, .number = 10,
						    .children = true);
	struct process_event fork = {
		.kind = PROCESS_EVENT_FORK, .pid = 11, .tid = 11, .parent = 10};
	struct source_message message;
	struct world *w = *state;
	struct session *s;

	allow_waits(w, 100);
	memset(filtered, 0, sizeof(filtered));
	set_ops(w)->filter_pid = note_filter;
	exec_of(w, 10, "a");
	exec_of(w, 12, "b");
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &s, &message), 0);
	assert_int_equal(source_scripted_add_event(w->source, &fork), 0);
	assert_true(source_drain(w->source, UINT32_MAX) >= 0);
	assert_int_equal(filtered[0], 1u << 10 | 1u << 11);
	assert_int_equal(filtered[1], filtered[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD(test_wall_has_both),          WORLD(test_wakers),
		WORLD(test_rates_of_wall),          WORLD(test_a_wait_that_began_before),
		WORLD(test_periods_of_wall),        WORLD(test_wall_is_refused),
		WORLD(test_system_goes_on_without), WORLD(test_both_are_slowed),
		WORLD(test_both_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
