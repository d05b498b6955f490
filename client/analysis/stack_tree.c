/* SPDX-License-Identifier: MIT */
/*
 * Nodes lie in one array. A stack mostly shares its first frames with the one before it, whose
 * nodes are remembered; from where the two part, its nodes are new and follow each other. Therefore
 * the child of a node is looked for right behind it, and in a table of (parent, frame) for those
 * alone that are not: of all children but one. Values lie in an array of their own, n_values for
 * each node that has some, since most have none; the first ones of it are nobody's, and 0.
 */
#include "client/analysis/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/frame.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/profile.h"
#include "common/profile/profile_table.h"
#include "common/room.h"

#define ROOT         0u
#define N_WEIGHING   2 /* values that make a weight */
#define MANTISSA     6 /* bits of a weight that are told apart below its highest */
#define WEIGHT_KINDS (64u << MANTISSA)

struct stack_tree {
	struct stack_tree_node *nodes;
	size_t n_nodes, n_allocated, max_nodes;
	int64_t *values;
	size_t n_owners, owners_allocated; /* of n_values values each */
	unsigned n_values;
	struct profile_table table;
	struct profile_hash_key key;
	uint32_t *path; /* the nodes of the last stack, from the root's child on */
	size_t n_path, path_allocated;
	bool has_groups;
};

