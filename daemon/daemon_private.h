/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_PRIVATE_H
#define PROFD_DAEMON_PRIVATE_H

/* What daemon.c (wiring and loop), startup*.c and operations*.c (control requests) share. */
#include <stdbool.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "common/config/config.h"
#include "common/log.h"
#include "common/user_paths.h"
#include "common/worker/memory.h"
#include "daemon/control/buckets.h"
#include "daemon/control/control.h"
#include "daemon/daemon.h"
#include "daemon/ingest/sources.h"
#include "daemon/output/output.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/unwinder.h"
#include "daemon/session/session_set.h"

#define DAEMON_SOURCES_MAX 16

/* Where its things are, and the directories that are open. */
struct daemon_places {
	char *store_path, *socket_path;
	char *fetched_path;     /* of debug files, made by profd-gateway */
	struct user_paths user; /* with --user */
	int store_fd, proc_fd;
};

/*
 * pace.c: when sampling is to slow down because it takes too much of the machine ([sampling]
 * max_cpu), and when it may become faster again. Only its own cost counts: what process events,
 * names, collecting and requests cost is as much at any rate, and a user could take the samples
 * from everybody with it. Rates are halved, as often as it takes, one step at a time:
 *
 *   LIMITER_OVER measurements in a row above the limit: one halving more of the first tier that can
 *   be slowed; of the users' as many as are needed if sampling for them is all that there is;
 *   LIMITER_UNDER in a row so low that twice as much would still be within LIMITER_ROOM of the
 *   limit: of the last tier that is slowed, as many less as keep within that.
 *
 * What is in between changes nothing, so that a load near the limit does not make the rate swing.
 * A single measurement may be one of a start, or of an image whose tables took long. With one every
 * 20 seconds, the rate is back within a minute after a load has ended. Pure.
 */
#define LIMITER_OVER         3u
#define LIMITER_UNDER        2u
#define LIMITER_ROOM         0.8
#define LIMITER_HALVINGS_MAX 14u /* of 100000 Hz to the floor */

struct limiter {
	unsigned halvings[N_TIERS]; /* in force */
	unsigned n_over, n_under;
};

/* What profd's CPU time counts as. */
enum cost {
	COST_SAMPLING, /* and writing windows: more samples are more stacks */
	COST_EVENTS,
	COST_NAMES,
	COST_OUTPUT, /* what is left: files that are listed, collected, deleted */
	COST_CONTROL,
	N_COSTS,
};

/* What profd itself costs. */
struct daemon_pace {
	struct limiter limiter;
	uint64_t measured_ns;         /* CLOCK_MONOTONIC; 0: not yet */
	double used_seconds[N_COSTS]; /* of CPU time, up to then */
	double share;                 /* of the machine, in the last measurement */
	uint64_t window_ns;           /* CLOCK_MONOTONIC; the end of the last window */
	double windows_seconds;       /* of CPU time for writing windows, up to then */
	double windows_share;         /* that of the last window */
	uint64_t n_samples[N_TIERS];  /* up to then */
	/* Measurements in a row in which it was too much, and none of sampling's fault. */
	unsigned n_dear;
	char dear[160]; /* a line on that; "": it is not so */
};

/*
 * notify.c: what the main thread makes of the output thread, which blocks on disks. systemd's
 * watchdog is fed by the main thread's loop alone, so a hung main thread ends the service by
 * itself. The output thread is watched here:
 *
 *   slow    one request for longer than the patience. Said, and nothing done: the disk is slow or
 *           stuck, windows wait in memory, and a restart would only lose them.
 *   hung    one request for WATCH_HUNG_TIMES as long without being seen to wait for a disk
 * (proc(5): state D), that is, by a fault of profd's own or of a file system that is another
 * program, which a restart may cure. The watchdog is not fed any more then.
 *
 * The patience is the service manager's own, sd_watchdog_enabled(3); without one it is
 * WATCH_PATIENCE_NS.
 */
#define WATCH_PATIENCE_NS UINT64_C(60000000000)
#define WATCH_HUNG_TIMES  15

enum watch {
	WATCH_WELL,
	WATCH_SLOW,
	WATCH_HUNG,
};

struct daemon_watch {
	enum watch output_state;
	uint64_t patience_ns;  /* with it, see above */
	uint64_t disk_wait_ns; /* when it was seen waiting for a disk, CLOCK_MONOTONIC */
	uint64_t stopping_ns;  /* since when profd stops, CLOCK_MONOTONIC */
};

/*
 * How late something ran against its timer: a histogram whose steps are an eighth of a power of
 * two, so that any quantile is known to 13 %.
 */
