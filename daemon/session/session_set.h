/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SESSION_SET_H
#define PROFD_DAEMON_SESSION_SESSION_SET_H

/*
 * All sessions: routes samples to them, closes their windows on the wall clock, starts and stops
 * them. The place where the data plane (source, processes, output) and the control plane meet.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text_print.h"
#include "daemon/control/control.h"
#include "daemon/ingest/source.h"
#include "daemon/output/output.h"
#include "daemon/session/flush.h"
#include "daemon/session/session.h"
#include "daemon/session/slow_down.h"

struct buckets;
struct recorder;

/*
 * Whose sessions are slowed, while sampling would take too much of the machine otherwise: first
 * those of users without privileges, then the system session. What the privileged have started has
 * the rate that was asked for: they know what they do, and it ends.
 */
enum session_tier {
	TIER_USERS,
	TIER_SYSTEM, /* of the samples, those of the privileged count as its own */
	N_TIERS,
};

/* How windows and sessions are made; lists and texts borrowed. */
struct session_defaults {
	uint64_t interval_ns;
	struct session_writing writing;
	struct event event;
	uint64_t frequency;
	/* Waits, of the system session if it has_waits, and of sessions that ask for them. */
	struct event off_cpu;
	uint64_t off_cpu_frequency;
	bool has_waits;
	bool kernel_stacks;
	uint32_t max_depth;
	uint32_t max_sessions;
	uint64_t memory_bytes; /* for all open windows and all that are being written */
	char **exclude_services, **exclude_comms;
};

/* One of the source's, for each (event, rate) in use: sessions with the same pair share it. */
struct session_sampler {
	unsigned n_users; /* 0: not in use */
	struct ledger ledger;
};

struct session_set {
	/* All pointers here are borrowed, and outlive the set. */
	struct source *source;
	struct process_table *processes;
	struct output *output;
	struct recorder *recorder; /* is told of samplers; or NULL */
	int proc_fd;
	struct buckets *buckets; /* of uids without privileges; or NULL */
	/*
	 * What lies between source and set, and may hold samples back; or NULL. Has those of
	 * @sampler delivered before it returns, all of them if @is_last. Asked for when a session
	 * stops, not at the end of a window: what comes late then counts in the next one.
	 */
	int (*settle)(void *userdata, unsigned sampler, bool is_last);
	void *settle_userdata;
	struct session_defaults defaults; /* for sessions and windows from now on */

	struct session **sessions;
	size_t n_sessions, capacity;
	uint64_t next_id;
	unsigned halvings[N_TIERS];  /* of rates */
	struct slow_down slow_down;  /* the users' part of it, by user */
	uint64_t n_samples[N_TIERS]; /* that came of a tier's samplers */
	bool in_trouble;             /* the system session is off, though it is wanted */
	struct source_message trouble;
	struct source_message waits_trouble; /* why it goes on without waits; "": it does not */
	uint64_t retry_ns;                   /* CLOCK_MONOTONIC */
	uint64_t let_go_ns; /* CLOCK_MONOTONIC: for ended processes no window is closed before */
	struct session_sampler samplers[SAMPLERS_MAX];
	/* Of samplers that are gone, as one sum, so that totals never go back. */
	struct ledger retired;
	struct source_stats retired_stats;
	unsigned asked;       /* which part of all processes was asked for their units last */
	int error;            /* of an observer call, reported by the next tick */
	struct texts stopped; /* by ticks, and why: lines for the log, until they are there */
};

/* @next_id: the first id to give out. The rest is the caller's to fill. */
int session_set_new(struct session_set **ret, struct source *source,
		    struct process_table *processes, struct output *output, int proc_fd,
		    uint64_t next_id);
void session_set_free(struct session_set *set);
DEFINE_CLEANUP(struct session_set *, session_set_free)

/* How long a session that is to be held goes on with nobody who does. */
#define SESSION_UNHELD_NS (10 * NS_PER_S)

enum {
	SESSION_START_E_OK,
	SESSION_START_E_REFUSED, /* see the message */
};

/*
 * @start has been checked; @pidfd: for a PID, the process that was checked, or -1. Returns
 * SESSION_START_E_* with @message, or negative errno. *ret stays the set's.
 */
int session_set_start(struct session_set *set, const struct peer *peer,
		      const Profd__Control__Start *start, int pidfd, struct session **ret,
		      struct source_message *message);
/* Stops ticking, closes the last window; @flush (may be NULL) ends when its files are durable. */
int session_set_stop(struct session_set *set, struct session *s, struct flush *flush);
/* Closes the window of @s (NULL: of every running session) now. */
int session_set_flush(struct session_set *set, struct session *s, struct flush *flush);
/*
 * A copy of the open window of @s, of the processes that @filter (NULL: any) lets pass; *ret NULL
 * if it has no sample of them. Returns 0 or negative errno.
 */
