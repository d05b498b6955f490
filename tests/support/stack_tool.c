/* SPDX-License-Identifier: MIT */

/*
 * stack_tool [OPTIONS]: samples as profd does (source, unwinder, names) and prints each finished
 * sample, a line each, its fields parted by tabs:
 *
 *   time_ns pid tid comm quality reason n_kernel user-frames [kernel-frames]
 *
 * Frames are leaf first and parted by ';': name+0xoff(module), offset in the function; where there
 * is no name module+0xoff, offset in the file; where there is no module 0xaddress. reason is "-"
 * for the qualities that have none. With --events also, as they come:
 *
 *   event time_ns fork|thread|exec|comm|mmap|exit|lost pid tid parent comm
 *
 * a "fork" being the birth of a process and "thread" that of another thread of one; an exit with
 * tid == pid is that of the process's first thread. Times are CLOCK_MONOTONIC.
 *
 * "ready" goes to standard error when sampling has begun, and at the end one line "summary" with
 * key=value pairs. It ends at SIGTERM or SIGINT, after -d SECONDS, or with the process of
 * --until-exit, and delivers what is still under way first.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/ingest/sources.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/unwinder.h"
#include "tests/support/files.h"
#include "tests/support/stack_print.h"

#define SECOND_NS      1000000000u
#define DRAIN_MS       50
#define DRAIN_BUDGET   4096
#define SETTLE_MS      500
#define RING_BYTES     (8u << 20)
#define UNWIND_BYTES   (32u << 20)
#define MAPPINGS_BYTES (64u << 20)
#define STACK_DEPTH    1024
#define PIDS_MAX       64

struct options {
	bool perf, all, events, kernel;
	uint64_t hz;
	double seconds; /* 0: no end */
	uint32_t witness_one_in;
	pid_t until_exit;
	struct {
		pid_t pid;
		bool children;
	} pids[PIDS_MAX];
	unsigned n_pids;
};

struct tool {
	struct options options;
	int proc_fd, sys_fd, signal_fd, exit_fd;
	struct source_sink sink;
	struct process_table *processes;
	struct unwinder *unwinder;
	struct source *source;
	struct printer printer;
	bool scanning; /* events tell what was there before */
	unsigned sampler;
	uint64_t n_samples, n_complete, n_guessed, n_no_user;
	uint64_t n_truncated[N_TRUNCATED], n_broken[N_BROKEN];
	uint64_t drained_ns, longest_ns; /* between the ends of drains */
	int error;                       /* of a callback */
};

#define TEXT_OF(c, n) #n,
static const char *const truncated_names[] = {TRUNCATED_REASONS(TEXT_OF)};
static const char *const broken_names[] = {BROKEN_REASONS(TEXT_OF)};
static const char *const lost_names[] = {LOSS_REASONS(TEXT_OF)};
static const char *const quality_names[] = {"complete", "no_user", "truncated", "broken",
					    "guessed"};

static const char *count_quality(struct tool *t, const struct sample *s)
{
	switch (s->quality) {
	case STACK_COMPLETE:
		t->n_complete++;
		return "-";
	case STACK_GUESSED:
		t->n_guessed++;
		return "-";
	case STACK_NO_USER:
		t->n_no_user++;
		return "-";
	case STACK_TRUNCATED:
		if (s->reason >= N_TRUNCATED)
			return "?";
		t->n_truncated[s->reason]++;
		return truncated_names[s->reason];
	}
	if (s->quality != STACK_BROKEN || s->reason >= N_BROKEN)
		return "?";
	t->n_broken[s->reason]++;
	return broken_names[s->reason];
}

static void on_sample(void *userdata, const struct sample *s)
{
	struct tool *t = userdata;
	const char *reason = count_quality(t, s);
	struct process *p;
	int r = process_table_find(t->processes, s, &p);

	t->n_samples++;
	if (r)
		t->error = r;
	else
		printer_add_sample(&t->printer, s, p,
				   s->quality < ARRAY_SIZE(quality_names)
					   ? quality_names[s->quality]
					   : "?",
				   reason);
}

static void on_event(void *userdata, const struct process_event *e)
{
	struct tool *t = userdata;
	int r = process_table_apply(t->processes, e);

	if (r)
		t->error = r;
	if (t->options.events && !t->scanning)
		printer_add_event(&t->printer, e);
}

static void print_summary(struct tool *t)
{
	struct unwinder_stats u;
	struct source_stats s;

	fprintf(stderr,
		"summary samples=%" PRIu64 " complete=%" PRIu64 " guessed=%" PRIu64
		" no_user=%" PRIu64,
		t->n_samples, t->n_complete, t->n_guessed, t->n_no_user);
	for (unsigned i = 0; i < N_TRUNCATED; i++)
		fprintf(stderr, " truncated.%s=%" PRIu64, truncated_names[i], t->n_truncated[i]);
	for (unsigned i = 0; i < N_BROKEN; i++)
		fprintf(stderr, " broken.%s=%" PRIu64, broken_names[i], t->n_broken[i]);
	if (source_get_stats(t->source, t->sampler, &s) == SOURCE_E_OK) {
		fprintf(stderr, " expected=%" PRIu64 " seen=%" PRIu64, s.expected, s.seen);
		for (unsigned i = 0; i < N_LOST; i++)
			fprintf(stderr, " lost.%s=%" PRIu64, lost_names[i], s.lost[i]);
	}
	fprintf(stderr, " longest_us=%" PRIu64, t->longest_ns / 1000);
	unwinder_get_stats(t->unwinder, &u);
#define PRINT_COUNTER(n) fprintf(stderr, " unwinder." #n "=%" PRIu64, u.n);
	UNWINDER_COUNTERS(PRINT_COUNTER)
	fprintf(stderr, " unwinder.tables=%" PRIu64 " unwinder.rows=%" PRIu64 "\n", u.tables,
		u.rows);
}

