/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CONTROL_CONTROL_H
#define PROFD_CONTROL_CONTROL_H

/*
 * The seam between the control plane and the daemon. listener.c accepts and finds out who is there,
 * connection.c finds the row of the verb in the daemon's table and calls its handler with the
 * message that the client sent. Handlers check its fields with request.h, and with policy.h what
 * its peer may have; reply_*() below answers.
 *
 * A handler answers at once, or returns CONTROL_PENDING, keeps the `struct reply *` and answers it
 * later, exactly once; a client that has gone meanwhile makes no difference to the daemon. One that
 * returns negative errno has failed; if it has not answered, it is answered for.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "common/cleanup.h"
#include "common/fair_share.h"
#include "control.pb-c.h"

struct reply; /* one request that is to be answered */

enum {
	CONTROL_DONE,    /* answered */
	CONTROL_PENDING, /* will be answered later */
	CONTROL_BUSY, /* nothing was done: the same request comes again, in a tenth of a second */
};

/* What peers without privileges may have. */
#define POLICY_HZ_MAX       1000
#define POLICY_SESSIONS_MAX 4

struct peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	bool privileged; /* root, the daemon's own uid, or in the listener's group */
};

/* Of @max places of a kind, those that are taken: by all, the unprivileged, and the peer's uid. */
struct places {
	unsigned max, n, n_unprivileged, n_own;
};

/*
 * Whether @peer may have one more. A quarter is out of reach for those without privileges, and none
 * of their uids may have more than half of what stays free: so there is some for the next.
 */
static inline bool places_has_room(const struct places *p, const struct peer *peer)
{
	unsigned limit = p->max - p->max / 4;

	if (peer->privileged || p->n >= p->max)
		return p->n < p->max;
	return fair_share_leaves_one(limit, p->n_unprivileged, p->n_own);
}

/* Counts one that is taken, by @uid. */
static inline void places_count(struct places *p, const struct peer *peer, uid_t uid,
				bool privileged)
{
	p->n++;
	p->n_unprivileged += !privileged;
	p->n_own += !privileged && uid == peer->uid;
}

#define TARGET_ALL     PROFD__CONTROL__TARGET_KIND__ALL
#define TARGET_PID     PROFD__CONTROL__TARGET_KIND__PID
#define TARGET_TID     PROFD__CONTROL__TARGET_KIND__TID
#define TARGET_SERVICE PROFD__CONTROL__TARGET_KIND__SERVICE
#define TARGET_CGROUP  PROFD__CONTROL__TARGET_KIND__CGROUP
#define TARGET_UID     PROFD__CONTROL__TARGET_KIND__UID
#define TARGET_COMM    PROFD__CONTROL__TARGET_KIND__COMM
#define TARGET_CPUS    PROFD__CONTROL__TARGET_KIND__CPUS

/* Whether it is one process, with its children, or a thread. */
static inline bool target_is_task(Profd__Control__TargetKind target)
{
	return target == TARGET_PID || target == TARGET_TID;
}

/* What a client is refused with: the exit statuses of profctl, as in common/control.proto. */
enum control_error {
	CONTROL_ERROR_NONE,
	CONTROL_ERROR_FAILED,
	CONTROL_ERROR_USAGE,
	CONTROL_ERROR_DENIED = 4,
	CONTROL_ERROR_NOT_FOUND, /* of profctl: CONTROL_ERROR_FAILED */
};

/* One request on its way to its handler. All but @reply ends with the call. */
struct control_call {
	void *userdata; /* of the listener's options */
	const struct peer *peer;
	void *message; /* of the row's type */
	int proc_fd;   /* /proc */
	struct reply *reply;
};

enum control_access {
	CONTROL_FOR_ALL, /* the handler looks at what it is for, see policy.h */
	CONTROL_FOR_PRIVILEGED,
	CONTROL_CHANGES, /* with one of these: not for who only reads a store */
};

