/* SPDX-License-Identifier: MIT */
/*
 * The sources' ticks: how many come, of what, and what becomes of those that do not. Needs root (or
 * the capabilities that profd has) and a kernel with BTF. Nothing is skipped: what the machine
 * cannot do fails. An argument is a pattern of test names.
 *
 * "saturate HZ SECONDS [perf]" measures instead: all CPUs busy, one sampler, and what became of its
 * ticks; with kernel.bpf_stats_enabled also what a run costs.
 */
#include "tests/live/ingest.h"

#include <stdlib.h>
#include <unistd.h>

#include "daemon/ingest/ticker.h"

/* --- rates ----------------------------------------------------------------------------------- */

struct rate {
	source_maker make;
	uint64_t hz;
};

static bool measure_rate(const void *argument)
{
	const struct rate *rate = argument;
	double hz = (double)rate->hz, share;
	struct source_stats stats;
	struct rig rig;
	uint64_t cpu;
	pid_t pid = start_spinner(1);

	rig_open(&rig, rate->make, NULL);
	rig.c.watched = pid;
	rig_sample(&rig, rate->hz, true);
	cpu = cpu_ns_of(pid);
	rig_run_cpu(&rig, pid, 2000);
	cpu = cpu_ns_of(pid) - cpu;
	stats = rig_finish(&rig);
	stop_process(pid);
	share = rig.c.n_watched ? (double)rig.c.n_in_order / (double)rig.c.n_watched : 0;
	print_message("%" PRIu64 " Hz: %" PRIu64 " samples of %.3f s, %.1f %% in known order, "
		      "expected %" PRIu64 " seen %" PRIu64 " idle %" PRIu64 " excluded %" PRIu64
		      " skipped %" PRIu64 "\n",
		      rate->hz, rig.c.n_watched, (double)cpu / 1e9, share * 100, stats.expected,
		      stats.seen, stats.idle, stats.excluded, stats.lost[LOST_SKIPPED]);
	/* Ticks that a busy host lets a virtual machine miss are skipped ones. */
	return is_about(rig.c.n_watched + stats.lost[LOST_SKIPPED] / 2, hz * (double)cpu / 1e9,
			rate->hz < 500 ? 0.2 : 0.1) &&
	       is_about(rig.c.weight_watched, (double)rig.c.n_watched * 1e9 / hz, 0.001) &&
	       MET(share > 0.98) && MET(stats.lost[LOST_RING_FULL] == 0);
}

static void test_bpf_rate_99(void **state)
{
	(void)state;
	assert_measured(measure_rate, &(struct rate){source_bpf_new, 99});
}

static void test_bpf_rate_999(void **state)
{
	(void)state;
	assert_measured(measure_rate, &(struct rate){source_bpf_new, 999});
}

static void test_perf_rate_99(void **state)
{
	(void)state;
	assert_measured(measure_rate, &(struct rate){source_perf_new, 99});
}

static void test_perf_rate_999(void **state)
{
	(void)state;
	assert_measured(measure_rate, &(struct rate){source_perf_new, 999});
}

static bool measure_two_samplers(const void *argument)
{
	const struct maker *maker = argument;
	struct sampler_spec slow = spec_at(99, true), fast = spec_at(997, true);
	struct source_message message;
	struct source_stats a, b;
	pid_t pid = start_spinner(1);
	unsigned ia, ib;
	struct rig rig;

	rig_open(&rig, maker->make, NULL);
	assert_int_equal(source_add_sampler(rig.source, &slow, &ia, &message), SOURCE_E_OK);
	assert_int_equal(source_add_sampler(rig.source, &fast, &ib, &message), SOURCE_E_OK);
	assert_int_not_equal(ia, ib);
	rig_run(&rig, 1000);
	assert_int_equal(source_remove_sampler(rig.source, ia), SOURCE_E_OK);
	assert_int_equal(source_remove_sampler(rig.source, ib), SOURCE_E_OK);
	assert_int_equal(source_get_stats(rig.source, ia, &a), SOURCE_E_OK);
	assert_int_equal(source_get_stats(rig.source, ib, &b), SOURCE_E_OK);
	assert_int_equal(a.seen + b.seen, rig.c.n_samples);
	source_free(rig.source);
	stop_process(pid);
	return is_about(a.seen + a.idle + a.excluded + a.lost[LOST_SKIPPED], 198, 0.1) &&
	       is_about(b.seen + b.idle + b.excluded + b.lost[LOST_SKIPPED], 1994, 0.1);
}

