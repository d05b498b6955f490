/* SPDX-License-Identifier: MIT */
/*
 * What the lines of a function cost, by the line numbers of the profile. A function may have
 * several files (inlined code of headers keeps its own name): that of most samples is shown. Texts
 * of lines are files, which a viewer cannot open: it answers first which one it is of
 * (VIEW_SOURCE), and is given that one with the question.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/json_text.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "client/code/source_file.h"
#include "client/gateway/view/answer.h"
#include "client/gateway/view/function_match.h"
#include "common/clamped.h"
#include "common/clock.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/profile/intern.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"
#include "common/profile/windows.h"
#include "common/utf8.h"

#define TEXT_MAX      1000u          /* bytes of a line that are shown */
#define LINE_JSON_MAX (8 * TEXT_MAX) /* of one line of the answer */

struct source_line {
	int64_t line;
	uint64_t file; /* string */
	int64_t self, cum;
	int64_t function_line; /* its function's first one; 0: not known */
	uint64_t seen;         /* the last stack that it was in */
};

struct part_source {
	struct view view;
	struct function_match match;
	struct source_line *lines;
	struct intern in;
	uint64_t serial;
};

static int part_source_init(struct view *view)
{
	((struct part_source *)view)->match.name = view->options.pattern;
	return VIEW_E_OK;
}

static int source_add_line(struct part_source *s, const struct frame *frame, int64_t value,
			   bool is_leaf)
{
	const struct source_line wanted = {.line = frame->line, .file = frame->filename};
	struct source_line *line;
	uint32_t index;
	int r = intern_add(&s->in, &s->lines, &wanted, sizeof(wanted),
			   offsetof(struct source_line, self), &index);

	if (r)
		return r;
	line = &s->lines[index];
	line->function_line = frame->start_line;
	if (is_leaf)
		line->self = clamped_add(line->self, value);
	if (line->seen != s->serial)
		line->cum = clamped_add(line->cum, value);
	line->seen = s->serial;
	return 0;
}

/* Of what is compared, the base is left out: a line has one number. */
static int part_source_add(struct view *view, const struct view_input *input,
			   const struct stack *stack)
{
	struct part_source *s = (struct part_source *)view;
	bool any = true;
	int r = 0;

	if (compare_is_base(input->profile, stack->labels, stack->n_labels))
		return 0;
	s->serial++;
	for (uint32_t at = 0; any && !r; at++) {
		r = function_match_next(&s->match, input, stack, &at, &any);
		if (!r && any)
			r = source_add_line(s, &input->frames[stack->frames[at]],
					    stack->values[input->type], !at);
	}
	return r;
}

static int source_compare_files(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return order_of(x->file, y->file) ?: order_of(x->line, y->line);
}

/* The lines of the file with the most; *ret_n of them. */
static const struct source_line *source_select(struct part_source *s, size_t *ret_n)
{
	const struct source_line *best = s->lines;
	int64_t most = -1;

	*ret_n = 0;
	if (s->in.n)
		qsort(s->lines, s->in.n, sizeof(*s->lines), source_compare_files);
	for (size_t i = 0, end; i < s->in.n; i = end) {
		int64_t sum = 0;

		for (end = i; end < s->in.n && s->lines[end].file == s->lines[i].file; end++)
			sum = clamped_add(sum, s->lines[end].cum);
		if (sum <= most)
			continue;
		most = sum;
		best = &s->lines[i];
		*ret_n = end - i;
	}
	return best;
}

/* Why lines have no text; NULL: they have. */
static const char *source_reason(const struct source_file *file, const struct source_line *lines,
				 size_t n)
{
	if (!n)
		return "no samples of this function";
	if (!lines[n - 1].line)
		return "the profile has no line numbers of this function; see symbolize in "
		       "profd.conf";
	if (!file)
		return "profd-gateway opens no source files for its clients; profctl web shows "
		       "them";
	return file->why;
}

/* What is to be known about a text that may be of another version. */
static const char *source_remark(const struct view_options *options, const struct source_line *last,
				 const struct profile *profile)
{
	int64_t end_s = profile_until_ns(profile) / (int64_t)NS_PER_S;

	if (last->line > 0 && (uint64_t)last->line > options->source->n_lines)
		return "the file has fewer lines than the profile: it is of another version";
	if (end_s && options->source_changed_s > end_s)
		return "the file was changed after this profile: lines may be others";
	return NULL;
}

