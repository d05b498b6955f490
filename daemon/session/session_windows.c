/* SPDX-License-Identifier: MIT */
/*
 * The windows of a session: opened with the ledger as it stands, closed into a snapshot that goes
 * to the output thread, and taken back when that could not write it. Time is measured on
 * CLOCK_MONOTONIC and becomes wall time only when a window is closed. A session has windows while
 * it is attached to samplers, whose rates are those of all its windows until then.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "daemon/aggregate/latency.h"
#include "daemon/control/buckets.h"
#include "daemon/session/session_set_private.h"

#define WINDOW_BYTES_MIN (256u * 1024)
#define LATENCY_SHARE    8 /* this part of a window's memory is for latencies, at most */
/* After a window that could not be written. */
#define PATIENCE_NS (10 * NS_PER_S)
/*
 * Windows of one session that may wait for the output thread: one that ended with its time, up to
 * four that were full, and those of flushes and of changes of the rate, which come as often as
 * somebody wants. The last place is for the end of the session.
 */
#define IN_FLIGHT_MAX 7
/* What a window costs, about, that closes early because its stacks are many, as that of a flush. */
#define EARLY_CLOSE_US 5000
/* Samplers that only the privileged may take. */
#define SPARE_SAMPLERS 4
/* Between two attempts to have a sampler for the system session. */
#define RETRY_NS (60 * NS_PER_S)

/* Of a user without privileges, and running. */
static bool is_of_user(const struct session *s)
{
	return !s->privileged && s->state != SESSION_ENDED;
}

static struct moment moment_now(void)
{
	return (struct moment){.monotonic_ns = clock_ns(CLOCK_MONOTONIC),
			       .wall_ns = clock_ns(CLOCK_REALTIME)};
}

/* Whether one of the first @n sessions, but for @but, is a running one of that user. */
static bool user_has_session(const struct session_set *set, size_t n, const struct session *but,
			     uid_t owner)
{
	for (size_t i = 0; i < n; i++)
		if (set->sessions[i] != but && is_of_user(set->sessions[i]) &&
		    set->sessions[i]->owner == owner)
			return true;
	return false;
}

/* Who shares the memory of a tier with a session, itself among them. */
struct sharers {
	size_t n_equal;  /* sessions of the privileged, or users */
	size_t n_own;    /* sessions of its user; 1 for the privileged */
	bool has_others; /* the other tier has sessions, too */
};

/* @s itself may be one that is about to begin. */
static struct sharers count_sharers(const struct session_set *set, const struct session *s)
{
	size_t n_privileged = s->privileged, n_own = 1, n_users = 0;

	if (!s->privileged)
		n_users = !user_has_session(set, set->n_sessions, s, s->owner);
	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *other = set->sessions[i];

		if (other == s || other->state == SESSION_ENDED)
			continue;
		n_privileged += other->privileged;
		n_own += is_of_user(other) && other->owner == s->owner;
		n_users += is_of_user(other) && !user_has_session(set, i, s, other->owner);
	}
	if (s->privileged)
		return (struct sharers){.n_equal = n_privileged,
					.n_own = 1,
					.has_others = n_users > 0};
	return (struct sharers){.n_equal = n_users, .n_own = n_own, .has_others = n_privileged > 0};
}

/*
 * Half the memory is for windows that are being written. Of the other half, one half is for the
 * sessions of the privileged, in equal shares, and one for users', in equal shares by user, of at
 * least two each. Shares are fixed when a window opens.
 */
static size_t window_share(const struct session_set *set, const struct session *s)
{
	const struct sharers sharers = count_sharers(set, s);
	const size_t n = sharers.n_equal > 2 ? sharers.n_equal : 2;
	size_t share = set->defaults.memory_bytes / 4 / (n * sharers.n_own);

	return share > WINDOW_BYTES_MIN ? share : WINDOW_BYTES_MIN;
}

/*
 * How many full windows of @s may wait to be written before the next one has to wait, too: what is
 * kept for a second sharer holds one more while there is none, and what is kept for the other tier
 * two. A disk may need seconds for what a machine's busiest moment filled in one.
 */
static unsigned windows_in_flight_max(const struct session_set *set, const struct session *s)
{
	const struct sharers sharers = count_sharers(set, s);

	return sharers.n_equal > 1 ? 1 : sharers.has_others ? 2 : 4;
}

