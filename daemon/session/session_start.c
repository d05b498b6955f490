/* SPDX-License-Identifier: MIT */
/*
 * A request is turned into a session in two steps: what it says and the defaults, then, for a
 * process, who that is: the one that the pidfd holds, and its descendants that live already.
 *
 * The system session is started, stopped, paused and tried again by attaching it to its samplers
 * and detaching it, like any other; it only outlives that.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "daemon/ingest/sources.h"
#include "daemon/resolve/proc.h"
#include "daemon/session/session_set_private.h"

static struct session_sampling default_sampling(const struct session_defaults *defaults)
{
	return (struct session_sampling){
		.spec = {.event = defaults->event,
			 .rate = defaults->frequency,
			 .kernel_stacks = defaults->kernel_stacks,
			 .max_depth = defaults->max_depth},
		.wanted_rate = defaults->frequency,
		.sampler = SESSION_NO_SAMPLER,
	};
}

static struct session_sampling default_waits(const struct session_defaults *defaults)
{
	struct session_sampling waits = default_sampling(defaults);

	waits.spec.event = defaults->off_cpu;
	waits.spec.rate = waits.wanted_rate = defaults->off_cpu_frequency;
	return waits;
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

static int adopt_descendants(struct session_set *set, struct session *s)
{
	struct session_start_family family = {.processes = set->processes,
					      .session = s,
					      .grown = true};

	while (set->proc_fd >= 0 && family.grown) {
		int r;

		family.grown = false;
		r = proc_each(set->proc_fd, adopt_descendant, &family);
		if (r)
			return r;
	}
	return 0;
}

/*
 * Finds the process that a PID or TID target means, and its descendants if they are wanted.
 * @pidfd: of the process that was asked for, or -1.
 */
static int resolve_target(struct session_set *set, struct session *s, int pidfd,
			  struct source_message *message)
{
	pid_t pid = (pid_t)s->target.number;
	struct proc_status status;
	struct process *p;
	int r = session_set_drain(set); /* events that wait may hold its birth */

	if (r)
		return r;
	if (s->target.kind == TARGET_TID) {
		if (proc_read_status(set->proc_fd, pid, &status) || status.tgid <= 0)
			return source_refuse(message, SESSION_START_E_REFUSED,
					     "no thread %d is running", pid);
		pid = status.tgid;
	}
	p = process_table_living(set->processes, pid);
	/* When it has ended, its number may be another's. */
	if (!p || pidfd_has_ended(pidfd))
		return source_refuse(message, SESSION_START_E_REFUSED, "no process %d is running",
				     pid);
	s->target.process = p->serial;
	r = process_table_confirm_again(set->processes, p) ?: session_process_born(s, p, NULL);
	if (!r && s->target.children)
		r = adopt_descendants(set, s);
	return r;
}

/* Which samplers it is to have, as the defaults are. SESSION_START_E_* or negative errno. */
static int choose_events(struct session *s, const struct session_defaults *defaults,
			 const char *event, struct source_message *message)
{
	struct event parsed;
	int r;

	s->samplings[0] = default_sampling(defaults);
	s->samplings[1] = default_waits(defaults);
	s->n_samplings = 1;
	if (strcmp(event, EVENT_WALL) == 0) {
		s->n_samplings = 2;
		return SESSION_START_E_OK;
	}
	if (!*event)
		return SESSION_START_E_OK;
	r = event_parse(event, &parsed, message);
	if (r)
		return r < 0 ? r : SESSION_START_E_REFUSED;
	if (strcmp(parsed.name, defaults->off_cpu.name) == 0)
		s->samplings[0] = s->samplings[1];
	s->samplings[0].spec.event = parsed;
	return SESSION_START_E_OK;
}

static void choose_rate(const struct session *s, struct session_sampling *sampling,
			const struct peer *peer, const Profd__Control__Start *start)
{
	struct sampler_spec *spec = &sampling->spec;

	if (start->rate) {
		spec->is_period = start->is_period;
		spec->rate = start->rate;
	}
	/* A period of wall time is time, also where CPU time is that of a counter. */
	if (s->n_samplings > 1 && spec->is_period && !spec->event.is_clock) {
		spec->is_period = false;
		spec->rate = spec->rate < NS_PER_S ? NS_PER_S / spec->rate : 1;
	}
	/* The configured rate is not what policy has judged. */
	if (!peer->privileged && !spec->is_period && spec->rate > POLICY_HZ_MAX)
		spec->rate = POLICY_HZ_MAX;
	sampling->wanted_rate = spec->rate;
	if (start->no_kernel)
		spec->kernel_stacks = false;
}

