/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_PROFILE_MERGE_WORDS_H
#define PROFD_TESTS_UNIT_PROFILE_MERGE_WORDS_H

/*
 * What a profile says, in words: a sample's content tells it apart whatever the numbers of its
 * places and texts. Include after cmocka.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/profile/profile.h"

static inline int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void print_label(const struct profile *p, const struct profile_label *l, FILE *out)
{
	fprintf(out, " %s=%s%" PRId64, profile_string(p, l->key), profile_string(p, l->str),
		l->num);
}

static inline char *sample_text(const struct profile *p, size_t index, bool with_window)
{
	const struct profile_sample *s = &p->samples[index];
	char *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);

	for (uint32_t i = 0; i < s->n_locations; i++) {
		const struct profile_location *l =
			&p->locations[p->sample_locations[s->first_location + i]];
		const struct profile_mapping *m = l->mapping == PROFILE_NONE
							  ? NULL
							  : &p->mappings[l->mapping];

		fprintf(out, "%s+%" PRIx64, m ? profile_string(p, m->path) : "?",
			l->address - (m ? m->start : 0));
		for (uint32_t j = 0; j < l->n_lines; j++)
			fprintf(out, ":%s",
				profile_string(
					p,
					p->functions[p->lines[l->first_line + j].function].name));
		fputc(';', out);
	}
	for (unsigned pass = 0; pass < 3; pass++) {
		static const char *const keys[] = {"pid", "comm", "window"};

		for (uint32_t i = 0; i < s->n_labels; i++) {
			const struct profile_label *l = &p->sample_labels[s->first_label + i];

			if (strcmp(profile_string(p, l->key), keys[pass]) == 0 &&
			    (pass < 2 || with_window))
				print_label(p, l, out);
		}
	}
	fprintf(out, " %" PRId64 " %" PRId64, p->sample_values[index * 2],
		p->sample_values[index * 2 + 1]);
	fclose(out);
	return ret;
}

/* All samples, a line each, sorted. */
static inline char *all_text(const struct profile *p, bool with_window)
{
	char **lines = calloc(p->n_samples + 1, sizeof(*lines)), *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);

	for (size_t i = 0; i < p->n_samples; i++)
		lines[i] = sample_text(p, i, with_window);
	qsort(lines, p->n_samples, sizeof(*lines), by_text);
	for (size_t i = 0; i < p->n_samples; i++) {
		fprintf(out, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
	fclose(out);
	return ret;
}

static inline void assert_same(const struct profile *a, const struct profile *b, bool with_window)
{
	cleanup(freep) char *x = all_text(a, with_window), *y = all_text(b, with_window);

	assert_string_equal(x, y);
	assert_true(strlen(x) > 100);
}

static inline void assert_same_rest(const struct profile *a, const struct profile *b)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->duration_ns, b->duration_ns);
	assert_int_equal(a->period, b->period);
	assert_int_equal(a->n_comments, b->n_comments);
	for (size_t i = 0; i < a->n_comments; i++)
		assert_string_equal(profile_string(a, a->comments[i]),
				    profile_string(b, b->comments[i]));
}

static inline bool has_comment(const struct profile *p, const char *comment)
{
	for (size_t i = 0; i < p->n_comments; i++)
		if (strcmp(profile_string(p, p->comments[i]), comment) == 0)
			return true;
	return false;
}

#endif