static int open_window(const struct session_set *set, struct session *s,
		       const struct ledgers *ledgers)
{
	const uint64_t period_ns = s->writing.latency ? session_cpu_period(s) : 0;
	const size_t share = window_share(set, s);
	size_t latency = period_ns ? share / LATENCY_SHARE : 0;
	struct moment start = moment_now();
	int r;

	if (latency > LATENCY_BYTES_MAX)
		latency = LATENCY_BYTES_MAX;
	r = window_new(&s->window, &start, share - latency, ledgers);
	/* All other sessions are of what their owner chose. */
	if (!r && !s->id)
		window_divide(s->window, geteuid());
	return r || !period_ns ? r : window_want_latency(s->window, period_ns, latency);
}

/* Closes the window of @s and hands it on; @flush may be NULL. No new window is opened. */
static int close_window(struct session_set *set, struct session *s, const struct ledgers *ledgers,
			struct flush *flush)
{
	struct flush_item item = {.session = s, .flush = flush, .attachment = s->attachment};
	struct output_request request = {.task = OUTPUT_WRITE};
	struct moment end = moment_now();
	int r;

	if (!s->window)
		return 0;
	r = window_complete(s->window, set->processes);
	if (r)
		return r;
	r = session_snapshot_window(s, &end, ledgers, NULL, &request.snapshot, &item.closing);
	if (r)
		return r == SESSION_E_EMPTY ? 0 : r;
	code_volumes_take(&request.snapshot->codes, set->source->codes);
	if (s->is_live) {
		session_push_snapshot(s, request.snapshot);
		return 0;
	}
	if (s->n_in_flight >= IN_FLIGHT_MAX) {
		session_count_unwritten(s, request.snapshot->aggregate);
		snapshot_free(request.snapshot);
		flush_fail(flush, EBUSY);
		return 0;
	}
	s->n_in_flight++;
	r = flush_item_submit(&item, set->output, &request);
	if (r)
		snapshot_free(request.snapshot);
	return r;
}

int session_set_copy_window(struct session_set *set, struct session *s,
			    const struct window_filter *filter, struct snapshot **ret)
{
	static const struct window_filter any = {0};
	struct moment end = moment_now();
	struct window_closing closing;
	struct ledgers ledgers;
	int r;

	*ret = NULL;
	if (!s->window)
		return 0;
	r = window_complete(s->window, set->processes)
		    ?: session_samplers_ledgers(set, s, &ledgers);
	if (r)
		return r;
	/* Without a filter it would be taken. */
	r = session_snapshot_window(s, &end, &ledgers, filter ? filter : &any, ret, &closing);
	if (!r)
		code_volumes_take(&(*ret)->codes, set->source->codes);
	return r < 0 ? r : 0;
}

int session_set_take_window(struct session_set *set, struct session *s, struct snapshot **ret,
			    bool *ret_more)
{
	int r = s->window && !s->untaken.n ? session_set_drain(set) : 0;

	/*
	 * What came may have made it full, and there is another one already. An empty one goes on,
	 * so that its time and its losses are the next one's.
	 */
	if (!r && s->window && !s->untaken.n && window_count(s->window))
		r = session_windows_next(set, s, NULL);
	if (r)
		return r;
	*ret = session_pop_snapshot(s);
	*ret_more = s->untaken.n || (*ret && s->window && window_count(s->window));
	s->n_in_flight += *ret != NULL;
	if (s->state == SESSION_STOPPING) {
		s->untaken.is_over = !s->untaken.n;
		session_settle(s);
	}
	return 0;
}

void session_set_give_back(struct session *s, struct snapshot *snapshot)
{
	memmove(s->untaken.snapshots + 1, s->untaken.snapshots,
		s->untaken.n * sizeof(*s->untaken.snapshots));
	s->untaken.snapshots[0] = snapshot;
	s->untaken.n++;
	s->n_in_flight--;
	s->untaken.is_over = false;
}

int session_windows_next(struct session_set *set, struct session *s, struct flush *flush)
{
	struct ledgers ledgers;
	int r;

	r = session_samplers_ledgers(set, s, &ledgers) ?: close_window(set, s, &ledgers, flush);
	if (r)
		return r;
	/* With the same ledgers: what is lost meanwhile belongs to the next window. */
	return open_window(set, s, &ledgers);
}

int session_windows_flush(struct session_set *set, struct session *s, struct flush *flush)
{
	if (s->n_in_flight < IN_FLIGHT_MAX - 1)
		return session_windows_next(set, s, flush);
	flush_fail(flush, EBUSY);
	return 0;
}

