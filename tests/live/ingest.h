/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_LIVE_INGEST_H
#define PROFD_TESTS_LIVE_INGEST_H

/*
 * What the live tests of the sources share: children that spend their time in known functions, a
 * source with a sink that takes notes, and its ledger. Walks that a source leaves to others are
 * finished here by frame pointers, which the known functions have: these tests are about sources.
 *
 * Statistical expectations go wrong now and then on a machine that others use as well. They are
 * measured by functions that return whether they were met, and measured up to three times.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/unwind/step.h"
#include "daemon/ingest/sources.h"

/* --- expectations ---------------------------------------------------------------------------- */

#define MEASURE_TIMES 3

static inline void assert_measured(bool (*measure)(const void *argument), const void *argument)
{
	for (unsigned i = 0; i < MEASURE_TIMES; i++)
		if (measure(argument))
			return;
	fail_msg("not met in %d measurements", MEASURE_TIMES);
}

/* For the functions above: says what was not met. */
#define MET(condition) met((condition), #condition, __LINE__)

static inline bool met(bool condition, const char *text, int line)
{
	if (!condition)
		print_message("line %d, not met: %s\n", line, text);
	return condition;
}

static inline bool is_about(uint64_t value, double wanted, double share)
{
	bool is = (double)value >= wanted * (1 - share) - 3 &&
		  (double)value <= wanted * (1 + share) + 3;

	if (!is)
		print_message("%" PRIu64 " is not within %.0f %% of %.1f\n", value, share * 100,
			      wanted);
	return is;
}

/* --- clocks and children --------------------------------------------------------------------- */

static inline uint64_t cpu_ns_of(pid_t pid)
{
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	return clock_ns(clock);
}

static inline void burn_us(unsigned us)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + us * UINT64_C(1000);

	while (clock_ns(CLOCK_MONOTONIC) < end)
		__asm__ volatile("");
}

static inline void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Runs @body in a child that ends with the test, however that ends; on @cpu, if not negative. */
static inline pid_t start_child(int cpu, void (*body)(void))
{
	pid_t parent = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (cpu >= 0)
		pin((unsigned)cpu);
	body();
	_exit(1);
}

static inline void stop_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static inline void run_true(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

/*
 * Known functions with frame pointers, each in a section of its own, so that the linker tells where
 * it begins and ends. Asking for the frame's address makes even a leaf have a frame;
 * -fno-omit-frame-pointer does not.
 */
#define SPIN_SECTION(n) __attribute__((noinline, used, section(#n)))

extern const char __start_spin_leaf[], __stop_spin_leaf[];
extern const char __start_spin_middle[], __stop_spin_middle[];
extern const char __start_spin_outer[], __stop_spin_outer[];

SPIN_SECTION(spin_leaf) static void spin_leaf_function(volatile uint64_t *sink)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (unsigned i = 0; i < 1000000; i++)
		*sink += i;
}

SPIN_SECTION(spin_middle) static void spin_middle_function(volatile uint64_t *sink)
{
	spin_leaf_function(sink);
	++*sink;
}

SPIN_SECTION(spin_outer) static void spin_outer_function(void)
{
	volatile uint64_t sink = 0;

	for (;;) {
		spin_middle_function(&sink);
		++sink;
	}
}

static inline pid_t start_spinner(unsigned cpu)
{
	return start_child((int)cpu, spin_outer_function);
}

/* --- what came out of a source --------------------------------------------------------------- */

#define PIDS_MAX 16
/* A record that is being written while its ring is read comes one drain later. */
#define LATE_ALLOWED 2

struct collected {
	pid_t watched;
	uint64_t n_samples, n_watched, weight_watched;
	uint64_t n_in_order; /* samples of the watched with the known callers */
	uint64_t n_quality[N_STACK_QUALITY];
	uint64_t n_rest, n_copied, n_no_copy; /* of the watched: left to others, with a stack */
	uint64_t n_bits_64;                   /* frames of the watched above 4 GiB */
	uint64_t deepest;                     /* user frames */
	uint64_t newest_sample_ns, newest_event_ns;
	uint64_t n_event_too_late, n_event_unordered;
	uint64_t n_events[N_PROCESS_EVENTS];
	uint64_t n_with_kernel;
	pid_t pids[PIDS_MAX]; /* distinct pids of samples */
	unsigned n_pids;
	char story[256]; /* events of the watched process, a letter each */
	char comm[SAMPLE_COMM_SIZE];
	struct process_event begun, moved; /* the last ones of the watched; kind 0: none */
	bool dawdle;
	/* For more: called with each sample of the watched, and its user frames. */
	void (*look)(void *userdata, const struct sample *s, const uint64_t *user, uint32_t n);
	void *userdata;
};

