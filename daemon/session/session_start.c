/* SPDX-License-Identifier: MIT */
/*
 * A request is turned into a session in two steps: what it says and the defaults, then, for a
 * process, who that is: the one that the pidfd holds, and its descendants that live already.
 */
#include "daemon/session/session_start.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/control/policy.h"
#include "daemon/ingest/sources.h"
#include "daemon/resolve/proc.h"

void session_default_spec(const struct session_defaults *defaults, struct sampler_spec *ret)
{
	*ret = (struct sampler_spec){
		.event = defaults->event,
		.rate = defaults->frequency,
		.kernel_stacks = defaults->kernel_stacks,
		.max_depth = defaults->max_depth,
	};
}

/* The descendants of @pid that live already, to any depth. */
struct session_start_family {
	struct process_table *processes;
	struct session *session;
	bool grown;
};

static int adopt_descendant(void *userdata, const struct proc_stat *stat)
{
	struct session_start_family *family = userdata;
	struct process *parent = process_table_living(family->processes, stat->ppid);
	struct process *p = process_table_living(family->processes, stat->pid);

	int r;

	if (!p || !parent || session_is_member(family->session, p) ||
	    !session_is_member(family->session, parent))
		return 0;
	family->grown = true;
	r = process_table_confirm(family->processes, p);
	return r ? r : session_process_born(family->session, p, parent);
}

static int adopt_descendants(struct session *s, struct process_table *processes, int proc_fd)
{
	struct session_start_family family = {.processes = processes, .session = s, .grown = true};

	while (proc_fd >= 0 && family.grown) {
		int r;

		family.grown = false;
		r = proc_each(proc_fd, adopt_descendant, &family);
		if (r)
			return r;
	}
	return 0;
}

int session_resolve_target(struct session *s, struct process_table *processes, int proc_fd,
			   int pidfd, struct source_message *message)
{
	pid_t pid = (pid_t)s->target.number;
	struct proc_status status;
	struct process *p;
	int r;

	if (s->target.kind == TARGET_TID) {
		if (proc_read_status(proc_fd, pid, &status) || status.tgid <= 0)
			return session_refuse(message, "no thread %d is running", pid);
		pid = status.tgid;
	}
	p = process_table_living(processes, pid);
	/* When it has ended, its number may be another's. */
	if (!p || (pidfd >= 0 && !pidfd_is_alive(pidfd)))
		return session_refuse(message, "no process %d is running", pid);
	s->target.process = p->serial;
	r = process_table_confirm_again(processes, p);
	if (!r)
		r = session_process_born(s, p, NULL);
	if (!r && s->target.children)
		r = adopt_descendants(s, processes, proc_fd);
	return r;
}

static int apply_start_request(struct session *s, const struct session_defaults *defaults,
			       const struct peer *peer, const struct session_request *request,
			       struct source_message *message)
{
	int r;

	session_default_spec(defaults, &s->spec);
	if (request->event) {
		r = event_parse(request->event, &s->spec.event, message);
		if (r)
			return r < 0 ? r : SESSION_START_E_REFUSED;
	}
	if (request->rate) {
		s->spec.is_period = request->is_period;
		s->spec.rate = request->rate;
	}
	/* The configured rate is not what policy has judged. */
	if (!peer->privileged && !s->spec.is_period && s->spec.rate > POLICY_HZ_MAX)
		s->spec.rate = POLICY_HZ_MAX;
	s->wanted_rate = s->spec.rate;
	s->privileged = peer->privileged;
	s->hide_kernel = request->no_kernel;
	if (request->no_kernel)
		s->spec.kernel_stacks = false;
	s->writing = defaults->writing;
	if (request->formats)
		s->writing.formats = request->formats;
	s->writing.formats &= FORMATS_WINDOWS;
	s->started_ns = clock_ns(CLOCK_REALTIME);
	s->is_live = request->live;
	s->hold.is_wanted = request->held;
	s->hold.until_ns = clock_ns(CLOCK_MONOTONIC) + SESSION_UNHELD_NS;
	if (request->duration_ns)
		s->ends_ns = clock_ns(CLOCK_MONOTONIC) + request->duration_ns;
	return SESSION_START_E_OK;
}

static int name_session(struct session *s, const char *name)
{
	char text[256];

	if (name) {
		s->name = strdup(name);
	} else {
		session_describe_target(s, text, sizeof(text));
		for (char *c = text; *c; c++)
			if (*c == ' ')
				*c = '-';
		s->name = strdup(text);
	}
	if (!s->name)
		return error_origin(-ENOMEM);
	snprintf(text, sizeof(text), "s%" PRIu64 "-%s", s->id, s->name);
	s->directory = strdup(text);
	return s->directory ? 0 : error_origin(-ENOMEM);
}

int session_prepare(struct session **ret, uint64_t id, const struct session_defaults *defaults,
		    const struct peer *peer, const struct session_request *request,
		    struct source_message *message)
{
	cleanup(session_freep) struct session *s = NULL;
	int r;

	r = session_new(&s, id, request);
	if (r == SESSION_E_TARGET)
		return session_refuse(message, "cannot read the CPU list \"%s\"",
				      request->text ? request->text : "");
	if (!r)
		r = apply_start_request(s, defaults, peer, request, message);
	if (!r)
		r = name_session(s, request->name);
	if (r)
		return r;
	*ret = steal_ptr(&s);
	return SESSION_START_E_OK;
}
