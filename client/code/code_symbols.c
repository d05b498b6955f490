/* SPDX-License-Identifier: MIT */
/*
 * Nodes become spots: addresses in files, sorted, each once, with what they weigh. The worker is
 * asked for the function around the first one; those that lie in it are its neighbours, and make a
 * symbol with it.
 */
#include "client/code/code_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/order.h"
#include "common/profile/profile.h"
#include "common/room.h"
#include "common/text_print.h"

struct code_symbols_work {
	struct code_view *v;
	const struct view_input *input;
	struct code_symbols *to;
	size_t n_allocated;
	bool by_nodes;
};

void code_symbols_deinit(struct code_symbols *s)
{
	for (size_t i = 0; i < s->n_symbols; i++)
		free(s->symbols[i].name);
	free(s->symbols);
	free(s->spots);
	*s = (struct code_symbols){0};
}

/* By the name with its address and line, as pprof has it, or by itself. */
static bool is_name_wanted(const struct code_view *v, const struct view_input *input, uint32_t node)
{
	const struct graph *g = v->view.graph;
	const struct frame *info = graph_frame(g, node);

	return regex_matches(v->regex, graph_name(g, node)) ||
	       (info->name && regex_matches(v->regex, profile_string(input->profile, info->name)));
}

bool code_symbols_wants_node(const struct code_view *v, const struct view_input *input,
			     uint32_t node)
{
	const struct graph *g = v->view.graph;
	const struct frame *info = graph_frame(g, node);

	return is_name_wanted(v, input, node) ||
	       (info->filename &&
		regex_matches(v->regex, profile_string(input->profile, info->filename))) ||
	       (v->has_address && info->address == v->address);
}

static int code_spot_compare_places(const void *a, const void *b)
{
	const struct code_spot *x = a, *y = b;

	if (x->file != y->file)
		return x->file->object.key < y->file->object.key ? -1 : 1;
	return order_of(x->address, y->address);
}

DEFINE_ORDER(code_spot_compare_memory, struct code_spot, code_spot_compare_places(x, y)
		?: order_of(x->lay, y->lay)
		?: order_of(x->mapping, y->mapping))

/* What is inlined at an address are several nodes, which the same stacks go through. */
static void code_spot_merge_inlined(struct graph_sum *to, const struct graph_sum *from)
{
	if (llabs(from->value) > llabs(to->value))
		*to = *from;
}

/*
 * One spot of those that are the same to @compare, which they are in the order of; @add_cum: their
 * cum.
 */
static void fold_spots(struct code_symbols *s, int (*compare)(const void *, const void *),
		       void (*add_cum)(struct graph_sum *to, const struct graph_sum *from))
{
	size_t kept = 0;

	for (size_t i = 1; i < s->n_spots; i++) {
		struct code_spot *to = &s->spots[kept], *from = &s->spots[i];

		if (compare(to, from) != 0) {
			s->spots[++kept] = *from;
			continue;
		}
		graph_sum_add(&to->flat, &from->flat);
		add_cum(&to->cum, &from->cum);
		to->is_wanted |= from->is_wanted;
	}
	s->n_spots = s->n_spots ? kept + 1 : 0;
}

/* Keeps the spots in mappings that are @wanted, if their files are to be had. */
static int code_symbols_place_spots(struct code_symbols_work *w, const bool *wanted)
{
	struct code_spot *spots = w->to->spots;
	size_t n = 0;

	for (size_t i = 0; i < w->to->n_spots; i++) {
		struct code_spot spot = spots[i];
		int r = wanted[spot.mapping] ? objects_get(w->v->objects, spot.mapping, &spot.file)
					     : 0;

		if (r)
			return r;
		if (spot.file &&
		    object_vaddr(&spot.file->object, &w->input->profile->mappings[spot.mapping],
				 spot.lay, &spot.address))
			spots[n++] = spot;
	}
	w->to->n_spots = n;
	return 0;
}

