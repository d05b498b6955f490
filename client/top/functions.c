/* SPDX-License-Identifier: MIT */
/*
 * A hash table of functions by name. Each profile is folded with a shape of its own, whose frames
 * are looked up once; sums of the interval are set to zero when the next one begins.
 */
#include "client/top/functions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "client/analysis/graph.h"
#include "client/analysis/idle.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/wall.h"
#include "client/top/characters.h"
#include "common/error.h"
#include "common/order.h"
#include "common/room.h"

struct functions_entry {
	struct top_function function;
	UT_hash_handle hh;
};

struct top_functions {
	struct functions_entry *entries; /* by name */
	const struct top_function **sorted;
	size_t n_sorted_max;
	uint64_t n_stacks;
	struct top_what what;
	/* In the profile in work: */
	unsigned type;  /* of the values */
	bool has_waits; /* and of what of them is waiting, */
	unsigned waits; /* the type */
	struct top_sums sums;
};

int top_functions_new(struct top_functions **ret, const struct top_what *what)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return error_origin(-ENOMEM);
	(*ret)->what = *what;
	return 0;
}

static void top_entry_remove(struct top_functions *f, struct functions_entry *e)
{
	HASH_DEL(f->entries, e);
	free(e->function.name);
	free(e);
}

void top_functions_free(struct top_functions *f)
{
	struct functions_entry *e, *next;

	if (!f)
		return;
	HASH_ITER (hh, f->entries, e, next)
		top_entry_remove(f, e);
	free(f->sorted);
	free(f);
}

/* What people call the file of a frame: without its directories; the kernel is one. */
static const char *top_module(const struct profile *p, const struct frame *frame)
{
	const char *path = frame->mapping ? profile_string(p, p->mappings[frame->mapping - 1].path)
					  : "";
	const char *slash = strrchr(path, '/');

	return strncmp(path, "[kernel", strlen("[kernel")) == 0 ? "kernel"
	       : slash                                          ? slash + 1
								: path;
}

static const char *top_find_label(const struct profile *p, const struct stack *stack,
				  const char *key)
{
	for (uint32_t i = 0; i < stack->n_labels; i++)
		if (strcmp(profile_string(p, stack->labels[i].key), key) == 0)
			return profile_string(p, stack->labels[i].str);
	return "";
}

/* Units have a suffix; what profd calls the rest means less than a command. */
static const char *top_find_who(const struct top_functions *f, const struct profile *p,
				const struct stack *stack)
{
	const char *service = f->what.of_one ? "" : top_find_label(p, stack, "service");
	const char *comm = top_find_label(p, stack, "comm");

	return strchr(service, '.') || !*comm ? service : comm;
}

/* As votes are counted of which one may have more than half (Boyer and Moore). */
static void top_add_who(struct top_function *function, const char *who, int64_t value)
{
	if (strncmp(function->who, who, sizeof(function->who) - 1) == 0) {
		function->who_lead = graph_add_clamped(function->who_lead, value);
		return;
	}
	function->has_others |= *function->who != '\0';
	if (function->who_lead >= value) {
		function->who_lead -= value;
		return;
	}
	function->who_lead = value - function->who_lead;
	snprintf(function->who, sizeof(function->who), "%s", who);
}

static int top_find_entry(struct top_functions *f, const struct profile *p,
			  const struct frame *frame, struct functions_entry **ret)
{
	cleanup(freep) char *name = NULL, *key = NULL;
	struct functions_entry *e;
	int length, r = node_name(p, frame, &name);

	if (r)
		return r;
	length = asprintf(&key, "%s%c%s", name, 0, top_module(p, frame));
	if (length < 0) {
		key = NULL;
		return error_origin(-ENOMEM);
	}
	HASH_FIND(hh, f->entries, key, (size_t)length, e);
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return error_origin(-ENOMEM);
		e->function.name = steal_ptr(&key);
		e->function.module = e->function.name + strlen(name) + 1;
		HASH_ADD_KEYPTR(hh, f->entries, e->function.name, (size_t)length, e);
	}
	*ret = e;
	return 0;
}

static void add_clamped(int64_t *sum, int64_t value)
{
	*sum = graph_add_clamped(*sum, value);
}

/* What a stack adds to each of its functions. */
struct top_addition {
	int64_t value, wait;
	uint64_t stack; /* its number */
	const char *who;
};

static void add_value(struct top_function *function, const struct top_addition *a, bool is_leaf)
{
	if (is_leaf) {
		add_clamped(&function->interval.flat, a->value);
		add_clamped(&function->all.flat, a->value);
	}
	/* Once a stack, however often it is in there. */
	if (function->stack == a->stack)
		return;
	add_clamped(&function->interval.cum, a->value);
	add_clamped(&function->all.cum, a->value);
	add_clamped(&function->interval.wait, a->wait);
	add_clamped(&function->all.wait, a->wait);
	function->stack = a->stack;
	top_add_who(function, a->who, a->value);
}

/* @entries: of the profile's frames, by index; NULL where it is not known yet. */
static int top_add_stack(struct top_functions *f, const struct profile *p,
			 const struct shape *shape, const struct stack *stack,
			 struct functions_entry **entries)
{
	size_t n_frames;
	const struct frame *frames = shape_frames(shape, &n_frames);
	const struct top_addition a = {
		.value = stack->values[f->type],
		.wait = f->has_waits ? stack->values[f->waits] : 0,
		.stack = ++f->n_stacks,
		.who = top_find_who(f, p, stack),
	};

	add_clamped(&f->sums.samples, stack->values[0]);
	add_clamped(&f->sums.value, a.value);
	add_clamped(&f->sums.wait, a.wait);
	add_clamped(&f->sums.all_samples, stack->values[0]);
	add_clamped(&f->sums.all_value, a.value);
	add_clamped(&f->sums.all_wait, a.wait);
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		struct functions_entry **e = &entries[stack->frames[i]];
		int r = *e ? 0 : top_find_entry(f, p, &frames[stack->frames[i]], e);