/* A verb: all that the control plane knows of it. */
struct control_verb {
	const char *name; /* of its field in Request (common/control.proto) */
	const ProtobufCMessageDescriptor *message;
	unsigned access; /* CONTROL_* */
	/*
	 * What a request costs profd, about, in microseconds of CPU time: drawn from the bucket of
	 * the peer's uid (buckets.h).
	 */
	uint32_t cost_us;
	int (*handle)(const struct control_call *call); /* CONTROL_* or negative errno */
};

/*
 * Answers and releases @reply. @result: what the field @which of Response holds, a message or a
 * text; it is copied.
 */
void reply_send(struct reply *reply, Profd__Control__Response__ResultCase which,
		const void *result);
/* The same, for what is no message yet. */
void reply_ok(struct reply *reply);
/* Returns CONTROL_DONE. */
int reply_error(struct reply *reply, enum control_error error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* One text: a session id, an epoch's name, the configuration. */
void reply_text(struct reply *reply, const char *text);
/* File paths, NULL-terminated; NULL: none. */
void reply_paths(struct reply *reply, char *const *paths);
/* Those that a file holds, each ended by NUL, which is sent as that of reply_collected(). */
struct collected;
void reply_path_list(struct reply *reply, struct collected *list);
/* Build ids, see output/symbols.h. */
struct symbols_wanted;
void reply_build_ids(struct reply *reply, const struct symbols_wanted *wanted);
/*
 * What was collected; its file, which @collected hands over, is sent after the answer, and closed
 * when it is sent or the client has gone.
 */
void reply_collected(struct reply *reply, struct collected *collected);
/*
 * The ring's fds, which stay the caller's; the connection ends then. Only within the operation.
 * False: the client did not take them.
 */
struct attach_ring;
bool reply_attached(struct reply *reply, const struct attach_ring *ring);

/* Whether nobody would get the answer any more. */
bool reply_is_abandoned(const struct reply *reply);

struct listener;
struct buckets;

struct listener_options {
	const char *path; /* of the socket; made with this mode, an old one is replaced */
	uint32_t mode;
	int fd;            /* a listening socket from systemd, or -1 */
	const char *group; /* members are privileged; it owns the socket; NULL or unknown: none */
	const struct control_verb *verbs; /* up to one without a name; borrowed */
	void *userdata;                   /* of the handlers */
	bool read_only;                   /* what changes anything is refused */
	/* Of uids without privileges, and, the second, of those with; borrowed. */
	struct buckets *buckets;
	/*
	 * A client that neither sends a request in that time nor takes 1 MiB of an answer is
	 * dropped; 0: 10 s.
	 */
	uint64_t stall_ns;
};

/* Since the start; two: of clients without privileges, and of those with. */
struct listener_stats {
	uint64_t stalled;    /* connections that did not go on sending or reading in time */
	uint64_t failed;     /* those whose socket failed, or there was no memory */
	uint64_t refused[2]; /* those for which there was no place */
	uint64_t requests[2];
	uint64_t delayed[2]; /* requests that waited: see CONTROL_BUSY and control_verb.cost_us */
};

/*
 * Binds and serves within @loop; texts are copied. Returns what unixsock_listen() does.
 *
 * At most 64 clients at a time (places_has_room()); requests of at most 64 KiB; at most 16 MiB of
 * answers waiting to be read, all unprivileged clients together, and as much for the others. A
 * client whose uid has drawn its bucket empty is not read from until it may go on.
 */
int listener_new(struct listener **ret, sd_event *loop, const struct listener_options *options);
/*
 * Before an end: where the socket is systemd's, clients that connect from now on wait for the next
 * daemon that takes it over, rather than to be dropped by this one. Clients that are there are
 * served as before.
 */
int listener_hand_over(struct listener *l);
/* Closes the socket and drops all clients; pending replies stay valid and answer nobody. */
void listener_free(struct listener *l);
DEFINE_CLEANUP(struct listener *, listener_free)
void listener_get_stats(const struct listener *l, struct listener_stats *ret);

/* Whether @peer may see and control what @owner started. */
bool policy_may_control(const struct peer *peer, uid_t owner);

#endif
