/* SPDX-License-Identifier: MIT */
/*
 * Where a process belongs: which unit, which user. A child begins where its parent was; /proc is
 * asked when a program is first sampled or first forks, and again later, because processes move.
 * Where the source reports moves and users, it is asked only once for each family and each move,
 * and now and then for those that are sampled, as groups of version 1 can be renamed. What was
 * counted before a move stays with the unit before.
 *
 * Who is gone when it would be asked may have moved since it was forked, as what a container
 * manager runs in a container does. Its samples tell the id of its group of version 2, whose unit
 * that group's path tells, or others that were asked (process_groups.c). Where there is no other
 * hierarchy, a path tells all there is to know, and nobody is asked who is in a group that has one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/resolve/proc.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/process_private.h"

/* Asking takes about 40 us. */
#define ASK_MOVED_NS (100 * NS_PER_MS)
#define ASK_AGAIN_NS (10 * NS_PER_S)

/* The bytes of @text at *@at, which moves behind them; NULL if it is empty. */
static char *process_unit_put_text(char **at, const char *text)
{
	char *put = *at;

	if (!text[0])
		return NULL;
	*at = stpcpy(put, text) + 1;
	return put;
}

int process_unit_new(struct process_unit **ret, const char *service, const char *cgroup,
		     const char *container)
{
	size_t length = strlen(service) + strlen(cgroup) + strlen(container) + 3;
	struct process_unit *unit = calloc(1, sizeof(*unit) + length);
	char *at;

	if (!unit)
		return error_origin(-ENOMEM);
	at = unit->texts;
	unit->n_references = 1;
	unit->service = process_unit_put_text(&at, service);
	unit->cgroup = process_unit_put_text(&at, cgroup);
	unit->container = process_unit_put_text(&at, container);
	*ret = unit;
	return 0;
}

struct process_unit *process_unit_ref(struct process_unit *unit)
{
	unit->n_references++;
	return unit;
}

void process_unit_unref(struct process_unit *unit)
{
	if (!unit || --unit->n_references)
		return;
	container_unref(unit->in);
	free(unit);
}

const char *process_unit_service(const struct process_unit *unit)
{
	const struct container_names *names = unit->in ? container_names(unit->in) : NULL;

	return names && names->service[0] ? names->service : unit->service;
}

int process_make_unit(struct process_table *t, const struct unit *unit, struct process_unit **ret)
{
	cleanup(process_unit_unrefp) struct process_unit *made = NULL;
	int r = process_unit_new(&made, unit->service, unit->cgroup, unit->container)
			?: containers_find(t->containers, unit->cgroup, &made->in);

	if (!r)
		*ret = steal_ptr(&made);
	return r;
}

static bool same_text(const char *kept, const char *text)
{
	return kept ? strcmp(kept, text) == 0 : !text[0];
}

bool process_unit_is(const struct process_unit *unit, const char *service, const char *cgroup,
		     const char *container)
{
	return same_text(unit->service, service) && same_text(unit->cgroup, cgroup) &&
	       same_text(unit->container, container);
}

static bool set_owner(struct process *p, uid_t uid, bool only_uid)
{
	bool changed = !p->uid_known || p->uid != uid || p->only_uid != only_uid;

	p->uid = uid;
	p->uid_known = true;
	p->only_uid = only_uid;
	return changed;
}

static void notify_changed(struct process_table *t, struct process *p)
{
	if (t->observer.changed)
		t->observer.changed(t->observer.userdata, p);
}

/* What was counted up to now was of the unit before. Takes the reference on @unit. */
static void begin_stay(struct process_table *t, struct process *p, struct process_unit *unit)
{
	process_unit_unref(p->unit);
	p->unit = unit;
	p->stay = t->next_serial++;
	p->group_known = false;
}

static int set_unit(struct process_table *t, struct process *p, const struct unit *unit,
		    bool *ret_changed)
{
	struct process_unit *made;
	int r;

	p->unit_is_of_group = unit->is_of_group;
	if (process_unit_is(p->unit, unit->service, unit->cgroup, unit->container))
		return 0;
	r = process_make_unit(t, unit, &made);
	if (r)
		return r;
	begin_stay(t, p, made);
	*ret_changed = true;
	return 0;
}

/* @owner_known: from the kernel. */
static int process_ask(struct process_table *t, struct process *p, bool owner_known)
{
	struct unit unit = {.service = "kernel"};
	bool only_uid, changed = false;
	uid_t uid;
	int r;

	p->unit_told = p->kernel_thread;
	p->asked_ns = clock_ns(CLOCK_MONOTONIC);
	if (p->kernel_thread)
		return set_unit(t, p, &unit, &changed);
	if (t->proc_fd < 0)
		return 0;
	r = owner_known ? 0 : proc_read_owner(t->proc_fd, p->pid, &uid, &only_uid);
	if (!r && !owner_known)
		changed = set_owner(p, uid, only_uid);
	if (!r)
		r = proc_read_unit(t->proc_fd, p->pid, p->uid, &unit);
	if (!r) {
		p->unit_told = unit.service[0];
		t->groups_decide = !unit.has_others;
		r = p->unit_told ? set_unit(t, p, &unit, &changed) : 0;
		if (!r && p->unit_told)
			p->unit->asked_ns = p->asked_ns;
	}
	if (changed)
		notify_changed(t, p);
	return r < 0 ? r : 0;
}

int process_table_confirm_again(struct process_table *t, struct process *p)
{
	return process_ask(t, p, false);
}

