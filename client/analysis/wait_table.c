/* SPDX-License-Identifier: MIT */
/*
 * --waits: where threads waited, a row for what they waited for, at which place, and woken by whom:
 * the labels `state`, `wait` and `waker`, and wait_place.h. Samples without waiting time have no
 * part in it. The table fits 80 columns; with options.json it is an object that has all of it.
 *
 *	   time  share samples  kind   place < caller
 *	     2s 54.05%     200  futex  pthread_mutex_lock < cache_put
 *	                               woken by flusher
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/frame.h"
#include "client/analysis/graph.h"
#include "client/analysis/json_text.h"
#include "client/analysis/node_name.h"
#include "client/analysis/shape.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "client/analysis/wait_place.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/intern.h"
#include "common/profile/profile.h"
#include "common/text_print.h"
#include "common/utf8.h"

#define COLUMNS  80u
#define NUMBERS  28u /* columns of the time, the share and the samples */
#define KIND_MAX 20u
#define ARROW    " < "
#define WOKEN_BY "woken by "

/* Strings of the profile, and frames; without padding. */
struct wait_row {
	uint32_t state, wait, waker, at, caller, unused;
	int64_t value, samples;
};

/* Functions of one name are one row's, in whichever file they are: no column shows that. */
struct wait_function {
	struct frame frame; /* without what is not printed */
	uint64_t first;     /* index of such a frame */
};

struct wait_table {
	struct view view;
	struct wait_function *functions;
	struct intern functions_in;
	struct wait_row *rows;
	struct intern in;
	struct node_names names;
};

static void wait_table_deinit(struct view *view)
{
	struct wait_table *t = (struct wait_table *)view;

	intern_deinit(&t->functions_in);
	free(t->functions);
	intern_deinit(&t->in);
	free(t->rows);
	node_names_deinit(&t->names);
}

/* --- what is counted -------------------------------------------------------------------------- */

/* The text of the label @key, or 0. */
static uint32_t wait_label(const struct profile *p, const struct stack *s, const char *key)
{
	for (uint32_t i = 0; i < s->n_labels; i++)
		if (s->labels[i].str && strcmp(profile_string(p, s->labels[i].key), key) == 0)
			return s->labels[i].str;
	return 0;
}

/* *frame becomes the first one that is printed alike. 0 or negative errno. */
static int wait_unify_frame(struct wait_table *t, const struct view_input *input, uint32_t *frame)
{
	struct wait_function function = {.first = *frame};
	uint32_t index;
	int r;

	if (*frame == WAIT_PLACE_NONE)
		return 0;
	function.frame = input->frames[*frame];
	function.frame.mapping = 0;
	if (function.frame.name)
		function.frame.object = 0;
	r = intern_add(&t->functions_in, &t->functions, &function, sizeof(function),
		       offsetof(struct wait_function, first), &index);
	if (!r)
		*frame = (uint32_t)t->functions[index].first;
	return r;
}

static int wait_table_add(struct view *view, const struct view_input *input,
			  const struct stack *stack)
{
	struct wait_table *t = (struct wait_table *)view;
	const struct profile *p = input->profile;
	struct wait_row row = {.state = wait_label(p, stack, "state"),
			       .wait = wait_label(p, stack, "wait"),
			       .waker = wait_label(p, stack, "waker")};
	const struct wait_place place = wait_place_of(input, stack, profile_string(p, row.wait));
	const int64_t value = stack->values[input->type];
	struct wait_row *to;
	uint32_t index;
	int r;

	if (!value)
		return 0;
	row.at = place.at;
	row.caller = place.caller;
	r = wait_unify_frame(t, input, &row.at) ?: wait_unify_frame(t, input, &row.caller);
	if (r)
		return r;
	r = intern_add(&t->in, &t->rows, &row, sizeof(row), offsetof(struct wait_row, value),
		       &index);
	if (r)
		return r;
	to = &t->rows[index];
	to->value = graph_add_clamped(to->value, value);
	to->samples = graph_add_clamped(to->samples, stack->values[0]);
	return 0;
}

/* --- which rows ------------------------------------------------------------------------------- */

DEFINE_ORDER(wait_compare_rows, struct wait_row,
		    order_of(llabs(y->value), llabs(x->value)) ?: order_of(x->at, y->at)
		    ?: order_of(x->caller, y->caller) ?: order_of(x->state, y->state)
		    ?: order_of(x->wait, y->wait) ?: order_of(x->waker, y->waker))

