/* SPDX-License-Identifier: MIT */
/*
 * The BPF and perf sources against the running kernel and real programs. Needs root (or the
 * capabilities that profd has), a kernel with BTF, and a C compiler for 32-bit programs. Nothing is
 * skipped: what the machine cannot do fails.
 *
 * With the argument "smoke" it only takes some samples: this is how it runs itself as an
 * unprivileged user with three capabilities. "saturate HZ SECONDS [perf]" measures: all CPUs busy,
 * one sampler, and what became of its ticks; with kernel.bpf_stats_enabled also what a run costs.
 * Any other argument is a pattern of test names.
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/ingest/sources.h"

/*
 * What the child spends its time in: known functions with frame pointers, each in a section of its
 * own, so that the linker tells where it begins and ends.
 */
#define SPIN_SECTION(n) __attribute__((noinline, used, section(#n)))

extern const char __start_spin_leaf[], __stop_spin_leaf[];
extern const char __start_spin_middle[], __stop_spin_middle[];
extern const char __start_spin_outer[], __stop_spin_outer[];

static volatile uint64_t spin_sink;

/* Asking for the frame's address makes even a leaf have a frame; -fno-omit-frame-pointer does not.
 */
SPIN_SECTION(spin_leaf) static void spin_leaf_function(void)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (unsigned i = 0; i < 1000000; i++)
		spin_sink += i;
}

SPIN_SECTION(spin_middle) static void spin_middle_function(void)
{
	spin_leaf_function();
	spin_sink++;
}

SPIN_SECTION(spin_outer) static void spin_outer_function(void)
{
	for (;;) {
		spin_middle_function();
		spin_sink++;
	}
}

static void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* To be called by a child first: it ends with the test, however that ends. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static pid_t start_spinner(unsigned cpu)
{
	pid_t parent = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		end_with(parent);
		pin(cpu);
		spin_outer_function();
	}
	return pid;
}

static void stop_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_ns_of(pid_t pid)
{
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	return clock_ns(clock);
}

static void burn_us(unsigned us)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + us * UINT64_C(1000);

	while (clock_ns(CLOCK_MONOTONIC) < end)
		spin_sink++;
}

#define PIDS_MAX 16

/* What came out of a source. */
struct collected {
	pid_t watched;
	uint64_t n_samples, n_watched, weight_watched;
	uint64_t n_in_order; /* samples of the watched with the known callers */
	uint64_t n_complete, n_broken;
	uint64_t n_bits_64; /* frames of the watched above 4 GiB */
	uint64_t deepest;   /* user frames */
	uint64_t newest_sample_ns, newest_event_ns;
	uint64_t n_event_too_late, n_event_unordered;
	uint64_t n_events[N_PROCESS_EVENTS];
	uint64_t n_with_kernel;
	pid_t pids[PIDS_MAX]; /* distinct pids of samples */
	unsigned n_pids;
	char story[256]; /* events of the watched process, a letter each */
	char comm[SAMPLE_COMM_SIZE];
	struct sample last;
	bool dawdle;
};

static bool frame_in(uint64_t frame, const char *start, const char *stop)
{
	return frame >= (uintptr_t)start && frame < (uintptr_t)stop;
}

static bool in_order(const struct sample *s)
{
	const uint64_t *user = s->frames + s->n_kernel;
	uint32_t n = s->n_frames - s->n_kernel;

	return n >= 3 && frame_in(user[0], __start_spin_leaf, __stop_spin_leaf) &&
	       frame_in(user[1], __start_spin_middle, __stop_spin_middle) &&
	       frame_in(user[2], __start_spin_outer, __stop_spin_outer);
}

static void on_sample(void *userdata, const struct sample *s)
{
	struct collected *c = userdata;
	unsigned i;

	if (c->dawdle && c->n_samples % 20 == 0)
		burn_us(5000);
	c->n_samples++;
	c->last = *s;
	c->n_with_kernel += s->n_kernel > 0;
	if (s->time_ns > c->newest_sample_ns)
		c->newest_sample_ns = s->time_ns;
	for (i = 0; i < c->n_pids && c->pids[i] != s->pid; i++)
		;
	if (i == c->n_pids && i < PIDS_MAX)
		c->pids[c->n_pids++] = s->pid;
	if (s->pid != c->watched)
		return;
	c->n_watched++;
	c->weight_watched += s->weight;
	c->n_in_order += in_order(s);
	c->n_complete += s->quality == STACK_COMPLETE;
	c->n_broken += s->quality == STACK_BROKEN;
	if (s->n_frames - s->n_kernel > c->deepest)
		c->deepest = s->n_frames - s->n_kernel;
	for (i = s->n_kernel; i < s->n_frames; i++)
		c->n_bits_64 += s->frames[i] >> 32 != 0;
	memcpy(c->comm, s->comm, sizeof(c->comm));
}