static int code_symbols_collect_spots(struct code_symbols_work *w)
{
	const struct graph *g = w->v->view.graph;
	const struct profile *p = w->input->profile;
	/* Mappings that a matching function, or the address that is asked for, lies in. */
	cleanup(freep) bool *wanted = calloc(p->n_mappings + 1, sizeof(*wanted));
	int r;

	w->to->spots = calloc(g->n_order + 1, sizeof(*w->to->spots));
	if (!wanted || !w->to->spots)
		return error_origin(-ENOMEM);
	for (size_t i = 0; w->v->has_address && i < p->n_mappings; i++)
		wanted[i] = w->v->address >= p->mappings[i].start &&
			    w->v->address < p->mappings[i].limit;
	for (size_t i = 0; i < g->n_order; i++) {
		const struct graph_node *node = &g->nodes[g->order[i]];
		const struct frame *info = graph_frame(g, g->order[i]);
		struct code_spot spot = {
			.mapping = objects_mapping(p, info),
			.lay = info->address,
			.flat = node->flat,
			.cum = node->cum,
		};

		if (spot.mapping == PROFILE_NONE)
			continue;
		spot.is_wanted = w->by_nodes ? code_symbols_wants_node(w->v, w->input, g->order[i])
					     : is_name_wanted(w->v, w->input, g->order[i]);
		wanted[spot.mapping] |= spot.is_wanted;
		w->to->spots[w->to->n_spots++] = spot;
	}
	r = code_symbols_place_spots(w, wanted);
	if (r)
		return r;
	if (w->to->n_spots)
		qsort(w->to->spots, w->to->n_spots, sizeof(*w->to->spots),
		      code_spot_compare_memory);
	fold_spots(w->to, code_spot_compare_memory, code_spot_merge_inlined);
	/* The same address of the file, which lay elsewhere in another process. */
	fold_spots(w->to, code_spot_compare_places, graph_sum_add);
	return 0;
}

/* Adds the function @l of the @n spots from @first on as a symbol, if it is wanted. */
static int code_symbols_add_if_wanted(struct code_symbols_work *w, size_t first, size_t n,
				      const struct worker_location *l,
				      const struct answer_names *answer)
{
	const struct worker_frame *frame = &answer->frames[l->first_frame + l->n_frames - 1];
	const struct code_spot *spot = &w->to->spots[first];
	const struct profile_mapping *m = &w->input->profile->mappings[spot->mapping];
	const char *name = answer->text + frame->name;
	struct code_symbol symbol = {
		.file = spot->file, .start = l->start, .size = l->size, .first = first, .n = n};
	uint64_t address;
	bool wanted;
	int r;

	symbol.is_named = regex_matches(w->v->regex, name) ||
			  regex_matches(w->v->regex, answer->text + frame->system_name);
	if (w->v->has_address && object_vaddr(&spot->file->object, m, w->v->address, &address))
		symbol.is_named |= address >= l->start && address - l->start < l->size;
	wanted = symbol.is_named;
	for (size_t i = first; w->by_nodes && i < first + n; i++)
		wanted |= w->to->spots[i].is_wanted;
	if (!wanted)
		return 0;
	r = text_copy(&symbol.name, name)
		    ?: room_append(&w->to->symbols, &w->n_allocated, &w->to->n_symbols, symbol);
	if (r)
		free(symbol.name);
	return r;
}

/* One question for each function: an answer says how far it reaches. */
static int find_symbols(struct code_symbols_work *w)
{
	const struct code_spot *spots = w->to->spots;
	size_t n = w->to->n_spots;
	int r = 0;

	for (size_t i = 0, end; !r && i < n; i = end) {
		const struct worker_location *l;
		struct answer_names answer;

		r = object_query_names(&spots[i].file->object, false, &spots[i].address, 1,
				       &answer);
		if (r < 0)
			return r;
		/* Of a file that cannot be read there is nothing. */
		l = r ? NULL : answer.locations;
		for (end = i + 1; end < n && spots[end].file == spots[i].file &&
				  (!l || spots[end].address - l->start < l->size);)
			end++;
		r = l && l->n_frames ? code_symbols_add_if_wanted(w, i, end - i, l, &answer) : 0;
	}
	return r;
}

DEFINE_ORDER(code_symbol_compare_names, struct code_symbol,
	     strcmp(x->name, y->name) ?: order_of(x->start, y->start))

int code_symbols_init(struct code_symbols *ret, struct code_view *v, const struct view_input *input,
		      bool by_nodes)
{
	struct code_symbols_work w = {.v = v, .input = input, .to = ret, .by_nodes = by_nodes};
	int r;

	*ret = (struct code_symbols){0};
	r = code_symbols_collect_spots(&w) ?: find_symbols(&w);
	if (ret->n_symbols)
		qsort(ret->symbols, ret->n_symbols, sizeof(*ret->symbols),
		      code_symbol_compare_names);
	return r;
}

int code_symbols_list(const struct code_symbol *symbol, const struct code_view *v,
		      struct code_list *ret)
{
	const struct worker_range range = {symbol->start, symbol->start + symbol->size};
	uint32_t flags = WORKER_WANT_LINES | (v->view.options.intel_syntax ? WORKER_INTEL : 0);
	int r = code_list_add(ret, &symbol->file->object, &range, flags);

	return r < 0 ? r : 0;
}