/* How many of the rows, the heaviest first, the options leave. */
static size_t wait_count_rows(struct wait_table *t, const struct view_input *input)
{
	const struct view_options *o = &t->view.options;
	const double least = (double)input->total * o->nodefraction;
	size_t n = 0;

	if (!o->trim)
		return t->in.n;
	while (n < t->in.n && (double)llabs(t->rows[n].value) > least)
		n++;
	return o->nodecount > 0 && n > (size_t)o->nodecount ? (size_t)o->nodecount : n;
}

static int wait_make_names(struct wait_table *t, const struct view_input *input)
{
	int r = 0;

	for (size_t i = 0; i < t->in.n && !r; i++) {
		const uint32_t of[] = {t->rows[i].at, t->rows[i].caller};

		for (size_t k = 0; k < ARRAY_SIZE(of) && !r; k++)
			if (of[k] != WAIT_PLACE_NONE)
				r = node_names_make(&t->names, input->profile,
						    &input->frames[of[k]], of[k]);
	}
	return r;
}

static const char *wait_name(const struct wait_table *t, uint32_t frame)
{
	return frame == WAIT_PLACE_NONE ? "" : t->names.all[frame];
}

/* --- as text ---------------------------------------------------------------------------------- */

/* "futex", "disk pwrite64", "runnable": the state, where it is not simply asleep. */
static void wait_print_kind(const struct profile *p, const struct wait_row *row,
			    char ret[KIND_MAX + 1])
{
	const char *state = profile_string(p, row->state), *wait = profile_string(p, row->wait);

	if (*wait && strcmp(state, "sleep") == 0)
		state = "";
	snprintf(ret, KIND_MAX + 1, "%s%s%s", state, *state && *wait ? " " : "", wait);
	utf8_make_harmless(ret, "");
}

/*
 * Without the arguments of templates and generic types: Queue<int>::put is Queue::put, Rust's
 * <Queue as Put>::put, too. In place.
 */
static void wait_shorten_name(char *name)
{
	bool is_impl = *name == '<';
	unsigned depth = 0;
	bool is_trait = false;
	char *to = name;

	if (strstr(name, "operator"))
		return;
	for (const char *c = name; *c; c++) {
		if (*c == '>' && depth && c[-1] != '-') {
			is_impl &= --depth > 0;
			continue;
		}
		if (*c == '<') {
			depth++;
			continue;
		}
		is_trait |= is_impl && depth == 1 && strncmp(c, " as ", 4) == 0;
		if (!depth || (is_impl && depth == 1 && !is_trait))
			*to++ = *c;
		is_trait &= depth > 0;
	}
	/* f::<int> */
	while (to > name && to[-1] == ':')
		to--;
	*to = '\0';
}

/*
 * @width characters of @text, with "…" for what is missing: the end, or of a name with namespaces
 * their beginning.
 */
static void wait_put_cut(FILE *out, const char *text, size_t width)
{
	const size_t n = utf8_length(text);
	const bool is_cut = n > width, is_scoped = is_cut && strstr(text, "::");
	size_t i = 0, from = is_scoped ? n - width + 1 : 0;
	size_t until = is_cut && !is_scoped ? width - 1 : n;

	if (is_scoped)
		fputs("…", out);
	for (; *text && i < until; i++) {
		size_t bytes = utf8_character(text, strlen(text));

		bytes = bytes ? bytes : 1;
		if (i >= from)
			fwrite(text, 1, bytes, out);
		text += bytes;
	}
	if (is_cut && !is_scoped)
		fputs("…", out);
}

/* "at < caller" in @width columns; of two names that are too long, both keep a half. */
static void wait_put_place(FILE *out, char *at, char *caller, size_t width)
{
	size_t room = width - strlen(ARROW), n_at, n_caller;

	if (utf8_length(at) + utf8_length(caller) > room) {
		wait_shorten_name(at);
		wait_shorten_name(caller);
	}
	n_at = utf8_length(at);
	n_caller = utf8_length(caller);
	if (!n_caller) {
		wait_put_cut(out, at, width);
		return;
	}
	if (n_at + n_caller > room) {
		if (n_at <= room / 2)
			n_caller = room - n_at;
		else if (n_caller <= room / 2)
			n_at = room - n_caller;
		else
			n_at = room / 2, n_caller = room - room / 2;
	}
	wait_put_cut(out, at, n_at);
	fputs(ARROW, out);
	wait_put_cut(out, caller, n_caller);
}

/* How wide the kinds of the first @n rows are. */
static size_t wait_measure(const struct wait_table *t, const struct profile *p, size_t n)
{
	size_t width = strlen("kind");

	for (size_t i = 0; i < n; i++) {
		char kind[KIND_MAX + 1];

		wait_print_kind(p, &t->rows[i], kind);
		if (utf8_length(kind) > width)
			width = utf8_length(kind);
	}
	return width;
}

