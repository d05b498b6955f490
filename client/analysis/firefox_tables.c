/* SPDX-License-Identifier: MIT */
/*
 * From the root to the leaf each frame of a chain is a step down the tree of stacks; a location
 * with inlined functions is several frames, the outermost first. A location without a line is a
 * function that is named by its address.
 */
#include "client/analysis/firefox_tables.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/json_text.h"

void firefox_tables_deinit(struct firefox_tables *t)
{
	free(t->stacks);
	free(t->frames);
	free(t->functions);
	free(t->mappings);
	free(t->texts);
	intern_deinit(&t->stacks_in);
	intern_deinit(&t->frames_in);
	intern_deinit(&t->functions_in);
	intern_deinit(&t->mappings_in);
	intern_deinit(&t->texts_in);
}

void firefox_tables_clear(struct firefox_tables *t)
{
	intern_clear(&t->stacks_in);
	intern_clear(&t->frames_in);
	intern_clear(&t->functions_in);
	intern_clear(&t->mappings_in);
	intern_clear(&t->texts_in);
}

/* --- making ----------------------------------------------------------------------------------- */

static struct firefox_text firefox_string(uint32_t string)
{
	return (struct firefox_text){.value = string};
}

static int firefox_add_text(struct firefox_tables *t, struct firefox_text text)
{
	uint32_t index;

	return intern_add(&t->texts_in, &t->texts, &text, sizeof(text), sizeof(text), &index);
}

/* The function of line @line of a location, and what it refers to. */
static int firefox_add_function(struct firefox_tables *t, const struct profile_location *l,
				uint32_t line, uint32_t *ret)
{
	struct firefox_function f = {.name = {l->address, true}, .mapping = l->mapping};
	uint32_t index;
	int r;

	if (l->n_lines) {
		const struct profile_function *function =
			&t->p->functions[t->p->lines[l->first_line + line].function];

		f.name = firefox_string(function->name);
		f.file = function->filename;
	}
	r = firefox_add_text(t, f.name);
	if (!r && f.file)
		r = firefox_add_text(t, firefox_string(f.file));
	if (!r && f.mapping != PROFILE_NONE)
		r = firefox_add_text(t, firefox_string(t->p->mappings[f.mapping].path))
			    ?: intern_add(&t->mappings_in, &t->mappings, &f.mapping,
					  sizeof(f.mapping), sizeof(f.mapping), &index);
	return r ? r : intern_add(&t->functions_in, &t->functions, &f, sizeof(f), sizeof(f), ret);
}

static int firefox_add_frame(struct firefox_tables *t, uint32_t location, uint32_t line,
			     uint32_t *ret)
{
	struct firefox_frame f = {.location = location, .line = line};
	size_t n = t->frames_in.n;
	int r = intern_add(&t->frames_in, &t->frames, &f, sizeof(f),
			   offsetof(struct firefox_frame, function), ret);

	if (r || t->frames_in.n == n)
		return r;
	return firefox_add_function(t, &t->p->locations[location], line, &t->frames[*ret].function);
}

int firefox_tables_add(struct firefox_tables *t, size_t sample, uint32_t *ret)
{
	const struct profile_sample *s = &t->p->samples[sample];
	struct firefox_stack stack;
	uint32_t above = PROFILE_NONE;
	int r = 0;

	for (uint32_t i = s->n_locations; i-- && !r;) {
		uint32_t location = t->p->sample_locations[s->first_location + i];
		uint32_t n = t->p->locations[location].n_lines;

		for (uint32_t line = n ? n : 1; line-- && !r;) {
			stack.prefix = above;
			r = firefox_add_frame(t, location, line, &stack.frame)
				    ?: intern_add(&t->stacks_in, &t->stacks, &stack, sizeof(stack),
						  sizeof(stack), &above);
		}
	}
	*ret = above;
	return r;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* A column of @n numbers, each by @value; what is below 0 is @none. */
static void firefox_write_column(const struct firefox_tables *t, const char *name, size_t n,
				 int64_t (*value)(const struct firefox_tables *t, size_t i),
				 const char *none, FILE *out)
{
	fprintf(out, ",\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		const int64_t number = value(t, i);

		fputs(i ? "," : "", out);
		if (number < 0)
			fputs(none, out);
		else
			fprintf(out, "%" PRId64, number);
	}
	fputc(']', out);
}

/* A column that says the same of all. */
static void firefox_write_same(const char *name, size_t n, const char *value, FILE *out)
{
	fprintf(out, ",\"%s\":[", name);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? "," : "", value);
	fputc(']', out);
}

static int64_t firefox_find_text(const struct firefox_tables *t, struct firefox_text text)
{
	return intern_find(&t->texts_in, t->texts, &text, sizeof(text), sizeof(text));
}

static int64_t stack_frame(const struct firefox_tables *t, size_t i)
{
	return t->stacks[i].frame;
}

static int64_t stack_prefix(const struct firefox_tables *t, size_t i)
{
	return t->stacks[i].prefix == PROFILE_NONE ? -1 : (int64_t)t->stacks[i].prefix;
}

static const struct profile_location *frame_location(const struct firefox_tables *t, size_t i)
{
	return &t->p->locations[t->frames[i].location];
}

static const struct profile_line *frame_line(const struct firefox_tables *t, size_t i)
{
	const struct profile_location *l = frame_location(t, i);

	return l->n_lines ? &t->p->lines[l->first_line + t->frames[i].line] : NULL;
}

