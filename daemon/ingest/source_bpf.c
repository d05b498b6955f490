/* SPDX-License-Identifier: MIT */
/*
 * The ordinary source: bpf/profile.bpf.c, called by what causes samples (source_bpf_private.h).
 *
 * One object is loaded for all samplers. A sampler is an index into its tables: settings (in .bss,
 * mapped), counters per CPU, and a ring buffer of its own, put into the array of rings when it
 * starts. The programs learn the index from what called them.
 *
 * A drain delivers process events first, then samples. Each sample that is younger than the events
 * read so far has them read again before it; where that goes on for SOURCE_DRAIN_NS, as events come
 * as fast as they are read, it is the last of its ring for now: what is older is always delivered.
 * Ring buffers wake up profd when half full, perf rings at 4 KiB; the caller's timer does the rest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "common/random_number.h"
#include "daemon/ingest/source_bpf_private.h"
#include "daemon/ingest/source_bpf_record.h"
#include "daemon/ingest/sources.h"
#include "profile.skel.h"

/*
 * A head and some eighty frames: generous, before it is known. Processes that are new bring copies
 * of their stacks along, for which a ring should have some room at any rate.
 */
#define RECORD_BYTES_GUESS 800
#define RING_BYTES_LEAST   (512u << 10)
#define WAITING_THREADS    8 /* for each that runs */

#define THROTTLE_RING 1 /* rounded up to one page */

#define BPF_CAUSE_ROW(name, of_bpf) [name] = &(of_bpf),
static const struct bpf_cause *const bpf_causes[] = {SAMPLE_CAUSES(BPF_CAUSE_ROW)};

/* Perf events: one per CPU and sampler, the program attached to each, the index as its cookie. */

/* Tells the program of @period: bpf/cpu_clock.bpf.h. */
static int bpf_ticks_vary(void *userdata, const struct tick *tick, uint64_t period)
{
	const struct bpf_sampler *sampler = userdata;
	const struct bpf_source *s = sampler->owner;
	__u32 key = tick->cpu * ABI_SAMPLERS_MAX + sampler->index;

	if (tick->cpu >= s->n_possible_cpus)
		return 0;
	if (bpf_map_update_elem(bpf_map__fd(s->skeleton->maps.tick_periods), &key, &period, 0) < 0)
		return error_origin(-errno);
	return 0;
}

static int bpf_ticks_attach(void *userdata, struct tick *tick)
{
	struct bpf_sampler *sampler = userdata;
	int program = bpf_program__fd(sampler->owner->skeleton->progs.profile_tick);
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = sampler->index);
	int link = bpf_link_create(program, tick->fd, BPF_PERF_EVENT, &options);

	if (link < 0)
		return error_origin(-errno);
	tick->link = link;
	return bpf_ticks_vary(userdata, tick, 0);
}

/* A CPU's cell; 0: its samples come as the event ticks, as those of counters do. */
static uint64_t bpf_ticks_cell_ns(const struct bpf_sampler *sampler)
{
	struct perf_event_attr attr;
	uint64_t period;

	event_attr(&sampler->owner->source.samplers[sampler->index].spec, &attr);
	period = ticker_clock_period(&attr);
	return period <= INT32_MAX ? period : 0;
}

static int bpf_ticks_start(struct bpf_sampler *sampler, const struct cpus *cpus,
			   struct source_message *message)
{
	struct perf_event_attr attr;

	(void)message;
	event_attr(&sampler->owner->source.samplers[sampler->index].spec, &attr);
	ticker_init(&sampler->ticker, &attr, THROTTLE_RING, bpf_ticks_attach, sampler);
	if (bpf_ticks_cell_ns(sampler))
		sampler->ticker.vary = bpf_ticks_vary;
	return ticker_follow(&sampler->ticker, cpus);
}

const struct bpf_cause bpf_ticks = {.programs = {"profile_tick"}, .start = bpf_ticks_start};

