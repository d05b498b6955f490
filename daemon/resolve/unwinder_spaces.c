/* SPDX-License-Identifier: MIT */
/*
 * Which processes' mappings the BPF programs have. A process is told to them (published) as a root:
 * a run of mappings, and the time up to which process events are in it. The kernel's side makes a
 * root void by itself when it sees an exec or a birth after that time, and lets children inherit
 * their parent's; everything else comes from here:
 *
 *   - A mapping was added: a new run, and a new root after the drain that told of it.
 *   - A mapping was replaced: the root is withdrawn for some seconds. munmap(2) sends no record, so
 *     walks by the old mappings may go on until then, and a program that does so once (dlclose and
 *     dlopen) does it again.
 *   - A sample was not walked though the process is published: the root is void; a new one.
 *   - A fork: the child shares the parent's run.
 *   - An exec, an exit: the run goes back.
 *
 * Processes that were never sampled are published only when that makes nothing wait: all their
 * images' tables are there; and only while there is room. Those that were sampled make room.
 *
 * What went back may still be named by roots, and is used again only when it is not: see "runs"
 * below. A space whose root could not be withdrawn, because its bucket of the hash is
 * busy (stuck), stays, even when its process is gone, and each round tries again.
 *
 * A struct space belongs to a pid and one program in it; another program begins it anew.
 *
 * What fails, fails for good (unwinder_fail()): it is not passed on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/frame.h"
#include "common/room.h"
#include "daemon/resolve/unwinder_private.h"

#define UNSTABLE_NS (10 * NS_PER_S)

/* --- runs ------------------------------------------------------------------------------------- */

/*
 * When the room of a run of mappings is used again. Nobody here needs a run that was returned, but
 * roots in the kernel may still name it, and walks may be under way in it:
 *
 *   - A child that was born before the parent's root was replaced has that root, and its birth may
 *     not be known yet. So the runs that were returned before a round of publishing began wait for
 *     a round that knew of all births up to then: that one gives each such child another root, or
 *     none. It counts when the round began, not when the event happened that was the reason, which
 *     may have waited for seconds to be read.
 *   - That child may have had children of its own meanwhile, which have the root too. So a run
 *     waits for one more round if the one before took away a root that may have named it.
 *   - A root that cannot be withdrawn for now, because its bucket of the hash is busy (stuck), may
 *     name whatever was returned since it was to be.
 *
 * A root that may name more than its space's run is unsure: space.from_ns says since when what was
 * returned may be named. One of our own making names its space's run; but children who were born
 * just before it was made are only heard of with the next drain, so what it was is remembered until
 * then.
 *
 * When no root names it any more a run rests for as long as a walk may take (layout.h, "Reuse").
 */

/* A run of the @n mappings in u->scratch, of one reference. NULL: there is no room. */
static struct space_run *run_new(struct unwinder *u, size_t n)
{
	struct space_run *run = calloc(1, sizeof(*run));
	size_t first;
	int r = run ? extents_allocate(u->runs, n, u->now_ns, &first) : error_origin(-ENOMEM);

	if (r < 0)
		unwinder_fail(u, r);
	if (r) {
		free(run);
		return NULL;
	}
	*run = (struct space_run){.first = (uint32_t)first,
				  .n = (uint32_t)n,
				  .runtime = u->scratch_runtime,
				  .n_references = 1};
	memcpy(u->host->mappings + first, u->scratch, n * sizeof(*u->scratch));
	for (size_t i = 0; i < n; i++)
		table_pool_hold(u->pool, u->scratch[i].slot);
	return run;
}

/* Nobody needs it here, if this was the last reference; NULL is allowed. */
static void run_unref(struct unwinder *u, struct space_run *run)
{
	if (!run || --run->n_references > 0)
		return;
	u->n_returned += run->n;
	LL_PREPEND2(u->returned, run, next);
}

/* Mappings in no run that is needed: those that wait to be used again count. */
static size_t runs_unused(const struct unwinder *u)
{
	return extents_unused(u->runs) + u->n_returned;
}

