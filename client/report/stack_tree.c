/* SPDX-License-Identifier: MIT */
/*
 * Nodes lie in one array and are found through a table of (parent, frame). A stack mostly shares
 * its first frames with the one before it, whose nodes are remembered: only where the two part is
 * the table asked.
 */
#include "client/report/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/profile.h"
#include "common/profile/profile_table.h"
#include "common/profile/shape.h"

#define ROOT         0u
#define NODES_MIN    ((size_t)1024)
#define MANTISSA     6 /* bits of a weight that are told apart below its highest */
#define WEIGHT_KINDS (64u << MANTISSA)

struct stack_tree {
	struct stack_tree_node *nodes;
	size_t n_nodes, n_allocated, max_nodes;
	struct profile_table table;
	struct profile_hash_key key;
	uint32_t *path; /* the nodes of the last stack, from the root's child on */
	size_t n_path, path_allocated;
	bool has_groups;
};

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static uint64_t add_weight(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

int stack_tree_new(struct stack_tree **ret, size_t max_nodes)
{
	cleanup(stack_tree_freep) struct stack_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return error_origin(-ENOMEM);
	t->n_allocated = max_nodes < NODES_MIN ? max_nodes : NODES_MIN;
	t->nodes = calloc(t->n_allocated, sizeof(*t->nodes));
	if (!t->nodes)
		return error_origin(-ENOMEM);
	t->n_nodes = 1;
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

static int is_edge(const void *owner, uint32_t index, const void *key)
{
	const struct stack_tree_node *node = &((const struct stack_tree *)owner)->nodes[index];
	const struct edge *edge = key;

	return node->parent == edge->parent && node->frame == edge->frame;
}

static int grow_nodes(struct stack_tree *t)
{
	size_t n = t->n_allocated * 2 < t->max_nodes ? t->n_allocated * 2 : t->max_nodes;
	struct stack_tree_node *grown;

	if (t->n_nodes < t->n_allocated)
		return 0;
	grown = reallocarray(t->nodes, n, sizeof(*grown));
	if (!grown)
		return error_origin(-ENOMEM);
	t->nodes = grown;
	t->n_allocated = n;
	return 0;
}

/* The child of @parent for @frame, which the caller saw to there being room for. */
static int find_child(struct stack_tree *t, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	struct edge edge = {parent, frame};
	uint32_t hash = hash_edge(t, edge);
	uint32_t node = profile_table_find(&t->table, hash, is_edge, t, &edge);
	int r;

	if (node == PROFILE_NONE) {
		r = profile_table_reserve(&t->table);
		if (!r)
			r = grow_nodes(t);
		if (r)
			return r;
		node = (uint32_t)t->n_nodes++;
		t->nodes[node] = (struct stack_tree_node){.parent = parent,
							  .frame = frame & STACK_TREE_CUT};
		profile_table_insert(&t->table, hash, node);
	}
	*ret = node;
	return 0;
}

static int reserve_path(struct stack_tree *t, size_t n)
{
	size_t grown = t->path_allocated ? t->path_allocated : 128;
	uint32_t *path;

	if (n <= t->path_allocated)
		return 0;
	while (grown < n)
		grown *= 2;
	path = reallocarray(t->path, grown, sizeof(*path));
	if (!path)
		return error_origin(-ENOMEM);
	t->path = path;
	t->path_allocated = grown;
	return 0;
}

/* The node at @depth of the path that now leads to @parent. */
static int step(struct stack_tree *t, size_t depth, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	int r;

	if (depth < t->n_path) {
		if (t->nodes[t->path[depth]].frame == frame) {
			*ret = t->path[depth];
			return 0;
		}
		t->n_path = depth;
	}
	r = find_child(t, parent, frame, ret);
	if (r)
		return r;
	t->path[t->n_path++] = *ret;
	return 0;
}

int stack_tree_add(struct stack_tree *t, uint32_t group, const struct stack *stack, int64_t self,
		   int64_t base)
{
	size_t n = stack->n_frames, room, depth = 0;
	uint32_t node = ROOT;
	int r = 0;

	/* A node for each frame, for the group, and for what is cut. */
	if (t->n_nodes + n + 2 > t->max_nodes)
		r = stack_tree_shrink(t, t->max_nodes / 2);
	if (!r)
		r = reserve_path(t, n + 2);
	if (r)
		return r;
	room = t->max_nodes - t->n_nodes - 2;
	if (group != STACK_TREE_NO_GROUP) {
		t->has_groups = true;
		r = step(t, depth++, node, group, &node);
	}
	for (size_t i = n; i && n - i < room && !r; i--) {
		r = step(t, depth++, node, stack->frames[i - 1], &node);
		if (!r && stack->is_inlined && stack->is_inlined[i - 1])
			t->nodes[node].is_inlined = 1;
	}
	if (n > room && !r)
		r = step(t, depth++, node, STACK_TREE_CUT, &node);
	if (r)
		return r;
	t->n_path = depth;
	t->nodes[node].self = add(t->nodes[node].self, self);
	t->nodes[node].base = add(t->nodes[node].base, base);
	return 0;
}

const struct stack_tree_node *stack_tree_nodes(const struct stack_tree *t, size_t *ret_n)
{
	*ret_n = t->n_nodes;
	return t->nodes;
}

void stack_tree_get_cut(const struct stack_tree *t, int64_t *ret_self, int64_t *ret_base)
{
	int64_t self = 0, base = 0;

	for (size_t i = 1; i < t->n_nodes; i++) {
		if (t->nodes[i].frame == STACK_TREE_CUT) {
			self = add(self, t->nodes[i].self);
			base = add(base, t->nodes[i].base);
		}
	}
	*ret_self = self;
	*ret_base = base;
}

/* --- cutting ---------------------------------------------------------------------------------- */

/* What each node and those below it weigh: never less than one of its children does. */
static uint64_t *weigh(const struct stack_tree *t)
{
	uint64_t *weights = calloc(t->n_nodes, sizeof(*weights));

	for (size_t i = t->n_nodes; weights && i--;) {
		const struct stack_tree_node *node = &t->nodes[i];

		weights[i] = add_weight(weights[i],
					add_weight(magnitude(node->self), magnitude(node->base)));
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
static size_t choose(const struct stack_tree *t, const uint64_t *weights, size_t keep,
		     uint32_t *ret_places)
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

/* All nodes' table, anew. There is room, as there were more. */
static void index_nodes(struct stack_tree *t)
{
	profile_table_clear(&t->table);
	for (uint32_t i = 1; i < t->n_nodes; i++)
		profile_table_insert(
			&t->table,
			hash_edge(t, (struct edge){t->nodes[i].parent, t->nodes[i].frame}), i);
}

/*
 * Moves those that stay to the front. @places is changed to where each node's values went: for one
 * that stays, itself; for any other, the nearest node above that does.
 */
static int move_nodes(struct stack_tree *t, uint32_t *places, size_t n)
{
	cleanup(freep) struct stack_tree_node *cut = calloc(n, sizeof(*cut));
	size_t n_cut = n;

	if (!cut)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < t->n_nodes; i++) {
		struct stack_tree_node node = t->nodes[i];
		uint32_t place = places[i];

		if (place == PROFILE_NONE) {
			place = places[i] = places[node.parent];
			cut[place].is_inlined = 1; /* there is one */
			cut[place].self = add(cut[place].self, node.self);
			cut[place].base = add(cut[place].base, node.base);
		} else {
			node.parent = i == ROOT ? ROOT : places[node.parent];
			t->nodes[place] = node;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!cut[i].is_inlined)
			continue;
		t->nodes[n_cut++] = (struct stack_tree_node){.parent = i,
							     .frame = STACK_TREE_CUT,
							     .self = cut[i].self,
							     .base = cut[i].base};
	}
	t->n_nodes = n_cut;
	return 0;
}

int stack_tree_shrink(struct stack_tree *t, size_t max_nodes)
{
	cleanup(freep) uint64_t *weights = NULL;
	cleanup(freep) uint32_t *places = NULL;
	int r;

	if (t->n_nodes <= max_nodes)
		return 0;
	weights = weigh(t);
	places = calloc(t->n_nodes, sizeof(*places));
	if (!weights || !places)
		return error_origin(-ENOMEM);
	/* Each that stays may get a child for what was cut. */
	r = move_nodes(t, places, choose(t, weights, max_nodes / 2, places));
	if (r)
		return r;
	t->n_path = 0;
	index_nodes(t);
	return 0;
}

/* --- order ------------------------------------------------------------------------------------ */

struct ranking {
	const struct stack_tree_node *nodes;
	const uint64_t *weights; /* NULL: they do not matter */
	const uint32_t *ranks;
	bool has_groups;
};

static int compare_siblings(const void *a, const void *b, void *context)
{
	const struct ranking *r = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t x_frame = r->nodes[x].frame, y_frame = r->nodes[y].frame;
	uint32_t x_rank, y_rank;

	if (x_frame == STACK_TREE_CUT || y_frame == STACK_TREE_CUT)
		return (x_frame == STACK_TREE_CUT) - (y_frame == STACK_TREE_CUT);
	if (r->weights && r->weights[x] != r->weights[y])
		return r->weights[x] < r->weights[y] ? 1 : -1;
	if (!r->has_groups || r->nodes[x].parent != ROOT) {
		x_rank = r->ranks[x_frame];
		y_rank = r->ranks[y_frame];
		if (x_rank != y_rank)
			return x_rank < y_rank ? -1 : 1;
	}
	return x_frame < y_frame ? -1 : x_frame > y_frame;
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

/* From children's lists to one list; @pending is room for as many. */
static void list_depth_first(const uint32_t *starts, const uint32_t *children, uint32_t *pending,
			     struct stack_tree_order *order, const struct stack_tree_node *nodes,
			     uint32_t *depth_of)
{
	size_t n_pending = 0;
	uint32_t node = ROOT;

	for (;;) {
		for (uint32_t i = starts[node + 1]; i > starts[node]; i--)
			pending[n_pending++] = children[i - 1];
		if (!n_pending)
			return;
		node = pending[--n_pending];
		depth_of[node] = nodes[node].parent == ROOT ? 0 : depth_of[nodes[node].parent] + 1;
		order->depths[order->n] = depth_of[node];
		order->nodes[order->n++] = node;
	}
}

int stack_tree_order(const struct stack_tree *t, const uint32_t *ranks, bool by_rank,
		     struct stack_tree_order *ret)
{
	size_t n = t->n_nodes;
	cleanup(freep) uint64_t *weights = by_rank ? NULL : weigh(t);
	cleanup(freep) uint32_t *starts = calloc(n + 2, sizeof(*starts));
	cleanup(freep) uint32_t *children = calloc(n, sizeof(*children));
	cleanup(freep) uint32_t *pending = calloc(n, sizeof(*pending));
	cleanup(freep) uint32_t *depth_of = calloc(n, sizeof(*depth_of));
	struct ranking ranking = {t->nodes, weights, ranks, t->has_groups};
	struct stack_tree_order order = {0};

	order.nodes = calloc(n, sizeof(*order.nodes));
	order.depths = calloc(n, sizeof(*order.depths));
	if ((!by_rank && !weights) || !starts || !children || !pending || !depth_of ||
	    !order.nodes || !order.depths) {
		stack_tree_order_deinit(&order);
		return error_origin(-ENOMEM);
	}
	list_children(t, starts, children);
	for (size_t i = 0; i < n; i++)
		if (starts[i + 1] - starts[i] > 1)
			qsort_r(children + starts[i], starts[i + 1] - starts[i], sizeof(*children),
				compare_siblings, &ranking);
	list_depth_first(starts, children, pending, &order, t->nodes, depth_of);
	*ret = order;
	return 0;
}

void stack_tree_order_deinit(struct stack_tree_order *order)
{
	free(order->nodes);
	free(order->depths);
	*order = (struct stack_tree_order){0};
}