/* What a clock's next tick is of at most: its period, and one that was cut since the last one. */
static uint64_t bpf_ticks_ahead(const struct bpf_sampler *sampler, const struct tick *tick)
{
	const struct bpf_source *s = sampler->owner;
	const uint64_t cell_ns = s->skeleton->bss->samplers[sampler->index].cell_ns;
	const uint64_t last = s->counters[tick->cpu].clock.tick_period;
	const uint64_t period = tick->varied ? tick->varied : cell_ns;

	return period + (last != period ? last : 0);
}

/* What calls were due and did not come; @exact: it was stopped. */
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
		tick->excluded = s->counters[tick->cpu].excluded;
		tick->ahead = s->skeleton->bss->samplers[sampler->index].cell_ns
				      ? bpf_ticks_ahead(sampler, tick)
				      : 0;
	}
	ticker_judge(ticker, exact);
	ticker_drain_throttled(ticker);
	ticker_get_stats(ticker, stats);
	stats->excluded = ticker_skipped_outside(ticker);
}

static uint64_t bpf_source_ring_bytes(const struct bpf_source *s)
{
	uint64_t sum = process_events_bytes(s->events);

	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			sum += s->samplers[i].ring_bytes + ticker_bytes(&s->samplers[i].ticker);
	return sum;
}

/*
 * Room for four times what the CPUs can write between two drains (a quarter of the ring is kept for
 * records without copies of stacks, see bpf/rest.bpf.h), a power of two, and at most half of the
 * memory that is left, so that there is some for the next sampler. 0 if that is not even a page.
 */
static size_t choose_ring_bytes(const struct bpf_source *s, const struct sampler_spec *spec,
				unsigned n_cpus)
{
	uint64_t limit = s->source.options.memory_bytes, used = bpf_source_ring_bytes(s);
	uint64_t bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t left = used < limit ? (limit - used) / 2 : 0;
	uint64_t wanted = 4 * RECORD_BYTES_GUESS * n_cpus * event_ticks_per_second(spec) *
			  s->source.options.drain_ms / 1000;

	if (spec->event.cause == CAUSE_SCHEDULER)
		wanted *= WAITING_THREADS;
	if (wanted < RING_BYTES_LEAST)
		wanted = RING_BYTES_LEAST;
	if (left < bytes)
		return 0;
	while (bytes < wanted && bytes * 2 <= left && bytes < (1u << 30))
		bytes *= 2;
	return bytes;
}

static void deliver(struct bpf_source *s, const struct sample *sample)
{
	s->source.options.sink->sample(s->source.options.sink->userdata, sample);
}

bool bpf_deliver_record(struct bpf_source *s, const void *data, size_t length, bool *ret_is_younger)
{
	struct sample sample, parts[SOURCE_BPF_WAIT_PARTS];
	unsigned n;

	if (!source_bpf_decode(data, length, &s->parts, &sample))
		return false;
	*ret_is_younger = sample.time_ns > s->events_until;
	if (*ret_is_younger)
		s->error = process_events_drain(s->events, &s->events_until);
	if (s->error < 0)
		return false;
	if (!sample.wait) {
		deliver(s, &sample);
		return true;
	}
	n = source_bpf_wait_parts(&s->parts.wait, &sample, parts);
	for (unsigned i = 0; i < n; i++)
		deliver(s, &parts[i]);
	return true;
}

/* A negative return ends ring_buffer__consume() after this record. */
static int bpf_sampler_on_record(void *userdata, void *data, size_t length)
{
	struct bpf_sampler *sampler = userdata;
	struct bpf_source *s = sampler->owner;
	bool is_younger;

	if (!bpf_deliver_record(s, data, length, &is_younger)) {
		sampler->malformed += s->error == 0;
		return s->error;
	}
	return --s->budget && !(is_younger && s->events_until >= s->ends_ns) ? 0 : -EAGAIN;
}

