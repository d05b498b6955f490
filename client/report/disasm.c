/* SPDX-License-Identifier: MIT */
/*
 * --disasm: the instructions of functions whose names match, each with what it weighs, as pprof has
 * them. A function is one of the program's symbols, with all that is inlined in it; addresses are
 * those of the program's file.
 *
 * Nodes of functions that match tell which files are of interest; of these all nodes are put to the
 * symbols that they lie in, whatever the profile called them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/code/code_list.h"
#include "client/report/code_view.h"
#include "common/error.h"
#include "common/profile/message.h"
#include "common/profile/profile.h"

#define TEXT_COLUMN 40

/* An address with samples. */
struct spot {
	uint32_t mapping;
	struct objects_file *file; /* NULL: not to be had */
	uint64_t address;          /* in the profile, then link-time */
	int64_t flat, cum;
};

/* A function. */
struct symbol {
	struct objects_file *file;
	char *name; /* owned */
	uint64_t start, size;
	size_t first, n; /* of the spots in it */
};

struct work {
	struct code_view *v;
	const struct view_input *input;
	struct spot *spots;
	size_t n_spots;
	struct symbol *symbols;
	size_t n_symbols, n_allocated;
};

static void work_deinit(struct work *w)
{
	for (size_t i = 0; i < w->n_symbols; i++)
		free(w->symbols[i].name);
	free(w->symbols);
	free(w->spots);
}

static bool is_wanted(const struct code_view *v, const char *name)
{
	return regex_matches(v->regex, name);
}

/* The mappings that a matching function lies in. */
static int find_mappings(struct work *w, bool **ret)
{
	const struct graph *g = w->v->graph;
	const struct profile *p = w->input->profile;
	bool *wanted = calloc(p->n_mappings + 1, sizeof(*wanted));

	if (!wanted)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < g->n_order; i++) {
		const struct frame *info = &g->infos[g->nodes[g->order[i]].info];
		uint32_t mapping = objects_mapping(p, info->object, info->address);

		if (mapping != PROFILE_NONE && is_wanted(w->v, graph_name(g, g->order[i])))
			wanted[mapping] = true;
	}
	for (size_t i = 0; w->v->has_address && i < p->n_mappings; i++)
		wanted[i] |= w->v->address >= p->mappings[i].start &&
			     w->v->address < p->mappings[i].limit;
	*ret = wanted;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	if (x->file != y->file)
		return x->file->key < y->file->key ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Takes a node if its file is to be had. */
static int add_spot(struct work *w, uint32_t mapping, const struct graph_node *node)
{
	const struct profile *p = w->input->profile;
	const struct frame *info = &w->v->graph->infos[node->info];
	struct spot spot = {
		.mapping = mapping,
		.flat = graph_mean(node->flat, node->flat_divisor),
		.cum = graph_mean(node->cum, node->cum_divisor),
	};
	int r = objects_get(w->v->objects, p, mapping, &spot.file);

	if (r)
		return r;
	if (spot.file &&
	    object_vaddr(&spot.file->object, &p->mappings[mapping], info->address, &spot.address))
		w->spots[w->n_spots++] = spot;
	return 0;
}

static int collect(struct work *w)
{
	const struct graph *g = w->v->graph;
	cleanup(freep) bool *wanted = NULL;
	int r = find_mappings(w, &wanted);

	if (!r) {
		w->spots = calloc(g->n_order + 1, sizeof(*w->spots));
		r = w->spots ? 0 : error_origin(-ENOMEM);
	}
	for (size_t i = 0; !r && i < g->n_order; i++) {
		const struct graph_node *node = &g->nodes[g->order[i]];
		const struct frame *info = &g->infos[node->info];
		uint32_t mapping = objects_mapping(w->input->profile, info->object, info->address);

		if (mapping != PROFILE_NONE && wanted[mapping])
			r = add_spot(w, mapping, node);
	}
	if (!r && w->n_spots)
		qsort(w->spots, w->n_spots, sizeof(*w->spots), by_place);
	return r;
}

