/* SPDX-License-Identifier: MIT */
/*
 * The targets that go by what a process is (service, control group, user) need its unit and uid
 * early: when it is born if that decides who may see it, when a session starts, and then again and
 * again, because a process that moves into a session's unit tells nothing of it, unless another
 * session samples it.
 */
#include "daemon/session/session_set_private.h"

#define ASK_PARTS 10u /* ticks until all processes were asked for their units */

static bool target_needs_all(const struct session *s)
{
	return s->target.kind == TARGET_ALL || s->target.kind == TARGET_UID ||
	       s->target.kind == TARGET_COMM || s->target.kind == TARGET_CPUS;
}

bool session_processes_want_all(void *userdata, unsigned sampler)
{
	struct session_set *set = userdata;

	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *s = set->sessions[i];

		if (s->sampler == sampler && session_takes_samples(s) && target_needs_all(s))
			return true;
	}
	return false;
}

enum samplers_want session_processes_want(void *userdata, unsigned sampler, const struct process *p)
{
	struct session_set *set = userdata;
	enum samplers_want want = WANT_NOT;

	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *s = set->sessions[i];
		bool thread_only = s->target.kind == TARGET_PID || s->target.kind == TARGET_TID;

		if (s->sampler != sampler || !session_takes_samples(s) ||
		    !session_wants_process(s, p))
			continue;
		/* A unit's processes fork into the unit. */
		if (!thread_only || s->target.children)
			return WANT_CHILDREN;
		want = WANT_PROCESS;
	}
	return want;
}

/* Whether a new program's unit or uid decides at once who may see it. */
static bool sessions_need_units(const struct session_set *set)
{
	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *s = set->sessions[i];

		if (session_takes_samples(s) &&
		    (!s->privileged || s->target.kind == TARGET_SERVICE ||
		     s->target.kind == TARGET_CGROUP))
			return true;
	}
	return false;
}

static void sessions_note_error(struct session_set *set, int r)
{
	if (r < 0 && !set->error)
		set->error = r;
}

static void on_process_born(void *userdata, struct process *p, struct process *parent)
{
	struct session_set *set = userdata;

	for (size_t i = 0; i < set->n_sessions; i++)
		sessions_note_error(set, session_process_born(set->sessions[i], p, parent));
	/* systemd moves a service's process into its group before it execs. */
	if (parent && parent->pid == p->pid && sessions_need_units(set))
		sessions_note_error(set, process_table_confirm(set->processes, p));
	sessions_note_error(set, samplers_refilter_process(set->samplers, p, false));
}

static void on_process_changed(void *userdata, struct process *p)
{
	struct session_set *set = userdata;

	sessions_note_error(set, samplers_refilter_process(set->samplers, p, false));
}

static void on_process_died(void *userdata, struct process *p)
{
	struct session_set *set = userdata;

	sessions_note_error(set, samplers_refilter_process(set->samplers, p, true));
}

void session_processes_observe(struct session_set *set)
{
	process_table_observe(set->processes,
			      &(struct process_observer){.born = on_process_born,
							 .changed = on_process_changed,
							 .died = on_process_died,
							 .userdata = set});
}

static void confirm_process(void *userdata, struct process *p)
{
	struct session_set *set = userdata;

	sessions_note_error(set, process_table_confirm_again(set->processes, p));
}

void session_processes_confirm(struct session_set *set)
{
	process_table_each(set->processes, confirm_process, set);
}

static void confirm_process_part(void *userdata, struct process *p)
{
	struct session_set *set = userdata;

	if ((unsigned)p->pid % ASK_PARTS == set->asked)
		confirm_process(set, p);
}

void session_processes_follow(struct session_set *set)
{
	bool has_units = false;

	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *s = set->sessions[i];

		has_units |= session_takes_samples(s) &&
			     (s->target.kind == TARGET_SERVICE || s->target.kind == TARGET_CGROUP);
	}
	if (!has_units)
		return;
	set->asked = (set->asked + 1) % ASK_PARTS;
	process_table_each(set->processes, confirm_process_part, set);
}