static int bpf_drain_rings(struct bpf_source *s, unsigned budget)
{
	int r;

	s->budget = budget;
	s->error = 0;
	r = bpf_codes_read(s) ?: bpf_waits_drain(s);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < SAMPLERS_MAX && s->budget; i++) {
		if (!s->source.samplers[i].used)
			continue;
		r = ring_buffer__consume(s->samplers[i].ring);
		if (s->error < 0)
			return s->error;
		if (r < 0 && r != -EAGAIN)
			return error_origin(r);
		ticker_drain_throttled(&s->samplers[i].ticker);
	}
	return s->budget ? SOURCE_E_OK : SOURCE_E_MORE;
}

static void bpf_vary_ticks(struct bpf_source *s)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			ticker_vary(&s->samplers[i].ticker, now_ns);
}

static int bpf_drain(struct source *source, unsigned budget)
{
	struct bpf_source *s = (struct bpf_source *)source;
	int r;

	r = process_events_drain(s->events, &s->events_until);
	if (r < 0)
		return r;
	s->ends_ns = s->events_until + SOURCE_DRAIN_NS;
	r = budget ? bpf_drain_rings(s, budget) : SOURCE_E_MORE;
	if (r == SOURCE_E_OK)
		bpf_vary_ticks(s);
	return r;
}

/* Brings the totals up to date. The order is ticker.h's: counts first, then what came of them. */
static int bpf_sampler_update_stats(struct bpf_source *s, struct bpf_sampler *sampler, bool exact)
{
	struct source_stats stats = {0};
	__u32 key = sampler->index;

	ticker_read(&sampler->ticker);
	if (bpf_map_lookup_elem(bpf_map__fd(s->skeleton->maps.counters), &key, s->counters) < 0)
		return error_origin(-errno);
	bpf_ticks_judge(sampler, exact, &stats);
	for (unsigned i = 0; i < s->n_possible_cpus; i++) {
		stats.seen += s->counters[i].seen;
		stats.excluded += s->counters[i].excluded;
		stats.self += s->counters[i].self;
		stats.outside += s->counters[i].outside;
		stats.bpf_run_ns += s->counters[i].run_ns;
		stats.watch_ns += s->counters[i].watch_ns * ABI_WATCH_ONE_IN;
		stats.wait_ticks += s->counters[i].wait_ticks;
		stats.cpu_ticks += s->counters[i].cpu_ticks;
		for (unsigned j = 0; j < N_LOST; j++)
			stats.lost[j] += s->counters[i].lost[j];
	}
	stats.lost[LOST_MALFORMED] += sampler->malformed;
	s->source.samplers[sampler->index].stats = stats;
	return 0;
}

static int make_ring(struct bpf_source *s, struct bpf_sampler *sampler)
{
	__u32 key = sampler->index;
	struct epoll_event wake = {.events = EPOLLIN};

	sampler->ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "profd_samples", 0, 0,
					  (__u32)sampler->ring_bytes, NULL);
	if (sampler->ring_fd < 0)
		return error_origin(-errno);
	sampler->ring = ring_buffer__new(sampler->ring_fd, bpf_sampler_on_record, sampler, NULL);
	if (!sampler->ring)
		return error_origin(-errno);
	wake.data.fd = ring_buffer__epoll_fd(sampler->ring);
	if (epoll_ctl(s->source.fd, EPOLL_CTL_ADD, wake.data.fd, &wake) < 0)
		return error_origin(-errno);
	if (bpf_map_update_elem(bpf_map__fd(s->skeleton->maps.rings), &key, &sampler->ring_fd, 0) <
	    0)
		return error_origin(-errno);
	return 0;
}

/* When it returns, the last call has come. */
static void bpf_sampler_stop(struct bpf_sampler *sampler)
{
	ticker_stop(&sampler->ticker);
	if (sampler->cause->stop)
		sampler->cause->stop(sampler);
}

/* Takes half-built ones. The last totals stay. */
static void sampler_close(struct bpf_sampler *sampler)
{
	struct bpf_source *s = sampler->owner;
	__u32 key = sampler->index;

	bpf_sampler_stop(sampler);
	ticker_deinit(&sampler->ticker);
	bpf_map_delete_elem(bpf_map__fd(s->skeleton->maps.rings), &key);
	ring_buffer__free(sampler->ring);
	sampler->ring = NULL;
	closep(&sampler->ring_fd);
	sampler->ring_fd = -1;
}

