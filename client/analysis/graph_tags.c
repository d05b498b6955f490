/* SPDX-License-Identifier: MIT */
/*
 * Names of tags are interned as strings of a profile of their own; a kind is such a string, below
 * another kind. A tag is found by its node and its kind, and those of a node hang together.
 */
#include "client/analysis/graph_tags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/label_texts.h"
#include "client/analysis/label_units.h"
#include "client/analysis/memory_text.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/profile/measure.h"
#include "common/profile/profile.h"
#include "common/room.h"

struct tag {
	struct graph_tag tag;
	uint32_t next; /* of the same node, or GRAPH_TAG_NONE */
	bool is_gone;
};

struct graph_tags {
	const char *unit;
	const char *first_unit;       /* that a number was taken to have; NULL: none was met */
	uint32_t key;                 /* of that number */
	struct profile *texts;        /* only its strings */
	struct graph_tag_kind *kinds; /* by what it is below, and text */
	struct tag *tags;             /* by node and kind */
	struct intern kinds_in, tags_in;
	uint32_t *first; /* tag of each node */
	size_t n_first;
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
	free(t->first);
	free(t->current);
	free(t);
}

void graph_tags_clear(struct graph_tags *t)
{
	intern_clear(&t->tags_in);
	if (t->n_first)
		memset(t->first, 0xff, t->n_first * sizeof(*t->first));
}

/* The stack has this one; its name is copied. *ret: its number. */
static int graph_tags_push_kind(struct graph_tags *t, struct graph_tag_kind kind, uint32_t *ret)
{
	int r = profile_add_text(t->texts, kind.name, &kind.text);

	if (r)
		return r;
	kind.name = profile_string(t->texts, kind.text);
	r = intern_add(&t->kinds_in, &t->kinds, &kind, sizeof(kind),
		       offsetof(struct graph_tag_kind, name), ret);
	if (!r)
		r = room_make(&t->current, &t->capacity_current, t->n_current + 1,
			      sizeof(*t->current));
	if (!r)
		t->current[t->n_current++] = *ret;
	return r;
}

bool graph_tags_unit_changed(const struct graph_tags *t, const struct view_input *input)
{
	return t->first_unit && strcmp(t->first_unit, label_units_of(input->label_units,
								     input->profile, t->key)) != 0;
}

/* "key:value" of all text labels, sorted, one a line; "" if there are none. */
static int join_labels(const struct profile *p, const struct stack *stack, char **ret)
{
	cleanup(label_texts_deinit) struct label_texts lines = {0};
	cleanup(memory_text_deinit) struct memory_text joined = {0};
	int r = memory_text_open(&joined);

	if (r)
		return r;
	lines.all = calloc(stack->n_labels + 1, sizeof(*lines.all));
	for (uint32_t i = 0; i < stack->n_labels && lines.all; i++) {
		const struct profile_label *l = &stack->labels[i];
		cleanup(freep) char *key = NULL, *value = NULL;

		if (!l->str || view_is_base_label(p, l))
			continue;
		key = node_name_plain(profile_string(p, l->key));
		value = node_name_plain(profile_string(p, l->str));
		if (!key || !value || asprintf(&lines.all[lines.n], "%s:%s", key, value) < 0)
			return error_origin(-ENOMEM);
		lines.n++;
	}
	if (!lines.all)
		return error_origin(-ENOMEM);
	label_texts_sort(&lines);
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
		if (!t->first_unit) {
			t->first_unit = kind.unit;
			t->key = l->key;
		}
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
	return r ? r : begin_numbers(t, input, stack, kind);
}

/* The nodes' first tags, up to @node. */
static int graph_tags_reserve_node(struct graph_tags *t, uint32_t node)
{
	size_t n = t->n_first;
	int r = room_make(&t->first, &t->n_first, (size_t)node + 1, sizeof(*t->first));

	if (!r && t->n_first > n)
		memset(t->first + n, 0xff, (t->n_first - n) * sizeof(*t->first));
	return r;
}

int graph_tags_count(struct graph_tags *t, uint32_t node, const struct graph_sum *worth,
		     bool is_flat)
{
	int r = graph_tags_reserve_node(t, node);

	for (size_t i = 0; i < t->n_current && !r; i++) {
		uint32_t kind = t->current[i], index;
		struct tag new = {.tag = {.node = node, .kind = kind, .is = t->kinds[kind]},
				  .next = t->first[node]};
		struct graph_tag *tag;

		r = intern_add(&t->tags_in, &t->tags, &new, sizeof(new),
			       offsetof(struct graph_tag, is), &index);
		if (r)
			return r;
		if (index + 1 == t->tags_in.n) /* new, or the node's first one anyway */
			t->first[node] = index;
		tag = &t->tags[index].tag;
		graph_sum_add(is_flat ? &tag->flat : &tag->cum, worth);
	}
	return r;
}

void graph_tags_trim(struct graph_tags *t, int64_t cutoff)
{
	for (size_t i = 0; i < t->tags_in.n; i++) {
		const struct graph_tag *tag = &t->tags[i].tag;

		if (llabs(tag->flat.value) < cutoff && llabs(tag->cum.value) < cutoff)
			t->tags[i].is_gone = true;
	}
}

static uint32_t graph_tags_first_of_node(const struct graph_tags *t, uint32_t node)
{
	return node < t->n_first ? t->first[node] : GRAPH_TAG_NONE;
}

size_t graph_tags_n_flat(const struct graph_tags *t, uint32_t node)
{
	size_t n = 0;

	for (uint32_t i = graph_tags_first_of_node(t, node); i != GRAPH_TAG_NONE;
	     i = t->tags[i].next)
		n += !t->tags[i].is_gone && t->tags[i].tag.flat.value;
	return n;
}

int graph_tags_of(const struct graph_tags *t, uint32_t node, bool of_numbers, uint32_t below,
		  struct graph_tag **ret, size_t *ret_n)
{
	cleanup(freep) struct graph_tag *tags = NULL;
	size_t n = 0, capacity = 0;

	for (uint32_t i = graph_tags_first_of_node(t, node); i != GRAPH_TAG_NONE;
	     i = t->tags[i].next) {
		const struct tag *from = &t->tags[i];
		int r;

		if (from->is_gone || !from->tag.is.unit == of_numbers ||
		    from->tag.is.below != below)
			continue;
		r = room_make(&tags, &capacity, n + 1, sizeof(*tags));
		if (r)
			return r;
		tags[n++] = from->tag;
	}
	*ret = steal_ptr(&tags);
	*ret_n = n;
	return 0;
}