static void on_event(void *userdata, const struct process_event *e)
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
	if (e->pid == c->watched && length + 1 < sizeof(c->story))
		c->story[length] = "FXCMEL"[e->kind];
}

typedef int (*source_maker)(struct source **ret, const struct source_options *options,
			    struct source_message *message);

struct rig {
	struct collected c;
	struct source_sink sink;
	struct source *source;
	unsigned sampler;
};

static void rig_open(struct rig *rig, source_maker make, const struct source_options *override)
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

static struct sampler_spec spec_at(uint64_t hz, bool all)
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

static void rig_sample_spec(struct rig *rig, const struct sampler_spec *spec)
{
	struct source_message message = {""};
	int r = source_add_sampler(rig->source, spec, &rig->sampler, &message);

	if (r)
		print_message("%d: %s\n", r, message.text);
	assert_int_equal(r, SOURCE_E_OK);
}

static void rig_sample(struct rig *rig, uint64_t hz, bool all)
{
	struct sampler_spec spec = spec_at(hz, all);

	rig_sample_spec(rig, &spec);
}

/* Drains as profd does: on wakeup, and every so often. */
static void rig_run(struct rig *rig, unsigned ms)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + ms * UINT64_C(1000000);
	struct pollfd p = {.fd = source_fd(rig->source), .events = POLLIN};
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

static struct source_stats rig_stats(struct rig *rig)
{
	struct source_stats stats;

	assert_int_equal(source_get_stats(rig->source, rig->sampler, &stats), SOURCE_E_OK);
	return stats;
}

/* Stops the sampler and checks its ledger against what was delivered. */
static struct source_stats rig_finish(struct rig *rig)
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

static void assert_about(uint64_t value, double wanted, double share)
{
	if ((double)value < wanted * (1 - share) - 3 || (double)value > wanted * (1 + share) + 3)
		fail_msg("%" PRIu64 " is not within %.0f %% of %.1f", value, share * 100, wanted);
}

static void check_rate(source_maker make, uint64_t hz)
{
	struct source_stats stats;
	struct rig rig;
	uint64_t cpu;
	pid_t pid = start_spinner(1);
	double share;

	rig_open(&rig, make, NULL);
	rig.c.watched = pid;
	rig_sample(&rig, hz, true);
	cpu = cpu_ns_of(pid);
	rig_run(&rig, 2000);
	cpu = cpu_ns_of(pid) - cpu;
	stats = rig_finish(&rig);
	stop_process(pid);
	share = rig.c.n_watched ? (double)rig.c.n_in_order / (double)rig.c.n_watched : 0;
	print_message("%" PRIu64 " Hz: %" PRIu64 " samples of %.3f s, %.1f %% in known order, "
		      "expected %" PRIu64 " seen %" PRIu64 " idle %" PRIu64 " excluded %" PRIu64
		      " skipped %" PRIu64 "\n",
		      hz, rig.c.n_watched, (double)cpu / 1e9, share * 100, stats.expected,
		      stats.seen, stats.idle, stats.excluded, stats.lost[LOST_SKIPPED]);
	/* Ticks that a busy host lets a virtual machine miss are skipped ones. */
	assert_about(rig.c.n_watched + stats.lost[LOST_SKIPPED] / 2, (double)hz * (double)cpu / 1e9,
		     hz < 500 ? 0.2 : 0.1);
	assert_about(rig.c.weight_watched, (double)rig.c.n_watched * 1e9 / (double)hz, 0.001);
	assert_true(share > 0.98);
	assert_true(stats.lost[LOST_RING_FULL] == 0);
}

static void test_bpf_rate_99(void **state)
{
	(void)state;
	check_rate(source_bpf_new, 99);
}

