/* SPDX-License-Identifier: MIT */
/*
 * A table of the samplers in use, shared by sessions of the same event and rate. What those that
 * are gone counted is kept as one sum, so that totals never go back.
 */
#include "daemon/session/samplers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "daemon/ingest/sources.h"

struct sampler {
	unsigned n_users; /* 0: not in use */
	bool all;         /* the filter lets everything pass */
	struct sampler_spec spec;
	struct ledger ledger;
};

struct samplers {
	struct source *source;
	struct process_table *processes;
	struct samplers_policy policy;
	struct recorder *recorder;
	struct sampler samplers[SAMPLERS_MAX];
	struct ledger retired;
	struct source_stats retired_stats;
};

int samplers_new(struct samplers **ret, struct source *source, struct process_table *processes,
		 const struct samplers_policy *policy)
{
	struct samplers *s = calloc(1, sizeof(*s));

	if (!s)
		return error_origin(-ENOMEM);
	s->source = source;
	s->processes = processes;
	s->policy = *policy;
	*ret = s;
	return 0;
}

void samplers_free(struct samplers *s)
{
	free(s);
}

void samplers_record(struct samplers *s, struct recorder *recorder)
{
	s->recorder = recorder;
}

static bool same_spec(const struct sampler_spec *a, const struct sampler_spec *b)
{
	return a->event.cause == b->event.cause && a->event.type == b->event.type &&
	       a->event.config == b->event.config &&
	       a->event.exclude_user == b->event.exclude_user &&
	       a->event.exclude_kernel == b->event.exclude_kernel && a->is_period == b->is_period &&
	       a->rate == b->rate && a->kernel_stacks == b->kernel_stacks &&
	       a->max_depth == b->max_depth;
}

int samplers_acquire(struct samplers *s, const struct sampler_spec *spec, unsigned spare,
		     unsigned *ret, struct source_message *message)
{
	struct sampler_spec wanted = *spec;
	unsigned index, n_used = 0;
	int r;

	for (index = 0; index < SAMPLERS_MAX; index++) {
		struct sampler *sampler = &s->samplers[index];

		n_used += sampler->n_users > 0;
		if (!sampler->n_users || !same_spec(&sampler->spec, spec))
			continue;
		sampler->n_users++;
		*ret = index;
		return SOURCE_E_OK;
	}
	if (n_used + spare >= SAMPLERS_MAX) {
		snprintf(message->text, sizeof(message->text),
			 "%u different events and rates are in use; use one of them, or stop a "
			 "session",
			 n_used);
		return SOURCE_E_FULL;
	}
	wanted.all = false;
	r = source_add_sampler(s->source, &wanted, &index, message);
	if (r)
		return r;
	s->samplers[index] = (struct sampler){.n_users = 1, .spec = wanted};
	if (s->recorder)
		recorder_sampler(s->recorder, index, &wanted);
	*ret = index;
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
	to->throttled += from->throttled;
	to->bpf_run_ns += from->bpf_run_ns;
	/* Of these, each tells of all samplers. */
	keep_larger(&to->unfollowed, from->unfollowed);
#define KEEP_LARGER(n) keep_larger(&to->n, from->n);
	SOURCE_ROOT_COUNTERS(KEEP_LARGER)
#undef KEEP_LARGER
}

/* Takes over what the source knows of a sampler. */
static int sampler_update(struct samplers *s, unsigned index, struct source_stats *ret)
{
	int r = source_get_stats(s->source, index, ret);

	if (!r)
		ledger_set_source(&s->samplers[index].ledger, ret);
	return r;
}

int samplers_release(struct samplers *s, unsigned index, struct ledger *ret_last)
{
	struct sampler *sampler = &s->samplers[index];
	struct source_stats stats;
	int r;

	if (sampler->n_users > 1) {
		r = s->policy.settle(s->policy.userdata, index, false);
		if (r)
			return r;
		sampler->n_users--;
		return samplers_ledger(s, index, ret_last);
	}
	/* Still counted as in use while its last samples arrive. */
	r = source_remove_sampler(s->source, index);
	if (!r)
		r = s->policy.settle(s->policy.userdata, index, true);
	if (!r)
		r = sampler_update(s, index, &stats);
	if (r)
		return r;
	ledger_add(&s->retired, &sampler->ledger);
	add_stats(&s->retired_stats, &stats);
	*ret_last = sampler->ledger;
	*sampler = (struct sampler){};
	return 0;
}

static int apply_want(struct samplers *s, unsigned index, const struct process *p)
{
	enum samplers_want want = s->policy.wants(s->policy.userdata, index, p);
	int r;

	if (p->kernel_thread || want == WANT_NOT)
		r = source_remove_pid(s->source, index, p->pid);
	else
		r = source_add_pid(s->source, index, p->pid, want == WANT_CHILDREN);
	/* A full filter costs samples, which the source counts as excluded; it ends nothing. */
	return r < 0 ? r : 0;
}

struct refilter {
	struct samplers *samplers;
	unsigned index;
	int error;
};

static void refilter_one(void *userdata, struct process *p)
{
	struct refilter *refilter = userdata;

	if (!refilter->error)
		refilter->error = apply_want(refilter->samplers, refilter->index, p);
}

int samplers_refilter(struct samplers *s, unsigned index)
{
	struct refilter refilter = {.samplers = s, .index = index};
	struct sampler *sampler = &s->samplers[index];
	bool all = s->policy.wants_all(s->policy.userdata, index);
	int r;

	if (!sampler->n_users)
		return 0;
	if (!all)
		process_table_each(s->processes, refilter_one, &refilter);
	if (refilter.error)
		return refilter.error;
	if (all == sampler->all)
		return 0;
	r = source_set_all(s->source, index, all);
	if (!r)
		sampler->all = all;
	return r;
}

int samplers_refilter_process(struct samplers *s, const struct process *p, bool is_dead)
{
	int r;

	for (unsigned i = 0; i < SAMPLERS_MAX; i++) {
		if (!s->samplers[i].n_users || s->samplers[i].all)
			continue;
		r = is_dead ? source_remove_pid(s->source, i, p->pid) : apply_want(s, i, p);
		if (r < 0)
			return r;
	}
	return 0;
}

void samplers_count(struct samplers *s, const struct sample *sample)
{
	ledger_count(&s->samplers[sample->sampler].ledger, sample);
}

int samplers_ledger(struct samplers *s, unsigned index, struct ledger *ret)
{
	struct source_stats stats;
	int r = sampler_update(s, index, &stats);

	if (!r)
		*ret = s->samplers[index].ledger;
	return r;
}

int samplers_total(struct samplers *s, struct ledger *ret, struct source_stats *ret_stats)
{
	struct source_stats stats, total = s->retired_stats;
	struct ledger ledger = s->retired;
	int r;

	for (unsigned i = 0; i < SAMPLERS_MAX; i++) {
		if (!s->samplers[i].n_users)
			continue;
		r = sampler_update(s, i, &stats);
		if (r)
			return r;
		ledger_add(&ledger, &s->samplers[i].ledger);
		add_stats(&total, &stats);
	}
	*ret = ledger;
	*ret_stats = total;
	return 0;
}
