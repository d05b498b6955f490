/* SPDX-License-Identifier: MIT */
/*
 * bench_unwind [-F HZ] [-d SECONDS] [-w SECONDS] [-p PID] [-n]: what a tick costs under the load
 * that runs at the moment, after a second, or -w, in which what is needed is read (-p: of one
 * process; -n: without the frames of interpreters), and beside it, at the same time and rate, what
 * two programs cost that only call bpf_get_stack(): one for user stacks (which follows frame
 * pointers), one for the kernel's.
 *
 * The machine should be busy: a tick that meets an idle CPU costs profd's program little and would
 * make its mean look better. Prints JSON, for tests/bench/unwind. Times are nanoseconds.
 */
#include <bpf/bpf.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "tests/support/witness_pipeline.h"

#define CPUS_MAX    1024
#define STACK_BYTES 480 /* of the 512 that a BPF program has: 60 frames */

/* A program that calls bpf_get_stack() and nothing else, on each CPU. */
struct plain {
	int program_fd;
	int events[CPUS_MAX];
	unsigned n_events;
};

struct bench {
	struct pipeline pipeline;
	struct plain user, kernel;
	struct source_stats before; /* when it is warm */
	int stats_fd;               /* kernel.bpf_stats_enabled is on as long as it is open */
	uint64_t n_quality[N_STACK_QUALITY];
	double warm, seconds;
};

/* --- the plain programs ----------------------------------------------------------------------- */

static int load_plain(uint64_t flags)
{
	const struct bpf_insn program[] = {
		/* bpf_get_stack(context, stack pointer - STACK_BYTES, STACK_BYTES, flags) */
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -STACK_BYTES},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = STACK_BYTES},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = (int)flags},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_stack},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "plain", "GPL", program, ARRAY_SIZE(program),
			     NULL);
}

/* Returns 0 or negative errno; what it opened is closed by plain_deinit(). */
static int plain_start(struct plain *p, uint64_t flags, uint64_t hz)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
		.exclude_idle = 1,
		.exclude_user = !(flags & BPF_F_USER_STACK),
		.exclude_kernel = !!(flags & BPF_F_USER_STACK),
	};
	int n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);

	p->program_fd = load_plain(flags);
	if (p->program_fd < 0)
		return error_origin(p->program_fd);
	for (int cpu = 0; cpu < n_cpus && p->n_events < CPUS_MAX; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);

		if (fd < 0 && errno == ENODEV) /* offline */
			continue;
		if (fd < 0)
			return error_origin(-errno);
		p->events[p->n_events++] = fd;
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, p->program_fd) < 0)
			return error_origin(-errno);
	}
	return 0;
}

static void plain_deinit(struct plain *p)
{
	for (unsigned i = 0; i < p->n_events; i++)
		close(p->events[i]);
	if (p->program_fd >= 0)
		close(p->program_fd);
}

/* --- results ---------------------------------------------------------------------------------- */

static int print_plain(const struct plain *p, const char *name)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);
	int r;

	r = bpf_obj_get_info_by_fd(p->program_fd, &info, &size);
	if (r)
		return error_origin(-errno);
	printf(" \"%s\": {\"runs\": %" PRIu64 ", \"mean\": %.0f},\n", name, (uint64_t)info.run_cnt,
	       info.run_cnt ? (double)info.run_time_ns / (double)info.run_cnt : 0);
	return 0;
}

static int print_program(struct bench *b)
{
	struct source_stats stats;
	uint64_t runs, seen, run_ns;
	int r;

	r = source_get_stats(b->pipeline.source, b->pipeline.sampler, &stats);
	if (r)
		return r;
	runs = stats.seen + stats.idle + stats.excluded;
	seen = stats.seen - b->before.seen;
	run_ns = stats.bpf_run_ns - b->before.bpf_run_ns;
	printf(" \"program\": {\"runs\": %" PRIu64 ", \"seen\": %" PRIu64 ", \"idle\": %" PRIu64
	       ", \"self\": %" PRIu64 ", \"skipped\": %" PRIu64 ", \"ring_full\": %" PRIu64
	       ", \"mean\": %.0f, \"mean_seen\": %.0f},\n",
	       runs, stats.seen, stats.idle, stats.self, stats.lost[LOST_SKIPPED],
	       stats.lost[LOST_RING_FULL], runs ? (double)stats.bpf_run_ns / (double)runs : 0,
	       seen ? (double)run_ns / (double)seen : 0);
	return 0;
}

