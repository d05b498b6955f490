/* SPDX-License-Identifier: MIT */
/*
 * A row per function. Which ones there are is decided by their cumulative values, which are never
 * below their own: whatever a table is sorted by, the first rows are there. In a comparison, the
 * base has columns of its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/frame_kind.h"
#include "client/analysis/json_text.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "client/gateway/view/answer.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"

struct top_row {
	int64_t self[2], cum[2]; /* and of the base */
	uint64_t seen;           /* the last stack that it was in */
	bool is_seen_out;        /* not inlined, in some stack */
	uint32_t frame;
};

struct part_top {
	struct view view;
	struct top_row *rows; /* by frame */
	size_t n;
	uint64_t serial; /* stacks */
	bool has_base;
};

static int top_make_room(struct part_top *t, size_t n)
{
	size_t max = n + n / 2 + 64;
	struct top_row *grown;

	if (n <= t->n)
		return 0;
	grown = reallocarray(t->rows, max, sizeof(*grown));
	if (!grown)
		return error_origin(-ENOMEM);
	memset(grown + t->n, 0, (max - t->n) * sizeof(*grown));
	t->rows = grown;
	t->n = max;
	return 0;
}

static int part_top_add(struct view *view, const struct view_input *input,
			const struct stack *stack)
{
	bool is_base = compare_is_base(input->profile, stack->labels, stack->n_labels);
	int64_t value = stack->values[input->type];
	struct part_top *t = (struct part_top *)view;
	int r = top_make_room(t, input->n_frames);

	/* As in pprof: a stack that has nothing of what is shown is not there. */
	if (r || !value)
		return r;
	t->has_base |= is_base;
	t->serial++;
	if (is_base)
		value = value == INT64_MIN ? INT64_MAX : -value;
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		struct top_row *row = &t->rows[stack->frames[i]];

		if (!i)
			row->self[is_base] = clamped_add(row->self[is_base], value);
		if (row->seen != t->serial)
			row->cum[is_base] = clamped_add(row->cum[is_base], value);
		row->seen = t->serial;
		row->is_seen_out |= !stack->is_inlined[i];
	}
	return 0;
}

/* --- the rows --------------------------------------------------------------------------------- */

static int64_t top_weight(const struct top_row *row)
{
	int64_t value = llabs(row->cum[0]), base = llabs(row->cum[1]);

	return value > base ? value : base;
}

static int top_compare_cum(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return order_of(top_weight(y), top_weight(x)) ?: order_of(x->frame, y->frame);
}

static int top_compare_self(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return order_of(y->self[0], x->self[0]) ?: top_compare_cum(a, b);
}

/* Those that were seen, by their cumulative values; how many. */
static size_t top_list(struct part_top *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (!t->rows[i].seen)
			continue;
		t->rows[n] = t->rows[i];
		t->rows[n++].frame = (uint32_t)i;
	}
	if (n)
		qsort(t->rows, n, sizeof(*t->rows), top_compare_cum);
	return n;
}

static const char *top_kind(const struct view_input *input, const struct top_row *row)
{
	const char *kind = frame_kind(input->profile, &input->frames[row->frame]);

	if (*kind)
		return kind;
	return row->is_seen_out ? "native" : "inlined";
}

static int top_write_row(const struct part_top *t, const struct view_input *input,
			 const struct top_row *row, FILE *out)
{
	const struct frame *frame = &input->frames[row->frame];
	const char *file = profile_string(input->profile, frame->filename);
	const char *module = profile_string(input->profile, frame->object);
	const struct frame bare = node_name_bare(frame);
	cleanup(freep) char *name = NULL;
	int r = node_name(input->profile, &bare, &name);

	if (r)
		return r;
	fputs("{\"function\":", out);
	json_text_write(out, name);
	fputs(",\"file\":", out);
	json_text_write(out, file);
	fputs(",\"module\":", out);
	json_text_write(out, module);
	fprintf(out, ",\"kind\":\"%s\",\"self\":%" PRId64 ",\"cum\":%" PRId64, top_kind(input, row),
		row->self[0], row->cum[0]);
	if (t->has_base)
		fprintf(out, ",\"base_self\":%" PRId64 ",\"base_cum\":%" PRId64, row->self[1],
			row->cum[1]);
	fputc('}', out);
	return 0;
}

/* Up to the bound; *ret_n: how many. */
static int top_write_rows(const struct part_top *t, const struct view_input *input, size_t n,
			  struct memory_text *ret, size_t *ret_n)
{
	size_t length = 0;
	int r = memory_text_open(ret);

	for (*ret_n = 0; *ret_n < n && !r; ++*ret_n) {
		cleanup(memory_text_deinit) struct memory_text row = {0};

		r = memory_text_open(&row)
			    ?: top_write_row(t, input, &t->rows[*ret_n], row.out)
			    ?: memory_text_close(&row);
		length += row.length + 1;
		if (r || length > t->view.options.max_bytes)
			break;
		fprintf(ret->out, "%s%s", *ret_n ? "," : "", row.text);
	}
	return r ?: memory_text_close(ret);
}

static int part_top_end(struct view *view, const struct view_input *input, FILE *out)
{
	cleanup(memory_text_deinit) struct memory_text rows = {0};
	struct part_top *t = (struct part_top *)view;
	size_t n = top_list(t), n_shown = (size_t)view->options.nodecount, n_written;
	int r;

	if (n_shown > n)
		n_shown = n;
	if (n_shown)
		qsort(t->rows, n_shown, sizeof(*t->rows), top_compare_self);
	r = top_write_rows(t, input, n_shown, &rows, &n_written);
	if (!r)
		fprintf(out, "\"truncated\":%s,\"n_rows\":%zu,\"rows\":[%s]",
			n_written < n ? "true" : "false", n, rows.text);
	return r;
}

static void part_top_deinit(struct view *view)
{
	free(((struct part_top *)view)->rows);
}

const struct view_class view_part_top = {
	.name = "top",
	.size = sizeof(struct part_top),
	.add = part_top_add,
	.end = part_top_end,
	.deinit = part_top_deinit,
};
