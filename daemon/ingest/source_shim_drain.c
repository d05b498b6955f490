/* SPDX-License-Identifier: MIT */
/*
 * From a ring to samples. Processes tick at one rate, samplers have several: a sampler's sample
 * comes whenever the ticks have summed up to its period, and stands for whole periods.
 *
 * A tick that stands for several, as timers of CPU time tick with the kernel's own tick at most,
 * is one sample of so much more weight, and counts once. Of what a process says it lost, each tick
 * counts as one.
 */
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "daemon/ingest/source_shim_private.h"

/* Mappings of one process are not looked at more often; all such looks take a tenth of the time. */
#define LOOK_GAP_NS (100 * NS_PER_MS)
#define LOOK_PART   10

struct draining {
	struct shim_source *source;
	struct shim_target *target;
	uint64_t now_ns;
	bool is_last;
	unsigned n_delivered;
	int error;
};

/* What all CPUs together had since the last look: more it cannot have used. */
static uint64_t most_cpu_time(const struct shim_target *t, uint64_t now_ns)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return t->account.cpu_ns + (now_ns - t->looked_ns) * (n > 0 ? (uint64_t)n : 1);
}

/* Brings the account up to date, once in a drain that began at @now_ns (CLOCK_MONOTONIC). */
static void shim_target_look_at_account(struct shim_target *t, uint64_t now_ns)
{
	uint64_t cpu_ns;

	if (t->looked_ns >= now_ns)
		return;
	if (!clock_process_ns(t->process.pid, &cpu_ns))
		cpu_ns = most_cpu_time(t, now_ns);
	t->looked_ns = now_ns;
	shim_account_look(&t->account, cpu_ns, NS_PER_S / (t->last ? t->last : 1));
}

/*
 * The process says that it has other mappings. What those are only the kernel tells, and only while
 * the process is there: after an exec it would be those of another program.
 */
static int shim_refresh_mappings(struct draining *d, uint32_t generation, uint64_t time_ns)
{
	const struct source_shim_host *host = &d->source->options.host;
	struct shim_target *t = d->target;
	uint64_t begun_ns, done_ns;
	int r;

	if ((t->has_generation && generation == t->generation) || d->is_last)
		return 0;
	begun_ns = clock_ns(CLOCK_MONOTONIC);
	if (begun_ns < t->look_after_ns || begun_ns < d->source->look_after_ns)
		return 0; /* its next sample asks again */
	r = host->look(host->userdata, t->process.pid, time_ns);
	done_ns = clock_ns(CLOCK_MONOTONIC);
	t->look_after_ns = done_ns + LOOK_GAP_NS;
	d->source->look_after_ns = done_ns + (done_ns - begun_ns) * LOOK_PART;
	t->has_generation = true;
	t->generation = generation;
	return r;
}

/* As many of @n ticks of @hz as the process had CPU time for. */
static uint64_t shim_accept_ticks(struct draining *d, uint64_t n, uint32_t hz)
{
	uint64_t believed = 0;

	/* Sums of what is told stay sums. */
	if (n > UINT32_MAX)
		n = UINT32_MAX;
	if (n && hz) {
		shim_target_look_at_account(d->target, d->now_ns);
		believed = shim_account_take(&d->target->account, n, NS_PER_S / hz);
	}
	d->source->excess_ticks += n - believed;
	return believed;
}

/* What @ticks of @hz are to a sampler that may have set that rate; 1 Hz is the least there is. */
static uint64_t shim_ticks_to_ns(const struct shim_sampler *sampler, uint64_t ticks, uint32_t hz)
{
	bool is_own = sampler->hz == hz && sampler->period_ns <= NS_PER_S;

	return ticks * (is_own ? sampler->period_ns : NS_PER_S / hz);
}

static void shim_deliver_sample(struct draining *d, unsigned index, const struct sample *from,
				uint64_t n_periods)
{
	const struct source_sink *sink = d->source->source.options.sink;
	struct source_sampler *sampler = &d->source->source.samplers[index];
	struct sample sample = *from;

	sample.sampler = (uint16_t)index;
	sample.weight = n_periods * d->source->samplers[index].period_ns;
	if (sample.n_frames > sampler->spec.max_depth && sampler->spec.max_depth) {
		sample.n_frames = sampler->spec.max_depth;
		sample.quality = STACK_TRUNCATED;
		sample.reason = TRUNCATED_DEPTH;
	}
	sampler->stats.seen++;
	d->n_delivered++;
	sink->sample(sink->userdata, &sample);
}