static void source_put_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\"%s\":", name);
	if (text)
		json_text_write(out, text);
	else
		fputs("null", out);
}

static void source_put_code(FILE *out, const char *text)
{
	char shown[TEXT_MAX + sizeof("…")];
	size_t n = TEXT_MAX;

	if (strlen(text) <= n) {
		json_text_write(out, text);
		return;
	}
	while (n && (text[n] & 0xc0) == 0x80)
		n--;
	snprintf(shown, sizeof(shown), "%.*s…", (int)n, text);
	json_text_write(out, shown);
}

/* @text NULL: not to be had. */
static void source_put_line(FILE *out, const struct source_line *line, const char *text,
			    const char *separator)
{
	fprintf(out, "%s{\"n\":%" PRId64 ",\"text\":", separator, line->line);
	if (text)
		source_put_code(out, text);
	else
		fputs("null", out);
	fprintf(out, ",\"self\":%" PRId64 ",\"cum\":%" PRId64 "}", line->self, line->cum);
}

/*
 * With the text of the file, all lines of the function; those with samples that the file does not
 * have, or all of these if there is no text, are there without.
 */
static bool source_put_lines(FILE *out, const struct source_line *lines, size_t n,
			     const struct source_file *file, size_t max)
{
	int64_t from = lines[0].line,
		until = file ? source_lines_until(lines[n - 1].line) : INT64_MIN;
	const char *separator = "";
	size_t at = 0;

	for (size_t i = 0; file && i < n; i++) {
		int64_t start = source_lines_from(lines[i].line, lines[i].function_line);

		from = start < from ? start : from;
	}
	if (file && until > (int64_t)file->n_lines)
		until = (int64_t)file->n_lines;
	for (int64_t line = from; at < n || line <= until; line += line <= until) {
		struct source_line shown = {.line = line};

		if (ftell(out) > (long)max)
			return true;
		if (at < n && (line > until || lines[at].line == line))
			shown = lines[at++];
		source_put_line(out, &shown,
				file ? source_file_line(file, (uint64_t)shown.line) : NULL,
				separator);
		separator = ",";
	}
	return false;
}

static int part_source_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct part_source *s = (struct part_source *)view;
	cleanup(memory_text_deinit) struct memory_text text = {0};
	size_t n, max = view->options.max_bytes - LINE_JSON_MAX;
	const struct source_line *lines = source_select(s, &n);
	bool has_lines = n && lines[n - 1].line, truncated = false;
	const char *reason = source_reason(view->options.source, lines, n);
	const struct source_file *file = reason ? NULL : view->options.source;
	int r = memory_text_open(&text);

	if (!r && has_lines)
		truncated = source_put_lines(text.out, lines, n, file, max);
	r = r ?: memory_text_close(&text);
	if (r)
		return r;
	fprintf(out, "\"truncated\":%s,\"file\":", truncated ? "true" : "false");
	json_text_write(out, n ? profile_string(input->profile, (uint32_t)lines->file) : "");
	source_put_text(out, "reason", reason);
	source_put_text(out, "remark",
			file ? source_remark(&view->options, &lines[n - 1], input->profile) : NULL);
	fprintf(out, ",\"lines\":[%s]", text.text);
	return VIEW_E_OK;
}

/* The name alone, as the profile has it: of what is to be opened. */
static int part_source_name_end(struct view *view, const struct view_input *input, FILE *out)
{
	size_t n;
	const struct source_line *lines = source_select((struct part_source *)view, &n);

	if (n && lines[n - 1].line)
		fputs(profile_string(input->profile, (uint32_t)lines->file), out);
	return VIEW_E_OK;
}

static void part_source_deinit(struct view *view)
{
	struct part_source *s = (struct part_source *)view;

	function_match_deinit(&s->match);
	intern_deinit(&s->in);
	free(s->lines);
}

const struct view_class view_part_source = {
	.name = "source",
	.size = sizeof(struct part_source),
	.init = part_source_init,
	.add = part_source_add,
	.end = part_source_end,
	.deinit = part_source_deinit,
};

const struct view_class view_part_source_name = {
	.name = "source",
	.size = sizeof(struct part_source),
	.init = part_source_init,
	.add = part_source_add,
	.end = part_source_name_end,
	.deinit = part_source_deinit,
};
