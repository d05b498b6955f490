/* SPDX-License-Identifier: MIT */
/*
 * What the filters by names make of locations. Expressions are matched once per function and
 * mapping; of a location's lines, the filters then take away one after the other, in pprof's order:
 * each sees what the ones before it have left.
 *
 * A key of tagroot or tagleaf makes a location in every stack, which the profile gets like others:
 * its function is called as the values that the sample has of this key, its file as the key.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/shape_private.h"
#include "client/analysis/source_path.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/profile/measure.h"
#include "common/text_print.h"

#define BIT(regex) ((uint8_t)(1U << (regex)))

/* --- names ------------------------------------------------------------------------------------ */

/*
 * The function's name without its arguments: what stands before the first parenthesis that does not
 * belong to "(anonymous namespace)" or "operator()". PowerPC's symbols may begin with a dot.
 */
static char *strip_function_arguments(const char *name)
{
	static const char *const kept[] = {"(anonymous namespace)", "operator()"};
	const char *c;

	name += *name == '.';
	for (c = name; *c;) {
		size_t length = *c != '(';

		for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
			if (strncmp(c, kept[i], strlen(kept[i])) == 0)
				length = strlen(kept[i]);
		if (!length)
			break;
		c += length;
	}
	return strndup(name, (size_t)(c - name));
}

static bool shape_regex_matches(struct shape *s, enum shape_regex regex, const char *text)
{
	return s->regexes[regex] && regex_matches(s->regexes[regex], text);
}

/* Bits of the expressions that match a function of these names. 0 or negative errno. */
static int shape_match_function(struct shape *s, const char *name, const char *filename,
				uint8_t *ret)
{
	cleanup(freep) char *simple = NULL;
	uint8_t bits = 0;

	for (enum shape_regex i = SHAPE_FOCUS; i <= SHAPE_SHOW_FROM; i++)
		if (shape_regex_matches(s, i, name) || shape_regex_matches(s, i, filename))
			bits |= BIT(i);
	if (*name && (s->regexes[SHAPE_DROP] || s->regexes[SHAPE_PRUNE_FROM])) {
		simple = strip_function_arguments(name);
		if (!simple)
			return error_origin(-ENOMEM);
		if (shape_regex_matches(s, SHAPE_PRUNE_FROM, simple))
			bits |= BIT(SHAPE_PRUNE_FROM);
		if (shape_regex_matches(s, SHAPE_DROP, simple) &&
		    !shape_regex_matches(s, SHAPE_KEEP, simple))
			bits |= BIT(SHAPE_DROP);
	}
	*ret = bits;
	return 0;
}

static uint8_t match_mapping(struct shape *s, const char *path)
{
	uint8_t bits = 0;

	for (enum shape_regex i = SHAPE_FOCUS; i <= SHAPE_SHOW_FROM; i++)
		if (shape_regex_matches(s, i, path))
			bits |= BIT(i);
	return bits;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The lines of one location that are left, and what is known of it. */
struct left {
	struct shape_line *lines;
	uint32_t n;
	uint8_t mapping_bits;
	uint32_t flags;
};

static bool any_matches(const struct left *left, enum shape_regex regex)
{
	if (left->mapping_bits & BIT(regex))
		return true;
	for (uint32_t i = 0; i < left->n; i++)
		if (left->lines[i].bits & BIT(regex))
			return true;
	return false;
}

/* Keeps the lines that match, or those that do not. A mapping's match is that of all of them. */
static void keep_lines(struct left *left, enum shape_regex regex, bool which)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < left->n; i++) {
		uint8_t bits = left->lines[i].bits | left->mapping_bits;

		if (((bits & BIT(regex)) != 0) == which)
			left->lines[n++] = left->lines[i];
	}
	left->n = n;
}

static void shape_place_drop_frames(struct left *left)
{
	for (uint32_t i = left->n; i; i--) {
		if (!(left->lines[i - 1].bits & BIT(SHAPE_DROP)))
			continue;
		if (i == left->n) {
			left->flags |= PLACE_DROP;
		} else {
			left->flags |= PLACE_DROP_BENEATH;
			left->lines += i;
			left->n -= i;
		}
		return;
	}
}

