/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_CODE_CODE_VIEW_H
#define PROFD_CLIENT_CODE_CODE_VIEW_H

/*
 * What views that show code have in common: functions chosen by a regular expression, in a graph
 * whose nodes are their lines or addresses.
 */
#include <stdint.h>
#include <stdio.h>
#include <uthash.h>

#include "client/analysis/graph.h"
#include "client/analysis/regex.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "client/code/source_file.h"
#include "client/symbolize/files.h"
#include "client/symbolize/object.h"
#include "common/profile/profile.h"

struct objects;

struct code_view {
	struct view view;
	struct regex *regex;
	bool has_address; /* the expression is an address: the function there is meant, too */
	uint64_t address;
	struct objects *objects; /* made when stacks are there */
};

/* Source lines, instructions, and both on a page. */
extern const struct view_class view_list;
extern const struct view_class view_disasm;
extern const struct view_class view_weblist;

/* What struct view_class wants. */
#define CODE_VIEW_GRAPH                             \
	{                                           \
		.is_wanted = true, .is_whole = true \
	}
int code_view_init(struct view *view);
void code_view_deinit(struct view *view);

/* With objects: where sources are looked for. 0 or negative errno. */
int code_view_sources(struct code_view *v, struct source_files **ret);
/* Says that nothing matches; returns VIEW_E_NO_MATCH. */
int code_view_no_match(const struct code_view *v);

/* Says which of the files that were asked for could not be read. */
void code_view_print_missing(const struct code_view *v, FILE *out);

/* "." for nothing. */
const char *code_view_print_value(const struct values *values, char *buffer, int64_t value);
/* Two of them, in columns. */
void code_view_print_values(FILE *out, const struct values *values, int64_t flat, int64_t cum);
/* The line above all. */
void code_view_print_total(FILE *out, const struct view_input *input, const struct values *values);
/* Those above a function, of which these are the sums; @file NULL: it is in none. */
void code_view_print_routine(FILE *out, const struct view_input *input, const struct values *values,
			     const char *name, const char *file, int64_t flat, int64_t cum);
/* A line of a stranger's: control characters but tabs become "?". NULL is empty. */
void code_view_print_source(FILE *out, const char *text);

/*
 * The programs and libraries of a profile on this host, for views that show code: each opened once,
 * by the image worker, if it is the one that was mapped.
 */
/* Those of @p, which is borrowed and keeps its mappings. Opens nothing yet. 0 or negative errno. */
int objects_new(struct objects **ret, const struct profile *p);

/* One file. */
struct objects_file {
	UT_hash_handle hh;
	struct objects_file_id {
		uint32_t path, build_id; /* strings of the profile */
	} id;
	bool is_usable;
	struct object object;
};

/*
 * The file of @mapping. *ret NULL: not to be had; code_view_print_missing() says why. Blocks on the
 * disk and the worker. Returns 0 or negative errno.
 */
int objects_get(struct objects *o, uint32_t mapping, struct objects_file **ret);
/* The index of the mapping of @frame, or PROFILE_NONE. */
uint32_t objects_mapping(const struct profile *p, const struct frame *frame);

#endif
