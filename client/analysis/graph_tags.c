/* SPDX-License-Identifier: MIT */
/*
 * Names of tags are interned as strings of a profile of their own; a kind is such a string, below
 * another kind. A tag is found by its node and its kind, and those of a node hang together.
 */
#include "client/analysis/graph_tags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/graph_private.h"
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

struct kind {
	const char *name, *unit;
	int64_t number;
	uint32_t below;
};

struct tag {
	struct graph_tag tag;
	uint32_t next; /* of the same node, or GRAPH_TAG_NONE */
	bool is_gone;
};

struct graph_tags {
	const char *unit;
	const char *first_unit; /* that a number was taken to have; NULL: none was met */
	uint32_t key;           /* of that number */
	struct profile *texts;  /* only its strings */
	struct kind *kinds;
	size_t n_kinds, capacity_kinds;
	struct pair_table by_name; /* what it is below, and text, to kind */
	struct tag *tags;
	size_t n_tags, capacity_tags;
	struct pair_table by_node; /* node and kind to tag */
	uint32_t *first;           /* tag of each node */
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
	pair_table_deinit(&t->by_name);
	pair_table_deinit(&t->by_node);
	profile_free(t->texts);
	free(t->kinds);
	free(t->tags);
	free(t->first);
	free(t->current);
	free(t);
}

void graph_tags_clear(struct graph_tags *t)
{
	pair_table_clear(&t->by_node);
	t->n_tags = 0;
	if (t->n_first)
		memset(t->first, 0xff, t->n_first * sizeof(*t->first));
}

/* The kind of this name below another one; a new one if need be. */
static int find_kind(struct graph_tags *t, const char *name, const struct kind *like, uint32_t *ret)
{
	struct pair_table_slot *slot;
	uint32_t text;
	int r = profile_add_text(t->texts, name, &text);

	if (!r)
		r = graph_make_room(&t->kinds, &t->capacity_kinds, t->n_kinds + 1,
				    sizeof(*t->kinds));
	if (r)
		return r;
	slot = pair_table_at(&t->by_name, like->below, text);
	if (!slot)
		return error_origin(-ENOMEM);
	if (slot->value == PAIR_TABLE_NONE) {
		slot->value = (uint32_t)t->n_kinds;
		t->kinds[t->n_kinds] = *like;
		t->kinds[t->n_kinds++].name = profile_string(t->texts, text);
	}
	*ret = slot->value;
	return 0;
}

static int push_current(struct graph_tags *t, uint32_t kind)
{
	int r = graph_make_room(&t->current, &t->capacity_current, t->n_current + 1,
				sizeof(*t->current));

	if (!r)
		t->current[t->n_current++] = kind;
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
		struct kind like = {.number = l->num, .below = below};
		char text[MEASURE_TEXT_MAX];
		uint32_t kind;
		int r;

		if (l->str || strcmp(profile_string(p, l->key), "bytes") != 0)
			continue;
		like.unit = label_units_of(input->label_units, p, l->key);
		if (!t->first_unit) {
			t->first_unit = like.unit;
			t->key = l->key;
		}
		measure_print(text, sizeof(text), l->num, like.unit, t->unit);
		r = find_kind(t, text, &like, &kind);
		if (!r)
			r = push_current(t, kind);
		if (r)
			return r;
	}
	return 0;
}

int graph_tags_begin(struct graph_tags *t, const struct view_input *input,
		     const struct stack *stack)
{
	const struct profile *p = input->profile;
	const struct kind like = {.below = GRAPH_TAG_NONE};
	cleanup(freep) char *labels = NULL;
	uint32_t kind = GRAPH_TAG_NONE;
	int r;

	t->n_current = 0;
	if (!stack->n_labels)
		return 0;
	r = join_labels(p, stack, &labels);
	if (!r && *labels) {
		r = find_kind(t, labels, &like, &kind);
		if (!r)
			r = push_current(t, kind);
	}
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

/* The tag of a node and a kind, a new one if need be; NULL without memory. */
static struct graph_tag *tag_at(struct graph_tags *t, uint32_t node, uint32_t kind)
{
	struct pair_table_slot *slot = pair_table_at(&t->by_node, node, kind);
	const struct kind *k = &t->kinds[kind];

	if (!slot)
		return NULL;
	if (slot->value != PAIR_TABLE_NONE)
		return &t->tags[slot->value].tag;
	if (graph_make_room(&t->tags, &t->capacity_tags, t->n_tags + 1, sizeof(*t->tags)) ||
	    graph_tags_reserve_node(t, node))
		return NULL;
	t->tags[t->n_tags] = (struct tag){.next = t->first[node],
					  .tag = {.name = k->name,
						  .unit = k->unit,
						  .number = k->number,
						  .kind = kind,
						  .below = k->below}};
	slot->value = t->first[node] = (uint32_t)t->n_tags;
	return &t->tags[t->n_tags++].tag;
}

int graph_tags_count(struct graph_tags *t, uint32_t node, int64_t value, int64_t divisor,
		     bool is_flat)
{
	for (size_t i = 0; i < t->n_current; i++) {
		struct graph_tag *tag = tag_at(t, node, t->current[i]);

		if (!tag)
			return error_origin(-ENOMEM);
		if (is_flat) {
			tag->flat = graph_add_clamped(tag->flat, value);
			tag->flat_divisor = graph_add_clamped(tag->flat_divisor, divisor);
		} else {
			tag->cum = graph_add_clamped(tag->cum, value);
			tag->cum_divisor = graph_add_clamped(tag->cum_divisor, divisor);
		}
	}
	return 0;
}

void graph_tags_trim(struct graph_tags *t, int64_t cutoff)
{
	for (size_t i = 0; i < t->n_tags; i++) {
		const struct graph_tag *tag = &t->tags[i].tag;

		if (llabs(tag->flat) < cutoff && llabs(tag->cum) < cutoff)
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
		n += !t->tags[i].is_gone && t->tags[i].tag.flat;
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

		if (from->is_gone || !from->tag.unit == of_numbers || from->tag.below != below)
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
