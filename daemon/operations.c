/* SPDX-License-Identifier: MIT */
/*
 * Handlers of verbs (control.h). A handler checks what it was asked for, asks policy, acts, and
 * answers.
 */
#include "daemon/operations.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "daemon/control/policy.h"
#include "daemon/control/request.h"
#include "daemon/daemon_private.h"
#include "daemon/ingest/source_shim.h"
#include "daemon/startup.h"

int daemon_answer_fatal(struct daemon *d, struct reply *reply, int error)
{
	reply_error(reply, CONTROL_ERROR_FAILED, "profd failed: %s", error_describe(error));
	daemon_fail(d, error);
	return CONTROL_DONE;
}

struct session *daemon_find_session(struct daemon *d, const struct control_call *call, uint64_t id)
{
	struct session *s = id ? session_set_find(d->sessions, id) : NULL;

	if (s && policy_may_control(call->peer, s->owner))
		return s;
	if (s)
		reply_error(call->reply, CONTROL_ERROR_DENIED, "session s%" PRIu64 " is not yours",
			    id);
	else
		reply_error(call->reply, CONTROL_ERROR_NOT_FOUND, "there is no session s%" PRIu64,
			    id);
	return NULL;
}

/* A user's own profd knows of no others' processes. */
static bool is_in_reach(const struct daemon *d, const Profd__Control__Start *start)
{
	struct stat st;
	char path[32];

	if (!d->options.user || !target_is_task(start->target))
		return true;
	snprintf(path, sizeof(path), "%" PRId64, start->number);
	return fstatat(d->places.proc_fd, path, &st, 0) < 0 || st.st_uid == geteuid();
}

/* Whether the CPUs asked for are there, or may be plugged in; else *ret_missing is not. */
static bool has_cpus(const Profd__Control__Start *start, unsigned *ret_missing)
{
	struct cpus wanted, possible;

	if (start->target != TARGET_CPUS || cpus_read_possible(&possible) ||
	    cpus_parse((const uint8_t *)start->text, strlen(start->text), &wanted))
		return true;
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		*ret_missing = cpu;
		if (cpus_has(&wanted, cpu) && !cpus_has(&possible, cpu))
			return false;
	}
	return true;
}

/* Without another source, only programs with libprofd can be looked at. */
static bool is_attached(const struct daemon *d, const Profd__Control__Start *start)
{
	return d->source != d->shim || start->target != TARGET_PID ||
	       source_shim_has(d->shim, (pid_t)start->number);
}

/* Why profd cannot do it, here and now: 0, or CONTROL_ERROR_* with @why. */
static int check_start(const struct daemon *d, const Profd__Control__Start *start,
		       struct source_message *why)
{
	unsigned cpu;

	if (d->stopping)
		return source_refuse(why, CONTROL_ERROR_FAILED, "profd is stopping");
	if (!is_in_reach(d, start))
		return source_refuse(why, CONTROL_ERROR_DENIED,
				     "%" PRId64
				     " is not a process of yours; profctl without --user asks "
				     "the system's profd",
				     start->number);
	/* A recording is of whatever machine. */
	if (!d->replay && !has_cpus(start, &cpu))
		return source_refuse(why, CONTROL_ERROR_FAILED, "this machine has no CPU %u", cpu);
	if (!is_attached(d, start))
		return source_refuse(why, CONTROL_ERROR_FAILED,
				     "process %" PRId64 " does not have libprofd; start it with "
				     "LD_PRELOAD=libprofd.so PROFD_CONNECT=%s",
				     start->number, d->places.socket_path);
	return 0;
}

int daemon_verb_start(const struct control_call *call)
{
	Profd__Control__Start *start = call->message;
	struct daemon *d = call->userdata;
	cleanup(closep) int pidfd = -1;
	struct source_message why;
	struct session *s;
	char id[24], target[256];
	int r = request_check_start(start, &why);

	if (!r && start->sender_pid && start->sender_pid != call->peer->pid)
		r = source_refuse(&why, CONTROL_ERROR_DENIED,
				  "profd is in another pid namespace, where process %" PRId64
				  " is another one",
				  start->number);
	if (!r)
		r = policy_check_start(call->peer, call->proc_fd,
				       session_set_count_of(d->sessions, call->peer->uid), start,
				       &pidfd, &why);
	if (!r)
		r = check_start(d, start, &why);
	if (r)
		return request_refuse(call, r, &why);
	r = session_set_start(d->sessions, call->peer, start, pidfd, &s, &why);
	if (r < 0)
		return daemon_answer_fatal(d, call->reply, r);
	if (r > 0)
		return request_refuse(call, CONTROL_ERROR_FAILED, &why);
	daemon_use_session_id(d->places.store_fd, s->id);
	snprintf(id, sizeof(id), "s%" PRIu64, s->id);
	session_describe_target(s, target, sizeof(target));
	daemon_log_asked(call->peer, "session %s of %s started", id, target);
	reply_text(call->reply, id);
	return CONTROL_DONE;
}