/* Asks /proc for the unit and owner of @p, once. A process that is gone keeps what it inherited. */
int process_table_confirm(struct process_table *t, struct process *p)
{
	/* /proc shows the newest program of a pid; the others keep what they inherited. */
	if ((p->asked_ns && p->uid_known) || process_newest(t, p->pid) != p)
		return 0;
	return process_ask(t, p, t->lives_told && p->uid_known);
}

/*
 * Whether /proc is to be asked where @p belongs: for the first sample, or when it moved; unless
 * moves are reported, soon after the kernel showed it in another group of version 2; and now and
 * then, because there are hierarchies without ids, groups can be renamed there, and uids change.
 * The threads of a process may be in several groups, so that ids alone would have it asked for each
 * sample. Where moves are reported, one of a family answers for all that share its unit.
 */
static bool is_due(const struct process_table *t, const struct process *p,
		   const struct sample *sample)
{
	bool same_group = t->lives_told || sample->cgroup_id == p->cgroup_id;
	uint64_t asked_ns = p->asked_ns;

	if (asked_ns && t->lives_told && p->unit_told && asked_ns < p->unit->asked_ns)
		asked_ns = p->unit->asked_ns;
	return !asked_ns ||
	       sample->time_ns >
		       asked_ns + (same_group && p->uid_known ? ASK_AGAIN_NS : ASK_MOVED_NS);
}

void process_place_by_owner(struct process_table *t, struct process *p, uid_t uid, bool only_uid)
{
	uid_t before = p->uid;

	if (!set_owner(p, uid, only_uid))
		return;
	if (before != p->uid)
		p->asked_ns = 0;
	notify_changed(t, p);
}

static bool is_same_unit(const struct process_unit *a, const struct process_unit *b)
{
	return a == b || process_unit_is(a, b->service, b->cgroup ? b->cgroup : "",
					 b->container ? b->container : "");
}

/*
 * Moves @p into the group, if that tells a unit; *ret_placed says. A group's path decides alone
 * only where there are no other hierarchies, unless it names the unit. Its unit is the same for
 * all.
 */
static int place_in_group(struct process_table *t, struct process *p, uint64_t id, bool *ret_placed)
{
	const struct group *group;
	struct unit unit;
	bool changed = false;
	int r = process_find_group(t, id, &group);

	*ret_placed = !r && group && (group->unit || (group->path && t->groups_decide));
	if (!*ret_placed)
		return r;
	if (!group->unit) {
		unit_parse_group(group->path, p->uid, &unit);
		r = set_unit(t, p, &unit, &changed);
	} else if (!is_same_unit(p->unit, group->unit)) {
		begin_stay(t, p, process_unit_ref(group->unit));
		changed = true;
	}
	if (r)
		return r;
	p->unit_is_of_group = group->unit;
	p->unit_told = true;
	p->cgroup_id = id;
	if (changed)
		notify_changed(t, p);
	return 0;
}

/* Where groups decide, that is all there is to ask. */
static int place_where_groups_decide(struct process_table *t, struct process *p, uint64_t id,
				     bool *ret_placed)
{
	int r;

	*ret_placed = false;
	if (!id || !t->groups_decide || p->kernel_thread)
		return 0;
	r = place_in_group(t, p, id, ret_placed);
	if (!r && *ret_placed)
		p->asked_ns = p->unit->asked_ns = clock_ns(CLOCK_MONOTONIC);
	return r;
}

int process_change_cgroup(struct process_table *t, struct process *p, uint64_t cgroup_id)
{
	bool placed;

	p->asked_ns = 0;
	p->unit_told = p->kernel_thread;
	p->root_id = 0; /* what starts containers changes that, too */
	return place_where_groups_decide(t, p, cgroup_id, &placed);
}

/* Asks for what @sample says nothing of. */
static int ask_sampled(struct process_table *t, struct process *p, const struct sample *sample)
{
	bool placed = false;
	int r = 0;

	if (sample->owner_known)
		r = place_where_groups_decide(t, p, sample->cgroup_id, &placed);
	if (!r && !placed)
		r = process_ask(t, p, sample->owner_known);
	if (!r && p->unit_told)
		p->cgroup_id = sample->cgroup_id;
	return r;
}

/* /proc told its unit before, and it has a sample in the group since. */
static int remember_group_of(struct process_table *t, struct process *p)
{
	p->group_known = true;
	return process_remember_group(t, p->cgroup_id, p->unit);
}

int process_place(struct process_table *t, struct process *p, const struct sample *sample)
{
	uint64_t id = sample->cgroup_id;
	bool placed;
	int r;

	if (sample->kernel_thread && !p->kernel_thread) {
		p->kernel_thread = true;
		p->asked_ns = 0;
	}
	if (sample->owner_known)
		process_place_by_owner(t, p, sample->uid, sample->only_uid);
	/* /proc tells of the newest program of a pid; the others keep what they were known as. */
	if (is_due(t, p, sample) && process_newest(t, p->pid) == p) {
		r = ask_sampled(t, p, sample);
		if (r)
			return r;
		/* They could not be read before. */
		if (!p->mappings_known && !p->kernel_thread && t->proc_fd >= 0)
			return process_read_mappings(t, p);
	} else if (p->unit_is_of_group && !p->group_known && id && id == p->cgroup_id &&
		   sample->time_ns > p->asked_ns) {
		return remember_group_of(t, p);
	}
	/* /proc told nothing of it: perhaps its group is known. */
	return !p->unit_told && id && id != p->cgroup_id ? place_in_group(t, p, id, &placed) : 0;
}
