/* SPDX-License-Identifier: MIT */
/*
 * A key of tagroot or tagleaf makes a frame in every stack: its function is called as the values
 * that the sample has of this key, its file as the key. Equal ones are one place.
 */
#include <string.h>

#include "client/analysis/shape_private.h"
#include "common/profile/measure.h"

static int find_label_frame(struct shape *s, struct profile *p, const struct label_frame *f,
			    uint32_t *ret)
{
	struct shape_line line = {.function = {.name = f->name, .filename = f->key}};
	const struct shape_spot spot = {.is_label = true};
	uint32_t index;
	int r = intern_add(&s->label_frames_in, &s->label_frames, f, sizeof(*f), sizeof(*f),
			   &index);

	if (r)
		return r;
	*ret = index | SHAPE_LABEL_BIT;
	if (index < s->label_places.n)
		return 0;
	r = shape_match_function(s, profile_string(p, f->name), profile_string(p, f->key),
				 &line.bits);
	if (!r && s->options.granularity != SHAPE_FUNCTIONS)
		r = shape_clean_file(s, p, f->key, &line.function.filename);
	return r ?: shape_add_place(s, &s->label_places, &spot, &line, 1);
}

static int put_value(struct shape *s, size_t *length, const char *value)
{
	size_t n = strlen(value), separator = *length ? 1 : 0;
	int r = room_make(&s->text, &s->max_text, *length + separator + n + 1, 1);

	if (r)
		return r;
	if (separator)
		s->text[(*length)++] = ',';
	memcpy(s->text + *length, value, n);
	*length += n;
	return 0;
}

/*
 * What the labels of @key say; 0: there is none. Texts first, then numbers: in the unit that
 * reports are in, if one of them has a unit.
 */
static int join_values(struct shape *s, struct profile *p, const struct stack *stack, uint32_t key,
		       uint32_t *ret)
{
	char number[MEASURE_TEXT_MAX];
	const char *to = "";
	size_t length = 0;
	int r = 0;

	for (uint32_t i = 0; i < stack->n_labels && !r; i++) {
		const struct profile_label *l = &stack->labels[i];

		if (l->key != key)
			continue;
		if (l->str)
			r = put_value(s, &length, profile_string(p, l->str));
		else if (l->num_unit)
			to = shape_option_is_set(s->options.unit) ? s->options.unit : "minimum";
	}
	for (uint32_t i = 0; i < stack->n_labels && !r; i++) {
		const struct profile_label *l = &stack->labels[i];

		if (l->key == key && tag_is_number(l))
			r = put_value(s, &length,
				      measure_print(number, sizeof(number), l->num,
						    profile_string(p, l->num_unit), to));
	}
	*ret = 0;
	return r || !length ? r : profile_add_string(p, s->text, length, ret);
}

int shape_bind_keys(struct shape_keys *keys, struct profile *p)
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

int shape_label_frames(struct shape *s, struct profile *p, const struct stack *stack,
		       struct shape_keys *keys, uint32_t *chain)
{
	/* The first key comes next to the root. */
	for (uint32_t j = 0; j < keys->n; j++) {
		struct label_frame f = {.key = keys->strings[keys->n - 1 - j]};
		int r = join_values(s, p, stack, f.key, &f.name);

		keys->matched |= f.name != 0;
		if (!r)
			r = find_label_frame(s, p, &f, &chain[j]);
		if (r)
			return r;
	}
	return 0;
}