/* Wakers are sampled where they are a label. */
static void choose_wakers(struct session *s)
{
	for (unsigned i = 0; i < s->n_samplings; i++) {
		struct sampler_spec *spec = &s->samplings[i].spec;

		spec->has_wakers = spec->event.cause == CAUSE_SCHEDULER &&
				   s->writing.labels & LABEL_WAKER;
	}
}

static int apply_start_request(struct session *s, const struct session_defaults *defaults,
			       const struct peer *peer, const Profd__Control__Start *start,
			       struct source_message *message)
{
	int r = choose_events(s, defaults, start->event, message);

	if (r)
		return r;
	for (unsigned i = 0; i < s->n_samplings; i++)
		choose_rate(s, &s->samplings[i], peer, start);
	s->owner = peer->uid;
	s->privileged = peer->privileged;
	s->hide_kernel = start->no_kernel;
	s->writing = defaults->writing;
	if (start->wakers)
		s->writing.labels |= LABEL_WAKER;
	if (start->latency && !session_cpu_period(s))
		return source_refuse(message, SESSION_START_E_REFUSED,
				     "latency needs CPU time; the event is %s", session_event(s));
	s->writing.latency |= start->latency;
	choose_wakers(s);
	if (start->n_formats)
		s->writing.formats = 0;
	for (size_t i = 0; i < start->n_formats; i++)
		s->writing.formats |= 1u << start->formats[i];
	s->writing.formats &= FORMATS_WINDOWS;
	s->started_ns = clock_ns(CLOCK_REALTIME);
	s->is_live = start->live;
	s->hold.is_wanted = start->held;
	s->hold.until_ns = clock_ns(CLOCK_MONOTONIC) + SESSION_UNHELD_NS;
	if (start->duration_ns)
		s->ends_ns = clock_ns(CLOCK_MONOTONIC) + start->duration_ns;
	return SESSION_START_E_OK;
}