static void test_bpf_rate_999(void **state)
{
	(void)state;
	check_rate(source_bpf_new, 999);
}

static void test_perf_rate_99(void **state)
{
	(void)state;
	check_rate(source_perf_new, 99);
}

static void test_perf_rate_999(void **state)
{
	(void)state;
	check_rate(source_perf_new, 999);
}

/* A process that forks spinners: itself, and from then on its children, are in the filter. */
static pid_t start_family(int go[2], pid_t *ret_child)
{
	int children[2];
	pid_t self = getpid(), parent, child;
	char byte;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(children, O_CLOEXEC), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0) {
		end_with(self);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		self = getpid();
		child = fork();
		if (child == 0) {
			end_with(self);
			spin_outer_function();
		}
		if (write(children[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		spin_outer_function();
	}
	*ret_child = children[0];
	close(children[1]);
	return parent;
}

static void check_filter(source_maker make, bool with_children)
{
	pid_t other = start_spinner(0), parent, child;
	int go[2], answer;
	struct source_stats stats;
	struct rig rig;

	parent = start_family(go, &answer);
	rig_open(&rig, make, NULL);
	rig_sample(&rig, 499, false);
	assert_int_equal(source_add_pid(rig.source, rig.sampler, parent, with_children),
			 SOURCE_E_OK);
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_int_equal(read(answer, &child, sizeof(child)), sizeof(child));
	rig.c.watched = child;
	rig_run(&rig, 1000);
	assert_true(with_children ? rig.c.n_watched > 50 : rig.c.n_watched == 0);
	for (unsigned i = 0; i < rig.c.n_pids; i++)
		assert_true(rig.c.pids[i] == parent || (with_children && rig.c.pids[i] == child));
	assert_int_equal(rig.c.n_pids, with_children ? 2 : 1);
	/* All: the other one too. */
	rig.c.watched = other;
	assert_int_equal(source_set_all(rig.source, rig.sampler, true), SOURCE_E_OK);
	rig_run(&rig, 500);
	assert_true(rig.c.n_watched > 20);
	/* And back. */
	assert_int_equal(source_set_all(rig.source, rig.sampler, false), SOURCE_E_OK);
	rig_run(&rig, 100);
	rig.c.n_watched = 0;
	assert_int_equal(source_remove_pid(rig.source, rig.sampler, parent), SOURCE_E_OK);
	rig_run(&rig, 300);
	assert_int_equal(rig.c.n_watched, 0);
	stats = rig_finish(&rig);
	assert_true(stats.excluded > 100);
	assert_int_equal(stats.unfollowed, 0);
	stop_process(other);
	kill(child, SIGKILL);
	stop_process(parent);
	close(go[0]);
	close(go[1]);
	close(answer);
}

static void test_bpf_filter_pid(void **state)
{
	(void)state;
	check_filter(source_bpf_new, false);
}

static void test_bpf_filter_children(void **state)
{
	(void)state;
	check_filter(source_bpf_new, true);
}

static void test_perf_filter_pid(void **state)
{
	(void)state;
	check_filter(source_perf_new, false);
}

static void test_perf_filter_children(void **state)
{
	(void)state;
	check_filter(source_perf_new, true);
}

static void test_gone(void **state)
{
	pid_t pid = start_spinner(0);
	struct rig rig;

	(void)state;
	stop_process(pid);
	rig_open(&rig, source_bpf_new, NULL);
	rig_sample(&rig, 99, false);
	assert_int_equal(source_add_pid(rig.source, rig.sampler, pid, false), SOURCE_E_GONE);
	rig_finish(&rig);
}

static void check_self(source_maker make, bool exclude)
{
	const struct source_options options = {.exclude_self = exclude, .drain_ms = 100};
	struct source_stats stats;
	struct rig rig;

	rig_open(&rig, make, &options);
	rig.c.watched = getpid();
	rig_sample(&rig, 999, true);
	burn_us(500000);
	stats = rig_finish(&rig);
	if (exclude) {
		assert_int_equal(rig.c.n_watched, 0);
		assert_true(stats.self > 200);
		assert_true(stats.excluded >= stats.self);
	} else {
		assert_true(rig.c.n_watched > 200);
		assert_int_equal(stats.self, 0);
	}
}

static void test_exclude_self(void **state)
{
	(void)state;
	check_self(source_bpf_new, true);
	check_self(source_bpf_new, false);
	check_self(source_perf_new, true);
	check_self(source_perf_new, false);
}

/* Forks and executes on and on; the sink dawdles, so that samples keep coming within one drain. */
static pid_t start_forker(unsigned cpu)
{
	pid_t parent = getpid(), forker = fork(), pid;

	assert_true(forker >= 0);
	if (forker)
		return forker;
	end_with(parent);
	pin(cpu);
	for (;;) {
		pid = fork();
		if (pid == 0) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

static void check_event_order(source_maker make)
{
	pid_t pid = start_forker(1);
	struct rig rig;

	rig_open(&rig, make, NULL);
	rig.c.dawdle = true;
	rig_sample(&rig, 1000, true);
	rig_run(&rig, 1000);
	print_message("%" PRIu64 " samples, %" PRIu64 " forks, events too late: %" PRIu64 "\n",
		      rig.c.n_samples, rig.c.n_events[PROCESS_EVENT_FORK], rig.c.n_event_too_late);
	rig.c.dawdle = false;
	rig_finish(&rig);
	stop_process(pid);
	assert_true(rig.c.n_events[PROCESS_EVENT_FORK] > 20);
	assert_int_equal(rig.c.n_event_too_late, 0);
	assert_int_equal(rig.c.n_event_unordered, 0);
}

static void check_events(source_maker make)
{
	struct rig rig;
	pid_t pid;

	rig_open(&rig, make, NULL);
	rig_sample(&rig, 4000, true);
	for (unsigned i = 0; i < 200; i++) {
		pid = fork();
		if (pid == 0) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		if (i == 100)
			rig.c.watched = pid;
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (i % 5 == 0)
			rig_run(&rig, 1);
	}
	rig_run(&rig, 100);
	print_message("story of a process: %s; %" PRIu64 " samples, events too late: %" PRIu64 "\n",
		      rig.c.story, rig.c.n_samples, rig.c.n_event_too_late);
	rig_finish(&rig);
	assert_int_equal(rig.c.n_event_too_late, 0);
	assert_int_equal(rig.c.n_event_unordered, 0);
	assert_int_equal(rig.c.n_events[PROCESS_EVENT_LOST], 0);
	assert_true(rig.c.n_events[PROCESS_EVENT_FORK] >= 200);
	assert_true(rig.c.n_events[PROCESS_EVENT_EXEC] >= 200);
	assert_true(rig.c.n_events[PROCESS_EVENT_EXIT] >= 200);
	/* Born, executes, maps at least itself, its loader, the vdso and libc, and ends. */
	assert_int_equal(strncmp(rig.c.story, "FXMMM", 5), 0);
	assert_int_equal(rig.c.story[strlen(rig.c.story) - 1], 'E');
}

static void test_events(void **state)
{
	(void)state;
	check_events(source_bpf_new);
	check_events(source_perf_new);
	check_event_order(source_bpf_new);
	check_event_order(source_perf_new);
}

static void check_overflow(source_maker make, uint64_t memory_bytes)
{
	const struct source_options options = {
		.exclude_self = true,
		.drain_ms = 100,
		.memory_bytes = memory_bytes,
	};
	pid_t pid = start_spinner(1);
	struct source_stats stats;
	struct rig rig;

	rig_open(&rig, make, &options);
	rig_sample(&rig, 9000, true);
	burn_us(1000000);
	rig_run(&rig, 50); /* perf reports losses with the next record that there is room for */
	stats = rig_finish(&rig);
	print_message("overflow: seen %" PRIu64 " delivered %" PRIu64 " ring_full %" PRIu64 "\n",
		      stats.seen, rig.c.n_samples, stats.lost[LOST_RING_FULL]);
	assert_true(stats.lost[LOST_RING_FULL] > 1000);
	assert_true(rig.c.n_samples > 0);
	stop_process(pid);
}

static void test_overflow(void **state)
{
	(void)state;
	check_overflow(source_bpf_new, 128 * 1024);
	check_overflow(source_perf_new, 256 * 1024);
}

static void test_two_samplers(void **state)
{
	struct sampler_spec slow = spec_at(99, true), fast = spec_at(997, true);
	struct source_message message;
	struct source_stats stats_slow, stats_fast;
	pid_t pid = start_spinner(1);
	unsigned a, b;
	struct rig rig;

	(void)state;
	rig_open(&rig, source_bpf_new, NULL);
	assert_int_equal(source_add_sampler(rig.source, &slow, &a, &message), SOURCE_E_OK);
	assert_int_equal(source_add_sampler(rig.source, &fast, &b, &message), SOURCE_E_OK);
	assert_int_not_equal(a, b);
	rig_run(&rig, 1000);
	assert_int_equal(source_remove_sampler(rig.source, a), SOURCE_E_OK);
	assert_int_equal(source_remove_sampler(rig.source, b), SOURCE_E_OK);
	assert_int_equal(source_get_stats(rig.source, a, &stats_slow), SOURCE_E_OK);
	assert_int_equal(source_get_stats(rig.source, b, &stats_fast), SOURCE_E_OK);
	assert_int_equal(stats_slow.seen + stats_fast.seen, rig.c.n_samples);
	assert_about(stats_slow.seen + stats_slow.idle + stats_slow.excluded +
			     stats_slow.lost[LOST_SKIPPED],
		     198, 0.1);
	assert_about(stats_fast.seen + stats_fast.idle + stats_fast.excluded +
			     stats_fast.lost[LOST_SKIPPED],
		     1994, 0.1);
	source_free(rig.source);
	stop_process(pid);
}

/* :u and :k split the ticks of a program that is in both modes. */
static void check_modes(source_maker make)
{
	struct sampler_spec spec = spec_at(999, true);
	struct source_message message;
	struct source_stats stats;
	pid_t parent = getpid(), pid = fork();
	struct rig rig;

	if (pid == 0) {
		end_with(parent);
		for (char bytes[4096];;) {
			int fd = open("/dev/zero", O_RDONLY);

			for (unsigned i = 0; i < 100; i++)
				if (read(fd, bytes, sizeof(bytes)) < 0)
					_exit(1);
			close(fd);
			for (unsigned i = 0; i < 50000; i++)
				spin_sink++;
		}
	}
	assert_int_equal(event_parse("cpu-clock:u", &spec.event, &message), SOURCE_E_OK);
	rig_open(&rig, make, NULL);
	rig_sample_spec(&rig, &spec);
	rig_run(&rig, 500);
	stats = rig_finish(&rig);
	assert_true(rig.c.n_samples > 20);
	assert_int_equal(rig.c.n_with_kernel, 0);
	assert_true(stats.excluded > 20);
	assert_int_equal(event_parse("cpu-clock:k", &spec.event, &message), SOURCE_E_OK);
	rig_open(&rig, make, NULL);
	rig_sample_spec(&rig, &spec);
	rig_run(&rig, 500);
	stats = rig_finish(&rig);
	assert_true(rig.c.n_samples > 20);
	assert_int_equal(rig.c.n_with_kernel, rig.c.n_samples);
	assert_true(stats.excluded > 20);
	stop_process(pid);
}

static void test_modes(void **state)
{
	(void)state;
	check_modes(source_bpf_new);
	check_modes(source_perf_new);
}

/* Events that are counted, not clocked. */
static void test_counted_events(void **state)
{
	static const char *const names[] = {"page-faults", "context-switches", "task-clock"};
	struct sampler_spec spec = spec_at(999, true);
	struct source_message message;
	struct source_stats stats;
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(event_parse(names[i], &spec.event, &message), SOURCE_E_OK);
		rig_open(&rig, source_bpf_new, NULL);
		rig_sample_spec(&rig, &spec);
		/* How soon a counter's frequency settles is the kernel's affair. */
		for (unsigned j = 0; j < 3000 && rig.c.n_samples <= 10; j++) {
			pid_t pid = fork();

			if (pid == 0) {
				execl("/bin/true", "true", NULL);
				_exit(1);
			}
			waitpid(pid, NULL, 0);
			if (j % 50 == 49)
				rig_run(&rig, 100);
		}
		stats = rig_finish(&rig);
		print_message("%s: %" PRIu64 " samples, skipped %" PRIu64 "\n", names[i],
			      rig.c.n_samples, stats.lost[LOST_SKIPPED]);
		assert_true(rig.c.n_samples > 10);
	}
}

/* The replay of a recording hands out what was recorded, byte for byte. */
struct journal {
	uint64_t hash, n;
};

static void journal_add(struct journal *j, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < length; i++)
		j->hash = (j->hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static void journal_sample(void *userdata, const struct sample *s)
{
	struct journal *j = userdata;
	struct sample copy = *s;

	j->n++;
	copy.frames = NULL;
	journal_add(j, &copy, offsetof(struct sample, comm));
	journal_add(j, copy.comm, sizeof(copy.comm));
	journal_add(j, &copy.n_kernel, sizeof(copy.n_kernel));
	journal_add(j, s->frames, s->n_frames * sizeof(*s->frames));
}

static void journal_event(void *userdata, const struct process_event *e)
{
	struct journal *j = userdata;
	struct process_event copy = *e;

	j->n++;
	copy.map.path = NULL;
	journal_add(j, &copy.kind, sizeof(copy.kind));
	journal_add(j, &copy.time_ns, sizeof(copy.time_ns));
	journal_add(j, &copy.pid, sizeof(copy.pid));
	journal_add(j, &copy.map.start, sizeof(copy.map.start));
	if (e->map.path)
		journal_add(j, e->map.path, strlen(e->map.path));
}

static void test_replay(void **state)
{
	struct journal live = {0}, replayed = {0};
	const struct source_sink live_sink = {journal_sample, journal_event, &live};
	const struct source_sink replay_sink = {journal_sample, journal_event, &replayed};
	struct source_options options = {.exclude_self = true, .drain_ms = 100};
	struct source_message message;
	struct sampler_spec spec = spec_at(999, true);
	struct recorder *recorder;
	struct rig rig;
	pid_t pid = start_spinner(1);
	int fd = memfd_create("recording", MFD_CLOEXEC);
	int copy = dup(fd), r;

	(void)state;
	assert_int_equal(recorder_new(&recorder, fd, &live_sink), 0);
	options.sink = recorder_sink(recorder);
	rig_open(&rig, source_bpf_new, &options);
	rig_sample(&rig, 999, true);
	recorder_sampler(recorder, rig.sampler, &spec);
	rig_run(&rig, 1000);
	source_free(rig.source);
	assert_int_equal(recorder_close(recorder), 0);
	stop_process(pid);

	lseek(copy, 0, SEEK_SET);
	options.sink = &replay_sink;
	assert_int_equal(source_replay_new(&rig.source, &options, copy, &message), SOURCE_E_OK);
	rig_sample(&rig, 999, true);
	do {
		r = source_drain(rig.source, 100);
	} while (r == SOURCE_E_MORE);
	assert_int_equal(r, SOURCE_E_END);
	assert_null(source_replay_complaint(rig.source));
	assert_true(live.n > 500);
	assert_int_equal(live.n, replayed.n);
	assert_int_equal(live.hash, replayed.hash);
	source_free(rig.source);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail_msg("%s: %s", path, strerror(errno));
	close(fd);
}

static void count_wakeups(struct rig *rig, unsigned ms, unsigned *ret)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + ms * UINT64_C(1000000);
	struct pollfd p = {.fd = source_fd(rig->source), .events = POLLIN};

	for (*ret = 0; clock_ns(CLOCK_MONOTONIC) < end;) {
		*ret += poll(&p, 1, 20) > 0;
		source_drain(rig->source, 1000);
	}
}

static void check_watched(struct rig *rig, pid_t pid, uint64_t hz)
{
	uint64_t cpu = cpu_ns_of(pid);

	rig->c.watched = pid;
	rig->c.n_watched = 0;
	rig_run(rig, 1000);
	assert_about(rig->c.n_watched, (double)hz * (double)(cpu_ns_of(pid) - cpu) / 1e9, 0.15);
	assert_true(rig->c.n_watched > 20);
}

static void check_hotplug(source_maker make)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";
	struct source_stats stats;
	unsigned wakeups;
	pid_t pid = start_spinner(1);
	struct rig rig;

	rig_open(&rig, make, NULL);
	rig_sample(&rig, 499, true);
	check_watched(&rig, pid, 499);
	write_file(online, "0");
	count_wakeups(&rig, 500, &wakeups);
	assert_int_equal(source_follow_cpus(rig.source), 0);
	rig_run(&rig, 500);
	write_file(online, "1");
	assert_int_equal(source_follow_cpus(rig.source), 0);
	stop_process(pid);
	pid = start_spinner(1); /* on the CPU that came back */
	check_watched(&rig, pid, 499);
	stats = rig_finish(&rig);
	stop_process(pid);
	print_message("hotplug: %" PRIu64 " samples afterwards, skipped %" PRIu64 " of %" PRIu64
		      ", wakeups while a CPU was gone: %u\n",
		      rig.c.n_watched, stats.lost[LOST_SKIPPED], stats.expected, wakeups);
	assert_true(wakeups < 200);
	assert_true(stats.lost[LOST_SKIPPED] < 200);
	assert_int_equal(rig.c.n_event_too_late, 0);
}

static void test_hotplug(void **state)
{
	(void)state;
	check_hotplug(source_bpf_new);
	check_hotplug(source_perf_new);
}

/* A program for which the C library and the kernel have four-byte frames. */
static const char compat_program[] =
	"__attribute__((noinline)) static int leaf(volatile int *p)\n"
	"{ for (int i = 0; i < 1000000; i++) *p += i; return *p; }\n"
	"__attribute__((noinline)) static int middle(volatile int *p) { return leaf(p) + 1; }\n"
	"__attribute__((noinline)) static int outer(volatile int *p) { return middle(p) + 1; }\n"
	"int main(void) { volatile int x = 0; for (;;) x += outer(&x); }\n";

static void test_compat(void **state)
{
	char directory[] = "/tmp/live-ingest-XXXXXX", path[64], command[256];
	struct rig rig;
	pid_t parent, pid;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/p.c", directory);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(compat_program, f);
	fclose(f);
	snprintf(command, sizeof(command),
		 "cd %s && cc -m32 -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls "
		 "-o p p.c",
		 directory);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/p", directory);
	parent = getpid();
	pid = fork();
	if (pid == 0) {
		end_with(parent);
		execl(path, path, NULL);
		_exit(1);
	}
	rig_open(&rig, source_bpf_new, NULL);
	rig.c.watched = pid;
	rig_sample(&rig, 499, true);
	rig_run(&rig, 1000);
	rig_finish(&rig);
	stop_process(pid);
	print_message("32-bit: %" PRIu64 " samples, up to %" PRIu64 " user frames, comm %s\n",
		      rig.c.n_watched, rig.c.deepest, rig.c.comm);
	assert_true(rig.c.n_watched > 100);
	assert_true(rig.c.deepest >= 4); /* leaf, middle, outer, main */
	assert_int_equal(rig.c.n_bits_64, 0);
	assert_string_equal(rig.c.comm, "p");
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

static void read_file(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, ret, size - 1);

	assert_true(n > 0);
	ret[n] = '\0';
	close(fd);
}

/* With the limit below the event's rate, which was legal when it started. */
static void check_throttle(source_maker make)
{
	static const char limit[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	struct source_stats stats;
	uint64_t throttled;
	struct rig rig;
	pid_t pid = start_spinner(1);
	char before[64];

	read_file(limit, before, sizeof(before));
	rig_open(&rig, make, NULL);
	rig_sample(&rig, 4000, true);
	rig_run(&rig, 200);
	/*
	 * A CPU that idles without its tick is throttled now and then at any limit: the tick is
	 * what resets the kernel's count (kernel/events/core.c, perf_throttled_seq).
	 */
	throttled = rig_stats(&rig).throttled;
	assert_true(throttled < 20);
	write_file(limit, "500");
	rig_run(&rig, 1000);
	write_file(limit, before);
	rig_run(&rig, 200);
	stats = rig_finish(&rig);
	stop_process(pid);
	print_message("throttled %" PRIu64 " times, skipped %" PRIu64 "\n", stats.throttled,
		      stats.lost[LOST_SKIPPED]);
	assert_true(stats.throttled > throttled + 50);
}

static void test_throttle(void **state)
{
	(void)state;
	check_throttle(source_bpf_new);
	check_throttle(source_perf_new);
}

static void test_capabilities(void **state)
{
	char self[4096], command[8192];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	assert_true(n > 0);
	self[n] = '\0';
	snprintf(command, sizeof(command),
		 "setpriv --reuid 65534 --regid 65534 --clear-groups "
		 "--inh-caps -all,+bpf,+perfmon,+sys_ptrace "
		 "--ambient-caps -all,+bpf,+perfmon,+sys_ptrace %s smoke",
		 self);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command),
		 "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all %s smoke "
		 ">/dev/null 2>&1",
		 self);
	assert_int_not_equal(system(command), 0);
}

static void test_smoke(void **state)
{
	pid_t pid = start_spinner(0); /* an idle machine has no samples to give */
	struct rig rig;

	(void)state;
	rig_open(&rig, source_bpf_new, NULL);
	rig_sample(&rig, 999, true);
	assert_int_equal(system("true"), 0);
	rig_run(&rig, 300);
	print_message("smoke: %" PRIu64 " samples, memory %" PRIu64 " KiB\n", rig.c.n_samples,
		      source_memory_bytes(rig.source) / 1024);
	rig_finish(&rig);
	stop_process(pid);
	assert_true(rig.c.n_samples > 20);
	assert_true(rig.c.n_events[PROCESS_EVENT_EXEC] > 0);
}

/* /proc/stat's eighth number of the first line, in ticks of USER_HZ. */
static double steal_seconds(void)
{
	unsigned long long steal = 0;
	FILE *f = fopen("/proc/stat", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal), 1);
	fclose(f);
	return (double)steal / (double)sysconf(_SC_CLK_TCK);
}

