/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SESSION_SET_PRIVATE_H
#define PROFD_DAEMON_SESSION_SESSION_SET_PRIVATE_H

/*
 * What the parts of a session set share: session_set.c (which sessions there are, and their
 * samples), session_processes.c (which processes they want), session_system.c (the first one),
 * session_windows.c (their windows) and session_rate.c (their rates).
 */
#include "common/clock.h"
#include "daemon/session/session_set.h"

struct session_set {
	struct source *source;
	struct process_table *processes;
	struct samplers *samplers;
	struct flusher flusher;
	int proc_fd;
	int (*settle)(void *userdata, unsigned sampler, bool is_last); /* or NULL */
	void *settle_userdata;
	struct session_defaults defaults;
	unsigned halvings; /* of all rates */
	bool in_trouble;   /* the system session is off, though it is wanted */
	struct source_message trouble;
	uint64_t retry_ns; /* CLOCK_MONOTONIC */
	struct session **sessions;
	size_t n_sessions, capacity;
	uint64_t next_id;
	unsigned asked; /* which part of all processes was asked for their units last */
	int error;      /* of an observer call, reported by the next tick */
};

/* Has all that the source has for now arrive. Returns 0 or negative errno. */
static inline int session_set_drain(struct session_set *set)
{
	int r = source_drain(set->source, UINT32_MAX);

	return r < 0 ? r : 0;
}

/* Running, and not paused. */
static inline bool session_takes_samples(const struct session *s)
{
	return s->state == SESSION_RUNNING && !s->paused;
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

/* It has no sampler any more. */
static inline void session_end(struct session *s)
{
	s->untaken.until_ns = clock_ns(CLOCK_MONOTONIC) + SESSION_UNHELD_NS;
	session_settle(s);
}

/* @s is the set's from now on, unless there is no memory. Returns 0 or negative errno. */
int session_set_add(struct session_set *set, struct session *s);
size_t session_set_count_running(const struct session_set *set);

/*
 * session_processes.c: whose samples a sampler is to deliver, as its sessions' targets have it; of
 * struct samplers_policy, the set being @userdata.
 */
bool session_processes_want_all(void *userdata, unsigned sampler);
enum samplers_want session_processes_want(void *userdata, unsigned sampler,
					  const struct process *p);
/*
 * Has the process table tell @set of births, changes and deaths; whoever frees the set ends that.
 * An error of these calls is the result of the next session_set_tick().
 */
void session_processes_observe(struct session_set *set);
/* Asks all processes for their units anew. */
void session_processes_confirm(struct session_set *set);
/* Once a second: asks a part of them, if a session's target is a unit. */
void session_processes_follow(struct session_set *set);

/* This host does not let the system session have a sampler: it is in trouble. */
void session_system_refused(struct session_set *set, const struct source_message *message);
/* It tries again, if it is time to. Returns 0 or negative errno. */
int session_system_retry(struct session_set *set, uint64_t now_ns);

/* Lets @s take samples: gets it a sampler, opens its window, widens the filter. SOURCE_E_*. */
int session_windows_attach(struct session_set *set, struct session *s,
			   struct source_message *message);
/* The reverse; the sampler's last samples still reach the window before it is closed. */
int session_windows_detach(struct session_set *set, struct session *s, struct flush *flush);
/* This host does not let @s have a sampler (any more): it ends. The system session tries again. */
void session_windows_refused(struct session_set *set, struct session *s,
			     const struct source_message *message);
/* Closes the window of @s and opens the next. */
int session_windows_next(struct session_set *set, struct session *s, struct flush *flush);
/* The window is full: closes it early. SESSION_E_FULL: the one before is still in the way. */
int session_windows_make_room(struct session_set *set, struct session *s);
/* A window of @s came back unwritten. */
int session_windows_keep(struct session *s, struct snapshot *snapshot,
			 const struct flush_item *item);

#endif
