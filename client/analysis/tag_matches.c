/* SPDX-License-Identifier: MIT */
/*
 * Each pair of key and text is matched once, and the outcome kept: the labels of a million samples
 * are a few pairs, as a rule.
 */
#include "client/analysis/tag_matches.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/labels.h"
#include "client/analysis/regex.h"
#include "common/error.h"
#include "common/profile/intern.h"
#include "common/profile/measure.h"
#include "common/profile/pprof.h"
#include "common/text_print.h"

#define REGEXES_MAX 32 /* the bits of a mask */

/* A label's text, and which expressions match it. */
struct pair {
	uint32_t key, str;
	uint32_t matched; /* bits */
};

struct tag_matches_range {
	double low, high; /* infinite: any */
	char *unit;
};

struct tag_filter {
	char *text;      /* owns @key's and the expressions' bytes */
	const char *key; /* NULL: any */
	struct regex *regexes[REGEXES_MAX];
	uint32_t n_regexes; /* 0: a range */
	struct tag_matches_range range;
	struct pair *pairs; /* by key and text */
	struct intern pairs_in;
	struct label_units units;
};

void tag_filter_free(struct tag_filter *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n_regexes; i++)
		regex_free(f->regexes[i]);
	intern_deinit(&f->pairs_in);
	label_units_deinit(&f->units);
	free(f->pairs);
	free(f->range.unit);
	free(f->text);
	free(f);
}

/* --- ranges ----------------------------------------------------------------------------------- */

enum { BOUND_NONE, BOUND_FOUND, BOUND_TOO_BIG };

/* A number and its unit at *text; moves past them. *ret_unit is a copy. */
static int tag_parse_bound(const char **text, int64_t *ret, char **ret_unit)
{
	size_t digits, letters;
	const char *c = *text;

	digits = strspn(c + (*c == '+' || *c == '-'), "0123456789");
	if (!digits)
		return BOUND_NONE;
	errno = 0;
	*ret = strtoll(c, NULL, 10);
	if (errno == ERANGE)
		return BOUND_TOO_BIG;
	c += digits + (*c == '+' || *c == '-');
	for (letters = 0;
	     (c[letters] >= 'a' && c[letters] <= 'z') || (c[letters] >= 'A' && c[letters] <= 'Z');)
		letters++;
	*ret_unit = strndup(c, letters);
	if (!*ret_unit)
		return error_origin(-ENOMEM);
	*text = c + letters;
	return BOUND_FOUND;
}

/* The second bound, which must come in the unit of the first. */
static int tag_parse_high_bound(struct tag_matches_range *range, const char **text)
{
	cleanup(freep) char *unit = NULL;
	const char *in;
	int64_t value;
	int r = tag_parse_bound(text, &value, &unit);

	if (r != BOUND_FOUND)
		return r;
	range->high = measure_scale(value, unit, range->unit, &in);
	return strcmp(in, range->unit) == 0 ? BOUND_FOUND : BOUND_NONE;
}

/* BOUND_NONE: @text is no range, but an expression. */
static int tag_parse_range(const char *text, struct tag_matches_range *range)
{
	cleanup(freep) char *unit = NULL;
	bool starts = *text == ':';
	const char *in;
	int64_t value;
	int r;

	text += starts;
	r = tag_parse_bound(&text, &value, &unit);
	if (r != BOUND_FOUND)
		return r;
	range->low = range->high = measure_scale(value, unit, unit, &in);
	range->unit = strdup(in);
	if (!range->unit)
		return error_origin(-ENOMEM);
	if (starts)
		range->low = -INFINITY;
	else if (*text == ':')
		range->high = INFINITY;
	if (!starts && *text == ':' && *++text) {
		r = tag_parse_high_bound(range, &text);
		if (r != BOUND_FOUND)
			return r;
	}
	return *text ? BOUND_NONE : BOUND_FOUND;
}

/* --- parsing ---------------------------------------------------------------------------------- */

static int parse_regexes(struct tag_filter *f, const char *what, char *list,
			 struct profile_message *message)
{
	int r;

