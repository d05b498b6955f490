/* SPDX-License-Identifier: MIT */
/*
 * Functions first: their texts. Then locations, each of which gets a line if it has none; then
 * stacks, of which an empty one gets a frame. Functions and mappings that become equal by this stay
 * several here; parts have them once.
 */
#include "client/export/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/export/labels.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

#define UNKNOWN "[unknown]"

static int export_fit_string(struct profile *p, uint32_t *string)
{
	const char *text = profile_string(p, *string);
	const size_t length = strlen(text);
	cleanup(freep) char *fit = NULL;

	if (length <= EXPORT_TEXT_MAX && utf8_is_valid(text))
		return 0;
	fit = export_text_fit((struct span){text, length}, EXPORT_TEXT_MAX);
	return fit ? profile_add_text(p, fit, string) : error_origin(-ENOMEM);
}

static int export_fit_function(struct profile *p, size_t i)
{
	struct profile_function *f = &p->functions[i];

	if (!f->name)
		f->name = f->system_name;
	if (!f->name)
		return profile_add_text(p, UNKNOWN, &f->name);
	return export_fit_string(p, &f->name) ?:
	       export_fit_string(p, &f->system_name) ?:
	       export_fit_string(p, &f->filename);
}

static int export_fit_texts(struct profile *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n_mappings && !r; i++)
		r = export_fit_string(p, &p->mappings[i].path)
			    ?: export_fit_string(p, &p->mappings[i].build_id);
	for (size_t i = 0; i < p->n_functions && !r; i++)
		r = export_fit_function(p, i);
	return r;
}

/* @name and @path are texts of 0 or more bytes; a name is never cut before its offset. */
static void export_make_name(const struct profile *p, const struct profile_location *l,
			     char name[EXPORT_TEXT_MAX + 1])
{
	const struct profile_mapping *m = l->mapping == PROFILE_NONE ? NULL
								     : &p->mappings[l->mapping];
	const char *path = m ? profile_string(p, m->path) : "", *slash = strrchr(path, '/');
	const char *base = slash && slash[1] ? slash + 1 : path;
	const int max = EXPORT_TEXT_MAX - 24;

	if (!*base)
		snprintf(name, EXPORT_TEXT_MAX + 1, l->address ? "0x%" PRIx64 : UNKNOWN,
			 l->address);
	else if (!l->address)
		snprintf(name, EXPORT_TEXT_MAX + 1, *base == '[' ? "%.*s" : "[%.*s]", max, base);
	else
		snprintf(name, EXPORT_TEXT_MAX + 1, "%.*s+0x%" PRIx64, max, base,
			 l->address - m->start + m->offset);
}

static int export_name_location(struct profile *p, uint32_t i)
{
	struct profile_function function = {0};
	struct profile_line line = {0};
	char name[EXPORT_TEXT_MAX + 1];
	int r;

	export_make_name(p, &p->locations[i], name);
	r = profile_add_text(p, name, &function.name) ?: export_fit_string(p, &function.name);
	function.system_name = function.name;
	return r
		       ?: profile_add_function(p, &function, &line.function)
		       ?: profile_set_lines(p, i, &line, 1);
}

static int export_fit_location(struct profile *p, uint32_t i)
{
	const struct profile_location *l = &p->locations[i];
	struct profile_line lines[EXPORT_LINES_MAX];

	if (!l->n_lines)
		return export_name_location(p, i);
	if (l->n_lines <= EXPORT_LINES_MAX)
		return 0;
	memcpy(lines, &p->lines[l->first_line], sizeof(lines));
	return profile_set_lines(p, i, lines, EXPORT_LINES_MAX);
}

static int export_add_unknown(struct profile *p, uint32_t *ret)
{
	struct profile_function function = {0};
	struct profile_line line = {0};
	int r = profile_add_text(p, UNKNOWN, &function.name);

	function.system_name = function.name;
	return r
		       ?: profile_add_function(p, &function, &line.function)
		       ?: profile_add_location(p, PROFILE_NONE, 0, &line, 1, ret);
}

/* In place of @sample, which is nothing from then on. */
static int export_fit_empty_stack(struct profile *p, size_t sample, uint32_t unknown)
{
	const struct profile_sample s = p->samples[sample];
	const size_t size = p->n_sample_types * sizeof(*p->sample_values);
	cleanup(freep) struct profile_label *labels = calloc(s.n_labels + 1u, sizeof(*labels));
	int64_t values[PROFILE_TYPES_MAX];

	if (!labels)
		return error_origin(-ENOMEM);
	if (s.n_labels)
		memcpy(labels, &p->sample_labels[s.first_label], s.n_labels * sizeof(*labels));
	memcpy(values, &p->sample_values[sample * p->n_sample_types], size);
	memset(&p->sample_values[sample * p->n_sample_types], 0, size);
	return profile_append_sample(p, &unknown, 1, values, labels, s.n_labels);
}

static int export_fit_stacks(struct profile *p)
{
	/* Without types of values, samples count nothing. */
	const size_t n = p->n_sample_types ? p->n_samples : 0;
	uint32_t unknown = PROFILE_NONE;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		struct profile_sample *s = &p->samples[i];

		if (s->n_locations > EXPORT_DEPTH_MAX)
			s->n_locations = EXPORT_DEPTH_MAX;
		if (s->n_locations)
			continue;
		if (unknown == PROFILE_NONE)
			r = export_add_unknown(p, &unknown);
		r = r ?: export_fit_empty_stack(p, i, unknown);
	}
	return r;
}

int export_frames_fit(struct profile *p)
{
	int r = export_fit_texts(p);

	for (uint32_t i = 0; i < p->n_locations && !r; i++)
		r = export_fit_location(p, i);
	return r ?: export_fit_stacks(p);
}