/* *link is the run, and becomes the next. */
static void run_free(struct unwinder *u, struct space_run **link)
{
	struct space_run *run = *link;
	const struct unwind_mapping *mappings = u->host->mappings + run->first;

	for (uint32_t i = 0; i < run->n; i++)
		table_pool_release(u->pool, mappings[i].slot);
	extents_release(u->runs, run->first, run->n, u->now_ns);
	u->n_returned -= run->n;
	*link = run->next;
	free(run);
}

/* A round of publishing; births up to @until_ns are known. */
static void runs_begin_round(struct unwinder *u, uint64_t until_ns)
{
	struct space_run **link = &u->returned;

	u->knows_more = until_ns > u->until_ns;
	u->n_rounds += u->knows_more;
	u->until_ns = until_ns;
	while (*link) {
		struct space_run *run = *link;

		if (run->is_unnamed) {
			run_free(u, link);
			continue;
		}
		if (!run->since_ns)
			run->since_ns = u->now_ns;
		link = &run->next;
	}
}

static void runs_end_round(struct unwinder *u)
{
	struct space_run *run;
	struct space *s;

	if (u->has_lost || !u->knows_more)
		return; /* births are unknown */
	LL_FOREACH2(u->returned, run, next)
	{
		if (run->since_ns && run->since_ns <= u->until_ns && run->since_ns < u->unsure_ns)
			run->is_unnamed = true;
	}
	/* All but those that are stuck have been replaced. */
	u->unsure_ns = UINT64_MAX;
	DL_FOREACH2(u->dirty, s, next)
	{
		if (s->from_ns < u->unsure_ns)
			u->unsure_ns = s->from_ns;
	}
}

static void runs_forget(struct unwinder *u)
{
	while (u->returned)
		run_free(u, &u->returned);
	u->unsure_ns = UINT64_MAX;
	u->until_ns = 0;
}

/* @s has a root that may name what was returned since @from_ns. */
static void root_is_unsure(struct unwinder *u, struct space *s, uint64_t from_ns)
{
	s->has_root = true;
	if (from_ns < s->from_ns)
		s->from_ns = from_ns;
	if (from_ns < u->unsure_ns)
		u->unsure_ns = from_ns;
}

/* It has none any more, or one that names s->run. */
static void root_is_known(struct unwinder *u, struct space *s, bool has_root)
{
	if (u->n_rounds > s->changed_round || s->from_ns < s->was_from_ns)
		s->was_from_ns = s->from_ns;
	s->changed_round = u->n_rounds + 1;
	s->from_ns = UINT64_MAX;
	s->has_root = has_root;
}

/* Whether children that are heard of now may have inherited a root of @s. */
static bool root_was_there(const struct unwinder *u, const struct space *s)
{
	return s->has_root || u->n_rounds <= s->changed_round;
}

/* Since when what was returned may be named by the root of one that was born at @born_ns. */
static uint64_t root_from(const struct unwinder *u, const struct space *s, uint64_t born_ns)
{
	uint64_t from_ns = s->from_ns;

	if (u->n_rounds <= s->changed_round && s->was_from_ns < from_ns)
		from_ns = s->was_from_ns;
	return from_ns < born_ns ? from_ns : born_ns;
}

/* --- spaces ----------------------------------------------------------------------------------- */

static struct space *spaces_find(struct unwinder *u, pid_t pid)
{
	struct space *s;

	HASH_FIND_INT(u->spaces, &pid, s);
	return s;
}

static void space_mark_dirty(struct unwinder *u, struct space *s)
{
	if (s->is_dirty)
		return;
	s->is_dirty = true;
	DL_APPEND2(u->dirty, s, previous, next);
}

static void space_clear_dirty(struct unwinder *u, struct space *s)
{
	if (!s->is_dirty)
		return;
	s->is_dirty = false;
	DL_DELETE2(u->dirty, s, previous, next);
}

static void leave_published(struct unwinder *u, struct space *s)
{
	if (!s->is_published)
		return;
	s->is_published = false;
	DL_DELETE2(u->published, s, older, newer);
}

/* As the newest. */
static void join_published(struct unwinder *u, struct space *s)
{
	leave_published(u, s);
	s->is_published = true;
	DL_APPEND2(u->published, s, older, newer);
}

static void drop_run(struct unwinder *u, struct space *s)
{
	leave_published(u, s);
	run_unref(u, s->run);
	s->run = NULL;
	s->is_old = true;
}