static uint64_t slowed_rate(uint64_t wanted, uint64_t floor, bool is_period, unsigned halvings)
{
	if (is_period)
		return wanted > UINT64_MAX >> (halvings + 1) ? wanted : wanted << halvings;
	if (wanted < floor)
		floor = wanted;
	return wanted >> halvings > floor ? wanted >> halvings : floor;
}

uint64_t session_rate(uint64_t wanted, bool is_period, unsigned halvings)
{
	return slowed_rate(wanted, SESSION_HZ_FLOOR, is_period, halvings);
}

static uint64_t session_slowed_rate(const struct session *s,
				    const struct session_sampling *sampling, unsigned halvings)
{
	bool is_waits = sampling->spec.event.cause == CAUSE_SCHEDULER;

	if (s->id && s->privileged)
		return sampling->wanted_rate;
	return slowed_rate(sampling->wanted_rate,
			   is_waits ? SESSION_WAITS_HZ_FLOOR : SESSION_HZ_FLOOR,
			   sampling->spec.is_period, halvings);
}

/* Of the rates of @s: what is slowed, and @system, of the system session. */
static unsigned session_halvings(const struct session *s, const struct slow_down *users,
				 unsigned system)
{
	return s->id ? slow_down_of(users, s->owner) : system;
}

/* Whether any of its rates is another one with @halvings. */
static bool session_rates_differ(const struct session *s, unsigned halvings)
{
	for (unsigned i = 0; i < s->n_samplings; i++)
		if (s->samplings[i].spec.rate != session_slowed_rate(s, &s->samplings[i], halvings))
			return true;
	return false;
}

/* Gives back what @s has. *ret_last: the ledgers after that. */
static int release_samplers(struct session_set *set, struct session *s, struct ledgers *ret_last)
{
	int r = 0;

	*ret_last = (struct ledgers){0};
	for (unsigned i = 0; i < s->n_samplings && !r; i++)
		if (s->samplings[i].sampler != SESSION_NO_SAMPLER)
			r = session_samplers_release(set, s->samplings[i].sampler,
						     &ret_last->all[i]);
	return r;
}

/* The filters of what it had go by those that are left. */
static int forget_samplers(struct session_set *set, struct session *s)
{
	int r = 0;

	for (unsigned i = 0; i < s->n_samplings && !r; i++) {
		const unsigned sampler = s->samplings[i].sampler;

		s->samplings[i].sampler = SESSION_NO_SAMPLER;
		if (sampler != SESSION_NO_SAMPLER)
			r = session_samplers_refilter(set, sampler);
	}
	return r;
}

/* SOURCE_E_*; of what is optional, that it cannot be had is noted. */
static int acquire_sampler(struct session_set *set, const struct session *s,
			   struct session_sampling *sampling, struct source_message *message)
{
	/* Who had one before gave back as many as are taken now. */
	bool may_take_all = s->privileged || s->attachment;
	int r;

	sampling->spec.rate = session_slowed_rate(
		s, sampling, session_halvings(s, &set->slow_down, set->halvings[TIER_SYSTEM]));
	if (!*sampling->spec.event.name)
		r = source_refuse(message, SOURCE_E_UNSUPPORTED, "this profd cannot sample waits");
	else
		r = session_samplers_acquire(set, &sampling->spec,
					     may_take_all ? 0 : SPARE_SAMPLERS, &sampling->sampler,
					     message);
	if (!sampling->is_optional || r < 0)
		return r;
	if (r)
		set->waits_trouble = *message;
	else
		set->waits_trouble.text[0] = '\0';
	return SOURCE_E_OK;
}

static int acquire_samplers(struct session_set *set, struct session *s,
			    struct source_message *message)
{
	struct ledgers last;
	int r = SOURCE_E_OK;

	for (unsigned i = 0; i < s->n_samplings && !r; i++)
		r = acquire_sampler(set, s, &s->samplings[i], message);
	if (r > 0) {
		int error = release_samplers(set, s, &last) ?: forget_samplers(set, s);

		return error ? error : r;
	}
	return r;
}

int session_windows_attach(struct session_set *set, struct session *s,
			   struct source_message *message)
{
	struct ledgers ledgers;
	int r = acquire_samplers(set, s, message);

