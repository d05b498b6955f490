/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_ANALYSIS_GRAPH_FIXTURE_H
#define PROFD_TESTS_UNIT_ANALYSIS_GRAPH_FIXTURE_H

/* The call graph of stacks by hand, and what is in it, by names. Include after cmocka.h. */
#include "client/analysis/graph.h"
#include "tests/unit/report/fixture.h"

static inline struct graph *fold_with(struct fixture *f, const struct graph_options *options,
				      const struct view_input *input)
{
	struct graph *g;
	bool again;

	assert_int_equal(graph_new(&g, options), 0);
	f->n_passes = 0;
	do {
		for (size_t i = 0; i < f->n_stacks; i++) {
			struct stack stack = fixture_get(f, i);

			assert_int_equal(graph_add(g, input, &stack), 0);
		}
		assert_int_equal(graph_end(g, input, &again), 0);
		f->n_passes++;
	} while (again);
	return g;
}

static inline struct graph *fold(struct fixture *f, const struct graph_options *options)
{
	struct view_input input = fixture_input(f);

	return fold_with(f, options, &input);
}

/* The names in order, "a b c". */
static inline void assert_order(const struct graph *g, const char *names)
{
	char text[1024] = "";
	int n = 0;

	for (size_t i = 0; i < g->n_order; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s", i ? " " : "",
			      graph_name(g, g->order[i]));
	assert_string_equal(text, names);
}

static inline uint32_t find(const struct graph *g, const char *name)
{
	for (size_t i = 0; i < g->n_order; i++)
		if (strcmp(graph_name(g, g->order[i]), name) == 0)
			return g->order[i];
	fail_msg("no %s", name);
	return 0;
}

static inline void assert_node(const struct graph *g, const char *name, int64_t flat, int64_t cum)
{
	const struct graph_node *node = &g->nodes[find(g, name)];

	assert_int_equal(node->flat.value, flat);
	assert_int_equal(node->cum.value, cum);
}

/* The call, or NULL; the same from both of its ends. */
static inline const struct graph_call *find_call(const struct graph *g, const char *caller,
						 const char *callee)
{
	uint32_t from = find(g, caller), to = find(g, callee);
	const struct graph_call *found = NULL, *other = NULL;
	size_t n;
	const uint32_t *calls = graph_callees(g, from, &n);

	for (size_t i = 0; i < n; i++)
		if (g->calls[calls[i]].callee == to)
			found = &g->calls[calls[i]];
	calls = graph_callers(g, to, &n);
	for (size_t i = 0; i < n; i++)
		if (g->calls[calls[i]].caller == from)
			other = &g->calls[calls[i]];
	assert_ptr_equal(found, other);
	return found;
}

static inline void assert_call(const struct graph *g, const char *caller, const char *callee,
			       int64_t weight, bool is_residual)
{
	const struct graph_call *call = find_call(g, caller, callee);

	assert_non_null(call);
	assert_int_equal(call->weight.value, weight);
	assert_int_equal(call->is_residual, is_residual);
}

#endif