static uint64_t stack_tree_magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static uint64_t add_weight(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

int stack_tree_new(struct stack_tree **ret, size_t max_nodes, unsigned n_values)
{
	cleanup(stack_tree_freep) struct stack_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return error_origin(-ENOMEM);
	t->n_values = n_values;
	t->n_nodes = t->n_allocated = t->n_owners = t->owners_allocated = 1;
	t->nodes = calloc(1, sizeof(*t->nodes));
	t->values = calloc(1, n_values * sizeof(*t->values));
	if (!t->nodes || !t->values)
		return error_origin(-ENOMEM);
	t->max_nodes = max_nodes;
	profile_hash_key_init(&t->key);
	*ret = steal_ptr(&t);
	return 0;
}

void stack_tree_free(struct stack_tree *t)
{
	if (!t)
		return;
	profile_table_deinit(&t->table);
	free(t->nodes);
	free(t->values);
	free(t->path);
	free(t);
}

/* --- finding and adding ----------------------------------------------------------------------- */

struct edge {
	uint32_t parent, frame;
};

static uint32_t hash_edge(const struct stack_tree *t, struct edge edge)
{
	return profile_hash(&t->key, &edge, sizeof(edge));
}

static int stack_tree_same_edge(const void *owner, uint32_t index, const void *key)
{
	const struct stack_tree_node *node = &((const struct stack_tree *)owner)->nodes[index];
	const struct edge *edge = key;

	return node->parent == edge->parent && node->frame == edge->frame;
}

static bool stack_tree_follows_parent(const struct stack_tree *t, uint32_t node)
{
	return t->nodes[node].parent + 1 == node;
}

/* For what does not follow its parent. */
static int insert_node(struct stack_tree *t, uint32_t node)
{
	int r = profile_table_reserve(&t->table);

	if (!r)
		profile_table_insert(&t->table,
				     hash_edge(t, (struct edge){t->nodes[node].parent,
								t->nodes[node].frame}),
				     node);
	return r;
}

/* The child of @parent for @frame, which the caller saw to there being room for. */
static int get_child(struct stack_tree *t, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	struct edge edge = {parent, frame};
	uint32_t node = parent + 1;
	int r = 0;

	if (node < t->n_nodes && stack_tree_follows_parent(t, node) &&
	    t->nodes[node].frame == frame) {
		*ret = node;
		return 0;
	}
	node = profile_table_find(&t->table, hash_edge(t, edge), stack_tree_same_edge, t, &edge);
	if (node == PROFILE_NONE) {
		r = room_make(&t->nodes, &t->n_allocated, t->n_nodes + 1, sizeof(*t->nodes));
		if (r)
			return r;
		node = (uint32_t)t->n_nodes++;
		t->nodes[node] = (struct stack_tree_node){.parent = parent,
							  .frame = frame & STACK_TREE_CUT};
		if (!stack_tree_follows_parent(t, node))
			r = insert_node(t, node);
	}
	*ret = node;
	return r;
}

/* Adds to the values of an owner of some. */
static void sum_values(struct stack_tree *t, uint32_t owner, const int64_t *values)
{
	int64_t *own = &t->values[(size_t)owner * t->n_values];

	for (unsigned i = 0; i < t->n_values; i++)
		own[i] = clamped_add(own[i], values[i]);
}

/* Adds to the values of @node, which gets some if it has none and there is anything to add. */
static int add_values(struct stack_tree *t, struct stack_tree_node *node, const int64_t *values)
{
	bool any = false;

	for (unsigned i = 0; i < t->n_values; i++)
		any |= values[i] != 0;
	if (!any)
		return 0;
	if (!node->values) {
		int r = room_make(&t->values, &t->owners_allocated, t->n_owners + 1,
				  t->n_values * sizeof(*t->values));

		if (r)
			return r;
		node->values = (uint32_t)t->n_owners++;
		memset(&t->values[(size_t)node->values * t->n_values], 0,
		       t->n_values * sizeof(*t->values));
	}
	sum_values(t, node->values, values);
	return 0;
}

/* The node at @depth of the path that now leads to @parent. */
static int stack_tree_descend(struct stack_tree *t, size_t depth, uint32_t parent, uint32_t frame,
			      uint32_t *ret)
{
	int r;

	if (depth < t->n_path) {
		if (t->nodes[t->path[depth]].frame == frame) {
			*ret = t->path[depth];
			return 0;
		}
		t->n_path = depth;
	}
	r = get_child(t, parent, frame, ret);
	if (r)
		return r;
	t->path[t->n_path++] = *ret;
	return 0;
}

int stack_tree_add(struct stack_tree *t, uint32_t group, const struct stack *stack,
		   const int64_t *values)
{
	size_t n = stack->n_frames, room, depth = 0;
	uint32_t node = ROOT;
	int r = 0;

	/* A node for each frame, for the group, and for what is cut. */
	if (t->n_nodes + n + 2 > t->max_nodes)
		r = stack_tree_shrink(t, t->max_nodes / 2);
	if (!r)
		r = room_make(&t->path, &t->path_allocated, n + 2, sizeof(*t->path));
	if (r)
		return r;
	room = t->max_nodes - t->n_nodes - 2;
	if (group != STACK_TREE_NO_GROUP) {
		t->has_groups = true;
		r = stack_tree_descend(t, depth++, node, group, &node);
	}
	for (size_t i = n; i && n - i < room && !r; i--) {
		r = stack_tree_descend(t, depth++, node, stack->frames[i - 1], &node);
		if (!r && stack->is_inlined && stack->is_inlined[i - 1])
			t->nodes[node].is_inlined = 1;
	}
	if (n > room && !r)
		r = stack_tree_descend(t, depth++, node, STACK_TREE_CUT, &node);
	if (r)
		return r;
	t->n_path = depth;
	return add_values(t, &t->nodes[node], values);
}

const struct stack_tree_node *stack_tree_nodes(const struct stack_tree *t, size_t *ret_n)
{
	*ret_n = t->n_nodes;
	return t->nodes;
}

int64_t stack_tree_value(const struct stack_tree *t, const struct stack_tree_node *node, unsigned i)
{
	return t->values[(size_t)node->values * t->n_values + i];
}

/* --- cutting ---------------------------------------------------------------------------------- */

/* What each node and those below it weigh: never less than one of its children does. */
static uint64_t *stack_tree_weigh_nodes(const struct stack_tree *t)
{
	uint64_t *weights = calloc(t->n_nodes, sizeof(*weights));

	for (size_t i = t->n_nodes; weights && i--;) {
		const struct stack_tree_node *node = &t->nodes[i];

		for (unsigned k = 0; k < t->n_values && k < N_WEIGHING; k++)
			weights[i] = add_weight(weights[i],
						stack_tree_magnitude(stack_tree_value(t, node, k)));
		if (i != ROOT)
			weights[node->parent] = add_weight(weights[node->parent], weights[i]);
	}
	return weights;
}

/* A heavier node is never of a lower kind. */
static unsigned weight_kind(uint64_t weight)
{
	unsigned top;

	if (weight < 1u << MANTISSA)
		return (unsigned)weight;
	top = 63 - (unsigned)__builtin_clzll(weight);
	return (top - MANTISSA + 1) << MANTISSA |
	       (unsigned)(weight >> (top - MANTISSA) & ((1u << MANTISSA) - 1));
}

/*
 * Which @keep nodes stay: the heaviest, and of equal ones those that came first, which a parent did
 * before its children. ret_places[node] is where it goes, or PROFILE_NONE. Returns how many stay.
 */
static size_t stack_tree_choose_nodes(const struct stack_tree *t, const uint64_t *weights,
				      size_t keep, uint32_t *ret_places)
{
	size_t n_of[WEIGHT_KINDS] = {0}, n_above = 0, n = 0, n_equal;
	unsigned kind = WEIGHT_KINDS - 1;

	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].frame != STACK_TREE_CUT)
			n_of[weight_kind(weights[i])]++;
	while (kind && n_above + n_of[kind] <= keep)
		n_above += n_of[kind--];
	n_equal = keep - n_above;
	for (size_t i = 0; i < t->n_nodes; i++) {
		unsigned own = weight_kind(weights[i]);
		bool stays = t->nodes[i].frame != STACK_TREE_CUT && own >= kind;

		if (stays && own == kind)
			stays = n_equal && n_equal--;
		ret_places[i] = stays ? (uint32_t)n++ : PROFILE_NONE;
	}
	return n;
}

