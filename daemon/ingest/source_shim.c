/* SPDX-License-Identifier: MIT */
/*
 * The processes that have rings, and the samplers that want them. There are no process events but
 * those that its host tells: another program when a process is attached, its mappings when it says
 * that they changed, and here its end.
 *
 * A process that executes another program closes its bell and is attached again, by the same
 * number: it is the same process for all that follow it. One that is not attached again may live
 * on: its pidfd tells when it ends.
 */
#include "daemon/ingest/source_shim.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/proc.h"
#include "common/room.h"
#include "daemon/ingest/source_shim_private.h"
#include "daemon/ingest/sources.h"

/* So many words for each CPU hold what it samples between two drains, at some hundred Hz. */
#define WORDS_PER_CPU 4096
#define WORDS_LEAST   (1u << 14)
#define WORDS_MOST    (1u << 16)
/* Each target has a pidfd and a bell. */
#define FDS_PER_TARGET 2
#define FDS_PART       8
#define TARGETS_MOST   1024
/* Of all places, those for strangers, and for each of them. */
#define STRANGERS_PART(n) ((n) / 4 * 3)
#define STRANGER_PART(n)  ((n) / 4)
/* Strangers wake profd by their bells no more often. */
#define GATE_NS (10 * NS_PER_MS)
/* Events that one drain handles. */
#define EVENTS_MAX 64
/* Reads of a bell in one turn: a process may ring without end. */
#define HEAR_MAX   4
#define HEAR_BYTES 256

/* What is no target's number. */
enum { NUMBER_GATE, NUMBER_BELLS, NUMBER_FIRST };

/* Frees the ring, which has been drained. */
static void shim_target_leave(struct shim_target *t)
{
	attach_ring_deinit(&t->ring);
	t->frequency = 0;
}

static void shim_target_free(struct shim_target *t)
{
	if (!t)
		return;
	shim_target_leave(t);
	closep(&t->pidfd);
	free(t);
}

DEFINE_CLEANUP(struct shim_target *, shim_target_free)

/*
 * With a ring of @n_words words (common/shim/ring_layout.h); its number is the caller's to give.
 * @pidfd is taken over, whatever happens. Returns 0, SOURCE_E_FULL (no memory or fds for a ring),
 * SOURCE_E_GONE, or -ENOMEM.
 */
static int shim_target_new(struct shim_target **ret, const struct source_shim_process *process,
			   int pidfd, uint32_t n_words)
{
	cleanup(shim_target_freep) struct shim_target *t = calloc(1, sizeof(*t));
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), cpu_ns;

	if (!t) {
		close(pidfd);
		return error_origin(-ENOMEM);
	}
	t->process = *process;
	t->pidfd = pidfd;
	t->ring = ATTACH_RING_NONE;
	if (!clock_process_ns(process->pid, &cpu_ns))
		return SOURCE_E_GONE;
	shim_account_begin(&t->account, cpu_ns);
	t->attached_ns = t->looked_ns = now_ns;
	if (attach_ring_init(&t->ring, n_words) < 0)
		return SOURCE_E_FULL;
	*ret = steal_ptr(&t);
	return 0;
}

/* Tells it another frequency. */
static void shim_target_set_frequency(struct shim_target *t, uint32_t hz)
{
	if (!t->ring.reader || hz == t->frequency)
		return;
	t->frequency = hz;
	if (hz)
		t->last = hz;
	ring_reader_set_frequency(t->ring.reader, hz);
}

