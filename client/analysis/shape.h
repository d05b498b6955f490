/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_SHAPE_H
#define PROFD_CLIENT_ANALYSIS_SHAPE_H

/*
 * What stands between a profile and every view of it: which samples are taken, which of their
 * frames, and what a frame is (see frame.h). All of it is what google/pprof does (its head of
 * 2026-10-16), in its order:
 *
 *	drop_frames, keep_frames      the profile's: frames of allocators and the like go, with what
 *	                              they called, but for frames that no other one called
 *	tagroot, tagleaf              labels become frames
 *	ignore, focus                 whole samples go
 *	hide, show                    frames go, the samples stay unless nothing is left of them
 *	show_from                     what called the matching frame nearest to the root goes
 *	tagfocus, tagignore           whole samples go, see tag_matches.h
 *	tagshow, taghide              labels go
 *	prune_from                    what the matching frame nearest to the leaf called goes
 *	no_inlines, granularity
 *
 * Samples without a frame go with focus, ignore, hide, show and show_from alone. Expressions
 *(regex.h) are matched against a function's name, its file's name and its mapping's path; those of
 *prune_from, drop_frames and keep_frames against the name without its arguments alone.
 *
 * Frames that have no name: pprof tells them by their mapping (and, since it forgets to forget it,
 * by their function's first line), by their address at granularity addresses only.
 *
 *	shape_new()
 *	for each profile, or each part of one: shape_bind(), then shape_stack() for its samples
 *
 * All that is found out once per location is found out in shape_bind(). Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/analysis/frame.h"
#include "common/cleanup.h"
#include "common/profile/pprof.h" /* struct profile_message */
#include "common/profile/profile.h"

enum {
	SHAPE_E_OK,
	SHAPE_E_BAD_OPTION, /* see the message */
	SHAPE_E_DROPPED,    /* nothing is left of the sample */
};

enum shape_granularity {
	SHAPE_FUNCTIONS,     /* names */
	SHAPE_FILEFUNCTIONS, /* and source files */
	SHAPE_LINES,         /* and lines */
	SHAPE_FILES,         /* source files alone */
	SHAPE_ADDRESSES,     /* everything */
};

/* Texts: NULL or empty is none; borrowed for as long as the shape lives. */
struct shape_options {
	const char *focus, *ignore, *hide, *show, *show_from, *prune_from;
	const char *tagfocus, *tagignore, *tagshow, *taghide;
	const char *tagroot, *tagleaf;       /* KEY,KEY...: the first one is next to the root */
	const char *unit;                    /* of numbers that become frames; "minimum" */
	const char *trim_path, *source_path; /* see source_path.h */
	enum shape_granularity granularity;
	bool no_inlines;
	/* Lines are told apart by their columns, too. Addresses always are, but for no_inlines:
	 * pprof looks at this option where it merges frames alone. */
	bool show_columns;
	bool ignore_drop_frames;
	/* Frames differ by mappings, and with lines also functions' first ones, whatever the
	 * granularity: for views that open files. */
	bool with_objects;
	/* With objects, and of two builds: what the granularity does not tell apart is one frame,
	 * which has the object and the file of its first place. */
	bool compares;
	/* And which mapping, also of those of one object: for views that open the files as they
	 * were mapped. */
	bool with_mappings;
	/* Nothing is taken off the front of files' names: pprof's -traces forgets to. */
	bool whole_filenames;
	/* Frames without a name keep their address, as in google-pprof, whatever the granularity.
	 */
	bool nameless_addresses;
};

/* A sample after all filters. Borrowed until the next call with the same struct shape. */
struct stack {
	const uint32_t *frames;    /* indices, see shape_frames(); leaf first */
	const uint8_t *is_inlined; /* per frame: into the next one, its caller */
	uint32_t n_frames;         /* 0: the sample has none */
	uint32_t n_labels;
	const int64_t *values; /* one per sample type of the profile */
	const struct profile_label *labels;
};

/* No stack has more; what is nearer to the root goes, and is warned of. */
#define SHAPE_FRAMES_MAX ((uint32_t)1 << 20)

struct shape;

/* SHAPE_E_OK, SHAPE_E_BAD_OPTION or negative errno. */
int shape_new(struct shape **ret, const struct shape_options *o, struct profile_message *message);
void shape_free(struct shape *s);
DEFINE_CLEANUP(struct shape *, shape_free)

/*
 * Finds out about what @p has got since the last call: locations, and the units of the labels of
 * the samples that are there. Before the samples that refer to it are shaped. It is always the same
 * profile, and what it had keeps its content. Strings are added to @p. 0 or negative errno.
 */
int shape_bind(struct shape *s, struct profile *p);
/*
 * SHAPE_E_OK, SHAPE_E_DROPPED, or negative errno. With tagroot and tagleaf adds functions and
 * locations to @p.
 */
int shape_stack(struct shape *s, struct profile *p, size_t sample, struct stack *ret);
/* All frames by now; until the next call that may add some. */
const struct frame *shape_frames(const struct shape *s, size_t *ret_n);
/*
 * After the last sample: what the user should hear of, as pprof says it (expressions that matched
 * nothing, ranges), one line each. *ret is malloc'ed, "" if there is nothing. 0 or negative errno.
 */
int shape_warnings(const struct shape *s, char **ret);

/*
 * A new profile of the samples that are left by a struct shape, with the frames that are left of
 * them, for formats that hold profiles: what pprof writes with -proto. It has addresses and all
 * lines of what is left (see no_inlines), whatever the shape's granularity; frames made of labels
 * are locations without an address. Equal samples become one. It refers to nothing that no sample
 * needs, but for the first mapping, which is the program by convention. Pure.
 */
struct shape_profile;

/* @s and @p are borrowed for its life. 0 or negative errno. */
int shape_profile_new(struct shape_profile **ret, const struct shape *s, const struct profile *p);
void shape_profile_free(struct shape_profile *to);
DEFINE_CLEANUP(struct shape_profile *, shape_profile_free)

/* Adds the stack that shape_stack() has just returned. 0 or negative errno. */
int shape_profile_add(struct shape_profile *to, const struct stack *stack);
/*
 * All samples have been added: takes the times and comments over, which may have come last. The
 * profile is the caller's then. 0 or negative errno.
 */
int shape_profile_finish(struct shape_profile *to, struct profile **ret);

#endif