static void print_tables(const struct bench *b)
{
	struct unwinder_stats stats;

	unwinder_get_stats(b->pipeline.unwinder, &stats);
	printf(" \"tables\": {\"n\": %" PRIu64 ", \"rows\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"bpf_bytes\": %" PRIu64 "},\n",
	       stats.tables, stats.rows, stats.table_bytes,
	       source_memory_bytes(b->pipeline.source));
	printf(" \"finished_outside\": %" PRIu64 ", \"complete\": %" PRIu64
	       ", \"guessed\": %" PRIu64 ", \"no_user\": %" PRIu64 ", \"truncated\": %" PRIu64
	       ", \"broken\": %" PRIu64 ", \"hz\": %" PRIu64 "}\n",
	       stats.finished, b->n_quality[STACK_COMPLETE], b->n_quality[STACK_GUESSED],
	       b->n_quality[STACK_NO_USER], b->n_quality[STACK_TRUNCATED],
	       b->n_quality[STACK_BROKEN], b->pipeline.hz);
}

static int print_results(struct bench *b)
{
	int r;

	printf("{\n");
	r = print_program(b);
	if (!r)
		r = print_plain(&b->user, "plain_user");
	if (!r)
		r = print_plain(&b->kernel, "plain_kernel");
	if (!r)
		print_tables(b);
	return r;
}

/* --- the program ------------------------------------------------------------------------------ */

static void on_finished(void *userdata, const struct sample *sample)
{
	struct bench *b = userdata;

	if (sample->quality < N_STACK_QUALITY)
		b->n_quality[sample->quality]++;
}

static void bench_deinit(struct bench *b)
{
	plain_deinit(&b->user);
	plain_deinit(&b->kernel);
	closep(&b->stats_fd);
	pipeline_close(&b->pipeline);
}

static int run(struct bench *b)
{
	int r;

	b->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (b->stats_fd < 0)
		return error_origin(-errno);
	r = pipeline_open(&b->pipeline);
	if (!r)
		r = plain_start(&b->user, BPF_F_USER_STACK, b->pipeline.hz);
	if (!r)
		r = plain_start(&b->kernel, 0, b->pipeline.hz);
	if (!r)
		r = pipeline_run(&b->pipeline, b->warm);
	if (!r)
		r = source_get_stats(b->pipeline.source, b->pipeline.sampler, &b->before);
	if (!r)
		r = pipeline_run(&b->pipeline, b->seconds);
	if (!r)
		r = pipeline_stop(&b->pipeline);
	return r ? r : print_results(b);
}

int main(int argc, char **argv)
{
	cleanup(bench_deinit) struct bench b = {
		.pipeline = {.hz = 99,
			     .source_options = {.exclude_self = true,
						.drain_ms = PIPELINE_DRAIN_MS,
						.memory_bytes = (uint64_t)16 << 20},
			     .finished = on_finished,
			     .userdata = &b,
			     .proc_fd = -1},
		.user = {.program_fd = -1},
		.kernel = {.program_fd = -1},
		.stats_fd = -1,
		.warm = 1,
		.seconds = 5,
	};
	int option, r;

	while ((option = getopt(argc, argv, "F:d:w:p:n")) >= 0) {
		if (option == 'F')
			b.pipeline.hz = strtoull(optarg, NULL, 10);
		else if (option == 'd')
			b.seconds = strtod(optarg, NULL);
		else if (option == 'w')
			b.warm = strtod(optarg, NULL);
		else if (option == 'p')
			b.pipeline.parent = (pid_t)strtol(optarg, NULL, 10);
		else if (option == 'n')
			b.pipeline.without_runtimes = true;
		else
			return 2;
	}
	r = run(&b);
	if (r < 0)
		fprintf(stderr, "bench_unwind: %s\n", error_describe(r));
	return r != 0;
}
