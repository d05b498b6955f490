/* SPDX-License-Identifier: MIT */
/*
 * Samples that perf events cause: one event per CPU and sampler (ticker.h), the program attached to
 * each, with the sampler's index as its cookie.
 */
#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "common/error.h"
#include "daemon/ingest/source_bpf_private.h"
#include "daemon/ingest/sources.h"
#include "profile.skel.h"

#define THROTTLE_RING 1 /* rounded up to one page */

static int bpf_ticks_attach(void *userdata, struct tick *tick)
{
	struct bpf_sampler *sampler = userdata;
	int program = bpf_program__fd(sampler->owner->skeleton->progs.profile_tick);
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = sampler->index);
	int link = bpf_link_create(program, tick->fd, BPF_PERF_EVENT, &options);

	if (link < 0)
		return error_origin(-errno);
	tick->link = link;
	return 0;
}

static int bpf_ticks_start(struct bpf_sampler *sampler, const struct cpus *cpus)
{
	struct perf_event_attr attr;

	event_attr(&sampler->owner->source.samplers[sampler->index].spec, &attr);
	ticker_init(&sampler->ticker, &attr, THROTTLE_RING, bpf_ticks_attach, sampler);
	return ticker_follow(&sampler->ticker, cpus);
}

static void bpf_ticks_stop(struct bpf_sampler *sampler)
{
	ticker_stop(&sampler->ticker);
}

static bool bpf_ticks_differ(const struct bpf_sampler *sampler, const struct cpus *cpus)
{
	return ticker_differs(&sampler->ticker, cpus);
}

static int bpf_ticks_follow(struct bpf_sampler *sampler, const struct cpus *cpus)
{
	return ticker_follow(&sampler->ticker, cpus);
}

static void bpf_ticks_drain(struct bpf_sampler *sampler)
{
	ticker_drain_throttled(&sampler->ticker);
}

static void bpf_ticks_read(struct bpf_sampler *sampler)
{
	ticker_read(&sampler->ticker);
}

static void bpf_ticks_judge(struct bpf_sampler *sampler, bool exact, struct source_stats *stats)
{
	const struct bpf_source *s = sampler->owner;
	struct ticker *ticker = &sampler->ticker;

	for (size_t i = 0; i < ticker->n_ticks; i++) {
		struct tick *tick = &ticker->ticks[i];

		if (tick->cpu >= s->n_possible_cpus)
			continue;
		tick->runs = s->counters[tick->cpu].runs;
		tick->period_sum = s->counters[tick->cpu].period_sum;
		tick->idle = s->counters[tick->cpu].idle;
	}
	ticker_judge(ticker, exact);
	ticker_drain_throttled(ticker);
	ticker_get_stats(ticker, stats);
}

static uint64_t bpf_ticks_bytes(const struct bpf_sampler *sampler)
{
	return ticker_bytes(&sampler->ticker);
}

static void bpf_ticks_close(struct bpf_sampler *sampler)
{
	ticker_deinit(&sampler->ticker);
}

const struct bpf_cause bpf_ticks = {
	.program = "profile_tick",
	.start = bpf_ticks_start,
	.stop = bpf_ticks_stop,
	.differs = bpf_ticks_differ,
	.follow = bpf_ticks_follow,
	.drain = bpf_ticks_drain,
	.read = bpf_ticks_read,
	.judge = bpf_ticks_judge,
	.bytes = bpf_ticks_bytes,
	.close = bpf_ticks_close,
};
