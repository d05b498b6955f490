/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/analysis/shape.h"
#include "client/analysis/stack_tree.h"

#define FRAMES   3000u
#define N_VALUES 3u /* what is told, its base, and how many stacks */

/* @n frames, the root first, as people write them. */
static void add_stack(struct stack_tree *t, const uint32_t *root_first, uint32_t n, int64_t self,
		      int64_t base)
{
	static uint32_t frames[FRAMES];
	static const uint8_t is_inlined[FRAMES];
	struct stack stack = {.frames = frames, .is_inlined = is_inlined, .n_frames = n};

	for (uint32_t i = 0; i < n; i++)
		frames[i] = root_first[n - 1 - i];
	assert_int_equal(stack_tree_add(t, STACK_TREE_NO_GROUP, &stack, (int64_t[]){self, base, 1}),
			 0);
}

/* What each stack adds one to, which makes no weight. */
static int64_t count_stacks(const struct stack_tree *t)
{
	size_t n;
	const struct stack_tree_node *nodes = stack_tree_nodes(t, &n);
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += stack_tree_value(t, &nodes[i], 2);
	return sum;
}

static void sum(const struct stack_tree *t, int64_t *ret_self, int64_t *ret_base)
{
	size_t n;
	const struct stack_tree_node *nodes = stack_tree_nodes(t, &n);

	*ret_self = *ret_base = 0;
	for (size_t i = 0; i < n; i++) {
		*ret_self += stack_tree_value(t, &nodes[i], 0);
		*ret_base += stack_tree_value(t, &nodes[i], 1);
		assert_true(i == 0 || nodes[i].parent < i);
	}
}

/* Of what was cut off. */
static int64_t sum_cut(const struct stack_tree *t, unsigned i)
{
	size_t n;
	const struct stack_tree_node *nodes = stack_tree_nodes(t, &n);
	int64_t sum = 0;

	for (size_t k = 1; k < n; k++)
		if (nodes[k].frame == STACK_TREE_CUT)
			sum += stack_tree_value(t, &nodes[k], i);
	return sum;
}

static void stacks_share_their_ways(void **state)
{
	static const char *const texts[] = {"d", "c", "b", "a"};
	struct stack_tree_order order;
	struct stack_tree *t;
	size_t n;

	(void)state;
	assert_int_equal(stack_tree_new(&t, 1000, N_VALUES), 0);
	add_stack(t, (uint32_t[]){0, 1}, 2, 5, 0);
	add_stack(t, (uint32_t[]){0, 2, 1}, 3, 7, 1);
	add_stack(t, (uint32_t[]){0, 1}, 2, 1, 0);
	add_stack(t, (uint32_t[]){3}, 1, 1, 2);
	stack_tree_nodes(t, &n);
	assert_int_equal(n, 6); /* the root, 0, 0 1, 0 2, 0 2 1, 3 */
	assert_int_equal(stack_tree_order(t, texts, &order), 0);
	assert_int_equal(order.n, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct stack_tree_node *node = order.all[i].node;

		assert_int_equal(node->frame, ((uint32_t[]){0, 2, 1, 1, 3})[i]);
		assert_int_equal(stack_tree_value(t, node, 0), ((int64_t[]){0, 0, 7, 6, 1})[i]);
		assert_int_equal(stack_tree_value(t, node, 1), ((int64_t[]){0, 0, 1, 0, 2})[i]);
		assert_int_equal(order.all[i].depth, ((uint32_t[]){0, 1, 2, 1, 0})[i]);
	}
	stack_tree_order_deinit(&order);
	stack_tree_free(t);
}

/* More ways than there may be nodes: what is heavy stays, and no value is lost. */
static void memory_is_bounded(void **state)
{
	struct stack_tree *t;
	int64_t self = 0, base = 0, seen_self, seen_base, heavy = 0;
	const struct stack_tree_node *nodes;
	uint32_t frames[40];
	size_t n;

	(void)state;
	assert_int_equal(stack_tree_new(&t, 500, N_VALUES), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t depth = 1 + i % 40;

		for (uint32_t d = 0; d < depth; d++)
			frames[d] = (i * 31 + d * d) % FRAMES;
		add_stack(t, frames, depth, i % 3 ? (int64_t)i : -(int64_t)i, i % 7);
		add_stack(t, (uint32_t[]){1, 2, 3}, 3, 1000, 0);
		self += (i % 3 ? (int64_t)i : -(int64_t)i) + 1000;
		base += i % 7;
		stack_tree_nodes(t, &n);
		assert_true(n <= 500);
	}
	sum(t, &seen_self, &seen_base);
	assert_int_equal(seen_self, self);
	assert_int_equal(seen_base, base);
	assert_int_equal(stack_tree_shrink(t, 16), 0);
	nodes = stack_tree_nodes(t, &n);
	assert_true(n <= 16);
	for (size_t i = 1; i < n; i++)
		if (nodes[i].frame == 3 && nodes[nodes[i].parent].frame == 2)
			heavy = stack_tree_value(t, &nodes[i], 0);
	assert_int_equal(heavy, 20000 * 1000);
	sum(t, &seen_self, &seen_base);
	assert_int_equal(seen_self, self);
	assert_int_equal(count_stacks(t), 40000);
	seen_self = sum_cut(t, 0);
	assert_true(seen_self != 0 && seen_self < self);
	stack_tree_free(t);
}