static void test_two_samplers(void **state)
{
	(void)state;
	assert_measured(measure_two_samplers, &by_bpf);
	assert_measured(measure_two_samplers, &by_perf);
}

/* --- idle CPUs -------------------------------------------------------------------------------- */

static void half_idle(void)
{
	for (unsigned i = 0;; i++) {
		burn_us(1000 + i * 373 % 3000);
		usleep(1000 + i * 577 % 3000);
	}
}

/* @body on each CPU. */
struct idling {
	source_maker make;
	void (*body)(void);
};

static double idle_seconds(void)
{
	cleanup(fclosep) FILE *stat = fopen("/proc/stat", "re");
	uint64_t sum = 0, ns;
	unsigned cpu;

	while (idle_next(stat, &cpu, &ns))
		sum += ns;
	return (double)sum / 1e9;
}

/*
 * The timer of a halted virtual CPU comes late or never: those ticks are idle ones. However busy
 * other processes make the machine, the ticks must agree with the time it was idle.
 */
static bool measure_idle(const void *argument)
{
	const struct idling *idling = argument;
	const unsigned n_cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	cleanup(freep) pid_t *pids = calloc(n_cpus, sizeof(*pids));
	struct source_stats stats;
	double due, seconds;
	struct rig rig;

	assert_non_null(pids);
	for (unsigned i = 0; i < n_cpus && idling->body; i++)
		pids[i] = start_child((int)i, idling->body);
	rig_open(&rig, idling->make, NULL);
	seconds = idle_seconds();
	rig_sample(&rig, 499, true);
	for (unsigned i = 0; i < 3; i++) {
		rig_run(&rig, 1000);
		rig_stats(&rig);
	}
	stats = rig_finish(&rig);
	seconds = idle_seconds() - seconds;
	for (unsigned i = 0; i < n_cpus && idling->body; i++)
		stop_process(pids[i]);
	due = (double)(stats.expected + stats.idle + stats.excluded);
	print_message("%.0f ticks, %" PRIu64 " idle in %.2f s that were, %" PRIu64 " skipped\n",
		      due, stats.idle, seconds, stats.lost[LOST_SKIPPED]);
	return is_about((uint64_t)due, 499.0 * 3 * n_cpus, 0.1) &&
	       MET((double)stats.idle >= seconds * 499 - due * 0.05) &&
	       MET((double)stats.idle <= seconds * 499 + due * 0.05) &&
	       MET((double)stats.lost[LOST_SKIPPED] < due * 0.03);
}

static void test_idle(void **state)
{
	static void (*const bodies[])(void) = {NULL, half_idle, spin_outer_function};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		assert_measured(measure_idle, &(struct idling){source_bpf_new, bodies[i]});
		assert_measured(measure_idle, &(struct idling){source_perf_new, bodies[i]});
	}
}

/* --- modes and events --------------------------------------------------------------------------
 */

static void in_both_modes(void)
{
	for (char bytes[4096];;) {
		int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

		for (unsigned i = 0; i < 100; i++)
			if (read(fd, bytes, sizeof(bytes)) < 0)
				_exit(1);
		close(fd);
		for (unsigned i = 0; i < 50000; i++)
			__asm__ volatile("");
	}
}

static bool measure_mode(source_maker make, pid_t pid, const char *name, bool is_kernel)
{
	struct sampler_spec spec = spec_at(999, true);
	struct source_message message;
	struct source_stats stats;
	struct rig rig;

	assert_int_equal(event_parse(name, &spec.event, &message), SOURCE_E_OK);
	rig_open(&rig, make, NULL);
	rig_sample_spec(&rig, &spec);
	rig_run_cpu(&rig, pid, 400);
	stats = rig_finish(&rig);
	assert_int_equal(rig.c.n_with_kernel, is_kernel ? rig.c.n_samples : 0);
	return MET(rig.c.n_samples > 20) && MET(stats.excluded > 20);
}