static void shim_on_ring_sample(void *userdata, const struct ring_sample *told)
{
	struct draining *d = userdata;
	struct shim_target *t = d->target;
	uint64_t ticks = shim_accept_ticks(d, told->weight, told->frequency);
	struct sample sample = {
		.time_ns = told->time_ns,
		.start_ns = t->start_ns,
		.pid = t->process.pid,
		.tid = told->tid && told->tid <= INT32_MAX ? (pid_t)told->tid : t->process.pid,
		.cpu = UINT32_MAX, /* unknown */
		.quality = told->quality,
		.reason = told->reason,
		.n_frames = told->n_frames,
		.frames = told->frames,
	};
	uint64_t n;

	if (!ticks || d->error)
		return;
	if (sample.time_ns < t->attached_ns)
		sample.time_ns = t->attached_ns;
	if (sample.time_ns > d->now_ns)
		sample.time_ns = d->now_ns;
	_Static_assert(sizeof(sample.comm) == sizeof(told->comm), "threads' names");
	memcpy(sample.comm, told->comm, sizeof(sample.comm));
	d->error = shim_refresh_mappings(d, told->generation, sample.time_ns);
	for (unsigned i = 0; !d->error && i < SAMPLERS_MAX; i++) {
		const struct shim_sampler *sampler = &d->source->samplers[i];

		if (!shim_wants(d->source, i, t))
			continue;
		n = shim_account_periods(&t->rest_ns[i],
					 shim_ticks_to_ns(sampler, ticks, told->frequency),
					 sampler->period_ns);
		if (n)
			shim_deliver_sample(d, i, &sample, n);
	}
}

/* What rose since it was counted last; what fell is no count. */
static uint64_t shim_counter_increase(uint64_t *counted, uint64_t now)
{
	uint64_t n = now > *counted ? now - *counted : 0;

	*counted += n;
	return n;
}

static void shim_count_lost(struct draining *d, uint64_t n, enum lost_reason reason)
{
	struct shim_target *t = d->target;
	uint64_t ticks = shim_accept_ticks(d, n, t->last);

	for (unsigned i = 0; ticks && i < SAMPLERS_MAX; i++) {
		const struct shim_sampler *sampler = &d->source->samplers[i];
		struct source_stats *stats = &d->source->source.samplers[i].stats;
		uint64_t lost;

		if (!shim_wants(d->source, i, t))
			continue;
		lost = shim_account_periods(&t->lost_rest_ns[i],
					    shim_ticks_to_ns(sampler, ticks, t->last),
					    sampler->period_ns);
		stats->seen += lost;
		stats->lost[reason] += lost;
	}
}

static void count_filtered(struct draining *d, uint64_t n)
{
	if (n > UINT32_MAX)
		n = UINT32_MAX;
	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (shim_wants(d->source, i, d->target))
			d->source->source.samplers[i].stats.excluded += n;
}

/* What became of ticks that are in no record, or in none that can be read. */
static void shim_count_ledger(struct draining *d)
{
	struct ring_ledger *counted = &d->target->told, now;
	uint64_t settled;

	ring_reader_ledger(d->target->ring.reader, &now);
	shim_count_lost(d, shim_counter_increase(&counted->lost, now.lost), LOST_RING_FULL);
	shim_count_lost(d, shim_counter_increase(&counted->malformed, now.malformed + now.torn),
			LOST_MALFORMED);
	count_filtered(d, shim_counter_increase(&counted->filtered, now.filtered));
	if (!d->is_last)
		return;
	/* Seen, and then nothing: the process was killed meanwhile. */
	settled = counted->lost + counted->malformed + counted->filtered + now.taken;
	if (now.seen > settled)
		shim_count_lost(d, now.seen - settled, LOST_MALFORMED);
}

int source_shim_drain_target(struct shim_source *s, struct shim_target *t, bool is_last,
			     unsigned *budget)
{
	struct draining d = {
		.source = s, .target = t, .now_ns = clock_ns(CLOCK_MONOTONIC), .is_last = is_last};
	const struct ring_sink sink = {.sample = shim_on_ring_sample, .userdata = &d};
	int r;

	if (!t->ring.reader)
		return 0;
	r = ring_reader_drain(t->ring.reader, s->n_words, is_last, &sink);
	if (r < 0 || d.error)
		return r < 0 ? r : d.error;
	shim_count_ledger(&d);
	*budget -= d.n_delivered < *budget ? d.n_delivered : *budget;
	return r == RING_READER_E_BROKEN ? SOURCE_E_GONE : 0;
}