static int reset_counters(struct bpf_source *s, struct bpf_sampler *sampler)
{
	const uint64_t cell_ns = s->skeleton->bss->samplers[sampler->index].cell_ns;
	__u32 key = sampler->index;

	/* A clock's first cell has its tick at a random place, as all others. */
	for (unsigned i = 0; i < s->n_possible_cpus; i++)
		s->counters[i] = (struct abi_counters){
			.clock = {.next = random_below((uint32_t)cell_ns),
				  .end = cell_ns,
				  .tick_ns = clock_ns(CLOCK_MONOTONIC),
				  .tick_period = cell_ns}};
	if (bpf_map_update_elem(bpf_map__fd(s->skeleton->maps.counters), &key, s->counters, 0) < 0)
		return error_origin(-errno);
	return 0;
}

static void bpf_configure_sampler(struct bpf_source *s, const struct bpf_sampler *sampler)
{
	const struct sampler_spec *spec = &s->source.samplers[sampler->index].spec;
	bool by_source = event_excludes_by_source(&spec->event);
	uint32_t depth = spec->max_depth, bit = 1u << sampler->index;

	if (depth == 0 || depth > ABI_USER_FRAMES_MAX)
		depth = ABI_USER_FRAMES_MAX;
	s->parts.without_kernel &= ~bit;
	s->parts.without_kernel |= spec->kernel_stacks ? 0 : bit;
	s->skeleton->bss->samplers[sampler->index] = (struct abi_sampler){
		.ring_bytes = sampler->ring_bytes,
		.cell_ns = spec->event.cause == CAUSE_PERF_EVENT ? bpf_ticks_cell_ns(sampler) : 0,
		.max_depth = depth,
		.all = spec->all,
		.kernel_stacks = spec->kernel_stacks,
		.exclude_user = spec->event.exclude_user && by_source,
		.exclude_kernel = spec->event.exclude_kernel && by_source,
	};
}

static const char *cause_missing(const struct bpf_cause *cause, const struct bpf_source *s)
{
	return cause->missing ? cause->missing(s) : "";
}

static int bpf_add_sampler(struct source *source, unsigned index, struct source_message *message)
{
	struct bpf_source *s = (struct bpf_source *)source;
	const struct sampler_spec *spec = &source->samplers[index].spec;
	struct bpf_sampler *sampler = &s->samplers[index];
	const char *missing;
	struct cpus cpus;
	int r;

	r = cpus_read_online(&cpus);
	if (r < 0)
		return r;
	*sampler = (struct bpf_sampler){
		.owner = s, .index = index, .cause = bpf_causes[spec->event.cause], .ring_fd = -1};
	missing = cause_missing(sampler->cause, s);
	if (*missing)
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "cannot sample %s: BPF of this kernel lacks %s",
				     spec->event.name, missing);
	sampler->ring_bytes = choose_ring_bytes(s, spec, cpus.n);
	if (!sampler->ring_bytes)
		return source_refuse(message, SOURCE_E_FULL,
				     "no memory for another ring buffer: %sraise [memory] budget",
				     bpf_source_ring_bytes(s) ? SOURCE_STOP_ANOTHER : "");
	bpf_configure_sampler(s, sampler);
	r = reset_counters(s, sampler);
	if (r == 0)
		r = make_ring(s, sampler);
	if (r == 0) {
		r = sampler->cause->start(sampler, &cpus, message);
		if (r < 0)
			r = event_explain(r, spec, message);
	}
	if (r != 0)
		sampler_close(sampler);
	return r;
}

static int bpf_account(struct source *source, unsigned index)
{
	struct bpf_sampler *sampler = &((struct bpf_source *)source)->samplers[index];

	return sampler->cause->account ? sampler->cause->account(sampler) : 0;
}