int session_set_copy_window(struct session_set *set, struct session *s,
			    const struct window_filter *filter, struct snapshot **ret);
/*
 * The oldest window of @s, a live session, if need be the open one, which begins another one; *ret
 * NULL if there is no sample. *ret_more: there is more, already. It is in flight until its result
 * comes, or it is given back, at once. Returns 0 or negative errno.
 */
int session_set_take_window(struct session_set *set, struct session *s, struct snapshot **ret,
			    bool *ret_more);
void session_set_give_back(struct session *s, struct snapshot *snapshot);
/* Forgets an ended session. */
void session_set_remove(struct session_set *set, struct session *s);

/* One sample from the source. Returns 0 or negative errno. */
int session_set_route(struct session_set *set, const struct sample *sample);
/* What the output thread reports. Frees @result. */
int session_set_take_result(struct output_result *result);
/*
 * Once a second: ends what is due, forgets the dead, tries again what was refused, closes windows
 * early when what they count has ended and takes the room of what runs.
 */
int session_set_tick(struct session_set *set, uint64_t now_ns);
/* The wall clock reached a window's end. */
int session_set_close_windows(struct session_set *set);
/* The next moment (Unix time) at which session_set_close_windows() is to be called. */
uint64_t session_set_next_boundary(const struct session_set *set);

/* NULL: there is none. The system session is number 0. */
struct session *session_set_find(const struct session_set *set, uint64_t id);
unsigned session_set_count_of(const struct session_set *set, uid_t owner);
/* The ledger and the source's totals of all samplers there ever were. 0 or negative errno. */
int session_set_total(struct session_set *set, struct ledger *ret, struct source_stats *ret_stats);

/*
 * The system session, number 0, is of everything, by the configuration's word, with windows that
 * become the files of services. Unlike others it may be paused, it comes back when it had been
 * stopped, and is tried again when the host refuses it: then it is in trouble.
 */
enum {
	SESSION_PAUSE_E_OK,
	SESSION_PAUSE_E_OFF,     /* there is no system session */
	SESSION_PAUSE_E_REFUSED, /* this host does not let it go on: it stays paused */
};

/*
 * Starts the system session, or applies the defaults to it anew. Returns 0, SESSION_START_E_REFUSED
 * with @message (it is off then, and session_set_tick() tries again), or negative errno.
 */
int session_set_start_system(struct session_set *set, struct source_message *message);
int session_set_stop_system(struct session_set *set);
/* Why the system session is off although nobody stopped it; NULL: it is not. */
const char *session_set_trouble(const struct session_set *set);
/* Why the system session, which goes on, has no waits although they are wanted; NULL: it has. */
const char *session_set_waits_trouble(const struct session_set *set);
/* At how many Hz the system session samples waits at present; 0: it does not. */
uint64_t session_set_waits_rate(const struct session_set *set);
/*
 * The system session counts nothing, and does not tick, while paused: until it is resumed, or a
 * session_set_tick() at @until_ns (CLOCK_MONOTONIC; UINT64_MAX: none) resumes it. One that is
 * paused has another end then. Both return SESSION_PAUSE_E_* or negative errno.
 */
int session_set_pause(struct session_set *set, uint64_t until_ns);
int session_set_resume(struct session_set *set);
/* 0: it is not paused. */
uint64_t session_set_paused_until(const struct session_set *set);

/*
 * Some sessions sample slower than they were asked to, while sampling would take too much of the
 * machine otherwise (see enum session_tier, and slow_down.h for whose). A rate in Hz is halved,
 * down to SESSION_HZ_FLOOR or to what was asked for if that is less; a period is doubled. A window
 * has one rate: it is closed before the rate changes.
 */
#define SESSION_HZ_FLOOR 10u
/* Of waits, which each thread has, however few CPUs there are. */
#define SESSION_WAITS_HZ_FLOOR 1u

/* What becomes of @wanted (Hz, or events if @is_period) after @halvings. */
uint64_t session_rate(uint64_t wanted, bool is_period, unsigned halvings);
/* What users' sessions have had since the last call: by that session_set_slow_down() shares. */
void session_set_measure_users(struct session_set *set);
/*
 * From now on, for sessions that will be started, too. A session that the source does not let go on
 * ends with its last window; the system session is tried again, see session_set_trouble(). Returns
 * 0 or negative errno.
 */
int session_set_slow_down(struct session_set *set, const unsigned halvings[N_TIERS]);
/* Whether one halving more of @tier would change the rate of any session that samples. */
bool session_set_can_slow_down(const struct session_set *set, enum session_tier tier);

#endif
