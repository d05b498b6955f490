/* SPDX-License-Identifier: MIT */
/*
 * The samplers in use, shared by sessions of the same event and rate, and their filters in the
 * kernel, which follow what the targets of their sessions want.
 *
 * The targets that go by what a process is (service, control group, user) need its unit and uid
 * early: when it is born if that decides who may see it, when a session starts, and then again and
 * again, because a process that moves into a session's unit tells nothing of it, unless another
 * session samples it.
 */
#include "daemon/ingest/sources.h"
#include "daemon/session/session_set_private.h"

#define ASK_PARTS 10u /* ticks until all processes were asked for their units */

static bool same_spec(const struct sampler_spec *a, const struct sampler_spec *b)
{
	return a->event.cause == b->event.cause && a->event.type == b->event.type &&
	       a->event.config == b->event.config &&
	       a->event.exclude_user == b->event.exclude_user &&
	       a->event.exclude_kernel == b->event.exclude_kernel && a->is_period == b->is_period &&
	       a->rate == b->rate && a->kernel_stacks == b->kernel_stacks &&
	       a->max_depth == b->max_depth && a->has_wakers == b->has_wakers;
}

int session_samplers_acquire(struct session_set *set, const struct sampler_spec *spec,
			     unsigned spare, unsigned *ret, struct source_message *message)
{
	unsigned n_used = 0;
	int r;

	for (unsigned i = 0; i < SAMPLERS_MAX; i++) {
		n_used += set->samplers[i].n_users > 0;
		if (!set->samplers[i].n_users || !same_spec(&set->source->samplers[i].spec, spec))
			continue;
		set->samplers[i].n_users++;
		*ret = i;
		return SOURCE_E_OK;
	}
	if (n_used + spare >= SAMPLERS_MAX)
		return source_refuse(message, SOURCE_E_FULL,
				     "%u different events and rates are in use; use one of them, "
				     "or stop a session",
				     n_used);
	r = source_add_sampler(set->source, spec, ret, message);
	if (r)
		return r;
	set->samplers[*ret] = (struct session_sampler){.n_users = 1};
	if (set->recorder)
		recorder_sampler(set->recorder, *ret, spec);
	return SOURCE_E_OK;
}

static void keep_larger(uint64_t *to, uint64_t from)
{
	if (from > *to)
		*to = from;
}

static void add_stats(struct source_stats *to, const struct source_stats *from)
{
	to->idle += from->idle;
	to->excluded += from->excluded;
	to->self += from->self;
	to->outside += from->outside;
	to->throttled += from->throttled;
	to->bpf_run_ns += from->bpf_run_ns;
	to->watch_ns += from->watch_ns;
#define ADD_CLOCK(n) to->n += from->n;
	SOURCE_CLOCK_COUNTERS(ADD_CLOCK)
#undef ADD_CLOCK
	/* Of these, each tells of all samplers. */
	keep_larger(&to->unfollowed, from->unfollowed);
#define KEEP_LARGER(n) keep_larger(&to->n, from->n);
	SOURCE_ROOT_COUNTERS(KEEP_LARGER)
#undef KEEP_LARGER
}

/* Takes over what the source knows of a sampler. */
static int sampler_update(struct session_set *set, unsigned sampler, struct source_stats *ret)
{
	int r = source_get_stats(set->source, sampler, ret);

	if (!r)
		ledger_set_source(&set->samplers[sampler].ledger, ret);
	return r;
}

int session_samplers_ledgers(struct session_set *set, const struct session *s, struct ledgers *ret)
{
	struct source_stats stats;
	int r = 0;

	*ret = (struct ledgers){0};
	for (unsigned i = 0; i < s->n_samplings && !r; i++) {
		const unsigned sampler = s->samplings[i].sampler;

		if (sampler == SESSION_NO_SAMPLER)
			continue;
		r = sampler_update(set, sampler, &stats);
		ret->all[i] = set->samplers[sampler].ledger;
	}
	return r;
}

int session_samplers_release(struct session_set *set, unsigned sampler, struct ledger *ret_last)
{
	struct session_sampler *released = &set->samplers[sampler];
	bool is_last = released->n_users == 1;
	struct source_stats stats;
	int r = is_last ? source_remove_sampler(set->source, sampler)
			: source_account(set->source, sampler) ?: session_set_drain(set);

	/* Still counted as in use while its last samples arrive. */
	if (!r && set->settle)
		r = set->settle(set->settle_userdata, sampler, is_last);
	if (!r)
		r = sampler_update(set, sampler, &stats);
	if (r)
		return r;
	*ret_last = released->ledger;
	released->n_users--;
	if (is_last) {
		ledger_add(&set->retired, &released->ledger);
		add_stats(&set->retired_stats, &stats);
	}
	return 0;
}

int session_set_total(struct session_set *set, struct ledger *ret, struct source_stats *ret_stats)
{
	struct source_stats stats;
	int r;

	*ret = set->retired;
	*ret_stats = set->retired_stats;
	for (unsigned i = 0; i < SAMPLERS_MAX; i++) {
		if (!set->samplers[i].n_users)
			continue;
		r = sampler_update(set, i, &stats);
		if (r)
			return r;
		ledger_add(ret, &set->samplers[i].ledger);
		add_stats(ret_stats, &stats);
	}
	return 0;
}