/* :u and :k split the ticks of a program that is in both modes. */
static bool measure_modes(const void *argument)
{
	const struct maker *maker = argument;
	pid_t pid = start_child(-1, in_both_modes);
	bool r = measure_mode(maker->make, pid, "cpu-clock:u", false) &&
		 measure_mode(maker->make, pid, "cpu-clock:k", true);

	stop_process(pid);
	return r;
}

static void test_modes(void **state)
{
	(void)state;
	assert_measured(measure_modes, &by_bpf);
	assert_measured(measure_modes, &by_perf);
}

struct counted {
	source_maker make;
	const char *name;
};

/* Events that are counted, not clocked. How soon a counter's frequency settles is the kernel's. */
static bool measure_counted(const void *argument)
{
	const struct counted *counted = argument;
	struct sampler_spec spec = spec_at(999, true);
	struct source_message message;
	struct source_stats stats;
	struct rig rig;

	assert_int_equal(event_parse(counted->name, &spec.event, &message), SOURCE_E_OK);
	rig_open(&rig, counted->make, NULL);
	rig_sample_spec(&rig, &spec);
	for (unsigned i = 0; i < 3000 && rig.c.n_samples <= 10; i++) {
		run_true();
		if (i % 50 == 49)
			rig_run(&rig, 100);
	}
	stats = rig_finish(&rig);
	print_message("%s: %" PRIu64 " samples, skipped %" PRIu64 "\n", counted->name,
		      rig.c.n_samples, stats.lost[LOST_SKIPPED]);
	return MET(rig.c.n_samples > 10);
}

static void test_counted_events(void **state)
{
	static const char *const names[] = {"page-faults", "context-switches", "task-clock"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_measured(measure_counted, &(struct counted){source_bpf_new, names[i]});
		assert_measured(measure_counted, &(struct counted){source_perf_new, names[i]});
	}
}

/* --- losses ------------------------------------------------------------------------------------
 */

struct overflow {
	source_maker make;
	uint64_t memory_bytes;
};

static bool measure_overflow(const void *argument)
{
	const struct overflow *overflow = argument;
	const struct source_options options = {
		.exclude_self = true,
		.drain_ms = 100,
		.memory_bytes = overflow->memory_bytes,
	};
	pid_t pid = start_spinner(1);
	struct source_stats stats;
	struct source_options own = options;
	struct rig rig;

	rig_open(&rig, overflow->make, &own);
	rig_sample(&rig, 9000, true);
	burn_us(1000000);
	rig_run(&rig, 50); /* perf reports losses with the next record that there is room for */
	stats = rig_finish(&rig);
	stop_process(pid);
	print_message("overflow: seen %" PRIu64 " delivered %" PRIu64 " ring_full %" PRIu64 "\n",
		      stats.seen, rig.c.n_samples, stats.lost[LOST_RING_FULL]);
	return MET(stats.lost[LOST_RING_FULL] > 1000) && MET(rig.c.n_samples > 0);
}

static void test_overflow(void **state)
{
	(void)state;
	assert_measured(measure_overflow, &(struct overflow){source_bpf_new, 128 * 1024});
	assert_measured(measure_overflow, &(struct overflow){source_perf_new, 256 * 1024});
}

static void read_file(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, ret, size - 1);

	assert_true(n > 0);
	ret[n] = '\0';
	close(fd);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail_msg("%s: %s", path, strerror(errno));
	close(fd);
}

/* Settings of the machine that tests change. A test that fails half-way must not leave them so. */
static const char limit[] = "/proc/sys/kernel/perf_event_max_sample_rate";
static const char online[] = "/sys/devices/system/cpu/cpu1/online";

static int save_limit(void **state)
{
	char *text = malloc(64);

	assert_non_null(text);
	read_file(limit, text, 64);
	*state = text;
	return 0;
}

static int restore_limit(void **state)
{
	write_file(limit, *state);
	free(*state);
	return 0;
}

static int bring_cpu_back(void **state)
{
	(void)state;
	write_file(online, "1");
	return 0;
}

