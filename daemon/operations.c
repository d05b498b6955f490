/* SPDX-License-Identifier: MIT */
/* The control operations: each finds its session, asks policy, acts, and answers. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cpus.h"
#include "common/error.h"
#include "daemon/daemon_private.h"
#include "daemon/ingest/source_shim.h"
#include "daemon/session/session_system.h"
#include "daemon/session_ids.h"

int daemon_answer_fatal(struct daemon *d, struct reply *reply, int error)
{
	reply_error(reply, CONTROL_ERROR_FAILED, "profd failed: %s", error_describe(error));
	daemon_fail(d, error);
	return CONTROL_DONE;
}

/* A user's own profd knows of no others' processes. */
static bool is_in_reach(const struct daemon *d, const struct session_request *request)
{
	struct stat st;
	char path[32];

	if (!d->options.user || (request->target != TARGET_PID && request->target != TARGET_TID))
		return true;
	snprintf(path, sizeof(path), "%" PRId64, request->number);
	return fstatat(d->proc_fd, path, &st, 0) < 0 || st.st_uid == geteuid();
}

/* Whether the CPUs asked for are there, or may be plugged in; else *ret_missing is not. */
static bool has_cpus(const struct session_request *request, unsigned *ret_missing)
{
	struct cpus possible, wanted;

	if (request->target != TARGET_CPUS || !request->text || cpus_read_possible(&possible) ||
	    cpus_parse((const uint8_t *)request->text, strlen(request->text), &wanted))
		return true; /* judged by others */
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		*ret_missing = cpu;
		if (cpus_has(&wanted, cpu) && !cpus_has(&possible, cpu))
			return false;
	}
	return true;
}

/* Without another source, only programs with libprofd can be looked at. */
static bool is_attached(const struct daemon *d, const struct session_request *request)
{
	return d->source != d->shim || request->target != TARGET_PID ||
	       source_shim_has(d->shim, (pid_t)request->number);
}

static int op_start(void *userdata, const struct peer *peer, const struct session_request *request,
		    struct reply *reply)
{
	struct source_message message = {};
	struct daemon *d = userdata;
	struct session *s;
	unsigned cpu;
	char id[24];
	int r;

	if (d->stopping) {
		reply_error(reply, CONTROL_ERROR_FAILED, "profd is stopping");
		return CONTROL_DONE;
	}
	if (!is_in_reach(d, request)) {
		reply_error(reply, CONTROL_ERROR_DENIED,
			    "%" PRId64 " is none of your own processes; profctl without --user "
			    "asks the system's profd",
			    request->number);
		return CONTROL_DONE;
	}
	/* A recording is of whatever machine. */
	if (!d->replay && !has_cpus(request, &cpu)) {
		reply_error(reply, CONTROL_ERROR_FAILED, "this machine has no CPU %u", cpu);
		return CONTROL_DONE;
	}
	if (!is_attached(d, request)) {
		reply_error(reply, CONTROL_ERROR_FAILED,
			    "process %" PRId64 " does not sample itself; start it with LD_PRELOAD="
			    "libprofd.so PROFD_CONNECT=%s",
			    request->number, d->socket_path);
		return CONTROL_DONE;
	}
	r = session_set_start(d->sessions, peer, request, &s, &message);
	if (r < 0)
		return daemon_answer_fatal(d, reply, r);
	if (r > 0) {
		reply_error(reply, CONTROL_ERROR_FAILED, "%s", message.text);
		return CONTROL_DONE;
	}
	session_ids_used(d->store_fd, s->id);
	snprintf(id, sizeof(id), "s%" PRIu64, s->id);
	reply_text(reply, id);
	return CONTROL_DONE;
}

static int op_hold(void *userdata, const struct peer *peer, uint64_t id, struct reply *reply)
{
	struct daemon *d = userdata;
	struct session *s = session_set_find(d->sessions, id);

	if (!s)
		reply_error(reply, CONTROL_ERROR_FAILED, "there is no session s%" PRIu64, id);
	else if (!policy_may_control(peer, s->owner))
		reply_error(reply, CONTROL_ERROR_DENIED, "session s%" PRIu64 " is not yours", id);
	else if (s->holder && !reply_is_abandoned(s->holder))
		reply_error(reply, CONTROL_ERROR_FAILED, "session s%" PRIu64 " is held already",
			    id);
	else {
		if (s->holder)
			reply_ok(s->holder);
		s->holder = reply;
		return CONTROL_PENDING;
	}
	return CONTROL_DONE;
}

static int op_pause(void *userdata, bool pause, struct reply *reply)
{
	struct daemon *d = userdata;
	int r;

	r = session_set_pause(d->sessions, pause);
	if (r < 0)
		return daemon_answer_fatal(d, reply, r);
	if (r == SESSION_PAUSE_E_OFF)
		reply_error(reply, CONTROL_ERROR_FAILED,
			    "the system session is off; set enabled=yes in [system] and reload");
	else if (r)
		reply_error(reply, CONTROL_ERROR_FAILED,
			    "%s cannot be sampled any more, see profctl doctor; still paused",
			    d->event.name);
	else
		reply_ok(reply);
	daemon_notify_state(d);
	return CONTROL_DONE;
}

