/* SPDX-License-Identifier: MIT */
/* What the values of each label weigh: those that a filter can name. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/json_text.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "client/gateway/view/answer.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/profile/intern.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"

#define KEYS_MAX   50
#define VALUES_MAX 50 /* of a key: the heaviest */

struct label_value {
	uint32_t key, str;
	int64_t num;
	int64_t weight;
};

struct part_labels {
	struct view view;
	struct label_value *values;
	struct intern in;
	int64_t total;
};

/* Of what is compared, the base is left out. */
static int part_labels_add(struct view *view, const struct view_input *input,
			   const struct stack *stack)
{
	struct part_labels *p = (struct part_labels *)view;
	int64_t weight = stack->values[input->type];

	if (!weight || compare_is_base(input->profile, stack->labels, stack->n_labels))
		return 0;
	p->total = clamped_add(p->total, weight);
	for (uint32_t i = 0; i < stack->n_labels; i++) {
		const struct profile_label *l = &stack->labels[i];
		const struct label_value wanted = {.key = l->key, .str = l->str, .num = l->num};
		uint32_t index;
		int r = intern_add(&p->in, &p->values, &wanted, sizeof(wanted),
				   offsetof(struct label_value, weight), &index);

		if (r)
			return r;
		p->values[index].weight = clamped_add(p->values[index].weight, weight);
	}
	return 0;
}

static int labels_compare(const void *a, const void *b)
{
	const struct label_value *x = a, *y = b;

	return order_of(x->key, y->key) ?: order_of(y->weight, x->weight) ?: order_of(x->str, y->str)
		       ?: order_of(x->num, y->num);
}

static void labels_write_value(const struct part_labels *p, const struct view_input *input,
			       const struct label_value *v, FILE *out)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRId64, v->num);
	fputs("{\"value\":", out);
	json_text_write(out, v->str ? profile_string(input->profile, v->str) : number);
	fprintf(out, ",\"share\":%.6f}", p->total ? (double)v->weight / (double)p->total : 0);
}

/* All values of one key. */
static int labels_write_key(const struct part_labels *p, const struct view_input *input,
			    const struct label_value *values, size_t n, struct memory_text *ret)
{
	int r = memory_text_open(ret);

	if (r)
		return r;
	fputs("{\"key\":", ret->out);
	json_text_write(ret->out, profile_string(input->profile, values->key));
	fprintf(ret->out, ",\"n\":%zu,\"values\":[", n);
	for (size_t i = 0; i < n && i < VALUES_MAX; i++) {
		fputs(i ? "," : "", ret->out);
		labels_write_value(p, input, &values[i], ret->out);
	}
	fputs("]}", ret->out);
	return memory_text_close(ret);
}

/* Keys whose texts are too long together are left out: *ret_cut. */
static int labels_write_keys(const struct part_labels *p, const struct view_input *input, FILE *out,
			     bool *ret_cut)
{
	size_t length = 0, n_keys = 0;

	*ret_cut = false;
	for (size_t i = 0, end; i < p->in.n; i = end) {
		cleanup(memory_text_deinit) struct memory_text key = {0};
		int r;

		for (end = i; end < p->in.n && p->values[end].key == p->values[i].key;)
			end++;
		r = labels_write_key(p, input, &p->values[i], end - i, &key);
		if (r)
			return r;
		*ret_cut |= end - i > VALUES_MAX;
		if (n_keys == KEYS_MAX || length + key.length > p->view.options.max_bytes) {
			*ret_cut = true;
			continue;
		}
		length += key.length + 1;
		fprintf(out, "%s%s", n_keys++ ? "," : "", key.text);
	}
	return 0;
}

static int part_labels_end(struct view *view, const struct view_input *input, FILE *out)
{
	cleanup(memory_text_deinit) struct memory_text keys = {0};
	struct part_labels *p = (struct part_labels *)view;
	bool is_cut;
	int r = memory_text_open(&keys);

	if (p->in.n)
		qsort(p->values, p->in.n, sizeof(*p->values), labels_compare);
	r = r ?: labels_write_keys(p, input, keys.out, &is_cut) ?: memory_text_close(&keys);
	if (!r)
		fprintf(out, "\"truncated\":%s,\"labels\":[%s]", is_cut ? "true" : "false",
			keys.text);
	return r;
}

static void part_labels_deinit(struct view *view)
{
	struct part_labels *p = (struct part_labels *)view;

	intern_deinit(&p->in);
	free(p->values);
}

const struct view_class view_part_labels = {
	.name = "labels",
	.size = sizeof(struct part_labels),
	.add = part_labels_add,
	.end = part_labels_end,
	.deinit = part_labels_deinit,
};
