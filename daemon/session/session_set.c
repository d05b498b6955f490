/* SPDX-License-Identifier: MIT */
/*
 * The list of sessions, and what happens to all of them: a sample is offered to each of its
 * sampler; a tick ends those that are due; a result of the output thread settles one that was
 * waiting for it.
 */
#include "daemon/session/session_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"
#include "daemon/session/session_set_private.h"

#define ENDED_SESSIONS_MAX 64
#define WAITERS_MAX        64 /* clients that have gone still count */
/* Samples wait in a ring for a fraction of this. */
#define DEAD_MEMBER_NS (2u * NS_PER_S)
#define LET_GO_NS      (5u * NS_PER_S)

int session_set_new(struct session_set **ret, struct source *source,
		    struct process_table *processes, struct output *output, int proc_fd,
		    uint64_t next_id)
{
	struct session_set *set = calloc(1, sizeof(*set));

	if (!set)
		return error_origin(-ENOMEM);
	set->source = source;
	set->processes = processes;
	set->proc_fd = proc_fd;
	set->next_id = next_id;
	set->output = output;
	session_samplers_observe(set);
	*ret = set;
	return 0;
}

void session_set_free(struct session_set *set)
{
	if (!set)
		return;
	process_table_observe(set->processes, &(struct process_observer){});
	for (size_t i = 0; i < set->n_sessions; i++)
		session_free(set->sessions[i]);
	free(set->sessions);
	texts_deinit(&set->stopped);
	free(set);
}

int session_set_add(struct session_set *set, struct session *s)
{
	int r = room_append(&set->sessions, &set->capacity, &set->n_sessions, s);

	if (r)
		session_free(s);
	return r;
}

void session_set_count_user(struct session_set *set, struct session *s)
{
	if (!s->id || s->privileged)
		return;
	slow_down_count(&set->slow_down, s->owner, s->counts.routed - s->routed_before);
	s->routed_before = s->counts.routed;
}

void session_set_remove(struct session_set *set, struct session *s)
{
	for (size_t i = 0; i < set->n_sessions; i++) {
		if (set->sessions[i] != s)
			continue;
		set->n_sessions--;
		memmove(&set->sessions[i], &set->sessions[i + 1],
			(set->n_sessions - i) * sizeof(struct session *));
		session_set_count_user(set, s);
		session_free(s);
		return;
	}
}

/* The oldest ended sessions are forgotten when there are many, live ones have nothing to tell. */
static void forget_ended(struct session_set *set)
{
	size_t n = 0;

	for (size_t i = set->n_sessions; i-- > 0;)
		if (set->sessions[i]->state == SESSION_ENDED && set->sessions[i]->id &&
		    (set->sessions[i]->is_live || ++n > ENDED_SESSIONS_MAX))
			session_set_remove(set, set->sessions[i]);
}

/* A stop that comes while the last window is being written waits for it, too. */
static int wait_with(struct session *s, struct flush *flush)
{
	int r;

	/* Who stops a live one may be who takes what is left of it. */
	if (!flush || s->is_live)
		return 0;
	if (s->n_waiters == WAITERS_MAX) {
		flush_fail(flush, EBUSY);
		return 0;
	}
	r = room_append(&s->waiters, &s->waiters_max, &s->n_waiters, flush);
	if (!r)
		flush->n_pending++;
	return r;
}

int session_set_stop(struct session_set *set, struct session *s, struct flush *flush)
{
	int r = 0;

	if (!s->id)
		set->in_trouble = false;
	if (s->state == SESSION_STOPPING)
		return wait_with(s, flush);
	if (s->state == SESSION_ENDED)
		return 0;
	if (!s->paused_until_ns)
		r = session_windows_detach(set, s, flush);
	session_end(s);
	/* The window in flight may be one that was closed before, without @flush. */
	return !r && s->state == SESSION_STOPPING ? wait_with(s, flush) : r;
}