static int add_symbol(struct work *w, const struct symbol *symbol)
{
	if (w->n_symbols == w->n_allocated) {
		size_t n = w->n_allocated ? 2 * w->n_allocated : 16;
		struct symbol *grown = reallocarray(w->symbols, n, sizeof(*grown));

		if (!grown)
			return error_origin(-ENOMEM);
		w->symbols = grown;
		w->n_allocated = n;
	}
	w->symbols[w->n_symbols] = *symbol;
	w->symbols[w->n_symbols].name = strdup(symbol->name);
	return w->symbols[w->n_symbols++].name ? 0 : error_origin(-ENOMEM);
}

/* The spots from @first on that lie in one function, which the worker's @l is about. */
static int take_symbol(struct work *w, size_t first, size_t n, const struct worker_location *l,
		       const struct answer_names *answer)
{
	const struct worker_frame *frame = &answer->frames[l->first_frame + l->n_frames - 1];
	const struct spot *spot = &w->spots[first];
	const struct profile_mapping *m = &w->input->profile->mappings[spot->mapping];
	struct symbol symbol = {
		.file = spot->file,
		.name = (char *)answer->text + frame->name,
		.start = l->start,
		.size = l->size,
		.first = first,
		.n = n,
	};
	uint64_t address;
	bool wanted = is_wanted(w->v, symbol.name) ||
		      is_wanted(w->v, answer->text + frame->system_name);

	if (w->v->has_address && object_vaddr(&spot->file->object, m, w->v->address, &address))
		wanted |= address >= l->start && address - l->start < l->size;
	return wanted ? add_symbol(w, &symbol) : 0;
}

/* @n spots of one file, not more than a question holds. */
static int find_some(struct work *w, size_t first, size_t n)
{
	cleanup(freep) uint64_t *addresses = calloc(n, sizeof(*addresses));
	struct answer_names answer = {0};
	int r;

	if (!addresses)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		addresses[i] = w->spots[first + i].address;
	r = objects_names(w->spots[first].file, false, addresses, n, &answer);
	for (size_t i = 0, end; !r && i < n; i = end) {
		const struct worker_location *l = &answer.locations[i];

		for (end = i + 1; end < n && addresses[end] - l->start < l->size;)
			end++;
		if (l->n_frames)
			r = take_symbol(w, first + i, end - i, l, &answer);
	}
	return r < 0 ? r : 0;
}

static int find_symbols(struct work *w)
{
	int r = 0;

	for (size_t i = 0, end; !r && i < w->n_spots; i = end) {
		for (end = i + 1; end < w->n_spots && w->spots[end].file == w->spots[i].file &&
				  end - i < WORKER_ADDRESSES_MAX;)
			end++;
		r = find_some(w, i, end - i);
	}
	return r;
}

static int by_name(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : x->start < y->start ? -1 : x->start > y->start;
}

/* --- printing --------------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "function file:line", "" where it is as before. */
static void print_place(char *ret, size_t size, const struct symbol *symbol,
			const struct code_list *list, const struct code_row *row,
			const struct code_row *last)
{
	const char *file = last_part(code_list_text(list, row->file));

	*ret = '\0';
	if (last && last->line == row->line &&
	    strcmp(last_part(code_list_text(list, last->file)), file) == 0)
		return;
	if (row->line)
		snprintf(ret, size, "%s %s:%" PRIu32, symbol->name, file, row->line);
	else
		snprintf(ret, size, "%s %s", symbol->name, file);
}