/* Empties the bell's socket, or some of it. False: it is at its end. */
static bool shim_target_hear(struct shim_target *t)
{
	uint8_t bytes[HEAR_BYTES];

	for (int i = 0; i < HEAR_MAX; i++) {
		ssize_t n = recv(t->ring.bell, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (n == 0)
			return false;
	}
	return true;
}

static struct shim_target *find_target_by_number(const struct shim_source *s, uint64_t number)
{
	for (unsigned i = 0; i < s->n_targets; i++)
		if (s->targets[i]->number == number)
			return s->targets[i];
	return NULL;
}

static struct shim_target *find_target_by_pid(const struct shim_source *s, pid_t pid)
{
	for (unsigned i = 0; i < s->n_targets; i++)
		if (s->targets[i]->process.pid == pid)
			return s->targets[i];
	return NULL;
}

static void remove_target(struct shim_source *s, struct shim_target *t)
{
	for (unsigned i = 0; i < s->n_targets; i++)
		if (s->targets[i] == t)
			s->targets[i] = s->targets[--s->n_targets];
	shim_target_free(t);
}

/* As fast as the fastest sampler that wants it. */
static void set_frequency(struct shim_source *s, struct shim_target *t)
{
	uint32_t hz = 0;

	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (shim_wants(s, i, t) && s->samplers[i].hz > hz)
			hz = s->samplers[i].hz;
	shim_target_set_frequency(t, hz);
}

static void set_frequencies(struct shim_source *s)
{
	for (unsigned i = 0; i < s->n_targets; i++)
		set_frequency(s, s->targets[i]);
}

/* --- processes -------------------------------------------------------------------------------- */

/* Takes the last out of its ring. Returns 0 or negative errno. */
static int shim_detach_target(struct shim_source *s, struct shim_target *t)
{
	unsigned budget = UINT_MAX;
	int r = source_shim_drain_target(s, t, true, &budget);

	shim_target_leave(t);
	return r < 0 ? r : 0;
}

static int shim_end_target(struct shim_source *s, struct shim_target *t)
{
	const struct source_sink *sink = s->source.options.sink;
	struct process_event event;
	int r = shim_detach_target(s, t);

	event = process_event_of(PROCESS_EVENT_EXIT, t->process.pid, clock_ns(CLOCK_MONOTONIC));
	if (!s->options.is_idle)
		sink->process_event(sink->userdata, &event);
	remove_target(s, t);
	return r;
}

static bool shim_has_room(const struct shim_source *s, const struct source_shim_process *process)
{
	unsigned n_strangers = 0, n_same = 0;

	if (s->n_targets >= s->max_targets)
		return false;
	if (process->privileged)
		return true;
	for (unsigned i = 0; i < s->n_targets; i++) {
		const struct source_shim_process *other = &s->targets[i]->process;

		n_strangers += !other->privileged;
		n_same += !other->privileged && other->uid == process->uid;
	}
	return n_strangers < STRANGERS_PART(s->max_targets) &&
	       n_same < STRANGER_PART(s->max_targets);
}

static int shim_epoll_add(int epoll, int fd, uint32_t events, uint64_t number)
{
	struct epoll_event event = {.events = events, .data.u64 = number};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Takes @pidfd over. Makes room in the array as well. */
static int make_target(struct shim_source *s, const struct source_shim_process *process, int pidfd,
		       struct shim_target **ret)
{
	cleanup(shim_target_freep) struct shim_target *t = NULL;
	int r;

	r = shim_target_new(&t, process, pidfd, s->n_words)
		    ?: room_make(&s->targets, &s->room, s->n_targets + 1,
				 sizeof(struct shim_target *));
	if (r)
		return r;
	t->number = s->next_number;
	if (shim_epoll_add(s->source.fd, t->pidfd, EPOLLIN, t->number) < 0 ||
	    shim_epoll_add(s->bells, t->ring.bell, EPOLLIN, t->number) < 0)
		return SOURCE_E_FULL;
	s->next_number++;
	s->targets[s->n_targets++] = t;
	*ret = steal_ptr(&t);
	return 0;
}

/* What was attached of that number before has executed another program, or is gone. */
static int shim_detach_previous(struct shim_source *s, pid_t pid, struct shim_target **ret_before)
{
	struct shim_target *t = find_target_by_pid(s, pid);

	*ret_before = NULL;
	if (!t)
		return 0;
	if (pidfd_has_ended(t->pidfd))
		return shim_end_target(s, t);
	*ret_before = t;
	return shim_detach_target(s, t);
}

static int shim_begin_target(struct shim_source *s, struct shim_target *t)
{
	const struct source_shim_host *host = &s->options.host;
	int r = 0, ended;

	if (!s->options.is_idle)
		r = host->begin(host->userdata, t->process.pid, &t->start_ns);
	/* The number may be another's by now, and what was told that one's. */
	if (!r && pidfd_has_ended(t->pidfd))
		r = SOURCE_E_GONE;
	ended = r ? shim_end_target(s, t) : 0;
	return ended ? ended : r;
}

int source_shim_attach(struct source *source, const struct source_shim_process *process, int pidfd,
		       const struct attach_ring **ret_ring, struct source_message *message)
{
	cleanup(closep) int owned = pidfd;
	struct shim_source *s = (struct shim_source *)source;
	struct shim_target *before, *t = NULL;
	int r;

	if (!process->privileged &&
	    !shim_pace_allows(&s->pace, process->uid, clock_ns(CLOCK_MONOTONIC)))
		return source_refuse(message, SOURCE_E_FULL,
				     "too many of your processes ask at once; try again");
	r = shim_detach_previous(s, process->pid, &before);
	if (r)
		return r;
	if (!before && !shim_has_room(s, process))
		return source_refuse(message, SOURCE_E_FULL, "too many processes are attached");
	r = make_target(s, process, steal_fd(&owned), &t);
	if (!r && before)
		remove_target(s, before);
	if (!r)
		r = shim_begin_target(s, t);
	if (r == SOURCE_E_FULL)
		return source_refuse(message, r, "no memory or file descriptors for another ring");
	if (r == SOURCE_E_GONE)
		return source_refuse(message, r, "the process has ended");
	if (r)
		return r;
	set_frequency(s, t);
	*ret_ring = &t->ring;
	return SOURCE_E_OK;
}

void source_shim_sent(struct source *source, pid_t pid, bool is_taken)
{
	struct shim_target *t = find_target_by_pid((struct shim_source *)source, pid);

	if (t && is_taken)
		attach_ring_close_sent(&t->ring);
	else if (t)
		shim_target_leave(t);
}

bool source_shim_has(struct source *source, pid_t pid)
{
	const struct shim_target *t = find_target_by_pid((struct shim_source *)source, pid);

	return t && t->ring.reader;
}

unsigned source_shim_count(struct source *source)
{
	const struct shim_source *s = (struct shim_source *)source;
	unsigned n = 0;

	for (unsigned i = 0; i < s->n_targets; i++)
		n += s->targets[i]->ring.reader != NULL;
	return n;
}

/* --- draining --------------------------------------------------------------------------------- */

static int open_gate(struct shim_source *s)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = NUMBER_BELLS};
	uint64_t n;

	if (read(s->gate, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return error_origin(-errno);
	if (epoll_ctl(s->source.fd, EPOLL_CTL_MOD, s->bells, &event) < 0)
		return error_origin(-errno);
	return 0;
}

static int close_gate(const struct shim_source *s)
{
	const struct itimerspec after = {.it_value.tv_nsec = GATE_NS};

	return timerfd_settime(s->gate, 0, &after, NULL) < 0 ? error_origin(-errno) : 0;
}

static int shim_handle_bells(struct shim_source *s)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(s->bells, events, EVENTS_MAX, 0), r = 0;

	for (int i = 0; !r && i < n; i++) {
		struct shim_target *t = find_target_by_number(s, events[i].data.u64);

		if (t && t->ring.reader && !shim_target_hear(t))
			r = shim_detach_target(s, t);
	}
	return r;
}

/* Who has rung, left or ended. Returns 0 or negative errno. */
static int shim_handle_events(struct shim_source *s)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(s->source.fd, events, EVENTS_MAX, 0), r = 0;

	for (int i = 0; !r && i < n; i++) {
		uint64_t number = events[i].data.u64;
		struct shim_target *t = number < NUMBER_FIRST ? NULL
							      : find_target_by_number(s, number);

		if (number == NUMBER_GATE)
			r = open_gate(s);
		else if (number == NUMBER_BELLS)
			r = close_gate(s);
		else if (t)
			r = shim_end_target(s, t);
	}
	return r ? r : shim_handle_bells(s);
}