static void focus_and_hide(const struct shape *s, struct left *left)
{
	if (any_matches(left, SHAPE_IGNORE))
		left->flags |= PLACE_IGNORE;
	else if (!s->regexes[SHAPE_FOCUS] || any_matches(left, SHAPE_FOCUS))
		left->flags |= PLACE_FOCUS;
	/* What has no line is hidden by its mapping's path alone, and never shown. */
	if (any_matches(left, SHAPE_HIDE)) {
		left->flags |= PLACE_HIDE;
		keep_lines(left, SHAPE_HIDE, false);
		if (!left->n)
			left->flags |= PLACE_HIDDEN;
	}
	if (s->regexes[SHAPE_SHOW]) {
		keep_lines(left, SHAPE_SHOW, true);
		left->flags |= left->n ? PLACE_SHOWN : PLACE_HIDDEN;
	}
}

static void shape_place_cut_lines(const struct shape *s, struct left *left)
{
	if (left->mapping_bits & BIT(SHAPE_SHOW_FROM))
		left->flags |= PLACE_SHOW_FROM;
	for (uint32_t i = left->n; i && !(left->flags & PLACE_SHOW_FROM); i--) {
		if (left->lines[i - 1].bits & BIT(SHAPE_SHOW_FROM)) {
			left->flags |= PLACE_SHOW_FROM;
			left->n = i;
		}
	}
	for (uint32_t i = 0; i < left->n && !(left->flags & PLACE_PRUNE_FROM); i++) {
		if (left->lines[i].bits & BIT(SHAPE_PRUNE_FROM)) {
			left->flags |= PLACE_PRUNE_FROM;
			left->lines += i;
			left->n -= i;
		}
	}
	if (s->options.no_inlines && left->n > 1) {
		left->lines += left->n - 1;
		left->n = 1;
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

static struct frame frame_of(const struct shape *s, const struct shape_spot *spot,
			     const struct shape_line *line, bool with_object)
{
	static const struct shape_line none = {0};
	const struct profile_function *f = line ? &line->function : &none.function;
	enum shape_granularity granularity = s->options.granularity;
	bool has_lines = granularity == SHAPE_LINES || granularity == SHAPE_ADDRESSES;
	struct frame frame = {0};

	if (granularity != SHAPE_FILES)
		frame.name = f->name;
	if (granularity != SHAPE_FUNCTIONS || with_object)
		frame.filename = f->filename;
	if (line && has_lines) {
		frame.line = line->line;
		frame.column = line->column;
	}
	if (granularity == SHAPE_ADDRESSES || (s->options.nameless_addresses && !f->name))
		frame.address = spot->address;
	if (!frame.name || with_object)
		frame.object = spot->object;
	if (!frame.name || (with_object && has_lines))
		frame.start_line = f->start_line;
	if (s->options.with_mappings)
		frame.mapping = spot->mapping + 1; /* PROFILE_NONE is the largest number */
	return frame;
}

/* The frame that has come first of those that are told apart by objects alone. */
static int shape_add_kind(struct shape *s, const struct frame *kind, const struct frame *frame,
			  uint32_t *ret)
{
	const struct shape_kind new = {.kind = *kind, .first = s->frames_in.n};
	uint32_t number;
	int r = intern_add(&s->kinds_in, &s->kinds, &new, sizeof(new), sizeof(*kind), &number);

	if (r)
		return r;
	*ret = (uint32_t)s->kinds[number].first;
	return *ret < s->frames_in.n ? 0
				     : intern_add(&s->frames_in, &s->frames, frame, sizeof(*frame),
						  sizeof(*frame), ret);
}

/* @line NULL: it has none. */
static int shape_place_add_frame(struct shape *s, struct places *places,
				 const struct shape_spot *spot, const struct shape_line *line,
				 bool is_inlined)
{
	const struct frame frame = frame_of(s, spot, line, s->options.with_objects);
	const struct frame kind = frame_of(s, spot, line, false);
	struct place_frame new = {.line = line ? line->number : PROFILE_NONE,
				  .is_inlined = is_inlined};
	int r;

	_Static_assert(sizeof(frame) == 4 * sizeof(uint32_t) + 4 * sizeof(uint64_t), "no padding");
	if (places->n_frames >= PROFILE_NONE)
		return error_origin(-E2BIG);
	r = s->options.compares ? shape_add_kind(s, &kind, &frame, &new.frame)
				: intern_add(&s->frames_in, &s->frames, &frame, sizeof(frame),
					     sizeof(frame), &new.frame);
	return r ?: room_append(&places->frames, &places->max_frames, &places->n_frames, new);
}

/* Adds the place that the @n @lines (which it changes) at @spot are. 0 or negative errno. */
static int shape_add_place(struct shape *s, struct places *places, const struct shape_spot *spot,
			   struct shape_line *lines, uint32_t n)
{
	struct left left = {.lines = lines, .n = n, .mapping_bits = spot->bits};
	struct place place = {.first = (uint32_t)places->n_frames};
	int r = 0;

	shape_place_drop_frames(&left);
	focus_and_hide(s, &left);
	shape_place_cut_lines(s, &left);
	if (!left.n && !(left.flags & PLACE_HIDDEN))
		r = shape_place_add_frame(s, places, spot, NULL, false);
	for (uint32_t i = 0; i < left.n && !r; i++)
		r = shape_place_add_frame(s, places, spot, &left.lines[i], i + 1 < left.n);
	place.n = (uint32_t)(places->n_frames - place.first);
	place.flags = left.flags;
	return r ?: room_append(&places->all, &places->max, &places->n, place);
}

/* --- a profile's things ----------------------------------------------------------------------- */

/* pprof reads what the profile says of frames once, and says nothing if it is no expression. */
static int bind_drop_frames(struct shape *s, const struct profile *p)
{
	static const char *const names[] = {"drop_frames", "keep_frames"};
	const uint32_t texts[] = {p->drop_frames, p->keep_frames};
	struct profile_message message;
	int r = 0;

	s->is_bound = true;
	if (s->options.ignore_drop_frames || !p->drop_frames)
		return 0;
	for (int i = 0; i < 2 && !r; i++) {
		cleanup(freep) char *whole = NULL;

		if (!texts[i])
			continue;
		r = text_print(&whole, "^(%s)$", profile_string(p, texts[i]))
			    ?: regex_new(&s->regexes[SHAPE_DROP + i], names[i], whole, &message);
	}
	if (r < 0)
		return r;
	if (r) {
		s->drop_frames_invalid = true;
		regex_free(s->regexes[SHAPE_DROP]);
		s->regexes[SHAPE_DROP] = NULL;
	}
	return 0;
}

/* The name of a source file as frames tell it. 0 or negative errno. */
static int shape_clean_file(const struct shape *s, struct profile *p, uint32_t file, uint32_t *ret)
{
	cleanup(freep) char *clean = NULL;
	const char *path = profile_string(p, file);

	if (!s->options.whole_filenames)
		path = source_path_trim(path, s->options.trim_path, s->options.source_path);
	if (!*path) {
		*ret = 0;
		return 0;
	}
	clean = source_path_clean(path);
	if (!clean)
		return error_origin(-ENOMEM);
	return profile_add_text(p, clean, ret);
}

/* --- binding ---------------------------------------------------------------------------------- */

/* Finds the keys in @p, or adds them. 0 or negative errno. */
static int shape_bind_keys(struct shape_keys *keys, struct profile *p)
{
	const char *key = keys->list;
	int r = 0;

	for (uint32_t i = 0; i < keys->n && !r; i++) {
		size_t length;

		key += strspn(key, ",");
		length = strcspn(key, ",");
		r = profile_add_string(p, key, length, &keys->strings[i]);
		key += length;
	}
	return r;
}

static int bind_functions(struct shape *s, struct profile *p)
{
	int r = room_make(&s->functions, &s->max_functions, p->n_functions, sizeof(*s->functions));

	for (; s->n_functions < p->n_functions && !r; s->n_functions += !r) {
		const struct profile_function *f = &p->functions[s->n_functions];
		struct shape_function *new = &s->functions[s->n_functions];

		new->file = 0;
		r = shape_match_function(s, profile_string(p, f->name),
					 profile_string(p, f->filename), &new->bits);
		if (!r && f->filename &&
		    (s->options.granularity != SHAPE_FUNCTIONS || s->options.with_objects))
			r = shape_clean_file(s, p, f->filename, &new->file);
	}
	return r;
}

static int bind_mappings(struct shape *s, const struct profile *p)
{
	size_t max = s->n_mappings;
	int r = room_make(&s->mapping_bits, &max, p->n_mappings, 1);

	for (; s->n_mappings < p->n_mappings && !r; s->n_mappings++)
		s->mapping_bits[s->n_mappings] =
			match_mapping(s, profile_string(p, p->mappings[s->n_mappings].path));
	return r;
}

static int bind_location(struct shape *s, const struct profile *p, const struct profile_location *l)
{
	struct shape_spot spot = {.address = l->address, .mapping = l->mapping};
	int r = room_make(&s->lines, &s->max_lines, l->n_lines, sizeof(*s->lines));

	if (r)
		return r;
	if (l->mapping != PROFILE_NONE) {
		spot.object = p->mappings[l->mapping].path;
		spot.bits = s->mapping_bits[l->mapping];
	}
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_line *line = &p->lines[l->first_line + i];

		s->lines[i] = (struct shape_line){.function = p->functions[line->function],
						  .line = line->line,
						  .column = s->with_columns ? line->column : 0,
						  .number = i,
						  .bits = s->functions[line->function].bits};
		s->lines[i].function.filename = s->functions[line->function].file;
	}
	return shape_add_place(s, &s->places, &spot, s->lines, l->n_lines);
}

/* Locations, and what they are made of. */
static int bind_locations(struct shape *s, struct profile *p)
{
	int r = bind_functions(s, p);

	for (size_t i = s->places.n; i < p->n_locations && !r; i++)
		r = bind_location(s, p, &p->locations[i]);
	return r;
}

int shape_bind(struct shape *s, struct profile *p)
{
	int r = (s->is_bound ? 0 : bind_drop_frames(s, p)) ?:
		shape_bind_keys(&s->roots, p) ?:
		shape_bind_keys(&s->leaves, p) ?:
		bind_mappings(s, p) ?:
		bind_locations(s, p);

	if (!r && s->tagfocus)
		r = tag_filter_learn_units(s->tagfocus, p);
	if (!r && s->tagignore)
		r = tag_filter_learn_units(s->tagignore, p);
	return r;
}

/* --- labels ----------------------------------------------------------------------------------- */

/*
 * What the labels of @key say; 0: there is none. Texts first, then numbers: in the unit that
 * reports are in, if one of them has a unit.
 */
static int join_values(struct shape *s, struct profile *p, const struct stack *stack, uint32_t key,
		       uint32_t *ret)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	char number[MEASURE_TEXT_MAX];
	const char *to = "", *separator = "";
	int r = memory_text_open(&text);

	if (r)
		return r;
	for (uint32_t i = 0; i < stack->n_labels; i++) {
		const struct profile_label *l = &stack->labels[i];

		if (l->key != key)
			continue;
		if (l->str) {
			fprintf(text.out, "%s%s", separator, profile_string(p, l->str));
			separator = ",";
		} else if (l->num_unit) {
			to = shape_option_is_set(s->options.unit) ? s->options.unit : "minimum";
		}
	}
	for (uint32_t i = 0; i < stack->n_labels; i++) {
		const struct profile_label *l = &stack->labels[i];

		if (l->key != key || !tag_is_number(l))
			continue;
		fprintf(text.out, "%s%s", separator,
			measure_print(number, sizeof(number), l->num,
				      profile_string(p, l->num_unit), to));
		separator = ",";
	}
	return memory_text_close(&text) ?: profile_add_string(p, text.text, text.length, ret);
}

int shape_label_locations(struct shape *s, struct profile *p, const struct stack *stack,
			  struct shape_keys *keys, uint32_t *chain)
{
	/* The first key comes next to the root. */
	for (uint32_t j = 0; j < keys->n; j++) {
		struct profile_function f = {.filename = keys->strings[keys->n - 1 - j]};
		struct profile_line line = {0};
		int r = join_values(s, p, stack, f.filename, &f.name);

		keys->matched |= f.name != 0;
		r = r ?:
			profile_add_function(p, &f, &line.function) ?:
			profile_add_location(p, PROFILE_NONE, 0, &line, 1, &chain[j]) ?:
			bind_locations(s, p);
		if (r)
			return r;
	}
	return 0;
}