static int name_session(struct session *s, const char *name)
{
	char text[256];

	if (*name) {
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

static int prepare_session(struct session **ret, struct session_set *set, const struct peer *peer,
			   const Profd__Control__Start *start, int pidfd,
			   struct source_message *message)
{
	cleanup(session_freep) struct session *s = NULL;
	int r = session_new(&s, set->next_id, start)
		?: apply_start_request(s, &set->defaults, peer, start, message)
		?: name_session(s, start->name);

	if (!r && target_is_task(start->target))
		r = resolve_target(set, s, pidfd, message);
	if (!r)
		*ret = steal_ptr(&s);
	return r;
}

int session_set_start(struct session_set *set, const struct peer *peer,
		      const Profd__Control__Start *start, int pidfd, struct session **ret,
		      struct source_message *message)
{
	struct places places = {.max = set->defaults.max_sessions};
	struct session *s = NULL;
	int r;

	for (size_t i = 0; i < set->n_sessions; i++)
		if (set->sessions[i]->state != SESSION_ENDED)
			places_count(&places, peer, set->sessions[i]->owner,
				     set->sessions[i]->privileged);
	if (!places_has_room(&places, peer))
		return source_refuse(message, SESSION_START_E_REFUSED,
				     "%u sessions are running%s (max_sessions=%u)", places.n,
				     places.n < places.max ? "; the rest is kept for others"
							   : ", the maximum",
				     places.max);
	r = prepare_session(&s, set, peer, start, pidfd, message);
	if (r)
		return r;
	if (start->target == TARGET_SERVICE || start->target == TARGET_CGROUP ||
	    start->target == TARGET_UID)
		session_samplers_confirm(set);
	r = session_set_add(set, s);
	if (r)
		return r;
	r = session_windows_attach(set, s, message);
	if (r) {
		session_set_remove(set, s);
		return r < 0 ? r : SESSION_START_E_REFUSED;
	}
	set->next_id++;
	*ret = s;
	return SESSION_START_E_OK;
}

static struct session *system_session(const struct session_set *set)
{
	return session_set_find(set, 0);
}

/* It joins the set, without a sampler yet. */
static int add_system_session(struct session_set *set, struct session **ret)
{
	const Profd__Control__Start everything = PROFD__CONTROL__START__INIT;
	cleanup(session_freep) struct session *s = NULL;
	int r = session_new(&s, 0, &everything);

	if (r)
		return r;
	s->privileged = true;
	s->started_ns = clock_ns(CLOCK_REALTIME);
	s->name = strdup("system");
	if (!s->name)
		return error_origin(-ENOMEM);
	*ret = s;
	return session_set_add(set, steal_ptr(&s));
}

int session_set_start_system(struct session_set *set, struct source_message *message)
{
	struct session *s = system_session(set);
	int r = 0;

	if (!s)
		r = add_system_session(set, &s);
	else if (session_is_attached(s))
		r = session_windows_detach(set, s, NULL);
	if (r)
		return r;
	s->samplings[0] = default_sampling(&set->defaults);
	s->samplings[1] = default_waits(&set->defaults);
	s->samplings[1].is_optional = true;
	s->n_samplings = set->defaults.has_waits ? 2 : 1;
	set->waits_trouble.text[0] = '\0';
	s->writing = set->defaults.writing;
	choose_wakers(s);
	s->exclude_services = set->defaults.exclude_services;
	s->exclude_comms = set->defaults.exclude_comms;
	s->state = SESSION_RUNNING; /* again, if it had been stopped */
	set->in_trouble = false;
	return s->paused_until_ns ? 0 : session_windows_try(set, s, message);
}

int session_set_stop_system(struct session_set *set)
{
	struct session *s = system_session(set);

	return s ? session_set_stop(set, s, NULL) : 0;
}

const char *session_set_trouble(const struct session_set *set)
{
	return set->in_trouble ? set->trouble.text : NULL;
}

const char *session_set_waits_trouble(const struct session_set *set)
{
	return *set->waits_trouble.text ? set->waits_trouble.text : NULL;
}

uint64_t session_set_waits_rate(const struct session_set *set)
{
	const struct session *s = system_session(set);
	const struct session_sampling *waits = s ? &s->samplings[1] : NULL;

	return waits && s->n_samplings > 1 && waits->sampler != SESSION_NO_SAMPLER
		       ? waits->spec.rate
		       : 0;
}

int session_set_pause(struct session_set *set, uint64_t until_ns)
{
	struct session *s = system_session(set);
	int r = 0;

	if (!s || s->state != SESSION_RUNNING)
		return SESSION_PAUSE_E_OFF;
	if (!s->paused_until_ns)
		r = session_windows_detach(set, s, NULL);
	s->paused_until_ns = until_ns;
	return r;
}

int session_set_resume(struct session_set *set)
{
	struct session *s = system_session(set);
	struct source_message message;
	uint64_t until_ns;
	int r;

	if (!s || s->state != SESSION_RUNNING)
		return SESSION_PAUSE_E_OFF;
	until_ns = s->paused_until_ns;
	if (!until_ns)
		return SESSION_PAUSE_E_OK;
	s->paused_until_ns = 0;
	r = session_windows_attach(set, s, &message);
	if (r <= 0)
		return r;
	s->paused_until_ns = until_ns;
	return SESSION_PAUSE_E_REFUSED;
}

uint64_t session_set_paused_until(const struct session_set *set)
{
	const struct session *s = system_session(set);

	return s && s->state == SESSION_RUNNING ? s->paused_until_ns : 0;
}

int session_system_retry(struct session_set *set, uint64_t now_ns)
{
	struct session *s = system_session(set);
	uint64_t paused_until_ns = session_set_paused_until(set);
	struct source_message message;
	int r;

	if (paused_until_ns && now_ns >= paused_until_ns) {
		s->paused_until_ns = 0;
		r = session_windows_try(set, s, &message);
		return r < 0 ? r : 0;
	}
	if (!set->in_trouble || now_ns < set->retry_ns || !s || s->state != SESSION_ENDED)
		return 0;
	s->state = SESSION_RUNNING;
	set->in_trouble = false;
	r = session_windows_try(set, s, &message);
	return r < 0 ? r : 0;
}
