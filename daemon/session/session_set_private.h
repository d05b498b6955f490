/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SESSION_SET_PRIVATE_H
#define PROFD_DAEMON_SESSION_SESSION_SET_PRIVATE_H

/*
 * What the parts of a session set share: session_set.c (which sessions there are, and their
 * samples), session_start.c (how they begin), session_samplers.c (whose samples are taken for them)
 * and session_windows.c (their windows and rates).
 */
#include "common/clock.h"
#include "daemon/session/session_set.h"

/* Has all that the source has for now arrive. Returns 0 or negative errno. */
static inline int session_set_drain(struct session_set *set)
{
	int r = source_drain(set->source, UINT32_MAX);

	return r < 0 ? r : 0;
}

/* Running, and not paused. */
static inline bool session_takes_samples(const struct session *s)
{
	return s->state == SESSION_RUNNING && !s->paused_until_ns;
}

/* And its windows become files. */
static inline bool session_writes(const struct session *s)
{
	return session_takes_samples(s) && !s->is_live;
}

/* Without a sampler a session ends, at the latest when its last window is written or taken. */
static inline void session_settle(struct session *s)
{
	bool is_awaited = s->is_live && !s->untaken.is_over;

	s->state = s->n_in_flight || is_awaited ? SESSION_STOPPING : SESSION_ENDED;
}

/* It has no samplers any more. */
static inline void session_end(struct session *s)
{
	s->untaken.until_ns = clock_ns(CLOCK_MONOTONIC) + SESSION_UNHELD_NS;
	session_settle(s);
}

/* @s is taken over, also if that fails. Returns 0 or negative errno. */
int session_set_add(struct session_set *set, struct session *s);

/*
 * Finds or starts a sampler for @spec, leaving at least @spare for others. Returns SOURCE_E_* (with
 * @message) or negative errno.
 */
int session_samplers_acquire(struct session_set *set, const struct sampler_spec *spec,
			     unsigned spare, unsigned *ret, struct source_message *message);
/*
 * Gives it back; the last user stops it. Its samples up to now have arrived when this returns;
 * *ret_last is the ledger after that. Other users: refilter next.
 */
int session_samplers_release(struct session_set *set, unsigned sampler, struct ledger *ret_last);
/*
 * Makes the filter of @sampler anew in the kernel, after its sessions changed: the processes that
 * these want. Nothing if it is not in use.
 */
int session_samplers_refilter(struct session_set *set, unsigned sampler);
/* The ledgers of those that @s has, as they stand now. */
int session_samplers_ledgers(struct session_set *set, const struct session *s, struct ledgers *ret);
/*
 * Has the process table tell @set of births, changes and deaths, until the set is freed.
 * An error of these calls is the result of the next session_set_tick().
 */
void session_samplers_observe(struct session_set *set);
/* Asks all processes for their units anew. */
void session_samplers_confirm(struct session_set *set);
/* Once a second: asks a part of them, if a session's target is a unit. */
void session_samplers_follow(struct session_set *set);

/* The system session is tried again, if it is time to. Returns 0 or negative errno. */
int session_system_retry(struct session_set *set, uint64_t now_ns);

/*
 * Lets @s take samples: gets it its samplers, opens its window, widens the filters. SOURCE_E_*,
 * where it has none; what is optional may be missing without.
 */
int session_windows_attach(struct session_set *set, struct session *s,
			   struct source_message *message);
/* The same; if this host refuses, @s ends, and the system session is to be tried again. */
int session_windows_try(struct session_set *set, struct session *s, struct source_message *message);
/* The reverse; the samplers' last samples still reach the window before it is closed. */
int session_windows_detach(struct session_set *set, struct session *s, struct flush *flush);
/* Closes the window of @s and opens the next. */
int session_windows_next(struct session_set *set, struct session *s, struct flush *flush);
/*
 * The same for @flush (or NULL), which fails with EBUSY, and the window stays open, while several
 * before it wait to be written.
 */
int session_windows_flush(struct session_set *set, struct session *s, struct flush *flush);
/*
 * The window is full: closes it early. SESSION_E_FULL: those before it are still in the way, or who
 * pays for it cannot, @payer or the user whose session it is.
 */
#define SESSION_NOBODY_PAYS ((uid_t)-1)
int session_windows_make_room(struct session_set *set, struct session *s, uid_t payer);
/* Its user has had what was routed to it since the last call. */
void session_set_count_user(struct session_set *set, struct session *s);
/* A window of @s came back unwritten. */
int session_windows_keep(struct session *s, struct snapshot *snapshot,
			 const struct flush_item *item);

#endif