int session_set_flush(struct session_set *set, struct session *only, struct flush *flush)
{
	int r = session_set_drain(set);

	if (r)
		return r;
	for (size_t i = 0; i < set->n_sessions; i++) {
		struct session *s = set->sessions[i];

		if ((only && s != only) || !session_writes(s))
			continue;
		r = session_windows_flush(set, s, flush);
		if (r)
			return r;
	}
	return 0;
}

/* A waker, to all that may have the wait. */
static int session_set_route_waker(struct session_set *set, const struct sample *sample)
{
	struct process *p = NULL;
	int r = 0;

	if (!sample->by_interrupt && !sample->kernel_thread)
		r = process_table_find(set->processes, sample, &p);
	for (size_t i = 0; i < set->n_sessions && !r; i++) {
		struct session *s = set->sessions[i];

		if (session_has_sampler(s, sample->sampler) && session_takes_samples(s) &&
		    s->window)
			r = session_add_waker(s, sample, p);
	}
	return r;
}

/*
 * A user who has had his share of a window that is everybody's pays for the next one. Who cannot
 * goes on without stacks that are new, and, in a full window, without samples. SESSION_E_OK,
 * SESSION_E_FULL or negative errno.
 */
static int session_set_count_sample(struct session_set *set, struct session *s,
				    const struct sample *sample, struct process *p)
{
	int r = session_add(s, sample, p);

	if (r == SESSION_E_SHARE) {
		r = session_windows_make_room(set, s, p->uid);
		return r == SESSION_E_FULL ? session_add_cut(s, sample, p)
		       : r                 ? r
					   : session_add(s, sample, p);
	}
	if (r == SESSION_E_FULL)
		r = session_windows_make_room(set, s, SESSION_NOBODY_PAYS)
			    ?: session_add(s, sample, p);
	return r;
}

int session_set_route(struct session_set *set, const struct sample *sample)
{
	bool is_counted = false, is_users = true;
	struct process *p;
	int r;

	if (sample->is_waker)
		return session_set_route_waker(set, sample);

	ledger_count(&set->samplers[sample->sampler].ledger, sample);
	r = process_table_find(set->processes, sample, &p);
	if (r)
		return r;
	for (size_t i = 0; i < set->n_sessions; i++) {
		struct session *s = set->sessions[i];

		if (!session_has_sampler(s, sample->sampler) || !session_takes_samples(s) ||
		    !s->window)
			continue;
		is_users &= !s->privileged;
		r = session_set_count_sample(set, s, sample, p);
		if (r == SESSION_E_FULL)
			session_drop(s, DROPPED_MEMORY);
		if (r < 0)
			return r;
		is_counted |= r == SESSION_E_OK;
	}
	set->n_samples[is_users ? TIER_USERS : TIER_SYSTEM]++;
	return is_counted ? process_table_see_sample(set->processes, p, sample) : 0;
}

int session_set_take_result(struct output_result *result)
{
	struct flush_item *item = result->request;
	struct session *s = item->session;
	size_t n_waiting = 0;
	int r = 0;

	if (s) {
		s->n_in_flight--;
		if (result->unwritten)
			r = session_windows_keep(s, result->unwritten, item);
		else if (!result->error && !s->is_live)
			s->counts.windows_written++;
		if (s->state == SESSION_STOPPING)
			session_settle(s);
		if (s->state == SESSION_ENDED)
			n_waiting = s->n_waiters;
	}
	for (size_t i = 0; i < n_waiting; i++)
		flush_fail(s->waiters[i], result->error);
	/* The last answer may have the session removed. */
	if (!r)
		r = flush_item_finish(item, result);
	while (n_waiting--)
		flush_release(s->waiters[--s->n_waiters]);
	output_result_free(result);
	return r;
}