static void space_withdraw_root(struct unwinder *u, struct space *s)
{
	int r;

	drop_run(u, s);
	if (!s->has_root)
		return;
	r = u->host->withdraw(u->host->userdata, s->pid);
	if (r < 0)
		unwinder_fail(u, r);
	s->is_stuck = r == UNWIND_HOST_E_FULL;
	if (!s->is_stuck) {
		root_is_known(u, s, false);
		return;
	}
	root_is_unsure(u, s, u->now_ns);
	space_mark_dirty(u, s);
}

/* The process is gone. The space goes with it, unless its root is stuck. */
static void space_drop(struct unwinder *u, struct space *s)
{
	space_withdraw_root(u, s);
	if (s->is_stuck)
		return;
	space_clear_dirty(u, s);
	HASH_DEL(u->spaces, s);
	u->n_spaces--;
	free(s);
}

/*
 * The space of the living process @p; a new one, or one of an earlier program, begins dirty. NULL:
 * it failed.
 */
static struct space *spaces_get(struct unwinder *u, const struct process *p)
{
	struct space *s = spaces_find(u, p->pid);

	if (s && s->serial == p->serial)
		return s;
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s) {
			unwinder_fail(u, error_origin(-ENOMEM));
			return NULL;
		}
		s->pid = p->pid;
		s->from_ns = UINT64_MAX;
		HASH_ADD_INT(u->spaces, pid, s);
		u->n_spaces++;
	}
	/*
	 * The root of the program before is void: the kernel saw this one begin. If it is stuck, it
	 * stays that until the next round.
	 */
	drop_run(u, s);
	s->serial = p->serial;
	s->version = mappings_version(p->mappings);
	s->generation = mappings_generation(p->mappings, UINT64_MAX);
	s->is_sampled = false;
	s->is_old = true;
	s->published_ns = s->unstable_until_ns = 0;
	space_mark_dirty(u, s);
	return s;
}

/* Its mappings may have changed, at @time_ns if so. */
static void space_check_mappings(struct unwinder *u, struct space *s, const struct process *p,
				 uint64_t time_ns)
{
	uint32_t generation;

	if (s->version == mappings_version(p->mappings))
		return;
	s->version = mappings_version(p->mappings);
	s->is_old = true;
	space_mark_dirty(u, s);
	generation = mappings_generation(p->mappings, UINT64_MAX);
	if (s->generation == generation)
		return;
	s->generation = generation;
	s->unstable_until_ns = time_ns + UNSTABLE_NS;
	if (u->replaced_ns < time_ns)
		u->replaced_ns = time_ns;
	space_withdraw_root(u, s);
}

/*
 * The child has its parent's mappings, and the kernel gave it the root that its parent had then,
 * which may be another one than its parent has now.
 */
static void see_fork(struct unwinder *u, const struct process_event *event)
{
	struct process *parent = process_table_living(u->options.processes, event->parent);
	struct process *child = process_table_living(u->options.processes, event->pid);
	struct space *of_parent = spaces_find(u, event->parent), *s;

	if (!parent || !child || !of_parent || of_parent->serial != parent->serial ||
	    !root_was_there(u, of_parent))
		return;
	s = spaces_get(u, child);
	if (!s)
		return;
	root_is_unsure(u, s, root_from(u, of_parent, event->time_ns));
	s->is_sampled = of_parent->is_sampled || of_parent->run;
	s->unstable_until_ns = of_parent->unstable_until_ns;
	if (!of_parent->run || of_parent->is_old ||
	    of_parent->version != mappings_version(child->mappings))
		return;
	drop_run(u, s);
	s->run = of_parent->run;
	s->run->n_references++;
	s->is_old = false;
}

static void see_living(void *userdata, struct process *p)
{
	if (!p->kernel_thread)
		spaces_get(userdata, p);
}

void spaces_begin(struct unwinder *u)
{
	if (u->host)
		process_table_each(u->options.processes, see_living, u);
}

