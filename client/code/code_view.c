/* SPDX-License-Identifier: MIT */
#include "client/code/code_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/message.h"
#include "common/utf8.h"

#define MISSING_SHOWN 3

void code_view_destroy(struct view *view)
{
	struct code_view *v = (struct code_view *)view;

	if (v) {
		graph_free(v->graph);
		regex_free(v->regex);
		objects_free(v->objects);
	}
	free(v);
}

static void parse_address(struct code_view *v, const char *pattern)
{
	char *end;

	errno = 0;
	v->address = strtoull(pattern, &end, 0);
	v->has_address = pattern[0] >= '0' && pattern[0] <= '9' && !*end && !errno;
}

static int code_view_init(struct code_view *v, const struct view_options *options,
			  struct profile_message *message)
{
	const char *pattern = options->pattern ? options->pattern : "";
	struct graph_options graph_options;
	int r;

	v->options = *options;
	v->options.no_trim = true;
	graph_options_from(&graph_options, &v->options, false);
	graph_options.tells_objects = true;
	r = regex_new(&v->regex, v->view.class->name, pattern, message);
	if (r)
		return r < 0 ? r : VIEW_E_BAD_OPTION;
	parse_address(v, pattern);
	return graph_new(&v->graph, &graph_options);
}

int code_view_make(struct view **ret, const struct view_class *class,
		   const struct view_options *options, struct profile_message *message)
{
	struct code_view *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return error_origin(-ENOMEM);
	v->view.class = class;
	r = code_view_init(v, options, message);
	if (r) {
		code_view_destroy(&v->view);
		return r;
	}
	*ret = &v->view;
	return 0;
}

int code_view_add(struct view *view, const struct view_input *input, const struct stack *stack)
{
	return graph_add(((struct code_view *)view)->graph, input, stack);
}

int code_view_open(struct code_view *v, const struct view_input *input)
{
	return objects_new(&v->objects, input->profile);
}

int code_view_sources(struct code_view *v, struct source_files **ret)
{
	const struct source_options options = {
		.files = objects_files(v->objects),
		.source_path = v->options.source_path,
		.trim_path = v->options.trim_path,
	};

	return source_files_new(ret, &options);
}

int code_view_no_match(const struct code_view *v, struct profile_message *message)
{
	const struct notes *notes = v->objects ? objects_notes(v->objects) : NULL;

	/* What was of interest could not be read. */
	if (notes && notes->n)
		return profile_refuse(message, VIEW_E_NO_MATCH, "%s", notes->lines[0]);
	return profile_refuse(message, VIEW_E_NO_MATCH, "no matches found for regexp: %s",
			      v->options.pattern ? v->options.pattern : "");
}

void code_view_print_missing(const struct code_view *v, FILE *out)
{
	const struct notes *notes = objects_notes(v->objects);
	size_t n = notes->n < MISSING_SHOWN ? notes->n : MISSING_SHOWN;

	for (size_t i = 0; i < n; i++) {
		fputs(" Error: ", out);
		code_view_print_source(out, notes->lines[i]);
		fputc('\n', out);
	}
	if (notes->n + notes->n_more > n)
		fprintf(out, " Error: %zu more like these\n", notes->n + notes->n_more - n);
}

const char *code_view_print_value(const struct values *values, char *buffer, int64_t value)
{
	return value ? values_print(values, buffer, value) : ".";
}

void code_view_print_total(FILE *out, const struct view_input *input, const struct values *values)
{
	char total[MEASURE_TEXT_MAX];

	fprintf(out, "Total: %s\n", values_print(values, total, input->total));
}

void code_view_print_sums(FILE *out, const struct view_input *input, const struct values *values,
			  int64_t flat, int64_t cum)
{
	char f[MEASURE_TEXT_MAX], c[MEASURE_TEXT_MAX], share[MEASURE_TEXT_MAX];

	fprintf(out, "%10s %10s (flat, cum) %s of Total\n", values_print(values, f, flat),
		values_print(values, c, cum),
		measure_print_percentage(share, sizeof(share), cum, input->total));
}

void code_view_print_source(FILE *out, const char *text)
{
	if (text)
		utf8_write_harmless(out, text, "\t");
}
