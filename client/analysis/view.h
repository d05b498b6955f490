/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_VIEW_H
#define PROFD_CLIENT_ANALYSIS_VIEW_H

/*
 * A view: what a report makes of stacks. It is fed with every stack of the profile, folds it into
 * what it keeps, and writes when all were seen. What it keeps grows with functions, calls and
 * labels, never with samples; therefore some views must see the stacks more than once: which
 * functions are left out is known at the end only, and what is called by which of the others not
 * before that.
 *
 *	report_view_new(&v, &view_tree, &options, &message);
 *	do
 *		for each stack: report_view_add(v, &input, &stack);
 *	while (report_view_end(v, &input, out) == VIEW_E_AGAIN);
 *	report_view_free(v);
 *
 * The stacks must be the same each time, in the same order, as indices of the same frames. Twice is
 * what it mostly takes, three times the most.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cleanup.h"

struct frame;
struct graph;
struct label_units;
struct profile;
struct profile_label;
struct profile_message;
struct stack;
struct stack_tree;
struct view;

#define VIEW_NODECOUNT_DEFAULT (-1) /* graphs and trees 80, texts all */

enum {
	VIEW_E_OK,
	VIEW_E_BAD_OPTION, /* the message says which */
	VIEW_E_NO_MATCH,   /* nothing that options.pattern matches was seen: the message says so */
	VIEW_E_AGAIN,      /* of report_view_end(): all stacks must be added once more */
	VIEW_E_TOO_LONG,   /* its names alone are longer than options.max_bytes */
};

struct source_file;

/* Borrowed, as all texts in it, for as long as the view lives. */
struct view_options {
	const char *pattern; /* peek, list ...: regular expression of names */
	const char *unit;    /* as pprof's: "minimum", "auto", or a unit's name */
	double divide_by;    /* all values, when printed; not 0 */
	int by_cum;          /* ordered by cumulative values, else by flat ones */
	bool trim;           /* else all is shown, whatever the next four say */
	int nodecount;
	double nodefraction, edgefraction; /* of the total */
	int maxdegree;  /* calls into, and out of, a box of a graph; 0 or less: any number */
	bool call_tree; /* graphs: a function once for each way to it */
	bool drop_negative;
	bool compact_labels; /* no header */
	bool intel_syntax;   /* disasm, weblist */
	bool json;           /* waits */
	bool one_type;       /* flame: of the sample types, the user asked for this one */
	size_t max_bytes;    /* of a flame graph's data: its lightest parts are left out; 0: any */
	/* Where sources are looked for, see client/code/source_file.h; NULL or "": not said. */
	const char *source_path, *trim_path;
	/* Or the source itself, of a view that opens no file; NULL: not to be had. */
	const struct source_file *source;
	int64_t source_changed_s;   /* Unix time; 0: not known */
	const char *const *filters; /* active ones, "focus=RE", as the header is to tell them */
	size_t n_filters;
};

/* Kept up to date by the caller, who may change it between two calls. */
struct view_input {
	/* Tables, times and comments. Samples are not looked at. */
	const struct profile *profile;
	const struct frame *frames; /* what stacks' indices are of */
	size_t n_frames;
	unsigned type; /* which of a stack's values is told */
	bool mean;     /* divided by the stack's first value */
	int64_t total; /* what percentages are of; matters from the first report_view_end() on */
	const int64_t *totals; /* the same per sample type, for a view of class->tells_all_types */
	/* Of what the filters left, by the first value: all samples, and those whose stacks do not
	 * reach a root, or reach it by a guess (their label `stack`). Matter as `total` does. */
	int64_t n_shown, n_rootless, n_guessed;
	/* How many of them are of what the others are compared with. */
	int64_t n_base_shown, n_base_rootless, n_base_guessed;
	/* And which services they are of, by their label `service`: strings, each once. */
	const uint32_t *services;
	size_t n_services;
	/* Of all labels of the profile, also those that filters leave out; known when the total is.
	 */
	const struct label_units *label_units;
	const char *const *notes; /* lines for the header, such as from which files this is */
	size_t n_notes;
};

/* The graph of a view. Its class has what is the same for all; the user's options do the rest. */
struct graph_options {
	bool is_wanted;
	bool is_whole;    /* not trimmed, whatever the options say */
	bool wants_calls; /* else only flat and cum, and calls where something is inlined */
	bool is_picture;  /* keeps what makes a good picture, counts labels, has loops */
	bool is_tree;     /* call_tree; in a class: if the user says so */
	bool by_cum;      /* else by flat */
	bool drop_negative;
	const char *unit; /* of numbers that are printed; borrowed */
	size_t nodecount; /* 0: all */
	double nodefraction, edgefraction;
};

struct view_class {
	const char *name;
	struct graph_options graph; /* stacks are added to it unless `add` is there */
	/* Frames are to tell addresses and objects, with inlined functions, whatever the user asked
	 * for. */
	bool wants_addresses;
	bool tells_all_types; /* and not `type` alone, unless options.one_type */
	size_t size; /* of the view's own struct, which begins with struct view; 0: it has none */
	/* Of each NULL is nothing to do. init: VIEW_E_* or negative errno; the rest is zero. */
	int (*init)(struct view *view);
	int (*add)(struct view *view, const struct view_input *input, const struct stack *stack);
	int (*end)(struct view *view, const struct view_input *input, FILE *out);
	void (*deinit)(struct view *view);
};

struct view {
	const struct view_class *class;
	struct view_options options;
	struct profile_message *message; /* borrowed */
	struct graph *graph;             /* if the class wants one; end finds it finished */
	struct stack_tree *tree;         /* made by init, if the view folds stacks into one */
};

extern const struct view_class view_text;
extern const struct view_class view_tree;
extern const struct view_class view_peek;
extern const struct view_class view_traces;
extern const struct view_class view_tags;
extern const struct view_class view_waits;
extern const struct view_class view_comments;
extern const struct view_class view_dot;
extern const struct view_class view_callgrind;
extern const struct view_class view_flame;
extern const struct view_class view_speedscope;
extern const struct view_class view_top_proto;

/* @message is borrowed. VIEW_E_* or negative errno. */
int report_view_new(struct view **ret, const struct view_class *class,
		    const struct view_options *options, struct profile_message *message);
void report_view_free(struct view *view);
DEFINE_CLEANUP(struct view *, report_view_free)

/* Folds @stack, which is borrowed for the call. 0 or negative errno. */
int report_view_add(struct view *view, const struct view_input *input, const struct stack *stack);
/*
 * All stacks were added. VIEW_E_OK: all has been written to @out, whose errors are the caller's to
 * look for. VIEW_E_* or negative errno.
 */
int report_view_end(struct view *view, const struct view_input *input, FILE *out);

/* pprof's defaults. */
void view_options_init(struct view_options *options);

/*
 * --raw: the tables as they are, every sample with the numbers of its locations. Not a view of
 * stacks: filters must have made @p. Numbers begin with 1. 0 or negative errno.
 */
int raw_write(const struct profile *p, FILE *out);

#endif
