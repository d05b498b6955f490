/* SPDX-License-Identifier: MIT */
/*
 * The windows of a session: opened with the ledger as it stands, closed into a snapshot that goes
 * to the output thread, and taken back when that could not write it. Time is measured on
 * CLOCK_MONOTONIC and becomes wall time only when a window is closed.
 */
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/session/session_set_private.h"

#define WINDOW_BYTES_MIN (256u * 1024)
/* After a window that could not be written. */
#define PATIENCE_NS UINT64_C(10000000000)
/* Samplers that only the privileged may take. */
#define SPARE_SAMPLERS 4

static struct moment moment_now(void)
{
	return (struct moment){.monotonic_ns = clock_ns(CLOCK_MONOTONIC),
			       .wall_ns = clock_ns(CLOCK_REALTIME)};
}

/*
 * Each window may hold an equal share of half the memory; the other half is for windows that are
 * being written. Shares are fixed when a window opens.
 */
static size_t window_share(const struct session_set *set)
{
	size_t n = session_set_count_running(set), share;

	share = set->defaults.memory_bytes / 2 / (n > 4 ? n : 4);
	return share > WINDOW_BYTES_MIN ? share : WINDOW_BYTES_MIN;
}

static int open_window(const struct session_set *set, struct session *s,
		       const struct ledger *ledger)
{
	return window_new(&s->window, clock_ns(CLOCK_MONOTONIC), window_share(set), ledger);
}

static int complete_process(void *userdata, struct process *p)
{
	return process_table_complete(userdata, p);
}

/* Closes the window of @s and hands it on; @flush may be NULL. No new window is opened. */
static int close_window(struct session_set *set, struct session *s, const struct ledger *ledger,
			struct flush *flush)
{
	struct flush_item item = {.session = s, .flush = flush, .attachment = s->attachment};
	struct moment end = moment_now();
	struct snapshot *snapshot;
	int r;

	if (!s->window)
		return 0;
	r = window_each_process(s->window, complete_process, set->processes);
	if (r)
		return r;
	r = session_close_window(s, &end, ledger, &snapshot, &item.closing);
	if (r)
		return r == SESSION_E_EMPTY ? 0 : r;
	if (s->is_live) {
		session_push_snapshot(s, snapshot);
		return 0;
	}
	s->n_in_flight++;
	return flusher_submit(&set->flusher, snapshot, &item);
}

int session_set_copy_window(struct session_set *set, struct session *s,
			    const struct window_filter *filter, struct snapshot **ret)
{
	struct moment end = moment_now();
	struct ledger ledger;
	int r;

	*ret = NULL;
	if (!s->window)
		return 0;
	r = window_each_process(s->window, complete_process, set->processes);
	if (!r)
		r = samplers_ledger(set->samplers, s->sampler, &ledger);
	if (r)
		return r;
	r = session_copy_window(s, &end, &ledger, filter, ret);
	return r < 0 ? r : 0;
}

/* An empty one goes on, so that its time and its losses are the next one's. */
static int close_live_window(struct session_set *set, struct session *s)
{
	int r = session_set_drain(set);

	if (r)
		return r;
	/* What came made it full, and there is another one already. */
	if (s->untaken.n || !window_count(s->window))
		return 0;
	return session_windows_next(set, s, NULL);
}

int session_set_take_window(struct session_set *set, struct session *s, struct snapshot **ret,
			    bool *ret_more)
{
	int r = s->window && !s->untaken.n ? close_live_window(set, s) : 0;

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

bool session_set_is_waiting(const struct session_set *set)
{
	return set->flusher.first;
}

int session_windows_next(struct session_set *set, struct session *s, struct flush *flush)
{
	struct ledger ledger;
	int r;

	r = samplers_ledger(set->samplers, s->sampler, &ledger);
	if (r)
		return r;
	r = close_window(set, s, &ledger, flush);
	if (r)
		return r;
	/* With the same ledger: what is lost meanwhile belongs to the next window. */
	return open_window(set, s, &ledger);
}

int session_windows_attach(struct session_set *set, struct session *s,
			   struct source_message *message)
{
	/* Who had one before gave back as many as are taken now. */
	bool may_take_all = s->privileged || s->attachment;
	struct ledger ledger;
	int r;

	s->spec.rate = session_rate(s->wanted_rate, s->spec.is_period, set->halvings);
	r = samplers_acquire(set->samplers, &s->spec, may_take_all ? 0 : SPARE_SAMPLERS,
			     &s->sampler, message);
	if (r)
		return r;
	s->attachment++;
	r = samplers_ledger(set->samplers, s->sampler, &ledger);
	if (!r)
		r = open_window(set, s, &ledger);
	return r ? r : samplers_refilter(set->samplers, s->sampler);
}

int session_windows_detach(struct session_set *set, struct session *s, struct flush *flush)
{
	unsigned sampler = s->sampler;
	struct ledger last;
	int r = session_set_drain(set);

	if (!r)
		r = samplers_release(set->samplers, sampler, &last);
	if (!r)
		r = close_window(set, s, &last, flush);
	if (r)
		return r;
	s->sampler = SESSION_NO_SAMPLER;
	return samplers_refilter(set->samplers, sampler);
}

void session_windows_refused(struct session_set *set, struct session *s,
			     const struct source_message *message)
{
	session_end(s);
	if (!s->id)
		session_system_refused(set, message);
}

int session_windows_make_room(struct session_set *set, struct session *s)
{
	if (s->is_live)
		return s->untaken.n ? SESSION_E_FULL : session_windows_next(set, s, NULL);
	if (s->n_in_flight || (s->patience_ns && s->patience_ns > clock_ns(CLOCK_MONOTONIC)))
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
