/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_PROFILE_H
#define PROFD_COMMON_PROFILE_PROFILE_H

/*
 * struct profile: one profile in memory, whatever format it came from or goes to. The model is
 * profile.proto's (github.com/google/pprof/proto): samples are call chains of locations, leaf
 * first, with one value per sample type; locations lie in mappings and may carry lines of
 * functions; all text is interned in one string table.
 *
 * Everything is referred to by index into the arrays below (not by profile.proto's ids, which the
 * reader and writer translate). Index 0 of the strings is "". PROFILE_NONE means "no such
 * thing". Arrays may move when something is added; indices never change.
 *
 * Addresses are lookup addresses: each lies inside the instruction that was executing or calling
 * (a caller is its return address - 1), as profile.proto wants them.
 *
 * Adding functions: an equal thing that is there already is returned instead of added, samples
 * excepted from this where noted. They return 0, or negative errno (-ENOMEM; -E2BIG past 2^32 - 2
 * of anything).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

#define PROFILE_NONE      UINT32_MAX
#define PROFILE_TYPES_MAX 16

struct profile_value_type {
	uint32_t type, unit; /* strings */
};

struct profile_mapping {
	uint64_t start, limit, offset; /* addresses [start, limit), offset in the file, bytes */
	uint32_t path, build_id;       /* strings; build id as lower-case hex */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct profile_function {
	uint32_t name, system_name, filename; /* strings */
	int64_t start_line;
};

struct profile_line {
	uint32_t function;
	int32_t column; /* in the line, from 1 on; 0 unknown */
	int64_t line;
};

struct profile_location {
	uint64_t address;
	uint32_t mapping; /* or PROFILE_NONE */
	uint32_t n_lines;
	size_t first_line; /* into lines[]; innermost inlined function first */
	bool is_folded;
};

struct profile_label {
	uint32_t key;
	uint32_t str;      /* 0: a number label */
	uint32_t num_unit; /* string; 0: none */
	int64_t num;
};

struct profile_sample {
	size_t first_location; /* into sample_locations[], leaf first */
	size_t first_label;    /* into sample_labels[] */
	uint32_t n_locations;
	uint32_t n_labels;
	uint32_t times; /* into times[]: index + 1 of its first; 0: none */
};

/* See sample_times.h. */
struct profile_time {
	uint64_t bucket : 60; /* where it begins: units of 100 ms since 1970 */
	uint64_t scale : 4;   /* it is 2^scale of them long */
	uint32_t count;
	uint32_t next; /* of the same sample: index + 1; 0: this is the last */
};

struct profile_tables; /* the look-up side: hash tables over the arrays below */

struct profile {
	struct profile_value_type sample_types[PROFILE_TYPES_MAX];
	uint32_t n_sample_types;
	struct profile_value_type period_type;
	int64_t period;
	int64_t time_ns;     /* start of the profile, Unix time; 0 unknown */
	int64_t duration_ns; /* 0 unknown */
	uint32_t default_sample_type, drop_frames, keep_frames, doc_url; /* strings, 0 unset */
	uint32_t *comments;                                              /* strings */
	size_t n_comments;

	struct profile_mapping *mappings;
	size_t n_mappings;
	struct profile_function *functions;
	size_t n_functions;
	struct profile_location *locations;
	size_t n_locations;
	struct profile_line *lines;
	size_t n_lines;
	struct profile_sample *samples;
	size_t n_samples;
	uint32_t *sample_locations;
	size_t n_sample_locations;
	int64_t *sample_values; /* n_samples * n_sample_types */
	struct profile_label *sample_labels;
	size_t n_sample_labels;
	struct profile_time *times;
	size_t n_times;

