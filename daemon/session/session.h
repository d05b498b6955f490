/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SESSION_H
#define PROFD_DAEMON_SESSION_SESSION_H

/*
 * A session is a target, an event and rate, a set of formats and an owner. It decides which of the
 * samples that its samplers deliver are its own, counts them in the open window, and turns a
 * window into a snapshot.
 *
 *   routed  = counted + filtered + dropped
 *   counted = complete + guessed + no_user + truncated + broken
 *
 * Knows nothing of sources, sockets or files.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "daemon/control/control.h"
#include "daemon/ledger/ledger.h"
#include "daemon/output/snapshot.h"
#include "daemon/resolve/process.h"
#include "daemon/session/window.h"

struct flush;
struct session_member;

struct session_target {
	Profd__Control__TargetKind kind;
	int64_t number;   /* PID, TID, UID */
	char *text;       /* SERVICE, COMM, CGROUP, CPUS; owned */
	struct cpus cpus; /* CPUS */
	bool children;
	uint64_t process; /* PID, TID: serial of the process that was meant */
};

enum session_state {
	SESSION_RUNNING,
	SESSION_STOPPING, /* the last windows are being written, or wait for their taker */
	SESSION_ENDED,    /* kept so that `stop` can tell its files */
};

/* What its windows are written as. */
struct session_writing {
	unsigned formats, labels;
	enum symbolize symbolize;
	bool latency; /* if the event tells time: session_cpu_period() */
};

struct session_counts {
	uint64_t routed, counted, filtered, dropped[N_DROPPED];
	struct stack_counts stacks; /* of those that are counted */
	uint64_t windows_written, early_closes;
	uint64_t lost; /* by its samplers, in windows that are closed */
};

/* What a session samples by: its event, and, of wall time, waits beside it. */
struct session_sampling {
	struct sampler_spec spec;
	uint64_t wanted_rate; /* what spec.rate is while nothing slows sampling down */
	unsigned sampler;     /* index in the source, or SESSION_NO_SAMPLER */
	bool is_optional;     /* without it the session goes on */
};

/* One that was full, and one that ended with its sampler. */
#define SESSION_UNTAKEN_MAX 2

/* Of a live session: closed windows that nobody has taken yet, the oldest first. */
struct session_untaken {
	struct snapshot *snapshots[SESSION_UNTAKEN_MAX];
	unsigned n;
	uint64_t until_ns; /* CLOCK_MONOTONIC; they are dropped then, when it is stopping */
	bool is_over;      /* and nobody is going to take any more */
};

/* Who keeps a session going that ends without a holder. */
struct session_hold {
	bool is_wanted;
	uint64_t until_ns;    /* CLOCK_MONOTONIC; the end, while nobody has held it yet */
	struct reply *holder; /* answered when the session has ended; owned; or NULL */
};

struct session {
	uint64_t id; /* 0: the system session */
	char *name;
	char *directory; /* "<id>-<name>" below sessions/, NULL for the system session */
	uid_t owner;
	bool privileged; /* the owner sees other users' processes and kernel addresses */
	struct session_target target;
	char **exclude_services, **exclude_comms; /* borrowed, NULL-terminated, or NULL */

	struct session_sampling samplings[LEDGERS_MAX]; /* the first one is not optional */
	unsigned n_samplings;
	unsigned attachment;  /* times it got samplers: snapshots of earlier ones differ */
	uint64_t attached_ns; /* CLOCK_MONOTONIC, the last time */
	struct session_writing writing;
	bool hide_kernel;
	bool is_live; /* its windows are for clients that take them: none becomes a file */

	enum session_state state;
	uint64_t paused_until_ns; /* CLOCK_MONOTONIC; 0: it is not paused */
	uint64_t started_ns;      /* Unix time */
	uint64_t ends_ns;         /* CLOCK_MONOTONIC; 0: when stopped */
	struct session_hold hold;
	struct flush **waiters; /* stops that came while the last window was being written */
	size_t n_waiters, waiters_max;
	struct session_counts counts;
	uint64_t routed_before; /* of these, when users' samples were measured last */

	struct window *window;
	struct session_member *members;
	unsigned n_in_flight; /* snapshots that are being written, or sent to the taker */
	uint64_t patience_ns; /* CLOCK_MONOTONIC; no window ends before it: the disk is full */
	struct session_untaken untaken;
};

#define SESSION_NO_SAMPLER UINT32_MAX