static inline bool frame_in(uint64_t frame, const char *start, const char *stop)
{
	return frame >= (uintptr_t)start && frame < (uintptr_t)stop;
}

static inline bool in_order(const uint64_t *user, uint32_t n)
{
	return n >= 3 && frame_in(user[0], __start_spin_leaf, __stop_spin_leaf) &&
	       frame_in(user[1], __start_spin_middle, __stop_spin_middle) &&
	       frame_in(user[2], __start_spin_outer, __stop_spin_outer);
}

/* The user frames of @s, finished if there is something to finish them with. Returns how many. */
static inline uint32_t user_frames(const struct sample *s, uint64_t frames[SAMPLE_FRAMES_MAX])
{
	const struct sample_rest *rest = s->rest;
	uint32_t n = s->n_frames - s->n_kernel;
	struct unwind_registers registers;
	struct unwind_memory memory;

	memcpy(frames, s->frames + s->n_kernel, n * sizeof(*frames));
	if (!rest || rest->is_witness)
		return n;
	registers = rest->registers;
	memory = (struct unwind_memory){
		.regions = {{rest->stack_address, rest->stack_length, rest->stack}},
		.n_regions = 1,
	};
	if (!rest->pushed && n < SAMPLE_FRAMES_MAX)
		frames[n++] = unwind_lookup_pc(&registers);
	while (n < SAMPLE_FRAMES_MAX && !registers.is_last &&
	       unwind_step_fp(&registers, &memory) == UNWIND_STEP_CALLER)
		frames[n++] = unwind_lookup_pc(&registers);
	return n;
}

static inline void note_watched(struct collected *c, const struct sample *s)
{
	uint64_t frames[SAMPLE_FRAMES_MAX];
	uint32_t n = user_frames(s, frames);

	c->n_watched++;
	c->weight_watched += s->weight;
	c->n_in_order += in_order(frames, n);
	c->n_quality[s->quality]++;
	c->n_rest += s->rest != NULL;
	c->n_copied += s->rest && s->rest->stack_length;
	c->n_no_copy += s->quality == STACK_BROKEN && s->reason == BROKEN_NO_COPY;
	if (n > c->deepest)
		c->deepest = n;
	for (uint32_t i = 0; i < n; i++)
		c->n_bits_64 += frames[i] >> 32 != 0;
	memcpy(c->comm, s->comm, sizeof(c->comm));
	if (c->look)
		c->look(c->userdata, s, frames, n);
}

static inline void on_sample(void *userdata, const struct sample *s)
{
	struct collected *c = userdata;
	unsigned i;

	if (c->dawdle && c->n_samples % 20 == 0)
		burn_us(5000);
	c->n_samples++;
	c->n_with_kernel += s->n_kernel > 0;
	if (s->time_ns > c->newest_sample_ns)
		c->newest_sample_ns = s->time_ns;
	for (i = 0; i < c->n_pids && c->pids[i] != s->pid; i++)
		;
	if (i == c->n_pids && i < PIDS_MAX)
		c->pids[c->n_pids++] = s->pid;
	if (s->pid == c->watched)
		note_watched(c, s);
}

static inline void on_event(void *userdata, const struct process_event *e)
{
	struct collected *c = userdata;
	size_t length = strlen(c->story);

	c->n_events[e->kind]++;
	/* A sample that is younger than this event must not have been delivered before it. */
	if (e->time_ns < c->newest_sample_ns)
		c->n_event_too_late++;
	if (e->time_ns < c->newest_event_ns)
		c->n_event_unordered++;
	c->newest_event_ns = e->time_ns;
	if (e->pid != c->watched)
		return;
	if (e->kind == PROCESS_EVENT_BEGUN)
		c->begun = *e;
	if (e->kind == PROCESS_EVENT_MOVED)
		c->moved = *e;
	if (length + 1 < sizeof(c->story))
		c->story[length] = "FXCMELVB"[e->kind];
}