	for (char *next = list; next;) {
		char *one = next;

		next = strchr(one, ',');
		if (next)
			*next++ = '\0';
		if (f->n_regexes == REGEXES_MAX)
			return profile_refuse(message, REGEX_E_INVALID,
					      "%s: more than %d expressions", what, REGEXES_MAX);
		r = regex_new(&f->regexes[f->n_regexes], what, one, message);
		if (r)
			return r;
		f->n_regexes++;
	}
	return REGEX_E_OK;
}

int tag_filter_new(struct tag_filter **ret, const char *what, const char *text,
		   struct profile_message *message)
{
	cleanup(tag_filter_freep) struct tag_filter *f = calloc(1, sizeof(*f));
	char *value, *equals;
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->text = value = strdup(text);
	if (!value)
		return error_origin(-ENOMEM);
	equals = strchr(value, '=');
	if (equals) {
		*equals = '\0';
		f->key = *value ? value : NULL;
		value = equals + 1;
	}
	r = tag_parse_range(value, &f->range);
	if (r < 0)
		return r;
	if (r == BOUND_TOO_BIG)
		return profile_refuse(message, REGEX_E_INVALID,
				      "%s: the number is too big: \"%.60s\"", what, text);
	if (r == BOUND_NONE) {
		r = parse_regexes(f, what, value, message);
		if (r)
			return r;
	}
	*ret = steal_ptr(&f);
	return REGEX_E_OK;
}

bool tag_filter_is_range(const struct tag_filter *f)
{
	return !f->n_regexes;
}

uint64_t tag_filter_n_given_up(const struct tag_filter *f)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < f->n_regexes; i++)
		n += regex_n_given_up(f->regexes[i]);
	return n;
}

/* --- matching --------------------------------------------------------------------------------- */

int tag_filter_learn_units(struct tag_filter *f, const struct profile *p)
{
	return tag_filter_is_range(f)
		       ? label_units_learn(&f->units, p->sample_labels, p->n_sample_labels)
		       : 0;
}

static int match_number(struct tag_filter *f, const struct profile *p,
			const struct profile_label *l, bool *ret)
{
	const struct tag_matches_range *range = &f->range;
	const char *in;
	double value;
	int r;

	*ret = false;
	if (!tag_is_number(l) || (f->key && strcmp(profile_string(p, l->key), f->key) != 0))
		return 0;
	r = label_units_learn(&f->units, l, 1);
	if (r)
		return r;
	value = measure_scale(l->num, label_units_of(&f->units, p, l->key), range->unit, &in);
	*ret = strcmp(in, range->unit) == 0 && value >= range->low && value <= range->high;
	return 0;
}

static int match_pair(struct tag_filter *f, const struct profile *p, struct pair *pair)
{
	const char *key = profile_string(p, pair->key), *value = profile_string(p, pair->str);
	cleanup(freep) char *both = NULL;

	if (f->key && strcmp(key, f->key) != 0)
		return 0;
	if (!f->key) {
		if (text_print(&both, "%s:%s", key, value))
			return -ENOMEM;
		value = both;
	}
	for (uint32_t i = 0; i < f->n_regexes; i++)
		if (regex_matches(f->regexes[i], value))
			pair->matched |= UINT32_C(1) << i;
	return 0;
}

int tag_filter_matches(struct tag_filter *f, const struct profile *p,
		       const struct profile_label *labels, uint32_t n_labels, bool *ret)
{
	uint32_t matched = 0, all = (uint32_t)((UINT64_C(1) << f->n_regexes) - 1);
	int r = 0;

	*ret = false;
	if (tag_filter_is_range(f)) {
		for (uint32_t i = 0; i < n_labels && !r && !*ret; i++)
			r = match_number(f, p, &labels[i], ret);
		return r;
	}
	for (uint32_t i = 0; i < n_labels; i++) {
		const struct pair pair = {.key = labels[i].key, .str = labels[i].str};
		size_t n = f->pairs_in.n;
		uint32_t index;

		if (!pair.str)
			continue;
		r = intern_add(&f->pairs_in, &f->pairs, &pair, sizeof(pair),
			       offsetof(struct pair, matched), &index);
		if (!r && f->pairs_in.n > n)
			r = match_pair(f, p, &f->pairs[index]);
		if (r)
			return r;
		matched |= f->pairs[index].matched;
	}
	*ret = f->key ? matched != 0 : matched == all;
	return 0;
}