static void print_row(FILE *out, const struct values *values, const struct code_row *row,
		      const char *text, const struct spot *sum, const char *place)
{
	char flat[MEASURE_TEXT_MAX], cum[MEASURE_TEXT_MAX];
	bool is_short = strlen(text) < TEXT_COLUMN;

	if (*place && !is_short) {
		fprintf(out, "%74s;", "");
		code_view_source(out, place);
		fputc('\n', out);
	}
	fprintf(out, "%10s %10s %10" PRIx64 ": ", code_view_value(values, flat, sum->flat),
		code_view_value(values, cum, sum->cum), row->address);
	code_view_source(out, text);
	if (*place && is_short) {
		fprintf(out, "%*s;", TEXT_COLUMN - (int)strlen(text), "");
		code_view_source(out, place);
	}
	fputc('\n', out);
}

static void print_rows(FILE *out, const struct work *w, const struct values *values,
		       const struct symbol *symbol, const struct code_list *list)
{
	const struct spot *spot = &w->spots[symbol->first], *end = spot + symbol->n;
	char place[512];

	for (size_t i = 0; i < list->n; i++) {
		const struct code_row *row = &list->rows[i];
		struct spot sum = {0};

		for (; spot < end && spot->address < row->address + row->size; spot++) {
			sum.flat = graph_add_clamped(sum.flat, spot->flat);
			sum.cum = graph_add_clamped(sum.cum, spot->cum);
		}
		print_place(place, sizeof(place), symbol, list, row, i ? &list->rows[i - 1] : NULL);
		print_row(out, values, row, code_list_text(list, row->text), &sum, place);
	}
}

static int print_symbol(FILE *out, const struct work *w, const struct values *values,
			const struct symbol *symbol)
{
	struct objects_code code = {
		.file = symbol->file,
		.flags = WORKER_WANT_LINES | (w->v->options.intel_syntax ? WORKER_INTEL : 0),
	};
	const struct worker_range range = {symbol->start, symbol->start + symbol->size};
	cleanup(code_list_deinit) struct code_list list = {0};
	int64_t flat = 0, cum = 0;
	int r = code_list_add(&list, &range, objects_code_ask, &code);

	if (r < 0)
		return r;
	for (size_t i = symbol->first; i < symbol->first + symbol->n; i++) {
		flat = graph_add_clamped(flat, w->spots[i].flat);
		cum = graph_add_clamped(cum, w->spots[i].cum);
	}
	fputs("ROUTINE ======================== ", out);
	code_view_source(out, symbol->name);
	fputc('\n', out);
	code_view_sums(out, w->input, values, flat, cum);
	if (!list.n)
		fprintf(out, " Error: no instructions: %s\n",
			r ? "the image worker could not read them" : "not known to be code");
	print_rows(out, w, values, symbol, &list);
	return 0;
}

static int disasm_end(struct view *view, const struct view_input *input, FILE *out, bool *ret_again,
		      struct profile_message *message)
{
	struct code_view *v = (struct code_view *)view;
	cleanup(work_deinit) struct work w = {.v = v, .input = input};
	struct values values;
	int r = graph_end(v->graph, input, ret_again);

	if (r || *ret_again)
		return r;
	r = code_view_open(v);
	if (!r)
		r = collect(&w);
	if (!r)
		r = find_symbols(&w);
	if (r)
		return r;
	if (!w.n_symbols && *objects_why(v->objects))
		return profile_refuse(message, VIEW_E_NO_MATCH, "%s", objects_why(v->objects));
	if (!w.n_symbols)
		return code_view_no_match(v, message);
	qsort(w.symbols, w.n_symbols, sizeof(*w.symbols), by_name);
	values_init(&values, input, &v->options);
	code_view_total(out, input, &values);
	for (size_t i = 0; !r && i < w.n_symbols; i++)
		r = print_symbol(out, &w, &values, &w.symbols[i]);
	return r;
}

static int disasm_make(struct view **ret, const struct view_options *options,
		       struct profile_message *message)
{
	return code_view_make(ret, &view_disasm, options, message);
}

const struct view_class view_disasm = {
	.name = "disasm",
	.wants_addresses = true,
	.make = disasm_make,
	.add = code_view_add,
	.end = disasm_end,
	.destroy = code_view_destroy,
};
