/* SPDX-License-Identifier: MIT */
/*
 * Names of tags are interned as strings of a profile of their own; a kind is such a string, below
 * another kind. While stacks come, a tag is found by its node and its kind; then they are sorted,
 * and those of a node are neighbours.
 */
#include "client/analysis/graph_tags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/labels.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/profile/measure.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"
#include "common/room.h"
#include "common/utf8.h"

struct graph_tags {
	const char *unit;
	struct profile *texts;        /* only its strings */
	struct graph_tag_kind *kinds; /* by what it is below, and text */
	struct graph_tag *tags;       /* by node and kind; trimmed: sorted */
	struct intern kinds_in, tags_in;
	uint32_t *current; /* kinds of the stack that is being counted */
	size_t n_current, capacity_current;
};

int graph_tags_new(struct graph_tags **ret, const char *unit)
{
	cleanup(graph_tags_freep) struct graph_tags *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return error_origin(-ENOMEM);
	t->unit = unit;
	r = profile_new(&t->texts);
	if (r)
		return r;
	*ret = steal_ptr(&t);
	return 0;
}

void graph_tags_free(struct graph_tags *t)
{
	if (!t)
		return;
	intern_deinit(&t->kinds_in);
	intern_deinit(&t->tags_in);
	profile_free(t->texts);
	free(t->kinds);
	free(t->tags);
	free(t->current);
	free(t);
}

void graph_tags_clear(struct graph_tags *t)
{
	intern_clear(&t->tags_in);
}

/* The stack has this one; its name is copied. *ret: its number. */
static int graph_tags_push_kind(struct graph_tags *t, struct graph_tag_kind kind, uint32_t *ret)
{
	int r = profile_add_text(t->texts, kind.name, &kind.text);

	if (r)
		return r;
	kind.name = profile_string(t->texts, kind.text);
	return intern_add(&t->kinds_in, &t->kinds, &kind, sizeof(kind),
			  offsetof(struct graph_tag_kind, name), ret)
		       ?: room_append(&t->current, &t->capacity_current, &t->n_current, *ret);
}

/* "key:value" of all text labels, sorted, one a line; "" if there are none. */
static int join_labels(const struct profile *p, const struct stack *stack, char **ret)
{
	cleanup(texts_deinit) struct texts lines = {0};
	cleanup(memory_text_deinit) struct memory_text joined = {0};
	int r = memory_text_open(&joined);

	for (uint32_t i = 0; i < stack->n_labels && !r; i++) {
		const struct profile_label *l = &stack->labels[i];
		char *line;

		if (!l->str || strcmp(profile_string(p, l->key), COMPARE_LABEL) == 0)
			continue;
		r = text_print(&line, "%s:%s", profile_string(p, l->key), profile_string(p, l->str))
			    ?: texts_add(&lines, line);
		if (!r)
			utf8_make_harmless(line, "");
	}
	if (r)
		return r;
	texts_sort(&lines, 0);
	for (size_t i = 0; i < lines.n; i++)
		fprintf(joined.out, "%s%s", i ? "\n" : "", lines.all[i]);
	r = memory_text_close(&joined);
	if (!r)
		*ret = steal_ptr(&joined.text);
	return r;
}

static int begin_numbers(struct graph_tags *t, const struct view_input *input,
			 const struct stack *stack, uint32_t below)
{
	const struct profile *p = input->profile;

	for (uint32_t i = 0; i < stack->n_labels; i++) {
		const struct profile_label *l = &stack->labels[i];
		char text[MEASURE_TEXT_MAX];
		struct graph_tag_kind kind = {.below = below, .name = text, .number = l->num};
		uint32_t number;
		int r;

		if (l->str || strcmp(profile_string(p, l->key), "bytes") != 0)
			continue;
		kind.unit = label_units_of(input->label_units, p, l->key);
		measure_print(text, sizeof(text), l->num, kind.unit, t->unit);
		r = graph_tags_push_kind(t, kind, &number);
		if (r)
			return r;
	}
	return 0;
}

int graph_tags_begin(struct graph_tags *t, const struct view_input *input,
		     const struct stack *stack)
{
	const struct profile *p = input->profile;
	cleanup(freep) char *labels = NULL;
	uint32_t kind = GRAPH_TAG_NONE;
	int r;

	t->n_current = 0;
	if (!stack->n_labels)
		return 0;
	r = join_labels(p, stack, &labels);
	if (!r && *labels)
		r = graph_tags_push_kind(
			t, (struct graph_tag_kind){.below = GRAPH_TAG_NONE, .name = labels}, &kind);
	return r ?: begin_numbers(t, input, stack, kind);
}

int graph_tags_count(struct graph_tags *t, uint32_t node, const struct graph_sum *worth,
		     bool is_flat)
{
	for (size_t i = 0; i < t->n_current; i++) {
		uint32_t kind = t->current[i], index;
		const struct graph_tag new = {.node = node, .kind = kind, .is = t->kinds[kind]};
		int r = intern_add(&t->tags_in, &t->tags, &new, sizeof(new),
				   offsetof(struct graph_tag, is), &index);

		if (r)
			return r;
		graph_sum_add(is_flat ? &t->tags[index].flat : &t->tags[index].cum, worth);
	}
	return 0;
}

/* By node, what they are below, and then texts and numbers. */
DEFINE_ORDER(graph_tag_compare, struct graph_tag, order_of(x->node, y->node)
		?: order_of(x->is.below, y->is.below)
		?: (x->is.unit != NULL) - (y->is.unit != NULL))

void graph_tags_trim(struct graph_tags *t, int64_t cutoff)
{
	size_t n = 0;

	for (size_t i = 0; i < t->tags_in.n; i++)
		if (llabs(t->tags[i].flat.value) >= cutoff || llabs(t->tags[i].cum.value) >= cutoff)
			t->tags[n++] = t->tags[i];
	intern_clear(&t->tags_in); /* they are elsewhere now */
	t->tags_in.n = n;
	if (n)
		qsort(t->tags, n, sizeof(*t->tags), graph_tag_compare);
}

size_t graph_tags_n_flat(const struct graph_tags *t, uint32_t node)
{
	size_t n = 0;

	for (size_t i = partition_point(t->tags_in.n, k, t->tags[k].node < node);
	     i < t->tags_in.n && t->tags[i].node == node; i++)
		n += t->tags[i].flat.value != 0;
	return n;
}

struct graph_tag *graph_tags_of(const struct graph_tags *t, uint32_t node, bool of_numbers,
				uint32_t below, size_t *ret_n)
{
	const struct graph_tag like = {.node = node,
				       .is = {.below = below, .unit = of_numbers ? "" : NULL}};
	size_t first = partition_point(t->tags_in.n, i, graph_tag_compare(&t->tags[i], &like) < 0);
	size_t end = partition_point(t->tags_in.n, i, graph_tag_compare(&t->tags[i], &like) <= 0);

	*ret_n = end - first;
	return *ret_n ? &t->tags[first] : NULL;
}
