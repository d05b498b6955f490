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
#include "daemon/control/control.h"
#include "daemon/output/output.h"
#include "daemon/session/flush.h"
#include "daemon/session/samplers.h"
#include "daemon/session/session_start.h"

struct session_set;

/* All pointers are borrowed and outlive the set. @next_id: the first id to give out. */
int session_set_new(struct session_set **ret, struct source *source,
		    struct process_table *processes, struct output *output, int proc_fd,
		    uint64_t next_id);
void session_set_free(struct session_set *set);
DEFINE_CLEANUP(struct session_set *, session_set_free)
/*
 * Whoever stands between source and set, and may hold samples back: @settle has those of @sampler
 * delivered before it returns, all of them if @is_last. Asked for when a session stops, not at the
 * end of a window: what comes late then counts in the next one.
 */
void session_set_settle_by(struct session_set *set,
			   int (*settle)(void *userdata, unsigned sampler, bool is_last),
			   void *userdata);
/* For sessions and windows from now on. */
void session_set_configure(struct session_set *set, const struct session_defaults *defaults);

/* Returns SESSION_START_E_* with @message, or negative errno. *ret stays the set's. */
int session_set_start(struct session_set *set, const struct peer *peer,
		      const struct session_request *request, struct session **ret,
		      struct source_message *message);
/* Stops ticking, closes the last window; @flush (may be NULL) ends when its files are durable. */
int session_set_stop(struct session_set *set, struct session *s, struct flush *flush);
/* Closes the window of @s (NULL: of every running session) now. */
int session_set_flush(struct session_set *set, struct session *s, struct flush *flush);
/*
 * A copy of the open window of @s, of the processes that @filter lets pass; *ret NULL if it has no
 * sample of them. Returns 0 or negative errno.
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
/* Whether a closed window still waits for its turn to be written. */
bool session_set_is_waiting(const struct session_set *set);
/* Forgets an ended session. */
void session_set_remove(struct session_set *set, struct session *s);

/* One sample from the source. Returns 0 or negative errno. */
int session_set_route(struct session_set *set, const struct sample *sample);
/* What the output thread reports. Frees @result. */
int session_set_take_result(struct session_set *set, struct output_result *result);
/* Once a second: ends what is due, forgets the dead, tries again what waits or was refused. */
int session_set_tick(struct session_set *set, uint64_t now_ns);
/* The wall clock reached a window's end. */
int session_set_close_windows(struct session_set *set);
/* The next moment (Unix time) at which session_set_close_windows() is to be called. */
uint64_t session_set_next_boundary(const struct session_set *set);

/* Sessions by index, 0 .. n - 1, the system session first if there is one. */
size_t session_set_count(const struct session_set *set);
struct session *session_set_get(const struct session_set *set, size_t index);
struct session *session_set_find(const struct session_set *set, uint64_t id);
unsigned session_set_count_of(const struct session_set *set, uid_t owner);
struct samplers *session_set_samplers(struct session_set *set);

/*
 * session_system.c: the system session, number 0, of everything, by the configuration's word, with
 * windows that become the files of services. Unlike others it may be paused, it comes back when it
 * had been stopped, and is tried again when the host refuses it: then it is in trouble.
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
/*
 * The system session counts nothing, and does not tick, while paused. Returns SESSION_PAUSE_E_* or
 * negative errno.
 */
int session_set_pause(struct session_set *set, bool pause);
bool session_set_is_paused(const struct session_set *set);

/*
 * session_rate.c: all sessions sample slower than they were asked to, while profd would take too
 * much of the machine otherwise. A rate in Hz is halved, down to SESSION_HZ_FLOOR or to what was
 * asked for if that is less; a period is doubled. A window has one rate: it is closed before the
 * rate changes.
 */
#define SESSION_HZ_FLOOR 10u

/* What becomes of @wanted (Hz, or events if @is_period) after @halvings. */
uint64_t session_rate(uint64_t wanted, bool is_period, unsigned halvings);
/*
 * For all sessions from now on, those that will be started included. A session that the source does
 * not let go on ends with its last window; the system session is tried again, see
 * session_set_trouble(). Returns 0 or negative errno.
 */
int session_set_slow_down(struct session_set *set, unsigned halvings);
/* Whether one halving more would make any session that samples slower. */
bool session_set_can_slow_down(const struct session_set *set);

#endif