void spaces_see_event(struct unwinder *u, const struct process_event *event)
{
	struct process *p;
	struct space *s;

	if (!u->host || event->kind == PROCESS_EVENT_COMM || event->kind == PROCESS_EVENT_MOVED ||
	    event->kind == PROCESS_EVENT_BEGUN)
		return;
	p = process_table_living(u->options.processes, event->pid);
	if (event->kind == PROCESS_EVENT_LOST) {
		u->has_lost = true;
	} else if (event->kind == PROCESS_EVENT_FORK) {
		if (event->pid != event->parent)
			see_fork(u, event);
	} else if (!p) {
		s = spaces_find(u, event->pid);
		/* No code of its own runs from its end until the kernel takes the root away. */
		if (s && s->has_root && event->kind == PROCESS_EVENT_EXIT && u->host->removes_ended)
			root_is_known(u, s, false);
		if (s)
			space_drop(u, s);
	} else if (event->kind != PROCESS_EVENT_EXIT && !p->kernel_thread) {
		s = spaces_get(u, p);
		if (s)
			space_check_mappings(u, s, p, event->time_ns);
	}
}

void spaces_see_sample(struct unwinder *u, struct process *p, const struct sample *sample)
{
	struct space *s;

	if (!u->host || process_table_living(u->options.processes, p->pid) != p || p->kernel_thread)
		return;
	s = spaces_get(u, p);
	if (!s)
		return;
	space_check_mappings(u, s, p, sample->time_ns);
	if (!s->is_sampled || !s->run ||
	    (!sample->walked_until_ns && s->published_ns < sample->time_ns))
		space_mark_dirty(u, s);
	if (s->is_published)
		join_published(u, s);
	s->is_sampled = true;
}

void spaces_describe(struct unwinder *u, const struct mapping *m, struct unwind_mapping *ret)
{
	const struct image *image = m->image;
	bool is_file = image->kind == IMAGE_FILE || image->kind == IMAGE_VDSO;
	/* Offsets in frames and tables have 32 bits. */
	bool fits = m->offset <= UINT32_MAX && m->end - m->start <= UINT32_MAX - m->offset;

	*ret = (struct unwind_mapping){
		.start = m->start, .end = m->end, .offset = m->offset, .slot = SLOT_NONE};
	if (!is_file || !fits)
		return;
	if (image->id <= FRAME_IMAGES_MAX)
		ret->image = (uint32_t)image->id;
	unwinder_fail(u, table_pool_slot(u->pool, m->image, u->now_ns, &ret->slot));
}

/* Describes all of @p's open mappings in u->scratch, and returns their number. */
static size_t spaces_describe_all(struct unwinder *u, const struct process *p)
{
	const struct mapping *all;
	size_t n;
	int r;

	all = mappings_get_open(p->mappings, &n);
	r = room_make(&u->scratch, &u->n_scratch, n, sizeof(*u->scratch));
	unwinder_fail(u, r);
	u->scratch_runtime = 0;
	for (size_t i = 0; !r && i < n; i++) {
		spaces_describe(u, &all[i], &u->scratch[i]);
		if (all[i].image->is_interpreter && !u->scratch_runtime)
			u->scratch_runtime = (uint16_t)(i + 1);
	}
	return r ? 0 : n;
}

/*
 * Withdraws those that were published longest ago, until what nobody has is enough for a run of
 * @n, and an eighth of everything: it must rest first, and may not be in one piece. Those of them
 * that are still sampled come back, as the newest.
 */
static void spaces_make_room(struct unwinder *u, size_t n)
{
	size_t goal = n + u->host->n_mappings / 8;

	if (goal > u->host->n_mappings)
		return;
	while (u->published && runs_unused(u) < goal) {
		space_withdraw_root(u, u->published);
		u->stats.mapping_table_evicted++;
	}
}

/* Gives @s a run of its own, unless it has that. False: there is no room. */
static bool renew_run(struct unwinder *u, struct space *s, const struct process *p)
{
	size_t n = spaces_describe_all(u, p);
	struct space_run *run;

	if (!s->run || s->run->n != n ||
	    memcmp(u->host->mappings + s->run->first, u->scratch, n * sizeof(*u->scratch)) != 0) {
		run = n && n <= UNWIND_MAPPINGS_MAX ? run_new(u, n) : NULL;
		if (!run && s->is_sampled && n <= UNWIND_MAPPINGS_MAX)
			spaces_make_room(u, n);
		if (!run)
			return false;
		drop_run(u, s);
		s->run = run;
	}
	s->is_old = false;
	return true;
}

