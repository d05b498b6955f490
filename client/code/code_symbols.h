/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_CODE_CODE_SYMBOLS_H
#define PROFD_CLIENT_CODE_CODE_SYMBOLS_H

/*
 * Addresses with samples, and the symbols of programs that they lie in, of a graph whose nodes are
 * addresses. A symbol is a function of the program's file, with all that is inlined in it.
 *
 * Nodes that match tell which files are of interest; of these all nodes are put to the symbols that
 * they lie in, whatever the profile called them.
 */
#include "client/code/code_list.h"
#include "client/code/code_view.h"

struct code_spot {
	uint32_t mapping;
	struct objects_file *file;
	uint64_t address; /* link-time */
	uint64_t lay;     /* where it was mapped */
	struct graph_sum flat, cum;
	bool is_wanted; /* a function that matches is there, inlined or not */
};

struct code_symbol {
	struct objects_file *file;
	char *name;    /* owned */
	bool is_named; /* it matches itself, or the address that is asked for lies in it */
	uint64_t start, size;
	size_t first, n; /* of the spots in it */
};

struct code_symbols {
	struct code_spot *spots; /* by file and address, each address once */
	size_t n_spots;
	struct code_symbol *symbols; /* by name */
	size_t n_symbols;
};

/*
 * Symbols whose own names match; @by_nodes: also those in which something that matches is inlined,
 * or that are made of a source file whose name does. @v has its objects. To be deinitialized in any
 * case. 0 or negative errno.
 */
int code_symbols_init(struct code_symbols *ret, struct code_view *v, const struct view_input *input,
		      bool by_nodes);
/* Whether a node matches, as @by_nodes has it. */
bool code_symbols_wants_node(const struct code_view *v, const struct view_input *input,
			     uint32_t node);
/* Takes one of zeroes. */
void code_symbols_deinit(struct code_symbols *s);
/* The symbol's instructions; *ret stays without rows where there are none to be had. */
int code_symbols_list(const struct code_symbol *symbol, const struct code_view *v,
		      struct code_list *ret);

#endif