/* All nodes' table, anew. */
static int index_nodes(struct stack_tree *t)
{
	int r = 0;

	profile_table_clear(&t->table);
	for (uint32_t i = 1; i < t->n_nodes && !r; i++)
		if (!stack_tree_follows_parent(t, i))
			r = insert_node(t, i);
	return r;
}

/* Values without those that no node has any more. */
static int stack_tree_compact_values(struct stack_tree *t)
{
	size_t row = t->n_values * sizeof(*t->values), n = 1;
	int64_t *kept;

	for (size_t i = 0; i < t->n_nodes; i++)
		n += t->nodes[i].values != 0;
	kept = calloc(n, row);
	if (!kept)
		return error_origin(-ENOMEM);
	t->owners_allocated = n;
	n = 1;
	for (size_t i = 0; i < t->n_nodes; i++) {
		struct stack_tree_node *node = &t->nodes[i];

		if (!node->values)
			continue;
		memcpy(&kept[n * t->n_values], &t->values[(size_t)node->values * t->n_values], row);
		node->values = (uint32_t)n++;
	}
	free(t->values);
	t->values = kept;
	t->n_owners = n;
	return 0;
}

/*
 * Moves those that stay to the front. @places is changed to where each node's values went: for one
 * that stays, itself; for any other, the nearest node above that does. There they become those of a
 * child of its own.
 */
static int move_nodes(struct stack_tree *t, uint32_t *places, size_t n)
{
	cleanup(freep) uint32_t *cut = calloc(n, sizeof(*cut)); /* values of that child */
	size_t n_all = n;

	if (!cut)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < t->n_nodes; i++) {
		struct stack_tree_node node = t->nodes[i];
		uint32_t place = places[i];

		if (place != PROFILE_NONE) {
			node.parent = i == ROOT ? ROOT : places[node.parent];
			t->nodes[place] = node;
			continue;
		}
		place = places[i] = places[node.parent];
		if (!cut[place])
			cut[place] = node.values;
		else if (node.values)
			sum_values(t, cut[place], &t->values[(size_t)node.values * t->n_values]);
	}
	for (uint32_t i = 0; i < n; i++)
		if (cut[i])
			t->nodes[n_all++] = (struct stack_tree_node){.parent = i,
								     .frame = STACK_TREE_CUT,
								     .values = cut[i]};
	t->n_nodes = n_all;
	return stack_tree_compact_values(t);
}

int stack_tree_shrink(struct stack_tree *t, size_t max_nodes)
{
	cleanup(freep) uint64_t *weights = NULL;
	cleanup(freep) uint32_t *places = NULL;
	int r;

	if (t->n_nodes <= max_nodes)
		return 0;
	weights = stack_tree_weigh_nodes(t);
	places = calloc(t->n_nodes, sizeof(*places));
	if (!weights || !places)
		return error_origin(-ENOMEM);
	/* Each that stays may get a child for what was cut. */
	r = move_nodes(t, places, stack_tree_choose_nodes(t, weights, max_nodes / 2, places));
	if (r)
		return r;
	t->n_path = 0;
	return index_nodes(t);
}

/* --- order ------------------------------------------------------------------------------------ */

struct ranking {
	const struct stack_tree_node *nodes;
	const uint64_t *weights;
	const char *const *texts;
	bool has_groups;
};