/* A ring that makes no sense is no use to anybody. */
static int shim_drain_target(struct shim_source *s, struct shim_target *t, unsigned *budget)
{
	int r = source_shim_drain_target(s, t, false, budget);

	if (r == SOURCE_E_GONE)
		shim_target_leave(t);
	return r < 0 ? r : 0;
}

static bool has_samplers(const struct shim_source *s)
{
	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (s->source.samplers[i].used)
			return true;
	return false;
}

static int shim_drain_rings(struct shim_source *s, unsigned budget)
{
	int r = 0;

	for (unsigned n = s->n_targets; !r && n; n--) {
		if (!budget)
			return SOURCE_E_MORE;
		s->turn = (s->turn + 1) % s->n_targets;
		r = shim_drain_target(s, s->targets[s->turn], &budget);
	}
	return r;
}

static int shim_drain(struct source *source, unsigned budget)
{
	struct shim_source *s = (struct shim_source *)source;
	int r = shim_handle_events(s);

	return r || !has_samplers(s) ? r : shim_drain_rings(s, budget);
}

/* --- samplers --------------------------------------------------------------------------------- */

static int shim_check_spec(const struct sampler_spec *spec, struct source_message *message)
{
	const struct event *event = &spec->event;

	if (!event->is_clock || event->exclude_user || event->exclude_kernel)
		return source_refuse(
			message, SOURCE_E_UNSUPPORTED,
			"%s%s%s cannot be sampled: programs with libprofd sample CPU time only; "
			"use -e cpu-clock",
			event->name, event->exclude_kernel ? ":u" : "",
			event->exclude_user ? ":k" : "");
	if (event_ticks_per_second(spec) > RING_FREQUENCY_MAX)
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "programs with libprofd can be sampled at %d Hz at most",
				     RING_FREQUENCY_MAX);
	return SOURCE_E_OK;
}

