/* SPDX-License-Identifier: MIT */
/* --tags: what each label's values weigh, also beside all of the profile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/graph.h"
#include "client/analysis/labels.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/intern.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

/* What a label says, and what the stacks weigh that have it. */
struct said {
	uint32_t key, str;
	int64_t num;
	int64_t weight;
};

struct tags {
	struct view view;
	struct said *said;
	struct intern in;
};

/* A line of the table. */
struct tags_line {
	const char *key; /* the profile's */
	char *value;     /* as it is printed; owned */
	int64_t weight;
};

static void tags_deinit(struct view *view)
{
	struct tags *t = (struct tags *)view;

	intern_deinit(&t->in);
	free(t->said);
}

static int tags_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	struct tags *t = (struct tags *)view;

	for (uint32_t i = 0; i < stack->n_labels; i++) {
		const struct profile_label *l = &stack->labels[i];
		const struct said said = {.key = l->key, .str = l->str, .num = l->num};
		uint32_t index;
		int r = intern_add(&t->in, &t->said, &said, sizeof(said),
				   offsetof(struct said, weight), &index);

		if (r)
			return r;
		t->said[index].weight = graph_add_clamped(t->said[index].weight,
							  stack->values[input->type]);
	}
	return 0;
}

DEFINE_ORDER(compare_keys, struct tags_line, strcmp(x->key, y->key) ?: strcmp(x->value, y->value))

static int compare_weights(const void *a, const void *b)
{
	const struct tags_line *x = a, *y = b;
	int64_t wx = llabs(x->weight), wy = llabs(y->weight);

	return order_of(wy, wx) ?: strcmp(x->value, y->value);
}

/* Lines by key and value; numbers that are printed alike are one. */
static int tags_make_lines(const struct tags *t, const struct view_input *input, const char *unit,
			   struct tags_line *lines, size_t *ret_n)
{
	const struct profile *p = input->profile;
	size_t n = 0;

	for (; n < t->in.n; n++) {
		const struct said *said = &t->said[n];
		char number[MEASURE_TEXT_MAX];

		measure_print(number, sizeof(number), said->num,
			      label_units_of(input->label_units, p, said->key), unit);
		lines[n] = (struct tags_line){
			.key = profile_string(p, said->key),
			.value = said->str ? node_name_plain(profile_string(p, said->str))
					   : strdup(number),
			.weight = said->weight};
		if (!lines[n].value)
			return error_origin(-ENOMEM);
	}
	if (n)
		qsort(lines, n, sizeof(*lines), compare_keys);
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		struct tags_line *last = *ret_n ? &lines[*ret_n - 1] : NULL;

		if (last && strcmp(last->key, lines[i].key) == 0 &&
		    strcmp(last->value, lines[i].value) == 0) {
			last->weight = graph_add_clamped(last->weight, lines[i].weight);
			free(steal_ptr(&lines[i].value));
		} else if (i != (*ret_n)++) {
			lines[*ret_n - 1] = lines[i];
			lines[i].value = NULL;
		}
	}
	return 0;
}

/* "12.5s (25.00%):", of @total. */
static int print_weight(const struct values *v, int64_t weight, int64_t total, char **ret)
{
	char text[MEASURE_TEXT_MAX], share[MEASURE_TEXT_MAX];
	int n;

	values_print(v, text, weight);
	measure_print_percentage(share, sizeof(share), weight, total);
	n = total > 0 ? asprintf(ret, "%s (%s):", text, share) : asprintf(ret, "%s:", text);
	if (n < 0)
		return error_origin(-ENOMEM);
	utf8_make_harmless(*ret, "");
	return 0;
}

/* One key's lines: as a table, its columns aligned at the right. */
static int tags_put_key(FILE *out, struct tags_line *lines, size_t n, const struct values *v,
			int64_t profile_total)
{
	cleanup(freep) char *key = node_name_plain(lines[0].key);
	cleanup(freep) char **weights = calloc(n, sizeof(*weights));
	char all[MEASURE_TEXT_MAX], of[MEASURE_TEXT_MAX], share[MEASURE_TEXT_MAX];
	size_t width = 0;
	int64_t total = 0;
	int r = 0;

	if (!key || !weights)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		total = graph_add_clamped(total, lines[i].weight);
	fprintf(out, " %s: Total %s of %s", key, values_print(v, all, total),
		values_print(v, of, profile_total));
	if (profile_total > 0)
		fprintf(out, " (%s)",
			measure_print_percentage(share, sizeof(share), total, profile_total));
	fputc('\n', out);
	qsort(lines, n, sizeof(*lines), compare_weights);
	for (size_t i = 0; i < n && !r; i++) {
		r = print_weight(v, lines[i].weight, profile_total, &weights[i]);
		if (!r && utf8_length(weights[i]) > width)
			width = utf8_length(weights[i]);
	}
	for (size_t i = 0; i < n; i++) {
		if (!r)
			fprintf(out, "%*s%*s %s\n", (int)utf8_length(key) + 2, "",
				utf8_field_width(weights[i], (int)width + 1), weights[i],
				lines[i].value);
		free(weights[i]);
	}
	fputc('\n', out);
	return r;
}

static int tags_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct tags *t = (struct tags *)view;
	cleanup(freep) struct tags_line *lines = calloc(t->in.n + 1, sizeof(*lines));
	struct values values;
	size_t n = 0, next;
	int r;

	if (!lines)
		return error_origin(-ENOMEM);
	values_init(&values, input, &t->view.options);
	r = tags_make_lines(t, input, values.to, lines, &n);
	for (size_t i = 0; i < n && !r; i = next) {
		for (next = i + 1; next < n && strcmp(lines[next].key, lines[i].key) == 0;)
			next++;
		r = tags_put_key(out, lines + i, next - i, &values, input->total);
	}
	for (size_t i = 0; i < t->in.n; i++)
		free(lines[i].value);
	return r;
}

const struct view_class view_tags = {
	.name = "tags",
	.size = sizeof(struct tags),
	.add = tags_add,
	.end = tags_end,
	.deinit = tags_deinit,
};