	if (r)
		return r;
	s->attachment++;
	s->attached_ns = clock_ns(CLOCK_MONOTONIC);
	r = session_samplers_ledgers(set, s, &ledgers) ?: open_window(set, s, &ledgers);
	for (unsigned i = 0; i < s->n_samplings && !r; i++)
		if (s->samplings[i].sampler != SESSION_NO_SAMPLER)
			r = session_samplers_refilter(set, s->samplings[i].sampler);
	return r;
}

int session_windows_detach(struct session_set *set, struct session *s, struct flush *flush)
{
	struct ledgers last;

	return session_set_drain(set)
		       ?: release_samplers(set, s, &last)
		       ?: close_window(set, s, &last, flush)
		       ?: forget_samplers(set, s);
}

int session_windows_try(struct session_set *set, struct session *s, struct source_message *message)
{
	int r = session_windows_attach(set, s, message);

	if (r <= 0)
		return r;
	session_end(s);
	if (!s->id) {
		set->in_trouble = true;
		set->trouble = *message;
		set->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
	}
	return r;
}

/* Whether the bucket of @payer lets a window be closed early, which costs him then. */
static bool payer_pays(struct session_set *set, uid_t payer, uint64_t now_ns)
{
	if (payer == SESSION_NOBODY_PAYS || !set->buckets)
		return true;
	if (buckets_wait_ns(set->buckets, payer, now_ns))
		return false;
	buckets_draw(set->buckets, payer, EARLY_CLOSE_US, now_ns);
	return true;
}

int session_windows_make_room(struct session_set *set, struct session *s, uid_t payer)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (s->is_live)
		return s->untaken.n ? SESSION_E_FULL : session_windows_next(set, s, NULL);
	if (s->patience_ns > now_ns || s->n_in_flight >= windows_in_flight_max(set, s))
		return SESSION_E_FULL;
	if (!payer_pays(set, s->privileged ? payer : s->owner, now_ns))
		return SESSION_E_FULL;
	s->counts.early_closes++;
	return session_windows_next(set, s, NULL);
}

/*
 * The open window takes it back. Without one, or if its samples are of another event or rate by
 * now, or were on their way to who took them, it is lost, and counted.
 */
int session_windows_keep(struct session *s, struct snapshot *snapshot,
			 const struct flush_item *item)
{
	s->patience_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	if (!s->is_live && s->window && session_takes_samples(s) &&
	    item->attachment == s->attachment)
		return session_restore_window(s, snapshot, &item->closing);
	session_count_unwritten(s, snapshot->aggregate);
	return 0;
}

void session_set_measure_users(struct session_set *set)
{
	for (size_t i = 0; i < set->n_sessions; i++)
		session_set_count_user(set, set->sessions[i]);
	slow_down_measure(&set->slow_down);
}

/*
 * First all whose rate changes let go of their samplers, then they take new ones: in between there
 * is none that only the change needs.
 */
int session_set_slow_down(struct session_set *set, const unsigned halvings[N_TIERS])
{
	struct slow_down slow_down = set->slow_down;
	struct source_message message;
	int r;

	slow_down_share(&slow_down, halvings[TIER_USERS]);
	for (size_t i = 0; i < set->n_sessions; i++) {
		struct session *s = set->sessions[i];

		if (!session_takes_samples(s) ||
		    !session_rates_differ(s,
					  session_halvings(s, &slow_down, halvings[TIER_SYSTEM])))
			continue;
		r = session_windows_detach(set, s, NULL);
		if (r)
			return r;
	}
	set->slow_down = slow_down;
	memcpy(set->halvings, halvings, sizeof(set->halvings));
	for (size_t i = 0; i < set->n_sessions; i++) {
		struct session *s = set->sessions[i];

		if (!session_takes_samples(s) || session_is_attached(s))
			continue;
		r = session_windows_try(set, s, &message);
		if (r < 0)
			return r;
	}
	return 0;
}

bool session_set_can_slow_down(const struct session_set *set, enum session_tier tier)
{
	struct slow_down slow_down = set->slow_down;
	unsigned halvings[N_TIERS];

	memcpy(halvings, set->halvings, sizeof(halvings));
	halvings[tier]++;
	if (tier == TIER_USERS)
		slow_down_share(&slow_down, halvings[tier]);
	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *s = set->sessions[i];

		if (session_takes_samples(s) &&
		    session_rates_differ(s, session_halvings(s, &slow_down, halvings[TIER_SYSTEM])))
			return true;
	}
	return false;
}