/* --- the loop --------------------------------------------------------------------------------- */

static int refuse(const struct source_message *message, int r)
{
	fprintf(stderr, "stack_tool: %s\n", r < 0 ? error_describe(r) : message->text);
	return r;
}

static int scan(struct tool *t)
{
	int r;

	t->scanning = true;
	r = process_table_scan(t->processes, unwinder_sink(t->unwinder));
	t->scanning = false;
	return r;
}

/* Everything but the sampler. The unwinder forks, so it comes first. */
static int prepare(struct tool *t)
{
	struct source_options options = {
		.exclude_self = true,
		.drain_ms = DRAIN_MS,
		.memory_bytes = RING_BYTES,
		.unwind_bytes = UNWIND_BYTES,
		.witness_one_in = t->options.witness_one_in,
	};
	struct unwinder_options unwinder = {
		.next = &t->sink,
		.memory_bytes = RING_BYTES,
	};
	struct source_message message = {""};
	int r;

	t->sink = (struct source_sink){on_sample, on_event, t};
	t->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t->sys_fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->proc_fd < 0 || t->sys_fd < 0)
		return refuse(&message, error_origin(-errno));
	unwinder.proc_fd = t->proc_fd;
	r = process_table_new(&t->processes, t->proc_fd, MAPPINGS_BYTES);
	unwinder.processes = t->processes;
	if (!r)
		r = unwinder_new(&t->unwinder, &unwinder);
	if (!r)
		r = printer_start(&t->printer, t->options.kernel, t->proc_fd, t->sys_fd);
	if (r)
		return refuse(&message, r);
	options.sink = unwinder_sink(t->unwinder);
	if (t->options.perf)
		r = source_perf_new(&t->source, &options, &message);
	else
		r = source_bpf_new(&t->source, &options, &message);
	if (!r)
		r = unwinder_attach(t->unwinder, source_unwind_host(t->source),
				    clock_ns(CLOCK_MONOTONIC));
	if (!r)
		r = scan(t);
	return r ? refuse(&message, r) : 0;
}

static int start_sampler(struct tool *t)
{
	struct sampler_spec spec = {
		.rate = t->options.hz,
		.kernel_stacks = true,
		.max_depth = STACK_DEPTH,
		.all = t->options.all,
	};
	struct source_message message = {""};
	int r;

	r = event_parse("cpu-clock", &spec.event, &message);
	if (!r)
		r = source_add_sampler(t->source, &spec, &t->sampler, &message);
	for (unsigned i = 0; !r && i < t->options.n_pids; i++) {
		r = source_add_pid(t->source, t->sampler, t->options.pids[i].pid,
				   t->options.pids[i].children);
		if (r == SOURCE_E_GONE) {
			fprintf(stderr, "stack_tool: process %d is gone\n",
				(int)t->options.pids[i].pid);
			r = 0;
		}
	}
	return r ? refuse(&message, r) : 0;
}

static int drain(struct tool *t)
{
	int r, d;

	do {
		r = source_drain(t->source, DRAIN_BUDGET);
		d = r < 0 ? r : unwinder_dispatch(t->unwinder, clock_ns(CLOCK_MONOTONIC));
		if (!d)
			d = unwinder_after_drain(t->unwinder, clock_ns(CLOCK_MONOTONIC));
		if (!d)
			d = unwinder_error(t->unwinder);
		if (!d)
			d = t->error;
	} while (r == SOURCE_E_MORE && !d);
	return d;
}

static int each_second(struct tool *t)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r;

	process_table_sweep(t->processes, now);
	r = unwinder_sweep(t->unwinder, now);
	if (!r)
		r = source_follow_cpus(t->source);
	if (!r && process_table_wants_scan(t->processes))
		r = scan(t);
	return r;
}