static int bpf_remove_sampler(struct source *source, unsigned index)
{
	struct bpf_source *s = (struct bpf_source *)source;
	struct bpf_sampler *sampler = &s->samplers[index];
	int r, r2;

	r = sampler->cause->account ? sampler->cause->account(sampler) : 0;
	if (r < 0)
		return r;
	bpf_sampler_stop(sampler);
	do {
		r = bpf_drain(source, UINT32_MAX);
	} while (r == SOURCE_E_MORE);
	r2 = bpf_sampler_update_stats(s, sampler, true);
	if (r == 0)
		r = r2;
	sampler_close(sampler);
	bpf_members_remove_sampler(s, index);
	return r;
}

static void bpf_set_all(struct source *source, unsigned index)
{
	const struct bpf_source *s = (struct bpf_source *)source;

	s->skeleton->bss->samplers[index].all = source->samplers[index].spec.all;
}

static int bpf_follow_cpus(struct source *source)
{
	struct bpf_source *s = (struct bpf_source *)source;
	struct cpus cpus;
	int r;

	r = cpus_read_online(&cpus);
	if (r < 0)
		return r;
	r = process_events_follow(s->events, &cpus);
	for (unsigned i = 0; r == 0 && i < SAMPLERS_MAX; i++) {
		struct bpf_sampler *sampler = &s->samplers[i];

		if (!source->samplers[i].used || !sampler->ticker.n_ticks ||
		    !ticker_differs(&sampler->ticker, &cpus))
			continue;
		r = bpf_sampler_update_stats(s, sampler, false);
		if (r == 0)
			r = ticker_follow(&sampler->ticker, &cpus);
	}
	return r;
}

static int bpf_update_stats(struct source *source, unsigned index)
{
	struct bpf_source *s = (struct bpf_source *)source;
	struct source_stats *stats = &source->samplers[index].stats;
	int r = source->samplers[index].used
			? bpf_sampler_update_stats(s, &s->samplers[index], false)
			: 0;

	stats->unfollowed = s->skeleton->bss->unfollowed;
	stats->fork_misses = s->skeleton->bss->fork_misses;
	stats->stale_roots = s->skeleton->bss->stale_roots;
	stats->chains_broken = s->skeleton->bss->runtime_broken;
	stats->codes_lost = s->skeleton->bss->codes_lost;
	stats->waits_unkept = s->skeleton->bss->waits_unkept;
	return r;
}

/* A map's values, and a word or two of book-keeping per entry. */
static uint64_t bpf_source_map_bytes(const struct bpf_source *s, const struct bpf_map *map)
{
	uint64_t value = (bpf_map__value_size(map) + 7) & ~7u;
	uint64_t n = bpf_map__max_entries(map);

	switch (bpf_map__type(map)) {
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return n * value * s->n_possible_cpus;
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
		return n * (value + 8 + 48 + 16); /* key, element head, bucket */
	default:
		return n * value;
	}
}

/*
 * What is mapped here counts in RSS, all of it from the first moment: the kernel maps such memory
 * page by page at once (remap_vmalloc_range()). That goes for the rings of samples (even twice,
 * as libbpf maps them) and for the maps that the unwinder fills. Perf rings do not count there.
 */
static uint64_t bpf_memory_bytes(struct source *source)
{
	struct bpf_source *s = (struct bpf_source *)source;
	uint64_t sum = process_events_ring_bytes(s->events);
	struct bpf_map *map;

	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			sum += ticker_bytes(&s->samplers[i].ticker);
	bpf_object__for_each_map(map, s->skeleton->obj)
	{
		if (!(bpf_map__map_flags(map) & BPF_F_MMAPABLE))
			sum += bpf_source_map_bytes(s, map);
	}
	return sum + bpf_waits_bytes(s);
}

/* Without the tracepoints nobody would know when a root became void. */
static const struct unwind_host *bpf_unwind_host(struct source *source)
{
	struct bpf_source *s = (struct bpf_source *)source;

	return s->follows_children ? &s->host : NULL;
}

static void bpf_free(struct source *source)
{
	struct bpf_source *s = (struct bpf_source *)source;

	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			sampler_close(&s->samplers[i]);
	process_events_free(s->events);
	ring_buffer__free(s->lives);
	bpf_codes_close(s);
	code_book_free(s->source.codes);
	bpf_unwind_close(s);
	profile_bpf__destroy(s->skeleton);
	free(s->counters);
	free(s);
}