#define LATENESS_BUCKETS 304 /* up to 2^40 ns, 18 minutes */

struct lateness {
	uint64_t n;
	uint64_t max_ns;
	uint32_t buckets[LATENESS_BUCKETS];
};

struct daemon_last_flush {
	uint64_t started_ns; /* Unix time; 0: none yet */
	double seconds;
	uint32_t n_files;
	int error; /* errno, or 0 */
};

struct daemon {
	struct daemon_options options;
	struct config *config;
	struct daemon_places places;
	struct daemon_pace pace;
	struct cpu_causes cpu_causes; /* of the main thread */
	struct daemon_watch watch;
	bool replay;

	/* A sample's way: source -> unwinder -> recorder, if there is one -> sink. */
	struct source_sink sink;
	struct recorder *recorder;
	struct unwinder *unwinder;
	struct source *source;
	struct source *shim; /* of programs with libprofd: `source`, or one beside it; or NULL */
	struct event event;  /* the configured one, resolved */
	struct memory_budget memory; /* shared with the image workers */
	struct process_table *processes;
	struct file_opener *opener; /* the output's */
	struct proc_door *door;     /* the main thread's */
	struct output *output;
	struct session_set *sessions;
	struct listener *listener;
	struct buckets buckets[2]; /* of uids without privileges, and with */

	sd_event *loop;
	sd_event_source *sources[DAEMON_SOURCES_MAX];
	sd_event_source *source_io, *rest_timer, *window_timer; /* three of them */
	size_t n_sources;
	uint64_t scanned_ns, started_ns, woken_ns; /* CLOCK_MONOTONIC */
	struct lateness lateness;                  /* of drains */
	struct daemon_last_flush last_flush;
	struct texts warnings;          /* of the start */
	LIST_HEAD(, waiter) collecting; /* operations_output.c */
	bool rings_wait;                /* they have more than one drain takes */
	bool stopping;
	bool in_trouble; /* the system session is off, and that is logged */
	int error;       /* of a callback that cannot return one */
};

/* startup.c: everything up to the loop. Returns DAEMON_E_* or negative errno. */
int daemon_start(struct daemon *d);
/* Reads the configuration that applies. Returns CONFIG_E_* with @message, or negative errno. */
int daemon_load_config(struct daemon *d, struct config **ret, struct config_message *message);
/* Applies the configuration to what is made from it: sessions, store limits. */
int daemon_apply_config(struct daemon *d);
/* Logs why profd cannot start here. */
#define daemon_refuse(...) (log_error(__VA_ARGS__), DAEMON_E_REFUSED)
/* Adds a line to `status`, and logs it. */
#define daemon_warn(d, ...) (log_warning(__VA_ARGS__), texts_printf(&(d)->warnings, __VA_ARGS__))

/* startup_paths.c. All return DAEMON_E_*, after a line on what was refused, or negative errno. */
/* With --user: what cannot be guessed without the environment must have been given. */
int daemon_find_user_paths(struct daemon *d);
/* Refuses a directory that others can change; @what it is and its @path are for the message. */
int daemon_check_directory(int fd, const char *what, const char *path);
/* Of the store, the control socket and fetched files; the configuration then has the same. */
int daemon_choose_paths(struct daemon *d);
/* Makes the store's directory if need be, locks it, and gives it to its group. */
int daemon_open_store(struct daemon *d);
/*
 * Session ids never repeat within a state directory: the highest one given out is kept as an
 * extended attribute of the directory sessions/, and the directories in it tell the rest where the
 * file system has no such attributes. The first id that was never given out, at least 1:
 */
uint64_t daemon_next_session_id(int store_fd);
/* @id has been given out. Best effort. */
void daemon_use_session_id(int store_fd, uint64_t id);

/* startup_source.c: the recording that is to be played back; NULL: none. */
const char *daemon_replay_path(const struct daemon *d);
/*
 * Makes the source that was asked for; else BPF, and where that cannot be had, plain perf events.
 * Returns SOURCE_E_* with @message, or negative errno.
 */
int daemon_choose_source(struct daemon *d, const struct source_options *options,
			 struct source_message *message);
/* For programs with libprofd that ask for a ring; @is_idle: another source samples them already. */
int daemon_make_shim(struct daemon *d, const struct source_options *options, bool is_idle);
/* What an event is by its name, for the source that there is. As event_parse() (sources.h). */
int daemon_parse_event(const struct daemon *d, const char *name, struct event *ret,
		       struct source_message *message);

/*
 * pace.c: measures profd's own share and lets sampling slow down; called at windows' ends and once
 * a second. Returns 0 or negative errno.
 */