/* The event of a session that samples CPU time, by the configured event, and waits. */
#define EVENT_WALL "wall"
/* The event of waits alone. */
#define EVENT_OFF_CPU "off-cpu"

/* Whether its samplers are there: all of them, but for what is optional. */
static inline bool session_is_attached(const struct session *s)
{
	return s->samplings[0].sampler != SESSION_NO_SAMPLER;
}

/* Whether @sampler is one of its own. */
static inline bool session_has_sampler(const struct session *s, unsigned sampler)
{
	for (unsigned i = 0; i < s->n_samplings; i++)
		if (s->samplings[i].sampler == sampler)
			return true;
	return false;
}

/* CPU time between two samples of a busy CPU, in ns; 0: its event does not tell time, or waits. */
uint64_t session_cpu_period(const struct session *s);

/* What it samples, by the name that it is asked for. */
static inline const char *session_event(const struct session *s)
{
	return s->n_samplings > 1 && s->id ? EVENT_WALL : s->samplings[0].spec.event.name;
}

enum {
	SESSION_E_OK,
	SESSION_E_FULL,  /* the window is full: close it, then add again */
	SESSION_E_EMPTY, /* no sample since the window was opened */
	SESSION_E_SHARE, /* the user of the process has had his share of the window */
};

/* Takes the target from @start; the rest is the caller's to fill. 0 or negative errno. */
int session_new(struct session **ret, uint64_t id, const Profd__Control__Start *start);
void session_free(struct session *s);
DEFINE_CLEANUP(struct session *, session_free)

/* "pid 42", "tid 43", "service nginx.service", "all" ...: the target in words. */
void session_describe_target(const struct session *s, char *text, size_t size);
/* Whether samples of @p can be this session's, as far as the process tells. */
bool session_wants_process(const struct session *s, const struct process *p);
/* Whether a PID or TID target has ended with all that descends from it. */
bool session_target_ended(const struct session *s);
/* Whether @p is, or descends from, the process that a PID or TID target means. */
bool session_is_member(const struct session *s, const struct process *p);
/* A process or program was born of @parent (or NULL); a target pid's offspring joins it. */
int session_process_born(struct session *s, struct process *p, const struct process *parent);
/* Forgets members that a sweep found dead before @before_ns (CLOCK_MONOTONIC). */
void session_sweep(struct session *s, uint64_t before_ns);

/*
 * Routes one sample of the session's samplers. Returns SESSION_E_OK (counted or filtered),
 * SESSION_E_FULL or SESSION_E_SHARE (not counted yet: routed is not raised), or negative errno.
 */
int session_add(struct session *s, const struct sample *sample, struct process *p);
/*
 * The same for one that the session wants, and that has had SESSION_E_SHARE: without its stack, as
 * truncated, in the one entry that a state of its process has for all of these.
 */
int session_add_cut(struct session *s, const struct sample *sample, struct process *p);
/*
 * Keeps a waker, @sample, which is none, for the session's window. @p: its process; NULL: not a
 * user process. Returns 0 or negative errno.
 */
int session_add_waker(struct session *s, const struct sample *sample, struct process *p);
/* The sample could not be counted for @reason. */
void session_drop(struct session *s, enum dropped_reason reason);

/* The samples in @aggregate, which are counted, were of a window that could not be written. */
void session_count_unwritten(struct session *s, const struct aggregate *aggregate);

/*
 * Makes a snapshot of the window, with the text of the ledgers as they stand now. @copied: what of
 * it, and the window goes on; NULL: it is closed, and the session is left without one. Returns
 * SESSION_E_OK, SESSION_E_EMPTY (there is no sample: *ret is left alone) or negative errno.
 */
int session_snapshot_window(struct session *s, const struct moment *end,
			    const struct ledgers *ledgers, const struct window_filter *copied,
			    struct snapshot **ret, struct window_closing *ret_closing);
/*
 * Keeps @snapshot, a closed window, for a client to take. The oldest is dropped if there are too
 * many of them.
 */
void session_push_snapshot(struct session *s, struct snapshot *snapshot);
/* The oldest of them, the caller's; NULL: there is none. */
struct snapshot *session_pop_snapshot(struct session *s);
/* Nobody is going to take any more: those that there are are dropped. */
void session_drop_snapshots(struct session *s);
/*
 * Counts a snapshot that could not be written into the open window, which then begins where the
 * snapshot began.
 */
int session_restore_window(struct session *s, struct snapshot *snapshot,
			   const struct window_closing *closing);

#endif
