/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FIREFOX_TABLES_H
#define PROFD_CLIENT_ANALYSIS_FIREFOX_TABLES_H

/*
 * The tables of one thread in the Firefox Profiler's format, made of the stacks of its samples:
 * stacks are a tree of frames, frames are of functions, functions of resources, which are mappings;
 * and their texts. Each thing is there once.
 */
#include <stdint.h>
#include <stdio.h>

#include "common/profile/intern.h"
#include "common/profile/profile.h"

/* The categories of frames, in this order. */
#define FIREFOX_CATEGORIES(X)         \
	X(OTHER, "Other", "grey")     \
	X(KERNEL, "Kernel", "orange") \
	X(NATIVE, "Native", "blue")   \
	X(INTERPRETER, "Interpreter", "yellow")

#define FIREFOX_CATEGORY_NUMBER(number, name, colour) FIREFOX_##number,

enum firefox_category { FIREFOX_CATEGORIES(FIREFOX_CATEGORY_NUMBER) };

/* Without padding: all are compared as bytes. */
struct firefox_stack {
	uint32_t prefix, frame; /* PROFILE_NONE: the root */
};

struct firefox_frame {
	uint32_t location, line; /* the number of its line; 0 where it has none */
	uint32_t function;       /* not a part of the key */
};

/* A string of the profile, or an address. */
struct firefox_text {
	uint64_t value, is_address;
};

struct firefox_function {
	struct firefox_text name;
	uint32_t file; /* string of the profile; 0: none */
	uint32_t mapping;
};

struct firefox_tables {
	const struct profile *p; /* borrowed */
	struct firefox_stack *stacks;
	struct firefox_frame *frames;
	struct firefox_function *functions;
	uint32_t *mappings; /* resources */
	struct firefox_text *texts;
	struct intern stacks_in, frames_in, functions_in, mappings_in, texts_in;
};

void firefox_tables_deinit(struct firefox_tables *t);
/* Forgets all of them, for the next thread. */
void firefox_tables_clear(struct firefox_tables *t);
/* *ret: the stack of @sample in the tables; PROFILE_NONE: it has none. 0 or negative errno. */
int firefox_tables_add(struct firefox_tables *t, size_t sample, uint32_t *ret);
/* All tables, as members of a thread's object, each followed by a comma. */
void firefox_tables_write(const struct firefox_tables *t, FILE *out);

#endif