/* The warnings of the start, and those that numbers give at this moment. */
struct warnings {
	const char *lines[DAEMON_WARNINGS_MAX + 8];
	char texts[4][160];
};

static void warn_of(struct warnings *w, size_t *n, unsigned i, uint64_t count, const char *what)
{
	if (!count)
		return;
	snprintf(w->texts[i], sizeof(w->texts[i]), "%" PRIu64 " %s", count, what);
	w->lines[(*n)++] = w->texts[i];
}

static void warn_of_rate(struct warnings *w, size_t *n, unsigned i, const struct daemon *d)
{
	if (!d->limiter.halvings)
		return;
	snprintf(w->texts[i], sizeof(w->texts[i]),
		 "sampling at %" PRIu64 " Hz instead of %" PRIu64
		 ": profd took more of the machine than max_cpu=%g%%",
		 daemon_rate(d), d->config->frequency, 100 * d->config->max_cpu);
	w->lines[(*n)++] = w->texts[i];
}

static void gather_warnings(struct daemon *d, struct warnings *ret)
{
	struct process_table_stats processes;
	struct source_stats source = {};
	struct ledger ledger;
	uint64_t early = 0;
	size_t n = 0;

	*ret = (struct warnings){};
	while (d->warnings[n]) {
		ret->lines[n] = d->warnings[n];
		n++;
	}
	for (size_t i = 0; i < session_set_count(d->sessions); i++)
		early += session_set_get(d->sessions, i)->early_closes;
	process_table_get_stats(d->processes, &processes);
	samplers_total(session_set_samplers(d->sessions), &ledger, &source);
	warn_of(ret, &n, 0, early,
		"windows closed early for lack of memory: raise [memory] budget");
	warn_of(ret, &n, 1, processes.refused_mappings,
		"mappings were too many to keep: their addresses have no names");
	warn_of(ret, &n, 2, source.unfollowed,
		"children could not be followed: the filter was full or busy");
	warn_of_rate(ret, &n, 3, d);
	if (session_set_trouble(d->sessions))
		ret->lines[n++] = session_set_trouble(d->sessions);
	if (session_set_is_paused(d->sessions))
		ret->lines[n++] = "the system session is paused: profctl resume";
	if (d->output_state != WATCH_WELL)
		ret->lines[n++] = "a window has been being written for long: the disk is slow or "
				  "stuck";
}

static int op_status(void *userdata, const struct peer *peer, struct reply *reply)
{
	struct daemon *d = userdata;
	struct warnings warnings;
	const struct status_facts facts = {
		.sessions = d->sessions,
		.processes = d->processes,
		.source = d->source,
		.output = d->output,
		.unwinder = d->unwinder,
		.lateness = &d->lateness,
		.source_name = d->source->ops->name,
		.event = d->event.name,
		.frequency = daemon_rate(d),
		.attached = d->shim ? source_shim_count(d->shim) : 0,
		.store_path = d->store_path,
		.budget_bytes = d->config->memory_budget,
		.started_ns = d->started_ns,
		.warnings = warnings.lines,
		.last_flush = d->last_flush,
	};
	int r;

	gather_warnings(d, &warnings);
	r = status_reply(&facts, peer, reply);
	return r ? daemon_answer_fatal(d, reply, r) : CONTROL_DONE;
}

static int op_wanted(void *userdata, struct reply *reply)
{
	struct output_state output;
	struct daemon *d = userdata;

	output_get_state(d->output, &output);
	reply_build_ids(reply, &output.wanted);
	return CONTROL_DONE;
}

static int op_config(void *userdata, struct reply *reply)
{
	struct daemon *d = userdata;
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);
	int r = -ENOMEM;

	if (f) {
		r = config_print(d->config, f);
		if (fclose(f) != 0)
			r = -ENOMEM;
	}
	if (r)
		daemon_answer_fatal(d, reply, error_origin(r));
	else
		reply_text(reply, text);
	free(text);
	return CONTROL_DONE;
}

static unsigned op_n_sessions_of(void *userdata, uid_t uid)
{
	struct daemon *d = userdata;

	return session_set_count_of(d->sessions, uid);
}

const struct control_ops daemon_control_ops = {
	.start = op_start,
	.stop = daemon_op_stop,
	.stop_pid = daemon_op_stop_pid,
	.stop_all = daemon_op_stop_all,
	.hold = op_hold,
	.pause = op_pause,
	.status = op_status,
	.flush = daemon_op_flush,
	.epoch = daemon_op_epoch,
	.config = op_config,
	.list = daemon_op_list,
	.wanted = op_wanted,
	.collect = daemon_op_collect,
	.vacuum = daemon_op_vacuum,
	.attach = daemon_op_attach,
	.n_sessions_of = op_n_sessions_of,
};
