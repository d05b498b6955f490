/* SPDX-License-Identifier: MIT */
/*
 * Written, stacks are interned as texts of a scratch profile, and counted by number. Read, lines
 * are independent of each other: a line is split at its last blank, and its stack from the end on,
 * because profiles have the leaf first.
 */
#include "client/formats/text_formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/formats/text_lines.h"
#include "common/clamped.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

struct collapsed_line {
	const char *text;
	int64_t count;
};

static void put_name(FILE *out, const char *name)
{
	bool is_harmless;

	for (size_t n; *name; name += n) {
		/* At the beginning of a text it would be no part of it: see text_lines.h. */
		const bool is_mark = strncmp(name, TEXT_MARK, strlen(TEXT_MARK)) == 0;

		n = utf8_next(name, &is_harmless);
		if (*name == ';')
			fputc(':', out);
		else if (is_harmless && !is_mark)
			fwrite(name, 1, n, out);
		else
			fputc('?', out);
	}
}

static void put_nameless(FILE *out, const struct profile *p, const struct profile_location *l)
{
	const struct profile_mapping *m = l->mapping == PROFILE_NONE ? NULL
								     : &p->mappings[l->mapping];
	const char *path = m ? profile_string(p, m->path) : "";
	const char *slash = strrchr(path, '/');

	if (*path) {
		put_name(out, slash && slash[1] ? slash + 1 : path);
		fprintf(out, "+0x%" PRIx64, l->address - m->start + m->offset);
	} else {
		fprintf(out, "0x%" PRIx64, l->address);
	}
}

static void collapsed_put_location(FILE *out, const struct profile *p,
				   const struct profile_location *l)
{
	if (!l->n_lines)
		put_nameless(out, p, l);
	for (uint32_t i = l->n_lines; i; i--) {
		const struct profile_line *line = &p->lines[l->first_line + i - 1];
		const char *name = profile_string(p, p->functions[line->function].name);

		if (i < l->n_lines)
			fputc(';', out);
		/* Blanks alone would be read as the end of the line. */
		if (name[strspn(name, " ")])
			put_name(out, name);
		else
			put_nameless(out, p, l);
	}
}

/* The stack of one sample as the number of its text in @texts. */
static int intern_stack(const struct profile *p, const struct profile_sample *s,
			struct profile *texts, uint32_t *ret)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r = memory_text_open(&text);

	if (r)
		return r;
	for (uint32_t i = s->n_locations; i; i--) {
		uint32_t location = p->sample_locations[s->first_location + i - 1];

		if (i < s->n_locations)
			fputc(';', text.out);
		collapsed_put_location(text.out, p, &p->locations[location]);
	}
	if (!s->n_locations)
		fputs("[unknown]", text.out);
	return memory_text_close(&text) ?: profile_add_string(texts, text.text, text.length, ret);
}

DEFINE_ORDER(collapsed_compare_text, struct collapsed_line, strcmp(x->text, y->text))

/* A word: a reader that knows no such line looks for a blank, and a number behind it. */
static void collapsed_put_type(FILE *out, const struct profile *p,
			       const struct profile_value_type *type)
{
	const char *const words[] = {profile_string(p, type->type), profile_string(p, type->unit)};

	if (strcmp(words[0], "samples") == 0 && strcmp(words[1], "count") == 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		fputc("#/"[i], out);
		for (const char *c = words[i]; *c; c++)
			fputc(*c > ' ' && *c < 0x7f && *c != '/' ? *c : '_', out);
	}
	fputc('\n', out);
}

static int collapsed_print(const struct profile *p, struct collapsed_line *lines, size_t n,
			   char **ret, size_t *ret_length)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r = memory_text_open(&text);
	bool any = false;

	if (r)
		return r;
	qsort(lines, n, sizeof(*lines), collapsed_compare_text);
	for (size_t i = 0; i < n; i++) {
		if (!lines[i].count)
			continue;
		if (!any)
			collapsed_put_type(text.out, p, &p->sample_types[profile_default_type(p)]);
		any = true;
		fprintf(text.out, "%s %" PRId64 "\n", lines[i].text, lines[i].count);
	}
	r = memory_text_close(&text);
	if (r)
		return r;
	*ret = steal_ptr(&text.text);
	*ret_length = text.length;
	return 0;
}