static bool wants_all(const struct session_set *set, unsigned sampler)
{
	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *s = set->sessions[i];

		if (session_has_sampler(s, sampler) && session_takes_samples(s) &&
		    (s->target.kind == TARGET_ALL || s->target.kind == TARGET_UID ||
		     s->target.kind == TARGET_COMM || s->target.kind == TARGET_CPUS))
			return true;
	}
	return false;
}

/* Has the filter of @sampler treat @p as the sessions want it. */
static int filter_process(struct session_set *set, unsigned sampler, const struct process *p)
{
	bool is_wanted = false, children = false;
	int r;

	for (size_t i = 0; i < set->n_sessions && !children; i++) {
		const struct session *s = set->sessions[i];

		if (!session_has_sampler(s, sampler) || !session_takes_samples(s) ||
		    !session_wants_process(s, p))
			continue;
		is_wanted = true;
		/* A unit's processes fork into the unit. */
		children = s->target.children || !target_is_task(s->target.kind);
	}
	if (is_wanted && !p->kernel_thread)
		r = source_add_pid(set->source, sampler, p->pid, children);
	else
		r = source_remove_pid(set->source, sampler, p->pid);
	/* A full filter costs samples, which the source counts as excluded; it ends nothing. */
	return r < 0 ? r : 0;
}

struct session_samplers_filter {
	struct session_set *set;
	unsigned sampler;
	int error;
};

static void filter_one(void *userdata, struct process *p)
{
	struct session_samplers_filter *filter = userdata;

	if (!filter->error)
		filter->error = filter_process(filter->set, filter->sampler, p);
}

int session_samplers_refilter(struct session_set *set, unsigned sampler)
{
	struct session_samplers_filter filter = {.set = set, .sampler = sampler};
	bool all = wants_all(set, sampler);

	if (!set->samplers[sampler].n_users)
		return 0;
	if (!all)
		process_table_each(set->processes, filter_one, &filter);
	if (filter.error || all == set->source->samplers[sampler].spec.all)
		return filter.error;
	return source_set_all(set->source, sampler, all);
}

static void note_error(struct session_set *set, int r)
{
	if (r < 0 && !set->error)
		set->error = r;
}

/* @p was born, changed, or has died. */
static void filter_everywhere(struct session_set *set, const struct process *p, bool is_dead)
{
	for (unsigned i = 0; i < SAMPLERS_MAX; i++)
		if (set->samplers[i].n_users && !set->source->samplers[i].spec.all)
			note_error(set, is_dead ? source_remove_pid(set->source, i, p->pid)
						: filter_process(set, i, p));
}

static bool targets_unit(const struct session *s)
{
	return session_takes_samples(s) &&
	       (s->target.kind == TARGET_SERVICE || s->target.kind == TARGET_CGROUP);
}

/* Whether a new program's unit or uid decides at once who may see it. */
static bool sessions_need_units(const struct session_set *set)
{
	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *s = set->sessions[i];

		if (targets_unit(s) || (session_takes_samples(s) && !s->privileged))
			return true;
	}
	return false;
}

static void on_process_born(void *userdata, struct process *p, struct process *parent)
{
	struct session_set *set = userdata;
	bool is_exec = parent && parent->pid == p->pid;

	for (size_t i = 0; i < set->n_sessions; i++)
		note_error(set, session_process_born(set->sessions[i], p, parent));
	/* Its owner is about to become known; until then it stays in the filter, or out of it. */
	if (is_exec && source_tells_lives(set->source))
		return;
	if (is_exec && sessions_need_units(set))
		note_error(set, process_table_confirm(set->processes, p));
	filter_everywhere(set, p, false);
}

/* systemd moves a service's process into its group before it execs. */
static void on_process_changed(void *userdata, struct process *p)
{
	struct session_set *set = userdata;

	if (sessions_need_units(set))
		note_error(set, process_table_confirm(set->processes, p));
	filter_everywhere(set, p, false);
}

static void on_process_died(void *userdata, struct process *p)
{
	filter_everywhere(userdata, p, true);
}

void session_samplers_observe(struct session_set *set)
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

	note_error(set, process_table_confirm_again(set->processes, p));
}

void session_samplers_confirm(struct session_set *set)
{
	process_table_each(set->processes, confirm_process, set);
}

static void confirm_process_part(void *userdata, struct process *p)
{
	struct session_set *set = userdata;

	if ((unsigned)p->pid % ASK_PARTS == set->asked)
		confirm_process(set, p);
}

void session_samplers_follow(struct session_set *set)
{
	bool has_units = false;

	for (size_t i = 0; i < set->n_sessions; i++)
		has_units |= targets_unit(set->sessions[i]);
	if (!has_units)
		return;
	set->asked = (set->asked + 1) % ASK_PARTS;
	process_table_each(set->processes, confirm_process_part, set);
}
