/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_WITNESS_PIPELINE_H
#define PROFD_TESTS_WITNESS_PIPELINE_H

/*
 * The way of a sample through profd up to where sessions begin, for programs that look at it on the
 * way: BPF source -> `raw` -> unwinder -> `finished`, with one sampler of all processes.
 *
 * In a header, because each program below tests/support is one source file.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/ingest/sources.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/unwinder.h"
#include "tests/support/files.h"

#define PIPELINE_DRAIN_MS  50
#define PIPELINE_BUDGET    8192
#define PIPELINE_SECOND_NS UINT64_C(1000000000)
#define PIPELINE_SETTLE_MS 1000

struct pipeline {
	/* What the program wants, all optional but hz. */
	uint64_t hz;
	pid_t parent;          /* only this process and what it forks from now on; 0: everything */
	bool without_runtimes; /* interpreters' frames are not looked for */
	struct source_options source_options; /* the sink is the pipeline's */
	void (*raw)(void *userdata, const struct sample *sample);
	void (*finished)(void *userdata, const struct sample *sample);
	void *userdata;

	struct source_sink tap, next;
	struct source *source;
	struct unwind_host host;
	struct unwinder *unwinder;
	struct process_table *processes;
	int proc_fd;
	unsigned sampler;
	uint64_t swept_ns;
	int error; /* the first one of a sink */
};

static inline void pipeline_note(struct pipeline *p, int r)
{
	if (r < 0 && !p->error)
		p->error = r;
}

static inline void pipeline_tap_sample(void *userdata, const struct sample *sample)
{
	struct pipeline *p = userdata;
	const struct source_sink *to = unwinder_sink(p->unwinder);

	if (p->raw)
		p->raw(p->userdata, sample);
	to->sample(to->userdata, sample);
}

static inline void pipeline_tap_event(void *userdata, const struct process_event *event)
{
	struct pipeline *p = userdata;
	const struct source_sink *to = unwinder_sink(p->unwinder);

	to->process_event(to->userdata, event);
}

static inline void pipeline_sample(void *userdata, const struct sample *sample)
{
	struct pipeline *p = userdata;

	if (p->finished)
		p->finished(p->userdata, sample);
}

static inline void pipeline_event(void *userdata, const struct process_event *event)
{
	struct pipeline *p = userdata;

	pipeline_note(p, process_table_apply(p->processes, event));
}

static inline int pipeline_open_source(struct pipeline *p)
{
	struct sampler_spec spec = {
		.rate = p->hz, .kernel_stacks = true, .max_depth = 1024, .all = !p->parent};
	struct source_message message = {};
	int r;

	p->source_options.sink = &p->tap;
	r = source_bpf_new(&p->source, &p->source_options, &message);
	if (!r) {
		p->host = *source_unwind_host(p->source);
		if (p->without_runtimes)
			p->host.add_runtime = NULL;
		r = unwinder_attach(p->unwinder, &p->host, clock_ns(CLOCK_MONOTONIC));
	}
	if (!r)
		r = process_table_scan(p->processes, &p->tap);
	if (!r)
		r = unwinder_after_drain(p->unwinder, clock_ns(CLOCK_MONOTONIC));
	if (!r)
		r = event_parse("cpu-clock", &spec.event, &message);
	if (!r)
		r = source_add_sampler(p->source, &spec, &p->sampler, &message);
	if (!r && p->parent)
		r = source_add_pid(p->source, p->sampler, p->parent, true);
	if (r > 0)
		fprintf(stderr, "cannot sample: %s\n", message.text);
	return r;
}

/* Begins to sample. 0, positive where this host refuses (it was printed), or negative errno. */
static inline int pipeline_open(struct pipeline *p)
{
	struct unwinder_options options = {.next = &p->next, .memory_bytes = (uint64_t)64 << 20};
	int r;

	raise_file_limit();
	p->tap = (struct source_sink){pipeline_tap_sample, pipeline_tap_event, p};
	p->next = (struct source_sink){pipeline_sample, pipeline_event, p};
	p->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->proc_fd < 0)
		return error_origin(-errno);
	r = process_table_new(&p->processes, p->proc_fd, (size_t)256 << 20);
	if (r)
		return r;
	options.processes = p->processes;
	options.proc_fd = p->proc_fd;
	r = unwinder_new(&p->unwinder, &options);
	return r ? r : pipeline_open_source(p);
}

static inline int pipeline_sweep(struct pipeline *p, uint64_t now)
{
	int r = 0;

	if (now < p->swept_ns + PIPELINE_SECOND_NS)
		return 0;
	p->swept_ns = now;
	process_table_sweep(p->processes, now);
	if (process_table_wants_scan(p->processes))
		r = process_table_scan(p->processes, &p->tap);
	return r ? r : unwinder_sweep(p->unwinder, now);
}

/* Whatever is there, after waiting for it a little. */
static inline int pipeline_turn(struct pipeline *p)
{
	struct pollfd fds[] = {{.fd = p->source->fd, .events = POLLIN},
			       {.fd = unwinder_fd(p->unwinder), .events = POLLIN}};
	uint64_t now;
	int r;

	poll(fds, 2, PIPELINE_DRAIN_MS);
	r = source_drain(p->source, PIPELINE_BUDGET);
	if (r < 0)
		return r;
	now = clock_ns(CLOCK_MONOTONIC);
	r = unwinder_after_drain(p->unwinder, now);
	if (!r)
		r = unwinder_dispatch(p->unwinder, now);
	if (!r)
		r = pipeline_sweep(p, now);
	if (!r)
		r = p->error ? p->error : unwinder_error(p->unwinder);
	return r;
}

static inline int pipeline_run(struct pipeline *p, double seconds)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	int r = 0;

	while (!r && clock_ns(CLOCK_MONOTONIC) < end)
		r = pipeline_turn(p);
	return r;
}

/* Ends the sampling: all samples have been delivered then. The tables stay until _close(). */
static inline int pipeline_stop(struct pipeline *p)
{
	int r = source_remove_sampler(p->source, p->sampler);

	if (!r)
		r = unwinder_after_drain(p->unwinder, clock_ns(CLOCK_MONOTONIC));
	if (!r)
		r = unwinder_settle(p->unwinder, UNWINDER_ALL, clock_ns(CLOCK_MONOTONIC),
				    PIPELINE_SETTLE_MS);
	if (!r)
		unwinder_release_waiters(p->unwinder, UNWINDER_ALL);
	return r;
}

static inline void pipeline_close(struct pipeline *p)
{
	if (p->unwinder && p->source)
		unwinder_detach(p->unwinder);
	source_free(p->source);
	unwinder_free(p->unwinder);
	process_table_free(p->processes);
	if (p->proc_fd >= 0)
		close(p->proc_fd);
}

#endif