		if (r)
			return r;
		add_value(&(*e)->function, &a, i == 0);
	}
	return 0;
}

/* Which values are counted; wall-clock time is made here. */
static int top_choose_type(struct top_functions *f, struct profile *p)
{
	int r = 0;

	f->type = profile_default_type(p);
	f->has_waits = f->what.wall && wall_is_possible(p);
	if (f->has_waits) {
		r = wall_add(p, NULL);
		f->type = p->n_sample_types - 1;
		f->has_waits = profile_find_type(p, WALL_OFF_TYPE, &f->waits);
	}
	return r;
}

/* Of threads that are idle in this profile, the sums. *ret NULL: they are counted. */
static int top_find_idle(struct top_functions *f, struct profile *p, struct idle **ret)
{
	struct idle_sum sum;
	int r;

	if (!f->has_waits || f->what.idle)
		return 0;
	r = idle_new(ret) ?: idle_learn(*ret, p);
	if (r)
		return r;
	idle_decide(*ret);
	sum = idle_sum(*ret);
	add_clamped(&f->sums.idle, sum.ns);
	f->sums.n_idle = sum.n_threads > f->sums.n_idle ? sum.n_threads : f->sums.n_idle;
	return 0;
}

static int add_profile(struct top_functions *f, struct profile *p)
{
	static const struct shape_options options = {.with_mappings = true};
	cleanup(shape_freep) struct shape *shape = NULL;
	cleanup(idle_freep) struct idle *idle = NULL;
	cleanup(freep) struct functions_entry **entries = NULL;
	struct profile_message message;
	size_t n_frames;
	int r = top_choose_type(f, p)
			?: top_find_idle(f, p, &idle)
			?: shape_new(&shape, &options, &message)
			?: shape_bind(shape, p);

	if (r)
		return r < 0 ? r : error_origin(-EINVAL);
	/* Without tagroot and tagleaf, samples add no frames. */
	shape_frames(shape, &n_frames);
	entries = calloc(n_frames + 1, sizeof(struct functions_entry *));
	if (!entries)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n_samples; i++) {
		struct stack stack;

		if (idle && idle_is(idle, p, i))
			continue;
		r = shape_stack(shape, p, i, &stack);
		if (!r && stack.n_frames)
			r = top_add_stack(f, p, shape, &stack, entries);
		if (r < 0)
			return r;
	}
	return 0;
}

static void forget_cheap(struct top_functions *f)
{
	struct functions_entry *e, *next;

	for (int64_t limit = 1; HASH_COUNT(f->entries) > TOP_FUNCTIONS_MAX; limit *= 2) {
		size_t n_left = 0;

		HASH_ITER (hh, f->entries, e, next) {
			const struct top_function *function = &e->function;

			if (HASH_COUNT(f->entries) <= TOP_FUNCTIONS_MAX)
				return;
			if (function->interval.cum)
				continue;
			if (function->all.cum > limit) {
				n_left++;
				continue;
			}
			top_entry_remove(f, e);
			f->sums.n_forgotten++;
		}
		if (!n_left || limit > INT64_MAX / 2)
			return;
	}
}

static void top_begin_interval(struct top_function *function)
{
	function->interval = (struct top_cost){0};
	function->who_lead = 0;
	function->has_others = false;
}

void top_functions_next(struct top_functions *f)
{
	struct functions_entry *e, *next;

	HASH_ITER (hh, f->entries, e, next)
		top_begin_interval(&e->function);
	f->sums.samples = f->sums.value = f->sums.wait = f->sums.idle = 0;
	f->sums.n_idle = 0;
}

int top_functions_add(struct top_functions *f, struct profile *p)
{
	int r = p->n_sample_types ? add_profile(f, p) : 0;

	if (r)
		return r;
	forget_cheap(f);
	return 0;
}

void top_functions_sums(const struct top_functions *f, struct top_sums *ret)
{
	*ret = f->sums;
}

/* @context: the enum top_order. */
static int top_compare_functions(const void *a, const void *b, void *context)
{
	const struct top_function *x = *(const struct top_function *const *)a;
	const struct top_function *y = *(const struct top_function *const *)b;
	const struct top_cost *costs[2][2] = {{&x->interval, &y->interval}, {&x->all, &y->all}};
	const enum top_order order = *(const enum top_order *)context;

	for (int i = 0; i < 2; i++) {
		const struct top_cost *p = costs[i][0], *q = costs[i][1];
		int flat = order_of(q->flat, p->flat), cum = order_of(q->cum, p->cum);
		int wait = order == TOP_BY_WAIT ? order_of(q->wait, p->wait) : 0;

		if (wait || flat || cum)
			return wait ? wait : order == TOP_BY_FLAT ? flat ?: cum : cum ?: flat;
	}
	return strcmp(x->name, y->name) ?: strcmp(x->module, y->module);
}

int top_functions_sort(struct top_functions *f, enum top_order order, const char *filter,
		       const struct top_function *const **ret, size_t *ret_n)
{
	struct functions_entry *e, *next;
	size_t n = 0;
	int r = room_make(&f->sorted, &f->n_sorted_max, HASH_COUNT(f->entries) + 1,
			  sizeof(*f->sorted));

	if (r)
		return r;
	HASH_ITER (hh, f->entries, e, next)
		if (name_filter_matches(filter, e->function.name))
			f->sorted[n++] = &e->function;
	qsort_r(f->sorted, n, sizeof(*f->sorted), top_compare_functions, &order);
	*ret = f->sorted;
	*ret_n = n;
	return 0;
}