int daemon_pace(struct daemon *d, bool is_window_end);
/* Another limit or rate is configured: sampling is as fast as it says until that is measured. */
int daemon_pace_restart(struct daemon *d);

#define RINGS_REST_NS 2000000u
/* Rings woke profd at d->woken_ns, and again at @now, and are empty: they rest if that was soon. */
int daemon_rest_rings(struct daemon *d, uint64_t now);
/* An sd_event_time_handler_t: they have rested. */
int daemon_on_rest_timer(sd_event_source *source, uint64_t usec, void *userdata);
/*
 * @share: what sampling cost of the whole machine, 0 .. 1, as measured since the last call, all of
 * it with the halvings in force. @can_slow: another halving of the tier would change something.
 * Returns whether halvings changed.
 */
bool limiter_judge(struct limiter *l, double share, double max_share, const bool can_slow[N_TIERS]);
/*
 * What to blame when all @shares together are more than @max_share: sampling if it is more alone,
 * else the largest of the others; N_COSTS: they are not more.
 */
enum cost limiter_blame(const double shares[N_COSTS], double max_share);
/* The rate in force of what is configured, Hz. */
uint64_t daemon_rate(const struct daemon *d);
/* What profd has used up to now, and on what. Of the main thread. */
void daemon_used_cpu(const struct daemon *d, const struct source_stats *source,
		     const struct unwinder_stats *unwinder, const struct output_state *output,
		     Profd__Control__Cpu *ret);
/*
 * Seconds, user and system, of all children that were waited for and of the @n processes in
 * @living, of which 0 and those that do not exist count nothing. One that ended and was not waited
 * for yet is missing until it is.
 */
double status_cpu_children(const pid_t *living, size_t n);

/* notify.c: what the service manager is told. First how long it has patience: */
void daemon_notify_init(struct daemon *d);
void daemon_notify_ready(struct daemon *d);
void daemon_notify_reloading(void);
void daemon_notify_stopping(struct daemon *d);
/* Until when the system session is paused; @text is returned. */
#define PAUSE_TEXT_SIZE 32
const char *daemon_describe_pause(const struct daemon *d, char text[PAUSE_TEXT_SIZE]);
/* What profd does, in a line; nothing while it stops. */
void daemon_notify_state(struct daemon *d);
/* Once a second: watches the output thread, asks for time while it writes the last windows. */
void daemon_notify_tick(struct daemon *d, uint64_t now_ns);

/*
 * @busy_ns: for how long it has been at one request, 0: idle. @own_ns: for how long of that it has
 * not been seen waiting for a disk.
 */
enum watch watch_judge(uint64_t busy_ns, uint64_t own_ns, uint64_t patience_ns);

/* Logs what a client has had done, and which client. */
#define daemon_log_asked(peer, format, ...) \
	log_info(format " (uid %u, pid %d)", ##__VA_ARGS__, (peer)->uid, (peer)->pid)

/* operations.c: the verbs of the control socket. */
extern const struct control_verb daemon_verbs[];
/* Answers with a fatal error, and notes it. Returns CONTROL_DONE. */
int daemon_answer_fatal(struct daemon *d, struct reply *reply, int error);
/* Session @id if the peer may control it; NULL: there is none such, and that is answered. */
struct session *daemon_find_session(struct daemon *d, const struct control_call *call, uint64_t id);

/* status.c. */
void lateness_add(struct lateness *l, uint64_t late_ns);
/* The upper bound of the step that holds quantile @q (0 .. 1), nanoseconds; 0 without values. */
uint64_t lateness_quantile(const struct lateness *l, double q);
/* Windows that ended early, for lack of memory: the remedy is another one for users' sessions. */
void daemon_warn_of_early_closes(const struct session_set *sessions, struct texts *ret);
/* Processes that cannot be read: how many, and some by name. */
void daemon_warn_of_held_up(struct proc_door *door, struct texts *ret);
/* A handler of daemon_verbs. Sessions of others are left out for the unprivileged. */
int daemon_verb_status(const struct control_call *call);

/* operations_output.c: the same. */
int daemon_verb_stop(const struct control_call *call);
int daemon_verb_flush(const struct control_call *call);
int daemon_verb_epoch(const struct control_call *call);
int daemon_verb_list(const struct control_call *call);
int daemon_verb_collect(const struct control_call *call);
int daemon_verb_vacuum(const struct control_call *call);

/* daemon.c: notes a fatal error that a callback met; the loop ends with it. */
void daemon_fail(struct daemon *d, int error);

#endif