/* In its file. */
static int64_t frame_address(const struct firefox_tables *t, size_t i)
{
	const struct profile_location *l = frame_location(t, i);
	const struct profile_mapping *m;

	if (l->mapping == PROFILE_NONE)
		return -1;
	m = &t->p->mappings[l->mapping];
	return (int64_t)((l->address - m->start + m->offset) & INT32_MAX);
}

static int64_t frame_inline_depth(const struct firefox_tables *t, size_t i)
{
	const uint32_t n = frame_location(t, i)->n_lines;

	return n ? (int64_t)n - 1 - t->frames[i].line : 0;
}

/* What an interpreter runs has names and files, and no code of its own. */
static int64_t frame_category(const struct firefox_tables *t, size_t i)
{
	const struct profile_location *l = frame_location(t, i);
	const struct profile_line *line = frame_line(t, i);

	if (profile_is_kernel_location(t->p, l))
		return FIREFOX_KERNEL;
	if (line && (l->is_folded ||
		     (l->mapping == PROFILE_NONE && t->p->functions[line->function].filename)))
		return FIREFOX_INTERPRETER;
	return l->mapping == PROFILE_NONE ? FIREFOX_OTHER : FIREFOX_NATIVE;
}

static int64_t frame_function(const struct firefox_tables *t, size_t i)
{
	return t->frames[i].function;
}

static int64_t frame_line_number(const struct firefox_tables *t, size_t i)
{
	const struct profile_line *line = frame_line(t, i);

	return line && line->line > 0 ? line->line : -1;
}

static int64_t frame_column(const struct firefox_tables *t, size_t i)
{
	const struct profile_line *line = frame_line(t, i);

	return line && line->column > 0 ? line->column : -1;
}

static int64_t function_name(const struct firefox_tables *t, size_t i)
{
	return firefox_find_text(t, t->functions[i].name);
}

static int64_t function_file(const struct firefox_tables *t, size_t i)
{
	return t->functions[i].file ? firefox_find_text(t, firefox_string(t->functions[i].file))
				    : -1;
}

static int64_t function_resource(const struct firefox_tables *t, size_t i)
{
	const uint32_t mapping = t->functions[i].mapping;

	return mapping == PROFILE_NONE
		       ? -1
		       : (int64_t)intern_find(&t->mappings_in, t->mappings, &mapping,
					      sizeof(mapping), sizeof(mapping));
}

/* Libraries of the file are all mappings. */
static int64_t resource_library(const struct firefox_tables *t, size_t i)
{
	return t->mappings[i];
}

static int64_t resource_name(const struct firefox_tables *t, size_t i)
{
	return firefox_find_text(t, firefox_string(t->p->mappings[t->mappings[i]].path));
}

static void firefox_write_frames(const struct firefox_tables *t, FILE *out)
{
	const size_t n = t->frames_in.n;

	fprintf(out, "\"frameTable\":{\"length\":%zu", n);
	firefox_write_column(t, "address", n, frame_address, "-1", out);
	firefox_write_column(t, "inlineDepth", n, frame_inline_depth, "0", out);
	firefox_write_column(t, "category", n, frame_category, "null", out);
	firefox_write_same("subcategory", n, "0", out);
	firefox_write_column(t, "func", n, frame_function, "null", out);
	firefox_write_same("nativeSymbol", n, "null", out);
	firefox_write_same("innerWindowID", n, "null", out);
	firefox_write_column(t, "line", n, frame_line_number, "null", out);
	firefox_write_column(t, "column", n, frame_column, "null", out);
	fputs("},\n", out);
}

static void firefox_write_functions(const struct firefox_tables *t, FILE *out)
{
	const size_t n = t->functions_in.n;

	fprintf(out, "\"funcTable\":{\"length\":%zu", n);
	firefox_write_column(t, "name", n, function_name, "null", out);
	firefox_write_same("isJS", n, "false", out);
	firefox_write_same("relevantForJS", n, "false", out);
	firefox_write_column(t, "resource", n, function_resource, "-1", out);
	firefox_write_column(t, "fileName", n, function_file, "null", out);
	firefox_write_same("lineNumber", n, "null", out);
	firefox_write_same("columnNumber", n, "null", out);
	fputs("},\n", out);
}

static void firefox_write_texts(const struct firefox_tables *t, FILE *out)
{
	fputs("\"stringArray\":[", out);
	for (size_t i = 0; i < t->texts_in.n; i++) {
		const struct firefox_text *text = &t->texts[i];

		fputs(i ? "," : "", out);
		if (text->is_address)
			fprintf(out, "\"0x%" PRIx64 "\"", text->value);
		else
			json_text_write(out, profile_string(t->p, (uint32_t)text->value));
	}
	fputs("],\n", out);
}

void firefox_tables_write(const struct firefox_tables *t, FILE *out)
{
	fprintf(out, "\"stackTable\":{\"length\":%zu", t->stacks_in.n);
	firefox_write_column(t, "frame", t->stacks_in.n, stack_frame, "null", out);
	firefox_write_column(t, "prefix", t->stacks_in.n, stack_prefix, "null", out);
	fputs("},\n", out);
	firefox_write_frames(t, out);
	firefox_write_functions(t, out);
	fprintf(out, "\"resourceTable\":{\"length\":%zu", t->mappings_in.n);
	firefox_write_column(t, "lib", t->mappings_in.n, resource_library, "null", out);
	firefox_write_column(t, "name", t->mappings_in.n, resource_name, "null", out);
	firefox_write_same("host", t->mappings_in.n, "null", out);
	firefox_write_same("type", t->mappings_in.n, "1", out);
	fputs("},\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[]},\n",
	      out);
	firefox_write_texts(t, out);
}