	struct profile_tables *tables; /* see profile_private.h */
};

#define PROFILE_KERNEL_HALF (UINT64_C(1) << 63) /* addresses from there on are the kernel's */

int profile_new(struct profile **ret);
/* Frees all; takes NULL. */
void profile_free(struct profile *p);
DEFINE_CLEANUP(struct profile *, profile_free)

/* Interns @text (copied). @length bytes, which may hold anything; NUL becomes U+FFFD. */
int profile_add_string(struct profile *p, const char *text, size_t length, uint32_t *ret);
/* The same for a NUL-terminated text. */
int profile_add_text(struct profile *p, const char *text, uint32_t *ret);
/* The text of a string: NUL-terminated, owned by @p, valid as long as @p. */
const char *profile_string(const struct profile *p, uint32_t string);
size_t profile_n_strings(const struct profile *p);
/* The string with this text, or PROFILE_NONE; looks at all of them. */
uint32_t profile_find_text(const struct profile *p, const char *text);

/* Sample types must all be added before the first sample. */
int profile_add_sample_type(struct profile *p, const char *type, const char *unit);
/* One that is to be number @at, and of which the samples that there are have 0. */
int profile_insert_sample_type(struct profile *p, uint32_t at, const char *type, const char *unit);
/*
 * Keeps the values of these @n types alone, in this order: indices of sample types, @n at most as
 * many as there are. Samples may be all 0 then.
 */
void profile_keep_types(struct profile *p, const uint32_t *types, uint32_t n);
/*
 * The sample type of that name; of a heap profile's also by pprof's other name for it,
 * "inuse_space" for "space". False: there is none.
 */
bool profile_find_type(const struct profile *p, const char *name, unsigned *ret);
/* The type to show unless another is asked for: the profile's default, else the last, as in pprof.
 */
unsigned profile_default_type(const struct profile *p);
int profile_add_comment(struct profile *p, const char *text);
/*
 * Whether @m spans the whole address space: addresses in it are those that its file was linked for,
 * wherever that lay. pprof takes such mappings so, too (GetBase() of its elfexec).
 */
bool profile_is_whole_mapping(const struct profile_mapping *m);
bool profile_is_kernel_location(const struct profile *p, const struct profile_location *l);
/*
 * Whether @l has a function, and that a true name: "gzip+0x4290" is made of where the function
 * starts (protocol.h, WORKER_SYMBOLS), and gives way to any other.
 */
bool profile_location_has_name(const struct profile *p, const struct profile_location *l);
/* Equal means: same range, offset, path and build id; the has_ flags of the first one stay. */
int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret);
/* A new one, whatever there is: memory of two processes may lie at the same place. */
int profile_append_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret);
int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *ret);
/*
 * Equal means: same mapping, address and lines. (Lines count, because profiles that were stripped
 * of their addresses have many locations at address 0.) @lines may not point into p->lines.
 */
int profile_add_location(struct profile *p, uint32_t mapping, uint64_t address,
			 const struct profile_line *lines, uint32_t n_lines, uint32_t *ret);
/*
 * Gives @location other @lines, which may not point into p->lines. It keeps its index, also where
 * an equal one is there. Adding a location afterwards costs time for all of them, once.
 */
int profile_set_lines(struct profile *p, uint32_t location, const struct profile_line *lines,
		      uint32_t n_lines);
/* Drops the functions and locations behind the first ones; no sample may refer to those. */
void profile_cut_locations(struct profile *p, size_t n_functions, size_t n_locations);
/* Drops functions that no location's lines name. The others' indices change. */
int profile_drop_unused_functions(struct profile *p);
/*
 * Tells of the mappings for which @which (NULL: all) is true what holds for their locations:
 * has_functions (with true names), has_filenames and has_line_numbers that all have such, as
 * readers take it;
 * has_inline_frames that there are some.
 */
void profile_mark_mappings(struct profile *p, const bool *which);
/*
 * Adds @values (n_sample_types of them) to the sample with this call chain and these labels (order
 * counts), or makes a new one. All indices must be valid, and the arrays not @p's own. A sum that
 * passes int64_t's range is clamped to it.
 */
int profile_add_sample(struct profile *p, const uint32_t *locations, uint32_t n_locations,
		       const int64_t *values, const struct profile_label *labels,
		       uint32_t n_labels);
/*
 * A new one, whatever there is; profile_add_sample() does not find it. For profiles that stay what
 * they are: pprof makes equal samples one where it merges profiles, not where it reads one.
 */
int profile_append_sample(struct profile *p, const uint32_t *locations, uint32_t n_locations,
			  const int64_t *values, const struct profile_label *labels,
			  uint32_t n_labels);
/*
 * After values or labels were changed in place: equal samples become one, those of 0 go. 0
 * or negative errno, after which samples are lost.
 */
int profile_repack_samples(struct profile *p);
/* Where there are samples of 0, the same. */
int profile_drop_zeroes(struct profile *p);
/*
 * Adds a sample type behind the others, with the unit of type @a: the sum of the types @a and @b,
 * also of the samples that are there. Sums are clamped. 0 or negative errno.
 */
int profile_add_sum(struct profile *p, const char *type, uint32_t a, uint32_t b);
/* Frees the samples, and keeps all that they were made of. */
void profile_clear_samples(struct profile *p);
void profile_clear_comments(struct profile *p);
/*
 * Puts what is there into an order in which it takes the least space when compressed. Indices of
 * locations, functions and samples change, and functions that no location names go; with
 * profile_arrange_samples(), the samples' only. Samples that are added afterwards are new ones,
 * whatever there is. 0 or -ENOMEM, after which all is there still, in any order.
 */
int profile_arrange(struct profile *p);
int profile_arrange_samples(struct profile *p);
/*
 * Frees what only adding needs, once all is there that samples refer to. Things may still be added:
 * the first one of a kind costs time for all of that kind.
 */
void profile_settle(struct profile *p);
/* Makes @mapping the first one (by convention the main binary) by swapping the two. */
void profile_set_main_mapping(struct profile *p, uint32_t mapping);

/* The sum of value @type over all samples, clamped to int64_t's range. */
int64_t profile_total(const struct profile *p, uint32_t type);
/* Heap memory held, bytes, nearly. */
size_t profile_bytes(const struct profile *p);

#endif
