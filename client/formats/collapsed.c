/* SPDX-License-Identifier: MIT */
/* Stacks are interned as texts of a scratch profile, and counted by number. */
#include "client/formats/collapsed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/formats/text_lines.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

struct line {
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
	cleanup(freep) char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return error_origin(-ENOMEM);
	for (uint32_t i = s->n_locations; i; i--) {
		uint32_t location = p->sample_locations[s->first_location + i - 1];

		if (i < s->n_locations)
			fputc(';', out);
		collapsed_put_location(out, p, &p->locations[location]);
	}
	if (!s->n_locations)
		fputs("[unknown]", out);
	if (fclose(out) != 0)
		return error_origin(-ENOMEM);
	return profile_add_string(texts, text, length, ret);
}

static int collapsed_compare_text(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static int collapsed_print(struct line *lines, size_t n, char **ret, size_t *ret_length)
{
	FILE *out = open_memstream(ret, ret_length);

	if (!out)
		return error_origin(-ENOMEM);
	qsort(lines, n, sizeof(*lines), collapsed_compare_text);
	for (size_t i = 0; i < n; i++)
		if (lines[i].count)
			fprintf(out, "%s %" PRId64 "\n", lines[i].text, lines[i].count);
	if (fclose(out) != 0) {
		free(*ret);
		*ret = NULL;
		return error_origin(-ENOMEM);
	}
	return 0;
}

int collapsed_write(const struct profile *p, char **ret, size_t *ret_length)
{
	cleanup(profile_freep) struct profile *texts = NULL;
	cleanup(freep) struct line *lines = NULL;
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
						p->sample_values[i * p->n_sample_types]);
	}
	n = profile_n_strings(texts);
	for (uint32_t i = 0; i < n; i++)
		lines[i].text = profile_string(texts, i);
	return collapsed_print(lines, n, ret, ret_length);
}