static int compare_siblings(const void *a, const void *b, void *context)
{
	const struct ranking *r = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t x_frame = r->nodes[x].frame, y_frame = r->nodes[y].frame;

	if (x_frame == STACK_TREE_CUT || y_frame == STACK_TREE_CUT)
		return (x_frame == STACK_TREE_CUT) - (y_frame == STACK_TREE_CUT);
	if (r->weights[x] != r->weights[y])
		return r->weights[x] < r->weights[y] ? 1 : -1;
	if (r->has_groups && r->nodes[x].parent == ROOT)
		return order_of(x_frame, y_frame);
	return strcmp(r->texts[x_frame], r->texts[y_frame]) ?: order_of(x_frame, y_frame);
}

/* Lists the children of each node: those of node i at children[starts[i]] up to starts[i + 1]. */
static void list_children(const struct stack_tree *t, uint32_t *starts, uint32_t *children)
{
	size_t n = t->n_nodes;

	/* Counted two places on, summed up, and moved one place on while they are filled. */
	for (size_t i = 1; i < n; i++)
		starts[t->nodes[i].parent + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		starts[i] += starts[i - 1];
	for (uint32_t i = 1; i < n; i++)
		children[starts[t->nodes[i].parent + 1]++] = i;
}

/* From children's lists to one list. */
static int list_depth_first(const struct stack_tree_node *nodes, const uint32_t *starts,
			    const uint32_t *children, struct stack_tree_order *order)
{
	/* Ways still to go: the next child of each node on the path to the last one, and the end
	 * of its children. */
	struct way {
		uint32_t next, end;
	};
	cleanup(freep) struct way *ways = NULL;
	size_t n_allocated = 0, n = 0;
	uint32_t node = ROOT;

	for (;;) {
		int r = room_append(&ways, &n_allocated, &n,
				    (struct way){starts[node], starts[node + 1]});

		if (r)
			return r;
		while (n && ways[n - 1].next == ways[n - 1].end)
			n--;
		if (!n)
			return 0;
		node = children[ways[n - 1].next++];
		order->all[order->n++] = (struct stack_tree_step){&nodes[node], (uint32_t)n - 1};
	}
}

int stack_tree_order(const struct stack_tree *t, const char *const *texts,
		     struct stack_tree_order *ret)
{
	size_t n = t->n_nodes;
	cleanup(freep) uint64_t *weights = stack_tree_weigh_nodes(t);
	cleanup(freep) uint32_t *starts = calloc(n + 2, sizeof(*starts));
	cleanup(freep) uint32_t *children = calloc(n, sizeof(*children));
	struct ranking ranking = {t->nodes, weights, texts, t->has_groups};
	cleanup(stack_tree_order_deinit) struct stack_tree_order order = {0};
	int r;

	if (!weights || !starts || !children)
		return error_origin(-ENOMEM);
	list_children(t, starts, children);
	for (size_t i = 0; i < n; i++)
		if (starts[i + 1] - starts[i] > 1)
			qsort_r(children + starts[i], starts[i + 1] - starts[i], sizeof(*children),
				compare_siblings, &ranking);
	free(steal_ptr(&weights));
	order.all = calloc(n, sizeof(*order.all));
	if (!order.all)
		return error_origin(-ENOMEM);
	r = list_depth_first(t->nodes, starts, children, &order);
	if (r)
		return r;
	*ret = order;
	order = (struct stack_tree_order){0};
	return 0;
}

void stack_tree_order_deinit(struct stack_tree_order *order)
{
	free(order->all);
	*order = (struct stack_tree_order){0};
}

/* --- names ------------------------------------------------------------------------------------ */

static int frame_names_add(struct frame_names *names, const struct view_input *input,
			   uint32_t frame)
{
	struct frame bare;

	if (frame >= names->n)
		return 0;
	bare = node_name_bare(&input->frames[frame]);
	return node_names_make(&names->texts, input->profile, &bare, frame);
}

int frame_names_init(struct frame_names *names, const struct view_input *input,
		     const struct stack_tree *tree)
{
	size_t n;
	const struct stack_tree_node *nodes = stack_tree_nodes(tree, &n);
	int r = 0;

	*names = (struct frame_names){
		.numbers = calloc(input->n_frames + 1, sizeof(*names->numbers)),
		.n = input->n_frames,
	};
	if (!names->numbers)
		return error_origin(-ENOMEM);
	memset(names->numbers, 0xff, names->n * sizeof(*names->numbers));
	for (size_t i = 1; i < n && !r; i++)
		r = frame_names_add(names, input, nodes[i].frame);
	return r ?: stack_tree_order(tree, (const char *const *)names->texts.all, &names->order);
}

void frame_names_deinit(struct frame_names *names)
{
	node_names_deinit(&names->texts);
	free(names->numbers);
	stack_tree_order_deinit(&names->order);
}
