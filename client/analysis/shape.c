/* SPDX-License-Identifier: MIT */
#include "client/analysis/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/shape_private.h"
#include "common/error.h"

static void keys_deinit(struct shape_keys *keys)
{
	free(keys->text);
	free(keys->all);
	free(keys->strings);
}

void shape_free(struct shape *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < N_SHAPE_REGEXES; i++)
		regex_free(s->regexes[i]);
	tag_filter_free(s->tagfocus);
	tag_filter_free(s->tagignore);
	tag_keys_deinit(&s->shown_keys);
	tag_keys_deinit(&s->hidden_keys);
	keys_deinit(&s->roots);
	keys_deinit(&s->leaves);
	frames_deinit(&s->frames);
	shape_places_deinit(&s->places);
	shape_places_deinit(&s->label_places);
	profile_table_deinit(&s->label_frame_table);
	free(s->label_frames);
	free(s->function_bits);
	free(s->function_files);
	free(s->mapping_bits);
	free(s->chain);
	free(s->stack_frames);
	free(s->stack_inlined);
	free(s->labels);
	free(s->lines);
	free(s->text);
	free(s->unit);
	free(s->trim_path);
	free(s->source_path);
	free(s->tagfocus_text);
	free(s->tagignore_text);
	free(s);
}

static bool shape_option_is_set(const char *text)
{
	return text && *text;
}

static int shape_copy_option(char **ret, const char *text, const char *otherwise)
{
	*ret = strdup(shape_option_is_set(text) ? text : otherwise);
	return *ret ? 0 : error_origin(-ENOMEM);
}

/* Splits KEY,KEY...; empty ones are none. */
static int split_keys(struct shape_keys *keys, const char *list)
{
	size_t max = 1;
	char *rest, *key;

	if (!shape_option_is_set(list))
		return 0;
	for (const char *c = list; *c; c++)
		max += *c == ',';
	keys->text = strdup(list);
	keys->all = calloc(max, sizeof(*keys->all));
	keys->strings = calloc(max, sizeof(*keys->strings));
	if (!keys->text || !keys->all || !keys->strings)
		return error_origin(-ENOMEM);
	for (key = strtok_r(keys->text, ",", &rest); key; key = strtok_r(NULL, ",", &rest))
		keys->all[keys->n++] = key;
	return 0;
}

static int shape_compile_regexes(struct shape *s, const struct shape_options *o,
				 struct profile_message *message)
{
	const struct {
		enum shape_regex regex;
		const char *name, *text;
	} all[] = {
		{SHAPE_FOCUS, "focus", o->focus},
		{SHAPE_IGNORE, "ignore", o->ignore},
		{SHAPE_HIDE, "hide", o->hide},
		{SHAPE_SHOW, "show", o->show},
		{SHAPE_SHOW_FROM, "show_from", o->show_from},
		{SHAPE_PRUNE_FROM, "prune_from", o->prune_from},
		{SHAPE_TAGSHOW, "tagshow", o->tagshow},
		{SHAPE_TAGHIDE, "taghide", o->taghide},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && !r; i++)
		if (shape_option_is_set(all[i].text))
			r = regex_new(&s->regexes[all[i].regex], all[i].name, all[i].text, message);
	return r == REGEX_E_INVALID ? SHAPE_E_BAD_OPTION : r;
}

static int shape_compile_tags(struct shape *s, const struct shape_options *o,
			      struct profile_message *message)
{
	int r = 0;

	if (shape_option_is_set(o->tagfocus))
		r = tag_filter_new(&s->tagfocus, "tagfocus", o->tagfocus, message);
	if (!r && shape_option_is_set(o->tagignore))
		r = tag_filter_new(&s->tagignore, "tagignore", o->tagignore, message);
	return r == TAGS_E_INVALID ? SHAPE_E_BAD_OPTION : r;
}

int shape_new(struct shape **ret, const struct shape_options *o, struct profile_message *message)
{
	cleanup(shape_freep) struct shape *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	s->granularity = o->granularity;
	s->no_inlines = o->no_inlines;
	s->ignore_drop_frames = o->ignore_drop_frames;
	s->with_objects = o->with_objects;
	s->whole_filenames = o->whole_filenames;
	s->with_columns = o->show_columns || (o->granularity == SHAPE_ADDRESSES && !o->no_inlines);
	s->nameless_addresses = o->nameless_addresses;
	s->filters_names = shape_option_is_set(o->focus) || shape_option_is_set(o->ignore) ||
			   shape_option_is_set(o->hide) || shape_option_is_set(o->show);
	frames_init(&s->frames);
	profile_hash_key_init(&s->hash_key);
	r = shape_copy_option(&s->unit, o->unit, "minimum");
	if (!r)
		r = shape_copy_option(&s->trim_path, o->trim_path, "");
	if (!r)
		r = shape_copy_option(&s->source_path, o->source_path, "");
	if (!r)
		r = shape_copy_option(&s->tagfocus_text, o->tagfocus, "");
	if (!r)
		r = shape_copy_option(&s->tagignore_text, o->tagignore, "");
	if (!r)
		r = split_keys(&s->roots, o->tagroot);
	if (!r)
		r = split_keys(&s->leaves, o->tagleaf);
	if (!r)
		r = shape_compile_regexes(s, o, message);
	if (!r)
		r = shape_compile_tags(s, o, message);
	if (r)
		return r;
	*ret = steal_ptr(&s);
	return SHAPE_E_OK;
}