/* Below the place, whose column is @before; further to the left if that is too long. */
static void wait_put_waker(FILE *out, const char *waker, size_t before)
{
	const size_t n = strlen(WOKEN_BY) + utf8_length(waker);

	if (before + n > COLUMNS)
		before = n > COLUMNS - NUMBERS ? NUMBERS : COLUMNS - n;
	fprintf(out, "%*s" WOKEN_BY, (int)before, "");
	wait_put_cut(out, waker, COLUMNS - before - strlen(WOKEN_BY));
	fputc('\n', out);
}

static int wait_put_row(const struct wait_table *t, const struct view_input *input,
			const struct values *v, size_t width, const struct wait_row *row, FILE *out)
{
	cleanup(freep) char *waker = node_name_plain(profile_string(input->profile, row->waker));
	cleanup(freep) char *at = strdup(wait_name(t, row->at));
	cleanup(freep) char *caller = strdup(wait_name(t, row->caller));
	const size_t before = NUMBERS + width + 2, room = COLUMNS - before;
	struct values_column time;
	char kind[KIND_MAX + 1];

	if (!waker || !at || !caller)
		return error_origin(-ENOMEM);
	values_column(v, &time, row->value, input->total);
	wait_print_kind(input->profile, row, kind);
	fprintf(out, "%*s %s %8" PRId64 "  %-*s  ", utf8_field_width(time.value, 10), time.value,
		time.share, row->samples, utf8_field_width(kind, (int)width), kind);
	wait_put_place(out, at, caller, room);
	fputc('\n', out);
	if (!*waker)
		return 0;
	wait_put_waker(out, waker, before);
	return 0;
}

static int wait_print_table(const struct wait_table *t, const struct view_input *input, size_t n,
			    FILE *out)
{
	const struct view_options *o = &t->view.options;
	const size_t width = wait_measure(t, input->profile, n);
	struct values v;
	int r;

	values_init(&v, input, o);
	if (strcmp(v.to, "minimum") == 0)
		v.to = "auto";
	r = o->compact_labels ? 0 : header_print_profile(out, input, &v);
	if (r)
		return r;
	if (n < t->in.n)
		fprintf(out, "Showing %zu of %zu rows\n", n, t->in.n);
	fprintf(out, "%10s %6s %8s  %-*s  place < caller\n", "time", "share", "samples", (int)width,
		"kind");
	for (size_t i = 0; i < n && !r; i++)
		r = wait_put_row(t, input, &v, width, &t->rows[i], out);
	return r;
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void wait_put_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, "\"%s\":", key);
	if (*text)
		json_text_write(out, text);
	else
		fputs("null", out);
	fputc(',', out);
}

static void wait_print_json(const struct wait_table *t, const struct view_input *input, size_t n,
			    FILE *out)
{
	const struct profile *p = input->profile;
	const struct profile_value_type *type = &p->sample_types[input->type];
	const double total = input->total ? (double)input->total : 1;

	fputc('{', out);
	wait_put_text(out, "type", profile_string(p, type->type));
	wait_put_text(out, "unit", profile_string(p, type->unit));
	fprintf(out, "\"total\":%" PRId64 ",\"notes\":[", input->total);
	for (size_t i = 0; i < input->n_notes; i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, input->notes[i]);
	}
	fputs("],\"waits\":[", out);
	for (size_t i = 0; i < n; i++) {
		const struct wait_row *row = &t->rows[i];

		fputs(i ? ",\n{" : "\n{", out);
		wait_put_text(out, "state", profile_string(p, row->state));
		wait_put_text(out, "wait", profile_string(p, row->wait));
		wait_put_text(out, "place", wait_name(t, row->at));
		wait_put_text(out, "caller", wait_name(t, row->caller));
		wait_put_text(out, "waker", profile_string(p, row->waker));
		fprintf(out, "\"time\":%" PRId64 ",\"share\":%.6f,\"samples\":%" PRId64 "}",
			row->value, (double)row->value / total, row->samples);
	}
	fputs("]}\n", out);
}

static int wait_table_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct wait_table *t = (struct wait_table *)view;
	size_t n;
	int r = wait_make_names(t, input);

	if (r)
		return r;
	if (t->in.n)
		qsort(t->rows, t->in.n, sizeof(*t->rows), wait_compare_rows);
	n = wait_count_rows(t, input);
	if (!view->options.json)
		return wait_print_table(t, input, n, out);
	wait_print_json(t, input, n, out);
	return 0;
}

const struct view_class view_waits = {
	.name = "waits",
	.size = sizeof(struct wait_table),
	.add = wait_table_add,
	.end = wait_table_end,
	.deinit = wait_table_deinit,
};