static const struct source_ops bpf_ops = {
	.name = "bpf",
	.has_all_causes = true,
	.free = bpf_free,
	.drain = bpf_drain,
	.add_sampler = bpf_add_sampler,
	.account = bpf_account,
	.remove_sampler = bpf_remove_sampler,
	.set_all = bpf_set_all,
	.filter_pid = bpf_filter_pid,
	.follow_cpus = bpf_follow_cpus,
	.update_stats = bpf_update_stats,
	.memory_bytes = bpf_memory_bytes,
	.unwind_host = bpf_unwind_host,
};

/* --- loading ---------------------------------------------------------------------------------- */

/*
 * libbpf's messages go to one function for all its users, without any context of the caller's: so
 * the place for one is the thread's, for as long as a call lasts. The first is the one that names
 * the cause; those that follow only say who gave up because of it.
 */
static _Thread_local struct source_message *libbpf_says;

__attribute__((format(printf, 2, 0))) static int
capture_libbpf_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level != LIBBPF_WARN || !libbpf_says || libbpf_says->text[0])
		return 0;
	vsnprintf(libbpf_says->text, sizeof(libbpf_says->text), format, args);
	libbpf_says->text[strcspn(libbpf_says->text, "\n")] = '\0';
	return 0;
}

void bpf_source_hear(struct source_message *said)
{
	libbpf_says = said;
}

DEFINE_CLEANUP(struct profile_bpf *, profile_bpf__destroy)

static void configure_skeleton(const struct bpf_source *s, struct profile_bpf *skeleton)
{
	const struct source_options *options = &s->source.options;

	skeleton->rodata->pids_translated = options->pids_translated;
	if (!options->pids_translated)
		bpf_map__set_max_entries(skeleton->maps.ended, 1);
	skeleton->bss->self_pid = options->exclude_self ? (__u32)getpid() : 0;
	skeleton->rodata->exclude_children = options->exclude_children;
	skeleton->rodata->witness_one_in = options->witness_one_in;
	bpf_map__set_max_entries(skeleton->maps.scratches, s->n_possible_cpus);
	bpf_map__set_max_entries(skeleton->maps.tick_periods,
				 s->n_possible_cpus * ABI_SAMPLERS_MAX);
	bpf_map__set_max_entries(skeleton->maps.wait_rings, s->n_possible_cpus);
	bpf_unwind_size(skeleton, options->unwind_bytes);
}

/* What the program is called by, if that is a cause of samples; else NULL. */
static const struct bpf_cause *cause_of_program(const struct bpf_program *program)
{
	for (size_t i = 0; i < N_CAUSES; i++)
		for (size_t j = 0; bpf_causes[i]->programs[j]; j++)
			if (!strcmp(bpf_program__name(program), bpf_causes[i]->programs[j]))
				return bpf_causes[i];
	return NULL;
}

/* Programs of causes are attached when a sampler begins. */
static void choose_program(struct bpf_program *program, bool with_tracepoints)
{
	const struct bpf_cause *cause = cause_of_program(program);
	bool is_late = cause && cause->loads_late;

	bpf_program__set_autoattach(program, !cause);
	bpf_program__set_autoload(program, !is_late && (cause == &bpf_ticks || with_tracepoints));
}

/* The namespace to translate to is this process's. Returns 0 or negative errno. */
static int bpf_pids_find(struct profile_bpf *skeleton)
{
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, options);
	int r = bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_namespace), &options);

	if (r == 0 && skeleton->bss->self_pid)
		skeleton->bss->self_pid = skeleton->bss->pids_self;
	return r < 0 ? r : skeleton->bss->pids_namespace ? 0 : -ENOENT;
}