int collapsed_write(const struct profile *p, char **ret, size_t *ret_length)
{
	cleanup(profile_freep) struct profile *texts = NULL;
	cleanup(freep) struct collapsed_line *lines = NULL;
	const unsigned type = profile_default_type(p);
	size_t n;
	int r = profile_new(&texts);

	if (r)
		return r;
	/* As many as there are samples at most, and the empty text. */
	lines = calloc(p->n_samples + 1, sizeof(*lines));
	if (!lines)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n_samples && p->n_sample_types; i++) {
		uint32_t text;

		r = intern_stack(p, &p->samples[i], texts, &text);
		if (r)
			return r;
		lines[text].count = clamped_add(lines[text].count,
						p->sample_values[i * p->n_sample_types + type]);
	}
	n = profile_n_strings(texts);
	for (uint32_t i = 0; i < n; i++)
		lines[i].text = profile_string(texts, i);
	return collapsed_print(p, lines, n, ret, ret_length);
}

#define REFUSE(message, ...) profile_refuse(message, ANY_E_MALFORMED, __VA_ARGS__)

struct collapsed_counts {
	int64_t counts[2]; /* of a differential file the one before, too */
	unsigned n;
	double exact; /* the last one */
};

/* "12", "12.7": rounded to the nearest, and as it is. */
static bool collapsed_number(struct text_span word, int64_t *ret, double *ret_exact)
{
	const char *dot = memchr(word.at, '.', text_length(word));
	struct text_span fraction = {dot ? dot + 1 : word.end, word.end};
	bool is_negative = *word.at == '-';
	double scale = is_negative ? -1 : 1;

	if (!text_number((struct text_span){word.at, dot ? dot : word.end}, ret))
		return false;
	*ret_exact = (double)*ret;
	for (; fraction.at < fraction.end; fraction.at++) {
		if (*fraction.at < '0' || *fraction.at > '9')
			return false;
		scale /= 10;
		*ret_exact += scale * (*fraction.at - '0');
	}
	if (dot && dot + 1 < word.end && dot[1] >= '5')
		*ret = clamped_add(*ret, is_negative ? -1 : 1);
	return true;
}

/* The counts behind the last blanks, @max of them at most; what is before them in *ret. */
static bool collapsed_split_line(const struct text_line *line, unsigned max, struct text_span *ret,
				 struct collapsed_counts *ret_counts)
{
	struct text_span rest = text_trim(line->text);
	struct collapsed_counts c = {.n = 0};

	while (c.n < max) {
		const char *at = rest.end;
		double exact;

		while (at > rest.at && !text_is_blank(at[-1]))
			at--;
		if (at == rest.at || at == rest.end ||
		    !collapsed_number((struct text_span){at, rest.end}, &c.counts[1 - c.n], &exact))
			break;
		c.exact = c.n++ ? c.exact : exact;
		rest = text_trim((struct text_span){rest.at, at});
	}
	*ret = rest;
	*ret_counts = c;
	return c.n > 0;
}

static int collapsed_add_frame(struct frame_list *list, struct profile *p, struct text_span name)
{
	struct profile_line line = {0};
	uint32_t location;
	int r = text_add_function(p, name, &line.function)
			?: profile_add_location(p, PROFILE_NONE, 0, &line, 1, &location);

	return r ?: frame_list_add(list, location);
}