/* With the limit below the event's rate, which was legal when it started. */
static bool measure_throttle(const void *argument)
{
	const struct maker *maker = argument;
	struct source_stats stats;
	uint64_t throttled;
	struct rig rig;
	pid_t pid = start_spinner(1);
	char before[64];

	read_file(limit, before, sizeof(before));
	rig_open(&rig, maker->make, NULL);
	rig_sample(&rig, 4000, true);
	rig_run(&rig, 200);
	/*
	 * A CPU that idles without its tick is throttled now and then at any limit: the tick is
	 * what resets the kernel's count (kernel/events/core.c, perf_throttled_seq).
	 */
	throttled = rig_stats(&rig).throttled;
	write_file(limit, "500");
	rig_run(&rig, 1000);
	write_file(limit, before);
	rig_run(&rig, 200);
	stats = rig_finish(&rig);
	stop_process(pid);
	print_message("throttled %" PRIu64 " times, skipped %" PRIu64 "\n", stats.throttled,
		      stats.lost[LOST_SKIPPED]);
	return MET(throttled < 20) && MET(stats.throttled > throttled + 50);
}

static void test_throttle(void **state)
{
	(void)state;
	assert_measured(measure_throttle, &by_bpf);
	assert_measured(measure_throttle, &by_perf);
}

/* --- CPUs that come and go ---------------------------------------------------------------------
 */

static unsigned count_wakeups(struct rig *rig, unsigned ms)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + ms * UINT64_C(1000000);
	struct pollfd p = {.fd = rig->source->fd, .events = POLLIN};
	unsigned n = 0;

	while (clock_ns(CLOCK_MONOTONIC) < end) {
		n += poll(&p, 1, 20) > 0;
		source_drain(rig->source, 1000);
	}
	return n;
}

static bool measure_watched(struct rig *rig, pid_t pid, uint64_t hz)
{
	uint64_t cpu = cpu_ns_of(pid);

	rig->c.watched = pid;
	rig->c.n_watched = 0;
	rig_run_cpu(rig, pid, 800);
	return is_about(rig->c.n_watched, (double)hz * (double)(cpu_ns_of(pid) - cpu) / 1e9,
			0.15) &&
	       MET(rig->c.n_watched > 20);
}

static bool measure_hotplug(const void *argument)
{
	const struct maker *maker = argument;
	struct source_stats stats;
	unsigned wakeups;
	pid_t pid = start_spinner(1);
	struct rig rig;
	bool r;

	rig_open(&rig, maker->make, NULL);
	rig_sample(&rig, 499, true);
	r = measure_watched(&rig, pid, 499);
	write_file(online, "0");
	wakeups = count_wakeups(&rig, 500);
	assert_int_equal(source_follow_cpus(rig.source), 0);
	rig_run(&rig, 500);
	write_file(online, "1");
	assert_int_equal(source_follow_cpus(rig.source), 0);
	stop_process(pid);
	pid = start_spinner(1); /* on the CPU that came back */
	r &= measure_watched(&rig, pid, 499);
	stats = rig_finish(&rig);
	stop_process(pid);
	print_message("hotplug: %" PRIu64 " samples afterwards, skipped %" PRIu64 " of %" PRIu64
		      ", wakeups while a CPU was gone: %u\n",
		      rig.c.n_watched, stats.lost[LOST_SKIPPED], stats.expected, wakeups);
	return r && MET(wakeups < 200) && MET(stats.lost[LOST_SKIPPED] < 200) &&
	       MET(rig.c.n_event_too_late <= LATE_ALLOWED);
}

static void test_hotplug(void **state)
{
	(void)state;
	assert_measured(measure_hotplug, &by_bpf);
	assert_measured(measure_hotplug, &by_perf);
}

/* --- a measurement by itself -------------------------------------------------------------------
 */

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
		cmocka_unit_test(test_bpf_rate_99),
		cmocka_unit_test(test_bpf_rate_999),
		cmocka_unit_test(test_perf_rate_99),
		cmocka_unit_test(test_perf_rate_999),
		cmocka_unit_test(test_two_samplers),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_counted_events),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test_setup_teardown(test_throttle, save_limit, restore_limit),
		cmocka_unit_test_teardown(test_hotplug, bring_cpu_back),
	};

	if (argc > 3 && strcmp(argv[1], "saturate") == 0)
		return saturate(argc > 4 ? source_perf_new : source_bpf_new,
				strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
	return RUN_TESTS(argc, argv, tests);
}