static int shim_add_sampler(struct source *source, unsigned index, struct source_message *message)
{
	struct shim_source *s = (struct shim_source *)source;
	const struct sampler_spec *spec = &source->samplers[index].spec;
	uint64_t hz = event_ticks_per_second(spec);
	int r = shim_check_spec(spec, message);

	/* What came before is not the new one's. */
	if (!r)
		r = shim_drain_rings(s, UINT_MAX);
	if (r)
		return r;
	s->samplers[index] = (struct shim_sampler){
		.hz = hz ? (uint32_t)hz : 1,
		.period_ns = spec->is_period ? spec->rate : NS_PER_S / spec->rate,
	};
	for (unsigned i = 0; i < s->n_targets; i++) {
		s->targets[i]->wanted &= (uint16_t) ~(1u << index);
		s->targets[i]->rest_ns[index] = s->targets[i]->lost_rest_ns[index] = 0;
	}
	source->samplers[index].used = true;
	set_frequencies(s);
	return SOURCE_E_OK;
}

static int shim_remove_sampler(struct source *source, unsigned sampler)
{
	struct shim_source *s = (struct shim_source *)source;
	int r = shim_drain_rings(s, UINT_MAX);

	source->samplers[sampler].used = false;
	set_frequencies(s);
	return r;
}

static void shim_set_all(struct source *source, unsigned sampler)
{
	(void)sampler;
	set_frequencies((struct shim_source *)source);
}

/*
 * Of processes that are not attached there is nothing to sample; their children may be: each is
 * told to the sessions when it is attached.
 */
static int shim_filter_pid(struct source *source, unsigned sampler, pid_t pid, bool adds,
			   bool children)
{
	struct shim_source *s = (struct shim_source *)source;
	struct shim_target *t = find_target_by_pid(s, pid);
	uint16_t bit = (uint16_t)(1u << sampler);

	(void)children;
	if (!t)
		return adds ? SOURCE_E_GONE : SOURCE_E_OK;
	t->wanted = (uint16_t)(adds ? t->wanted | bit : t->wanted & ~bit);
	set_frequency(s, t);
	return SOURCE_E_OK;
}

/*
 * What still lies in the rings is not seen yet. Timers do not skip: what one missed is the weight
 * of its next tick.
 */
static int shim_update_stats(struct source *source, unsigned sampler)
{
	source->samplers[sampler].stats.excess_ticks = ((struct shim_source *)source)->excess_ticks;
	return SOURCE_E_OK;
}

/* --- the source ------------------------------------------------------------------------------- */

static void shim_free(struct source *source)
{
	struct shim_source *s = (struct shim_source *)source;

	for (unsigned i = 0; i < s->n_targets; i++)
		shim_target_free(s->targets[i]);
	free(s->targets);
	closep(&s->gate);
	closep(&s->bells);
	free(s);
}

/* What of the rings we touched is in RSS: no memory_bytes. */
static const struct source_ops shim_ops = {
	.name = "shim",
	.free = shim_free,
	.drain = shim_drain,
	.add_sampler = shim_add_sampler,
	.remove_sampler = shim_remove_sampler,
	.set_all = shim_set_all,
	.filter_pid = shim_filter_pid,
	.update_stats = shim_update_stats,
};

static uint32_t words_for_cpus(void)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t n = WORDS_LEAST;

	while (n < WORDS_MOST && n_cpus > (long)(n / WORDS_PER_CPU))
		n *= 2;
	return n;
}

static unsigned choose_max_targets(const struct shim_source *s)
{
	uint64_t words = s->options.is_idle ? 0 : s->n_words;
	uint64_t n = s->source.options.memory_bytes / (RING_PAGE + words * sizeof(uint64_t));
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && n > limit.rlim_cur / FDS_PART / FDS_PER_TARGET)
		n = limit.rlim_cur / FDS_PART / FDS_PER_TARGET;
	return n < TARGETS_MOST ? (unsigned)n : TARGETS_MOST;
}

int source_shim_new(struct source **ret, const struct source_shim_options *options)
{
	cleanup(source_freep) struct source *owner = source_new(sizeof(struct shim_source),
								&shim_ops, &options->source);
	struct shim_source *s = (struct shim_source *)owner;

	if (!s)
		return error_origin(-ENOMEM);
	s->options = *options;
	s->next_number = NUMBER_FIRST;
	s->n_words = options->is_idle ? RING_WORDS_MIN : words_for_cpus();
	s->max_targets = choose_max_targets(s);
	s->gate = s->bells = -1;
	s->source.fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->source.fd >= 0)
		s->bells = epoll_create1(EPOLL_CLOEXEC);
	if (s->bells >= 0)
		s->gate = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->gate < 0 || shim_epoll_add(s->source.fd, s->gate, EPOLLIN, NUMBER_GATE) < 0 ||
	    shim_epoll_add(s->source.fd, s->bells, EPOLLIN | EPOLLONESHOT, NUMBER_BELLS) < 0)
		return error_origin(-errno);
	*ret = steal_ptr(&owner);
	return SOURCE_E_OK;
}