/* Whether nobody holds a session that is to be held. */
static bool is_let_go(struct session *s, uint64_t now_ns)
{
	if (!s->hold.holder)
		return s->hold.is_wanted && s->hold.until_ns <= now_ns;
	if (!reply_is_abandoned(s->hold.holder))
		return false;
	reply_ok(steal_ptr(&s->hold.holder));
	return s->hold.is_wanted;
}

static int end_if_due(struct session_set *set, struct session *s, uint64_t now_ns)
{
	bool has_ended = session_target_ended(s);
	bool is_over = has_ended || (s->ends_ns && s->ends_ns <= now_ns);
	bool is_left = !is_over && is_let_go(s, now_ns);
	int r;

	if (!is_over && !is_left)
		return 0;
	r = session_set_stop(set, s, NULL);
	if (is_left)
		s->untaken.until_ns = now_ns;
	/* Without memory a line is missing. */
	texts_printf(&set->stopped, "session s%" PRIu64 " stopped: %s", s->id,
		     has_ended ? "its target has ended"
		     : is_over ? "its time is over"
			       : "its client has gone");
	return r;
}

/* Windows keep the processes that they count. What is written is let go of some seconds later. */
static int let_ended_go(struct session_set *set, uint64_t now_ns)
{
	int r = 0;

	if (now_ns < set->let_go_ns || !process_table_wants_end(set->processes))
		return 0;
	set->let_go_ns = now_ns + LET_GO_NS;
	for (size_t i = 0; i < set->n_sessions && r >= 0; i++)
		if (session_takes_samples(set->sessions[i]) && !set->sessions[i]->n_in_flight &&
		    window_count(set->sessions[i]->window))
			r = session_windows_make_room(set, set->sessions[i], SESSION_NOBODY_PAYS);
	return r < 0 ? r : 0;
}

int session_set_tick(struct session_set *set, uint64_t now_ns)
{
	int r;

	for (size_t i = 0; i < set->n_sessions; i++) {
		struct session *s = set->sessions[i];

		session_sweep(s, now_ns > DEAD_MEMBER_NS ? now_ns - DEAD_MEMBER_NS : 0);
		r = s->state == SESSION_RUNNING ? end_if_due(set, s, now_ns) : 0;
		if (r)
			return r;
		if (s->state == SESSION_STOPPING && s->is_live && s->untaken.until_ns <= now_ns) {
			session_drop_snapshots(s);
			session_settle(s);
		}
		if (s->hold.holder &&
		    (s->state == SESSION_ENDED || (s->state == SESSION_STOPPING && s->is_live)))
			reply_ok(steal_ptr(&s->hold.holder));
	}
	r = session_system_retry(set, now_ns) ?: let_ended_go(set, now_ns);
	if (r)
		return r;
	session_samplers_follow(set);
	forget_ended(set);
	r = set->error;
	set->error = 0;
	return r;
}

int session_set_close_windows(struct session_set *set)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r = session_set_drain(set);

	if (r)
		return r;
	for (size_t i = 0; i < set->n_sessions; i++) {
		struct session *s = set->sessions[i];

		/* With a slow disk windows grow longer instead of piling up. */
		if (!session_writes(s) || s->n_in_flight || s->patience_ns > now)
			continue;
		r = session_windows_next(set, s, NULL);
		if (r)
			return r;
	}
	return 0;
}

uint64_t session_set_next_boundary(const struct session_set *set)
{
	return (clock_ns(CLOCK_REALTIME) / set->defaults.interval_ns + 1) *
	       set->defaults.interval_ns;
}

struct session *session_set_find(const struct session_set *set, uint64_t id)
{
	for (size_t i = 0; i < set->n_sessions; i++)
		if (set->sessions[i]->id == id)
			return set->sessions[i];
	return NULL;
}

unsigned session_set_count_of(const struct session_set *set, uid_t owner)
{
	unsigned n = 0;

	for (size_t i = 0; i < set->n_sessions; i++)
		n += set->sessions[i]->id && set->sessions[i]->owner == owner &&
		     set->sessions[i]->state != SESSION_ENDED;
	return n;
}