static int saturate(source_maker make, uint64_t hz, unsigned seconds)
{
	unsigned n_cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	cleanup(freep) pid_t *pids = calloc(n_cpus, sizeof(*pids));
	struct source_stats stats;
	double cpu_seconds, own, steal;
	uint64_t runs;
	struct rig rig;

	for (unsigned i = 0; pids && i < n_cpus; i++)
		pids[i] = start_spinner(i);
	rig_open(&rig, make, NULL);
	steal = steal_seconds();
	own = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
	rig_sample(&rig, hz, true);
	cpu_seconds = -(double)clock_ns(CLOCK_MONOTONIC) / 1e9 * n_cpus;
	rig_run(&rig, seconds * 1000);
	cpu_seconds += (double)clock_ns(CLOCK_MONOTONIC) / 1e9 * n_cpus;
	own = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9 - own;
	stats = rig_finish(&rig);
	cpu_seconds -= steal_seconds() - steal;
	for (unsigned i = 0; pids && i < n_cpus; i++)
		stop_process(pids[i]);
	runs = stats.seen + stats.idle + stats.excluded;
	printf("%" PRIu64 " Hz, %.2f s of CPU time less steal: expected %" PRIu64 ", seen %" PRIu64
	       " (%.2f %%), skipped %" PRIu64 ", ring_full %" PRIu64 ", idle %" PRIu64
	       ", excluded %" PRIu64 ", throttled %" PRIu64 "\n"
	       "ticks that came: %.2f %% of rate x time; BPF %.2f us a run; draining took %.2f us "
	       "of CPU a sample\n",
	       hz, cpu_seconds, stats.expected, stats.seen,
	       100.0 * (double)stats.seen / (double)stats.expected, stats.lost[LOST_SKIPPED],
	       stats.lost[LOST_RING_FULL], stats.idle, stats.excluded, stats.throttled,
	       100.0 * (double)runs / ((double)hz * cpu_seconds),
	       runs ? (double)stats.bpf_run_ns / 1e3 / (double)runs : 0,
	       own * 1e6 / (double)stats.seen);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_smoke),
		cmocka_unit_test(test_bpf_rate_99),
		cmocka_unit_test(test_bpf_rate_999),
		cmocka_unit_test(test_perf_rate_99),
		cmocka_unit_test(test_perf_rate_999),
		cmocka_unit_test(test_bpf_filter_pid),
		cmocka_unit_test(test_bpf_filter_children),
		cmocka_unit_test(test_perf_filter_pid),
		cmocka_unit_test(test_perf_filter_children),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_exclude_self),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_two_samplers),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_counted_events),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_compat),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_hotplug),
		cmocka_unit_test(test_capabilities),
	};
	const struct CMUnitTest smoke[] = {cmocka_unit_test(test_smoke)};

	if (argc > 1 && strcmp(argv[1], "smoke") == 0)
		return cmocka_run_group_tests(smoke, NULL, NULL);
	if (argc > 3 && strcmp(argv[1], "saturate") == 0)
		return saturate(argc > 4 ? source_perf_new : source_bpf_new,
				strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
