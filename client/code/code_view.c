/* SPDX-License-Identifier: MIT */
/*
 * The graph is made without trimming, since what matches is chosen later; here are the lines that
 * the three views print alike.
 */
#include "client/code/code_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/profile/pprof.h"
#include "common/utf8.h"

#define MISSING_SHOWN 3

void code_view_deinit(struct view *view)
{
	struct code_view *v = (struct code_view *)view;

	regex_free(v->regex);
	objects_free(v->objects);
}

int code_view_init(struct view *view)
{
	struct code_view *v = (struct code_view *)view;
	const char *pattern = view->options.pattern;
	char *end;
	int r = regex_new(&v->regex, view->class->name, pattern, view->message);

	if (r)
		return r < 0 ? r : VIEW_E_BAD_OPTION;
	errno = 0;
	v->address = strtoull(pattern, &end, 0);
	v->has_address = pattern[0] >= '0' && pattern[0] <= '9' && !*end && !errno;
	return 0;
}

int code_view_sources(struct code_view *v, struct source_files **ret)
{
	return source_files_new(ret, objects_files(v->objects), v->view.options.source_path,
				v->view.options.trim_path);
}

int code_view_no_match(const struct code_view *v)
{
	const struct notes *notes = v->objects ? objects_notes(v->objects) : NULL;

	/* What was of interest could not be read. */
	if (notes && notes->n)
		return profile_refuse(v->view.message, VIEW_E_NO_MATCH, "%s", notes->lines[0]);
	return profile_refuse(v->view.message, VIEW_E_NO_MATCH, "no matches found for regexp: %s",
			      v->view.options.pattern);
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

void code_view_print_values(FILE *out, const struct values *values, int64_t flat, int64_t cum)
{
	char f[MEASURE_TEXT_MAX], c[MEASURE_TEXT_MAX];

	fprintf(out, "%10s %10s", code_view_print_value(values, f, flat),
		code_view_print_value(values, c, cum));
}

void code_view_print_total(FILE *out, const struct view_input *input, const struct values *values)
{
	char total[MEASURE_TEXT_MAX];

	fprintf(out, "Total: %s\n", values_print(values, total, input->total));
}

void code_view_print_routine(FILE *out, const struct view_input *input, const struct values *values,
			     const char *name, const char *file, int64_t flat, int64_t cum)
{
	char f[MEASURE_TEXT_MAX], c[MEASURE_TEXT_MAX], share[MEASURE_TEXT_MAX];

	fputs("ROUTINE ======================== ", out);
	code_view_print_source(out, name);
	if (file)
		fputs(" in ", out);
	code_view_print_source(out, file);
	fprintf(out, "\n%10s %10s (flat, cum) %s of Total\n", values_print(values, f, flat),
		values_print(values, c, cum),
		measure_print_percentage(share, sizeof(share), cum, input->total));
}

void code_view_print_source(FILE *out, const char *text)
{
	if (text)
		utf8_write_harmless(out, text, "\t");
}
