/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_INGEST_SHIM_FIXTURE_H
#define PROFD_TESTS_INGEST_SHIM_FIXTURE_H

/*
 * The source of programs that sample themselves, over rings that the test writes as the library
 * does, or as no library would. The test is the process that is attached, with as many numbers as
 * it has children.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/reasons.h"
#include "common/shim/ring_writer.h"
#include "daemon/ingest/source_shim.h"
#include "daemon/ledger/ledger.h"
#include "tests/support/child.h"

#define MS            UINT64_C(1000000)
#define S             UINT64_C(1000000000)
#define DELIVERED_MAX 4096

struct delivered {
	struct sample sample;
	uint64_t leaf, root;
};

struct world {
	struct source_sink sink;
	struct source *source;
	struct delivered samples[DELIVERED_MAX];
	unsigned n_samples, n_exits, n_begun, n_looks;
	uint64_t weights, looked_ns;
	pid_t exited, begun;
	int begin_result;
};

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * S + (uint64_t)ts.tv_nsec;
}

static inline uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * S + (uint64_t)ts.tv_nsec;
}

static inline void on_sample(void *userdata, const struct sample *sample)
{
	struct world *w = userdata;
	struct delivered *d = &w->samples[w->n_samples % DELIVERED_MAX];

	d->sample = *sample;
	assert_true(sample->n_frames > 0 && sample->n_frames <= SAMPLE_FRAMES_MAX);
	d->leaf = sample->frames[0];
	d->root = sample->frames[sample->n_frames - 1];
	d->sample.frames = NULL;
	w->n_samples++;
	w->weights += sample->weight;
}

static inline void on_event(void *userdata, const struct process_event *event)
{
	struct world *w = userdata;

	assert_int_equal(event->kind, PROCESS_EVENT_EXIT);
	w->n_exits++;
	w->exited = event->pid;
}

static inline int begin(void *userdata, pid_t pid, uint64_t *ret_start_ns)
{
	struct world *w = userdata;

	w->n_begun++;
	w->begun = pid;
	*ret_start_ns = 4711;
	return w->begin_result;
}

static inline int look(void *userdata, pid_t pid, uint64_t time_ns)
{
	struct world *w = userdata;

	(void)pid;
	w->n_looks++;
	w->looked_ns = time_ns;
	return 0;
}

static inline void open_source(struct world *w, uint64_t memory_bytes, bool is_idle)
{
	const struct source_shim_options options = {
		.source = {.sink = &w->sink, .memory_bytes = memory_bytes},
		.host = {.begin = begin, .look = look, .userdata = w},
		.is_idle = is_idle,
	};

	source_free(w->source);
	assert_int_equal(source_shim_new(&w->source, &options), 0);
}

static inline int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->sink =
		(struct source_sink){.sample = on_sample, .process_event = on_event, .userdata = w};
	open_source(w, 0, false);
	*state = w;
	return 0;
}

static inline int teardown(void **state)
{
	struct world *w = *state;

	source_free(w->source);
	free(w);
	return 0;
}

static inline int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert_true(fd >= 0);
	return fd;
}

static inline int try_attach(struct world *w, struct source_shim_process process,
			     struct ring_writer *ret_writer)
{
	struct source_message message = {};
	const struct attach_ring *ring;
	int r;

	r = source_shim_attach(w->source, &process, pidfd_of(process.pid), &ring, &message);
	if (r) {
		assert_true(r > 0 && message.text[0]);
		return r;
	}
	if (ret_writer) {
		assert_true(ring_writer_open(ret_writer, ring->memory_fd,
					     fcntl(ring->bell_fd, F_DUPFD_CLOEXEC, 3)));
	}
	source_shim_sent(w->source, process.pid, true);
	return 0;
}

static inline void attach(struct world *w, pid_t pid, struct ring_writer *ret_writer)
{
	assert_int_equal(try_attach(w, (struct source_shim_process){.pid = pid, .privileged = true},
				    ret_writer),
			 0);
}

static inline struct sampler_spec spec_of(uint64_t hz, bool all)
{
	struct sampler_spec spec = {.rate = hz, .max_depth = 128, .all = all};

	strcpy(spec.event.name, "cpu-clock");
	spec.event.is_clock = true;
	return spec;
}

static inline unsigned add_sampler(struct world *w, uint64_t hz, bool all)
{
	const struct sampler_spec spec = spec_of(hz, all);
	struct source_message message;
	unsigned sampler;

	assert_int_equal(source_add_sampler(w->source, &spec, &sampler, &message), 0);
	return sampler;
}

static const uint64_t frames[] = {0x1000, 0x2000, 0x3000};

static inline struct ring_sample ring_sample(uint16_t hz)
{
	return (struct ring_sample){
		.time_ns = now_ns(),
		.tid = (uint32_t)getpid(),
		.weight = 1,
		.frequency = hz,
		.quality = STACK_COMPLETE,
		.comm = "worker",
		.frames = frames,
		.n_frames = 3,
	};
}

static inline void put(struct ring_writer *writer, uint16_t hz, unsigned n)
{
	const struct ring_sample sample = ring_sample(hz);

	for (unsigned i = 0; i < n; i++)
		assert_true(ring_writer_sample(writer, &sample));
}

static inline void drain(struct world *w)
{
	int r;

	do
		r = source_drain(w->source, 100);
	while (r == SOURCE_E_MORE);
	assert_int_equal(r, SOURCE_E_OK);
}

static inline struct source_stats stats_of(struct world *w, unsigned sampler)
{
	struct source_stats stats;

	assert_int_equal(source_get_stats(w->source, sampler, &stats), 0);
	assert_int_equal(stats.expected, stats.seen);
	return stats;
}

/* At rest: what was seen was delivered, or lost for a reason. */
static inline void assert_closed(struct world *w, unsigned sampler)
{
	struct source_stats stats = stats_of(w, sampler);
	uint64_t lost = 0;

	for (int i = 0; i < N_LOST; i++)
		lost += stats.lost[i];
	assert_int_equal(stats.seen, w->n_samples + lost);
}

static inline void burn(uint64_t ns)
{
	for (uint64_t until = cpu_ns() + ns; cpu_ns() < until;)
		;
}

#endif