static bool is_ready(struct unwinder *u, const struct process *p)
{
	const struct mapping *all;
	size_t n;

	all = mappings_get_open(p->mappings, &n);
	for (size_t i = 0; i < n; i++)
		if (!table_pool_is_ready(u->pool, all[i].image))
			return false;
	return n > 0;
}

/* @s is out of the list. */
static void space_publish_root(struct unwinder *u, struct space *s, uint64_t until_ns)
{
	struct process *p = process_table_living(u->options.processes, s->pid);
	struct unwind_root root = {.until_ns = until_ns, .pid = (uint32_t)s->pid};
	int r = UNWIND_HOST_E_FULL;
	size_t n;

	if (!p || p->serial != s->serial) {
		space_drop(u, s);
		return;
	}
	mappings_get_open(p->mappings, &n);
	if (!n || p->kernel_thread || u->now_ns < s->unstable_until_ns ||
	    !(s->is_sampled || is_ready(u, p))) {
		space_withdraw_root(u, s);
		return;
	}
	if ((!s->is_old && s->run) || renew_run(u, s, p)) {
		root.first = s->run->first;
		root.n = (uint16_t)s->run->n;
		root.runtime = s->run->runtime;
		root.version = u->next_version++;
		if (!u->next_version)
			u->next_version = 1;
		r = u->host->publish(u->host->userdata, &root);
	}
	if (r < 0)
		unwinder_fail(u, r);
	if (r) {
		u->stats.mapping_table_full++;
		space_withdraw_root(u, s);
		return;
	}
	root_is_known(u, s, true);
	s->is_stuck = false;
	join_published(u, s);
	s->published_ns = u->now_ns;
	u->stats.published++;
}

/*
 * A process that was born in between has the root that its parent had then, unknown to us, and does
 * not count among the users of that run: it is to be replaced or taken away.
 */
static void spaces_mark_all_dirty(struct unwinder *u)
{
	struct space *s, *next;

	HASH_ITER (hh, u->spaces, s, next) {
		s->is_old = true;
		root_is_unsure(u, s, 0);
		space_mark_dirty(u, s);
	}
}

void spaces_publish(struct unwinder *u)
{
	uint64_t until_ns = u->host ? u->host->events_until(u->host->userdata) : 0;
	struct space *s;
	size_t n;

	if (!until_ns)
		return;
	runs_begin_round(u, until_ns);
	if (u->has_lost && !process_table_wants_scan(u->options.processes)) {
		u->has_lost = false;
		spaces_mark_all_dirty(u);
	}
	/* Those that are marked on the way are for the next round. */
	DL_COUNT2(u->dirty, s, n, next);
	while (n-- > 0 && (s = u->dirty)) {
		space_clear_dirty(u, s);
		space_publish_root(u, s, until_ns);
	}
	runs_end_round(u);
}

static uint16_t run_find_image(const struct unwinder *u, const struct space_run *run,
			       uint32_t image)
{
	for (uint32_t i = 0; i < run->n; i++)
		if (u->host->mappings[run->first + i].image == image)
			return (uint16_t)(i + 1);
	return 0;
}

void spaces_see_interpreter(struct unwinder *u, uint32_t image)
{
	struct space *s, *next;

	HASH_ITER (hh, u->spaces, s, next) {
		uint16_t found = s->run ? run_find_image(u, s->run, image) : 0;

		if (!found || (s->run->runtime && s->run->runtime != found))
			continue;
		s->run->runtime = found;
		space_mark_dirty(u, s);
	}
}

void spaces_sweep(struct unwinder *u)
{
	struct space *s, *next;

	if (!u->host)
		return;
	HASH_ITER (hh, u->spaces, s, next) {
		const struct process *p = process_table_living(u->options.processes, s->pid);

		if (!p || p->serial != s->serial)
			space_drop(u, s);
	}
}

void spaces_forget(struct unwinder *u)
{
	struct space *s, *next;

	HASH_ITER (hh, u->spaces, s, next) {
		drop_run(u, s);
		space_clear_dirty(u, s);
		HASH_DEL(u->spaces, s);
		free(s);
	}
	runs_forget(u);
	u->n_spaces = 0;
}