const struct frame *shape_frames(const struct shape *s, size_t *ret_n)
{
	*ret_n = s->frames.n;
	return s->frames.all;
}

/* --- warnings --------------------------------------------------------------------------------- */

static void warn_of_matches(FILE *out, const struct shape *s)
{
	const struct {
		bool is_asked, has_matched;
		const char *name;
	} all[] = {
		{s->roots.n, s->roots.matched, "TagRoot"},
		{s->leaves.n, s->leaves.matched, "TagLeaf"},
		{s->regexes[SHAPE_FOCUS], s->seen & PLACE_FOCUS, "Focus"},
		{s->regexes[SHAPE_IGNORE], s->seen & PLACE_IGNORE, "Ignore"},
		{s->regexes[SHAPE_HIDE], s->seen & PLACE_HIDE, "Hide"},
		{s->regexes[SHAPE_SHOW], s->seen & PLACE_SHOWN, "Show"},
		{s->regexes[SHAPE_SHOW_FROM], s->seen & PLACE_SHOW_FROM, "ShowFrom"},
		{s->tagfocus, s->tagfocus_matched, "TagFocus"},
		{s->tagignore, s->tagignore_matched, "TagIgnore"},
		{s->regexes[SHAPE_TAGSHOW], s->tagshow_matched, "TagShow"},
		{s->regexes[SHAPE_TAGHIDE], s->taghide_matched, "TagHide"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].is_asked && !all[i].has_matched)
			fprintf(out, "%s expression matched no samples\n", all[i].name);
}

static void warn_of_range(FILE *out, const char *name, const struct tag_filter *f, const char *text)
{
	const char *equals = strchr(text, '=');

	if (f && tag_filter_is_range(f))
		fprintf(out, "%s:Interpreted '%s' as range, not regexp\n", name,
			equals ? equals + 1 : text);
}

static void warn_of_steps(FILE *out, const char *name, uint64_t n)
{
	if (n)
		fprintf(out,
			"%s expression takes too long: %" PRIu64
			"%s texts count as not matched by it\n",
			name, n, n >= REGEX_GIVE_UP_MAX ? " or more" : "");
}

static void warn_of_limits(FILE *out, const struct shape *s)
{
	static const char *const names[N_SHAPE_REGEXES] = {
		[SHAPE_FOCUS] = "Focus",
		[SHAPE_IGNORE] = "Ignore",
		[SHAPE_HIDE] = "Hide",
		[SHAPE_SHOW] = "Show",
		[SHAPE_SHOW_FROM] = "ShowFrom",
		[SHAPE_PRUNE_FROM] = "PruneFrom",
		[SHAPE_DROP] = "The profile's drop_frames",
		[SHAPE_KEEP] = "The profile's keep_frames",
		[SHAPE_TAGSHOW] = "TagShow",
		[SHAPE_TAGHIDE] = "TagHide",
	};

	for (size_t i = 0; i < N_SHAPE_REGEXES; i++)
		if (s->regexes[i])
			warn_of_steps(out, names[i], regex_n_given_up(s->regexes[i]));
	if (s->tagfocus)
		warn_of_steps(out, "TagFocus", tag_filter_n_given_up(s->tagfocus));
	if (s->tagignore)
		warn_of_steps(out, "TagIgnore", tag_filter_n_given_up(s->tagignore));
	if (s->drop_frames_invalid)
		fprintf(out,
			"The profile's drop_frames or keep_frames is not a regular expression: "
			"no frames are dropped\n");
	if (s->is_cut_off)
		fprintf(out, "stacks of more than %" PRIu32 " frames lack their roots\n",
			SHAPE_FRAMES_MAX);
}

int shape_warnings(const struct shape *s, char **ret)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return error_origin(-ENOMEM);
	warn_of_range(out, "tagfocus", s->tagfocus, s->tagfocus_text);
	warn_of_range(out, "tagignore", s->tagignore, s->tagignore_text);
	warn_of_matches(out, s);
	warn_of_limits(out, s);
	if (fclose(out) != 0) {
		free(text);
		return error_origin(-ENOMEM);
	}
	*ret = text;
	return 0;
}

static size_t places_bytes(const struct places *p)
{
	return p->max * sizeof(*p->all) +
	       p->max_frames * (sizeof(*p->frames) + sizeof(*p->lines) + sizeof(*p->is_inlined));
}

size_t shape_bytes(const struct shape *s)
{
	return sizeof(*s) + places_bytes(&s->places) + places_bytes(&s->label_places) +
	       s->frames.max * sizeof(*s->frames.all) +
	       s->frames.table.n_slots * sizeof(*s->frames.table.slots) +
	       s->n_functions * (sizeof(*s->function_bits) + sizeof(*s->function_files)) +
	       s->max_chain * sizeof(*s->chain) +
	       s->max_stack * (sizeof(*s->stack_frames) + sizeof(*s->stack_inlined));
}