/* One stack that is longer than all that may be kept. */
static void long_stacks_are_cut(void **state)
{
	uint32_t frames[FRAMES];
	struct stack_tree *t;
	int64_t self, base;
	size_t n;

	(void)state;
	for (uint32_t i = 0; i < FRAMES; i++)
		frames[i] = i;
	assert_int_equal(stack_tree_new(&t, 64, N_VALUES), 0);
	for (unsigned i = 0; i < 3; i++) {
		add_stack(t, frames, FRAMES, 10, 1);
		stack_tree_nodes(t, &n);
		assert_true(n <= 64);
	}
	sum(t, &self, &base);
	assert_int_equal(count_stacks(t), 3);
	assert_int_equal(self, 30);
	assert_int_equal(base, 3);
	assert_int_equal(sum_cut(t, 0), 30);
	assert_int_equal(sum_cut(t, 1), 3);
	stack_tree_free(t);
}

/* Whichever way was first: its nodes follow each other, those of others are looked up. */
static void ways_are_found_again(void **state)
{
	struct stack_tree *t;
	size_t n, after;

	(void)state;
	assert_int_equal(stack_tree_new(&t, 4000, N_VALUES), 0);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t a = 0; a < 10; a++)
			for (uint32_t b = 0; b < 10; b++)
				for (uint32_t c = 0; c < 10; c++)
					add_stack(t, (uint32_t[]){a, b, round ? 9 - c : c}, 3, 1,
						  0);
		after = round ? n : 0;
		stack_tree_nodes(t, &n);
		assert_int_equal(n, 1 + 10 + 100 + 1000);
	}
	assert_int_equal(after, n);
	assert_int_equal(stack_tree_shrink(t, 500), 0);
	stack_tree_nodes(t, &n);
	for (uint32_t a = 0; a < 10; a++)
		add_stack(t, (uint32_t[]){a}, 1, 1, 0);
	stack_tree_nodes(t, &after);
	assert_int_equal(after, n); /* all of them were there */
	stack_tree_free(t);
}

/* Nothing of what was cut had values; what comes then has. */
static void values_come_after_cutting(void **state)
{
	struct stack_tree *t;
	struct stack stack = {.n_frames = 1};
	uint32_t frame;
	int64_t self = 0;
	size_t n;

	(void)state;
	assert_int_equal(stack_tree_new(&t, 500, 1), 0);
	stack.frames = &frame;
	for (uint32_t i = 0; i < 2000; i++) {
		frame = i;
		assert_int_equal(stack_tree_add(t, STACK_TREE_NO_GROUP, &stack, (int64_t[]){0}), 0);
	}
	for (uint32_t i = 0; i < 200; i++) {
		frame = i;
		assert_int_equal(stack_tree_add(t, STACK_TREE_NO_GROUP, &stack, (int64_t[]){1}), 0);
	}
	stack_tree_nodes(t, &n);
	for (size_t i = 0; i < n; i++)
		self += stack_tree_value(t, &stack_tree_nodes(t, &n)[i], 0);
	assert_int_equal(self, 200);
	stack_tree_free(t);
}

static void sums_are_clamped(void **state)
{
	struct stack_tree *t;
	const struct stack_tree_node *nodes;
	size_t n;

	(void)state;
	assert_int_equal(stack_tree_new(&t, 64, N_VALUES), 0);
	for (unsigned i = 0; i < 3; i++)
		add_stack(t, (uint32_t[]){0}, 1, INT64_MAX, INT64_MIN);
	nodes = stack_tree_nodes(t, &n);
	assert_true(stack_tree_value(t, &nodes[1], 0) == INT64_MAX &&
		    stack_tree_value(t, &nodes[1], 1) == INT64_MIN);
	stack_tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_share_their_ways),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(long_stacks_are_cut),
		cmocka_unit_test(ways_are_found_again),
		cmocka_unit_test(sums_are_clamped),
		cmocka_unit_test(values_come_after_cutting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
