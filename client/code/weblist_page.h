/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_CODE_WEBLIST_PAGE_H
#define PROFD_CLIENT_CODE_WEBLIST_PAGE_H

/* The page of --weblist: one file, which loads no other and opens without a network. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "client/code/source_file.h"
#include "common/profile/profile_table.h"

struct values;
struct view_input;
struct view_options;

/* An instruction at a line of a function; or an address without one. */
struct weblist_place {
	const char *function, *file; /* file: "" unknown */
	const char *text;            /* NULL: no instruction is known */
	const char *chain; /* how what is inlined here leads to it; NULL: it is here itself */
	int64_t line;
	uint64_t key, address; /* the program's file, and where in it */
	uint32_t size;
	int64_t flat, cum;
};

struct weblist_page {
	struct weblist_place *places;
	size_t n;
	struct profile_arena texts;   /* of the places */
	bool is_cut;                  /* there are more */
	struct source_files *sources; /* owned */
	/* Borrowed. */
	const struct values *values;
	const struct view_input *input;
	const struct view_options *options;
};

/* Sorts the places. VIEW_E_OK, VIEW_E_NO_MATCH (no function with samples) or negative errno. */
int weblist_page_write(struct weblist_page *page, FILE *out);
void weblist_page_deinit(struct weblist_page *page);

#endif
