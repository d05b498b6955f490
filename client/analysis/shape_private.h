/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_SHAPE_PRIVATE_H
#define PROFD_CLIENT_ANALYSIS_SHAPE_PRIVATE_H

/*
 * What the parts of shape share: shape.c has the options and takes samples through the filters,
 * shape_places.c finds out about locations and makes such of labels, shape_profile.c makes
 * profiles of what is left.
 *
 * A place is what a location is after all filters: some frames, and flags that tell the sample
 * what to do there.
 */
#include "client/analysis/regex.h"
#include "client/analysis/shape.h"
#include "client/analysis/tag_matches.h"
#include "common/profile/intern.h"
#include "common/room.h"

enum shape_regex {
	SHAPE_FOCUS,
	SHAPE_IGNORE,
	SHAPE_HIDE,
	SHAPE_SHOW,
	SHAPE_SHOW_FROM,
	SHAPE_PRUNE_FROM,
	SHAPE_DROP,
	N_SHAPE_NAME_REGEXES, /* which a function's bits tell of */
	SHAPE_KEEP = N_SHAPE_NAME_REGEXES,
	SHAPE_TAGSHOW,
	SHAPE_TAGHIDE,
	N_SHAPE_REGEXES,
};

enum {
	PLACE_FOCUS = 1,         /* matches focus, or there is none; does not match ignore */
	PLACE_IGNORE = 2,        /* matches ignore */
	PLACE_HIDE = 4,          /* a line matches hide */
	PLACE_HIDDEN = 8,        /* no line is left */
	PLACE_SHOWN = 16,        /* a line is left by show */
	PLACE_SHOW_FROM = 32,    /* matches show_from */
	PLACE_PRUNE_FROM = 64,   /* matches prune_from */
	PLACE_DROP = 128,        /* drop_frames: it goes with all that it called */
	PLACE_DROP_BENEATH = 256 /* what it called goes */
};

struct place {
	uint32_t first, n; /* frames */
	uint32_t flags;
};

struct places {
	struct place *all;
	size_t n, max;
	struct place_frame {
		uint32_t frame;
		uint32_t line; /* counted from the location's first; PROFILE_NONE: it has none */
		bool is_inlined;
	} * frames;
	size_t n_frames, max_frames;
};

/* A line of a location, or what stands for one. */
struct shape_line {
	struct profile_function function; /* but the file's name is the cleaned one */
	int64_t line;
	int32_t column;
	uint32_t number; /* counted from the location's first one */
	uint8_t bits;    /* by enum shape_regex */
};

/* Where lines are: what frames without a name are told by. */
struct shape_spot {
	uint64_t address;
	uint32_t object;  /* a string */
	uint32_t mapping; /* or PROFILE_NONE */
	uint8_t bits;
};

/* The keys of tagroot or tagleaf. */
struct shape_keys {
	const char *list;  /* the option; borrowed */
	uint32_t *strings; /* of the profile */
	uint32_t n;
	bool matched;
};

struct shape {
	struct shape_options options;
	bool with_columns;
	struct regex *regexes[N_SHAPE_REGEXES];
	struct tag_filter *tagfocus, *tagignore;
	struct shape_keys roots, leaves;

	struct frame *frames;
	struct intern frames_in;
	struct shape_kind {
		struct frame kind; /* without an object */
		uint64_t first;    /* its frame */
	} * kinds;                 /* of comparisons */
	struct intern kinds_in;
	struct places places; /* one per location */
	struct shape_function {
		uint32_t file; /* a string */
		uint8_t bits;  /* by enum shape_regex */
	} * functions;
	uint8_t *mapping_bits;
	size_t n_functions, max_functions, n_mappings;
	bool is_bound, drop_frames_invalid;
	bool filters_names; /* focus, ignore, hide or show */

	uint32_t *chain; /* of one sample: places, leaf first */
	size_t chain_start, n_chain, max_chain;
	uint32_t *stack_frames;
	uint8_t *stack_inlined;
	size_t max_stack;
	struct profile_label *labels;
	size_t max_labels;
	struct shape_line *lines; /* of one location */
	size_t max_lines;

	struct shape_label_key {
		uint32_t key;             /* a string */
		bool is_shown, is_hidden; /* as tagshow and taghide say */
	} * label_keys;
	struct intern label_keys_in;
	uint32_t seen; /* flags of all places in samples */
	bool tagfocus_matched, tagignore_matched, tagshow_matched, taghide_matched;
	bool is_cut_off; /* a stack was: views may ask for one more than once */
};

/*
 * Puts the locations that the labels of @stack are to @chain, leaf first, one per key; @keys is
 * told whether there was one. 0 or negative errno.
 */
int shape_label_locations(struct shape *s, struct profile *p, const struct stack *stack,
			  struct shape_keys *keys, uint32_t *chain);

static inline bool shape_option_is_set(const char *text)
{
	return text && *text;
}

#endif