/* --- a source at work ------------------------------------------------------------------------ */

typedef int (*source_maker)(struct source **ret, const struct source_options *options,
			    struct source_message *message);

/* Argument of measurements that take no more than a source. */
struct maker {
	source_maker make;
};

static const struct maker by_bpf = {source_bpf_new}, by_perf = {source_perf_new};

struct rig {
	struct collected c;
	struct source_sink sink;
	struct source *source;
	unsigned sampler;
};

static inline void rig_open(struct rig *rig, source_maker make,
			    const struct source_options *override)
{
	struct source_options options = {.exclude_self = true, .drain_ms = 100};
	struct source_message message = {""};
	int r;

	memset(rig, 0, sizeof(*rig));
	rig->sink = (struct source_sink){on_sample, on_event, &rig->c};
	if (override)
		options = *override;
	if (!options.sink)
		options.sink = &rig->sink;
	r = make(&rig->source, &options, &message);
	if (r)
		print_message("%d: %s\n", r, message.text);
	assert_int_equal(r, SOURCE_E_OK);
}

static inline struct sampler_spec spec_at(uint64_t hz, bool all)
{
	struct sampler_spec spec = {
		.rate = hz,
		.kernel_stacks = true,
		.max_depth = 1024,
		.all = all,
	};
	struct source_message message;

	assert_int_equal(event_parse("cpu-clock", &spec.event, &message), SOURCE_E_OK);
	return spec;
}

static inline void rig_sample_spec(struct rig *rig, const struct sampler_spec *spec)
{
	struct source_message message = {""};
	int r = source_add_sampler(rig->source, spec, &rig->sampler, &message);

	if (r)
		print_message("%d: %s\n", r, message.text);
	assert_int_equal(r, SOURCE_E_OK);
}

static inline void rig_sample(struct rig *rig, uint64_t hz, bool all)
{
	struct sampler_spec spec = spec_at(hz, all);

	rig_sample_spec(rig, &spec);
}

/* Drains as profd does: on wakeup, and every so often. */
static inline void rig_run(struct rig *rig, unsigned ms)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + ms * UINT64_C(1000000);
	struct pollfd p = {.fd = rig->source->fd, .events = POLLIN};
	int r;

	/* A sink that dawdles on a busy machine may never catch up. */
	do {
		poll(&p, 1, 20);
		do {
			r = source_drain(rig->source, 1000);
		} while (r == SOURCE_E_MORE && clock_ns(CLOCK_MONOTONIC) < end);
		assert_true(r == SOURCE_E_OK || r == SOURCE_E_MORE);
	} while (clock_ns(CLOCK_MONOTONIC) < end);
}

/*
 * Until @pid has used so much CPU time; on a machine that others use as well that can take long,
 * but not for ever.
 */
static inline void rig_run_cpu(struct rig *rig, pid_t pid, unsigned cpu_ms)
{
	uint64_t end = cpu_ns_of(pid) + cpu_ms * UINT64_C(1000000);

	for (unsigned i = 0; i < 400 && cpu_ns_of(pid) < end; i++)
		rig_run(rig, 50);
}

static inline struct source_stats rig_stats(struct rig *rig)
{
	struct source_stats stats;

	assert_int_equal(source_get_stats(rig->source, rig->sampler, &stats), SOURCE_E_OK);
	return stats;
}

/* Stops the sampler and checks its ledger against what was delivered. */
static inline struct source_stats rig_finish(struct rig *rig)
{
	struct source_stats stats;
	uint64_t lost = 0;

	assert_int_equal(source_remove_sampler(rig->source, rig->sampler), SOURCE_E_OK);
	stats = rig_stats(rig);
	for (unsigned i = 0; i < N_LOST; i++)
		lost += i == LOST_SKIPPED ? 0 : stats.lost[i];
	assert_int_equal(stats.seen, rig->c.n_samples + lost);
	assert_int_equal(stats.expected, stats.seen + stats.lost[LOST_SKIPPED]);
	source_free(rig->source);
	rig->source = NULL;
	return stats;
}

/* As cmocka_run_group_tests(), of those tests whose names fit the pattern in argv[1], if any. */
#define RUN_TESTS(argc, argv, tests)                               \
	__extension__({                                            \
		if ((argc) > 1)                                    \
			cmocka_set_test_filter((argv)[1]);         \
		cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0; \
	})

#endif