static int load_skeleton(struct bpf_source *s, bool with_tracepoints)
{
	cleanup(profile_bpf__destroyp) struct profile_bpf *skeleton = profile_bpf__open();
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	bool translates = s->source.options.pids_translated;
	struct bpf_program *program;
	int r;

	if (!skeleton)
		return -errno;
	configure_skeleton(s, skeleton);
	s->waits.scratch_bytes = bpf_map__value_size(
		bpf_map__inner_map(skeleton->maps.wait_memory));
	bpf_object__for_each_program(program, skeleton->obj)
	{
		choose_program(program, with_tracepoints);
	}
	bpf_program__set_autoload(skeleton->progs.find_namespace, translates);
	bpf_program__set_autoattach(skeleton->progs.find_namespace, false);
	r = profile_bpf__load(skeleton);
	if (r == 0 && translates)
		r = bpf_pids_find(skeleton);
	/* The tracepoints. Whatever the reason, it does without them. */
	if (r == 0 && with_tracepoints && profile_bpf__attach(skeleton) < 0)
		r = -ENOENT;
	if (r < 0)
		return r;
	log_info("BPF programs loaded in %" PRIu64 " ms",
		 (clock_ns(CLOCK_MONOTONIC) - began_ns) / NS_PER_MS);
	s->skeleton = steal_ptr(&skeleton);
	return 0;
}

/*
 * Loads the programs and attaches the tracepoints; s->follows_children says whether those are
 * there. Returns SOURCE_E_OK, SOURCE_E_UNSUPPORTED or _DENIED with @message, or negative errno.
 */
static int bpf_source_load(struct bpf_source *s, struct source_message *message)
{
	struct source_message said = {""};
	int r;

	libbpf_set_print(capture_libbpf_warning);
	libbpf_says = &said;
	r = load_skeleton(s, true);
	s->follows_children = r == 0;
	/* A kernel that lacks the tracepoints still samples, but follows no children. */
	if (r < 0 && r != -EPERM && r != -ENOMEM)
		r = load_skeleton(s, false);
	libbpf_says = NULL;
	if (r == 0)
		return SOURCE_E_OK;
	if (r == -ENOMEM)
		return error_origin(r);
	if (r == -EPERM)
		return source_refuse(
			message, SOURCE_E_DENIED,
			"the kernel does not let profd load BPF programs: it needs CAP_BPF and "
			"CAP_PERFMON, and in a container a seccomp profile that allows bpf(2); or "
			"use the perf source");
	return source_refuse(message, SOURCE_E_UNSUPPORTED,
			     "the BPF programs cannot be loaded (%.150s): use the perf source",
			     said.text);
}

int source_bpf_new(struct source **ret, const struct source_options *options,
		   struct source_message *message)
{
	cleanup(source_freep) struct source *owner = NULL;
	struct bpf_source *s;
	int r;

	r = host_check_bpf(message);
	if (r != SOURCE_E_OK)
		return r;
	owner = source_new(sizeof(*s), &bpf_ops, options);
	s = (struct bpf_source *)owner;
	if (!s)
		return error_origin(-ENOMEM);
	s->source.fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->source.fd < 0)
		return error_origin(-errno);
	r = libbpf_num_possible_cpus();
	if (r < 0)
		return error_origin(r);
	s->n_possible_cpus = (unsigned)r;
	s->parts = (struct source_bpf_parts){.frames = s->frames,
					     .find_code = bpf_codes_find,
					     .userdata = s};
	bpf_waits_init(s);
	s->counters = calloc(s->n_possible_cpus, sizeof(*s->counters));
	if (!s->counters)
		return error_origin(-ENOMEM);
	r = bpf_source_load(s, message);
	if (r == SOURCE_E_OK)
		r = bpf_unwind_open(s);
	if (r == SOURCE_E_OK)
		r = bpf_codes_open(s);
	if (r == SOURCE_E_OK)
		r = process_events_new(&s->events, &s->source, s->source.options.sink, false,
				       message);
	if (r == SOURCE_E_OK && s->follows_children)
		r = bpf_lives_open(s);
	if (r != SOURCE_E_OK)
		return r;
	*ret = steal_ptr(&owner);
	return SOURCE_E_OK;
}