static int run(struct tool *t)
{
	struct pollfd fds[] = {
		{.fd = t->signal_fd, .events = POLLIN},
		{.fd = t->exit_fd, .events = POLLIN},
		{.fd = t->source->fd, .events = POLLIN},
		{.fd = unwinder_fd(t->unwinder), .events = POLLIN},
	};
	uint64_t start = clock_ns(CLOCK_MONOTONIC), second = start, now;
	int r = 0;

	t->drained_ns = start;

	do {
		if (poll(fds, ARRAY_SIZE(fds), DRAIN_MS) < 0 && errno != EINTR)
			return error_origin(-errno);
		r = drain(t);
		now = clock_ns(CLOCK_MONOTONIC);
		if (now - t->drained_ns > t->longest_ns)
			t->longest_ns = now - t->drained_ns;
		t->drained_ns = now;
		if (!r && now - second >= SECOND_NS) {
			second = now;
			r = each_second(t);
		}
		if (t->options.seconds > 0 &&
		    (double)(now - start) >= t->options.seconds * SECOND_NS)
			break;
	} while (!r && !fds[0].revents && !fds[1].revents);
	if (!r)
		r = source_remove_sampler(t->source, t->sampler);
	if (!r)
		r = drain(t);
	if (!r)
		r = unwinder_settle(t->unwinder, UNWINDER_ALL, clock_ns(CLOCK_MONOTONIC),
				    SETTLE_MS);
	if (!r)
		unwinder_release_waiters(t->unwinder, UNWINDER_ALL);
	return r;
}

static void tool_deinit(struct tool *t)
{
	printer_stop(&t->printer);
	if (t->unwinder)
		unwinder_detach(t->unwinder);
	source_free(t->source);
	unwinder_free(t->unwinder);
	process_table_free(t->processes);
	closep(&t->signal_fd);
	closep(&t->exit_fd);
	closep(&t->proc_fd);
	closep(&t->sys_fd);
}

/* --- arguments -------------------------------------------------------------------------------- */

enum { OPTION_SOURCE = 256, OPTION_ALL, OPTION_WITNESS, OPTION_EVENTS, OPTION_KERNEL, OPTION_EXIT };

static const struct option long_options[] = {
	{"source", required_argument, NULL, OPTION_SOURCE},
	{"all", no_argument, NULL, OPTION_ALL},
	{"witness", required_argument, NULL, OPTION_WITNESS},
	{"events", no_argument, NULL, OPTION_EVENTS},
	{"kernel", no_argument, NULL, OPTION_KERNEL},
	{"until-exit", required_argument, NULL, OPTION_EXIT},
	{},
};

static bool take_pid(struct options *o, const char *text)
{
	const char *colon = strchr(text, ':');

	if (o->n_pids == PIDS_MAX || (colon && strcmp(colon, ":children") != 0))
		return false;
	o->pids[o->n_pids].pid = (pid_t)strtol(text, NULL, 10);
	o->pids[o->n_pids].children = colon != NULL;
	return o->pids[o->n_pids++].pid > 0;
}

static bool take_option(struct options *o, int option)
{
	switch (option) {
	case OPTION_SOURCE:
		o->perf = strcmp(optarg, "perf") == 0;
		return o->perf || strcmp(optarg, "bpf") == 0;
	case 'F':
		o->hz = strtoull(optarg, NULL, 10);
		return o->hz > 0;
	case 'd':
		o->seconds = strtod(optarg, NULL);
		return o->seconds > 0;
	case 'p':
		return take_pid(o, optarg);
	case OPTION_ALL:
		o->all = true;
		return true;
	case OPTION_WITNESS:
		o->witness_one_in = (uint32_t)strtoul(optarg, NULL, 10);
		return true;
	case OPTION_EVENTS:
		o->events = true;
		return true;
	case OPTION_KERNEL:
		o->kernel = true;
		return true;
	case OPTION_EXIT:
		o->until_exit = (pid_t)strtol(optarg, NULL, 10);
		return o->until_exit > 0;
	}
	return false;
}

static bool parse_arguments(struct options *o, int argc, char **argv)
{
	int option;

	*o = (struct options){.hz = 99};
	while ((option = getopt_long(argc, argv, "F:d:p:", long_options, NULL)) != -1) {
		if (!take_option(o, option))
			return false;
	}
	return optind == argc && (o->all || o->n_pids);
}

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

int main(int argc, char **argv)
{
	cleanup(tool_deinit) struct tool t = {
		.proc_fd = -1, .sys_fd = -1, .signal_fd = -1, .exit_fd = -1};
	int r;

	if (!parse_arguments(&t.options, argc, argv)) {
		fprintf(stderr, "usage: stack_tool [--source bpf|perf] [-F HZ] [-d SECONDS] "
				"[-p PID[:children]]... [--all]\n"
				"                  [--witness N] [--events] [--kernel] "
				"[--until-exit PID]\n");
		return 2;
	}
	raise_file_limit();
	t.signal_fd = block_signals();
	/* It may have ended already: then there is nothing to wait for. */
	if (t.options.until_exit) {
		t.exit_fd = (int)syscall(SYS_pidfd_open, t.options.until_exit, 0);
		if (t.exit_fd < 0) {
			fprintf(stderr, "stack_tool: process %d is gone\n",
				(int)t.options.until_exit);
			return 1;
		}
	}
	if (prepare(&t) || start_sampler(&t))
		return 1;
	fprintf(stderr, "ready\n");
	r = run(&t);
	if (r < 0)
		fprintf(stderr, "stack_tool: %s\n", error_describe(r));
	printer_stop(&t.printer);
	print_summary(&t);
	return r || ferror(stdout) ? 1 : 0;
}