/* From root to leaf in the text, the other way round in the profile. */
static int collapsed_add_stack(struct frame_list *list, struct profile *p, struct text_span stack,
			       const int64_t *counts)
{
	int r = 0;

	list->n = 0;
	for (const char *end = stack.end; !r && end >= stack.at;) {
		const char *at = end;

		while (at > stack.at && at[-1] != ';')
			at--;
		if (at < end)
			r = collapsed_add_frame(list, p, (struct text_span){at, end});
		end = at - 1;
	}
	if (r)
		return r;
	return profile_add_sample(p, list->locations, (uint32_t)list->n, counts, NULL, 0);
}

/* Whether each line has two counts, as of difffolded.pl; a name may end in a number, but not all.
 */
static bool collapsed_is_differential(struct text_lines lines)
{
	struct collapsed_counts c;
	struct text_line line;
	struct text_span stack;
	bool any = false;

	while (text_next(&lines, &line)) {
		if (!text_length(text_trim(line.text)) || *line.text.at == '#')
			continue;
		if (!collapsed_split_line(&line, 2, &stack, &c) || c.n < 2)
			return false;
		any = true;
	}
	return any;
}

static int collapsed_remark(struct profile_message *message, bool is_differential,
			    size_t n_fractions, size_t n, double exact, double rounded)
{
	if (n_fractions)
		return profile_refuse(
			message, ANY_E_OK,
			"fractional counts are rounded (%zu of %zu): %.15g in all, not %.15g",
			n_fractions, n, rounded, exact);
	if (is_differential)
		return profile_refuse(message, ANY_E_OK,
				      "two counts a stack: the second are the samples; "
				      "--sample_index=before shows the first");
	return ANY_E_OK;
}

static int collapsed_read_lines(struct text_lines lines, bool is_differential, struct profile *p,
				struct profile_message *message)
{
	cleanup(frame_list_deinit) struct frame_list list = {0};
	double exact = 0, rounded = 0;
	struct text_line line;
	size_t n = 0, n_fractions = 0;
	int r = 0;

	while (!r && text_next(&lines, &line)) {
		struct collapsed_counts c;
		struct text_span stack;

		if (!text_length(text_trim(line.text)))
			continue;
		if (!collapsed_split_line(&line, 1 + is_differential, &stack, &c)) {
			if (*line.text.at == '#')
				continue;
			return REFUSE(message,
				      "line %zu (byte %zu) does not end in a blank and a count",
				      line.number, line.offset);
		}
		r = collapsed_add_stack(&list, p, stack, c.counts + !is_differential);
		n_fractions += c.exact != (double)c.counts[1];
		exact += c.exact;
		rounded += (double)c.counts[1];
		n++;
	}
	if (r)
		return r;
	return n ? collapsed_remark(message, is_differential, n_fractions, n, exact, rounded)
		 : REFUSE(message, "no stacks in it");
}

/* What the first line says, else samples/count. */
static int collapsed_add_type(struct profile *p, struct text_lines lines)
{
	char text[100] = "", type[48], unit[48];
	struct text_line line;
	int n = -1;

	if (text_next(&lines, &line) && text_length(line.text) < sizeof(text))
		memcpy(text, line.text.at, text_length(line.text));
	/* Not a path, as of a script's interpreter. */
	if (sscanf(text, "#%47[^/ \t]/%47[^/ \t]%n", type, unit, &n) == 2 && !text[n])
		return profile_add_sample_type(p, type, unit);
	return profile_add_sample_type(p, "samples", "count");
}

int collapsed_read(const uint8_t *data, size_t length, struct profile **ret,
		   struct profile_message *message)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct text_lines lines = text_lines_of(data, length);
	bool is_differential = collapsed_is_differential(lines);
	int r = profile_new(&p);

	if (!r && is_differential)
		r = profile_add_sample_type(p, "before", "count");
	if (!r)
		r = collapsed_add_type(p, lines)
			    ?: collapsed_read_lines(lines, is_differential, p, message);
	if (r == -E2BIG)
		return REFUSE(message, "more names than can be numbered");
	if (r)
		return r;
	*ret = steal_ptr(&p);
	return ANY_E_OK;
}