int daemon_verb_hold(const struct control_call *call)
{
	const Profd__Control__Hold *hold = call->message;
	struct session *s = daemon_find_session(call->userdata, call, hold->id);

	if (!s)
		return CONTROL_DONE;
	if (s->hold.holder && !reply_is_abandoned(s->hold.holder))
		return reply_error(call->reply, CONTROL_ERROR_FAILED,
				   "session s%" PRIu64 " is held already", hold->id);
	if (s->hold.holder)
		reply_ok(s->hold.holder);
	s->hold.holder = call->reply;
	return CONTROL_PENDING;
}

/* @r: SESSION_PAUSE_E_* or negative errno. */
static int answer_paused(const struct control_call *call, int r)
{
	struct daemon *d = call->userdata;

	if (r < 0)
		return daemon_answer_fatal(d, call->reply, r);
	if (r == SESSION_PAUSE_E_OFF)
		reply_error(call->reply, CONTROL_ERROR_FAILED,
			    "the system session is off; set enabled=yes in [system] and reload");
	else if (r)
		reply_error(call->reply, CONTROL_ERROR_FAILED,
			    "%s can no longer be sampled, see profctl doctor; still paused",
			    d->event.name);
	else
		reply_ok(call->reply);
	daemon_notify_state(d);
	return CONTROL_DONE;
}

int daemon_verb_pause(const struct control_call *call)
{
	const Profd__Control__Pause *pause = call->message;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), until_ns = now_ns + pause->duration_ns;
	struct daemon *d = call->userdata;
	char text[PAUSE_TEXT_SIZE];
	int r = session_set_pause(d->sessions,
				  !pause->duration_ns || until_ns < now_ns ? UINT64_MAX : until_ns);

	if (!r)
		daemon_log_asked(call->peer, "sampling paused until %s",
				 daemon_describe_pause(d, text));
	return answer_paused(call, r);
}

int daemon_verb_resume(const struct control_call *call)
{
	struct daemon *d = call->userdata;
	bool was_paused = session_set_paused_until(d->sessions);
	int r = session_set_resume(d->sessions);

	if (!r && was_paused)
		daemon_log_asked(call->peer, "sampling resumed");
	return answer_paused(call, r);
}

int daemon_verb_wanted(const struct control_call *call)
{
	struct output_state output;
	struct daemon *d = call->userdata;

	output_get_state(d->output, &output);
	reply_build_ids(call->reply, &output.wanted);
	return CONTROL_DONE;
}

int daemon_verb_exports(const struct control_call *call)
{
	struct daemon *d = call->userdata;
	int r = exports_report_set(&d->exports, call->message, clock_ns(CLOCK_MONOTONIC));

	if (r < 0)
		return daemon_answer_fatal(d, call->reply, r);
	if (r)
		reply_error(call->reply, CONTROL_ERROR_USAGE, "these are no exports of a gateway");
	else
		reply_ok(call->reply);
	return CONTROL_DONE;
}

int daemon_verb_config(const struct control_call *call)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct daemon *d = call->userdata;
	int r = memory_text_open(&text) ?:
		config_print(d->config, text.out) ?:
		memory_text_close(&text);

	if (r)
		return daemon_answer_fatal(d, call->reply, r);
	reply_text(call->reply, text.text);
	return CONTROL_DONE;
}

/* A program with libprofd.so asks for a ring. */
int daemon_verb_attach_shim(const struct control_call *call)
{
	const struct source_shim_process process = {.pid = call->peer->pid,
						    .uid = call->peer->uid,
						    .privileged = call->peer->privileged};
	struct daemon *d = call->userdata;
	const struct attach_ring *ring;
	cleanup(closep) int pidfd = -1;
	struct source_message why;
	int r;

	r = policy_check_attach(call->peer, call->proc_fd, &pidfd, &why);
	if (r)
		return request_refuse(call, r, &why);
	if (d->stopping || !d->shim)
		return reply_error(call->reply, CONTROL_ERROR_FAILED, "%s",
				   d->stopping ? "profd is stopping" : "profd replays a recording");
	r = source_shim_attach(d->shim, &process, steal_fd(&pidfd), &ring, &why);
	if (r < 0)
		return daemon_answer_fatal(d, call->reply, r);
	if (r > 0)
		return request_refuse(call, CONTROL_ERROR_FAILED, &why);
	source_shim_sent(d->shim, process.pid, reply_attached(call->reply, ring));
	return CONTROL_DONE;
}

#define DAEMON_VERB_ROW(name, type, access, cost_us) \
	{#name, &profd__control__##type##__descriptor, access, cost_us, daemon_verb_##name},

const struct control_verb daemon_verbs[] = {DAEMON_VERBS(DAEMON_VERB_ROW){}};
