/* SPDX-License-Identifier: MIT */
/*
 * --weblist: a page of source lines and, behind each, the instructions that were made of it, with
 * what they weigh. What is inlined is shown where it is written and where it is called from, there
 * with the way down to it. Values are those of addresses: a line's are the sum of its
 * instructions'.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/node_name.h"
#include "client/code/code_symbols.h"
#include "client/code/weblist_page.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/room.h"

#define PLACES_MAX 200000 /* more is nothing for a browser */
#define CHAIN_MAX  1024

struct work {
	struct code_view *v;
	const struct view_input *input;
	struct code_symbols symbols;
	struct weblist_page page;
	size_t n_allocated;
};

static void weblist_work_deinit(struct work *w)
{
	code_symbols_deinit(&w->symbols);
	weblist_page_deinit(&w->page);
}

/* @place's texts are copied. */
static int weblist_add_place(struct work *w, const struct weblist_place *place)
{
	struct weblist_page *page = &w->page;
	struct weblist_place copy;
	const char **const texts[] = {&copy.function, &copy.file, &copy.text, &copy.chain};

	if (page->n == PLACES_MAX) {
		page->is_cut = true;
		return 0;
	}
	if (room_make(&page->places, &w->n_allocated, page->n + 1, sizeof(*page->places)))
		return -ENOMEM;
	copy = *place;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *text = *texts[i];

		if (text)
			*texts[i] = profile_arena_copy(&page->texts, text, strlen(text));
		if (text && !*texts[i])
			return error_origin(-ENOMEM);
	}
	page->places[page->n++] = copy;
	return 0;
}

static bool weblist_frame_matches(const struct work *w, const struct answer_names *answer,
				  const struct worker_frame *frame)
{
	struct regex *regex = w->v->regex;

	return regex_matches(regex, answer->text + frame->name) ||
	       regex_matches(regex, answer->text + frame->system_name) ||
	       (frame->file && regex_matches(regex, answer->text + frame->file));
}

/* The way from the frame @at down to the innermost one: what is inlined, and the line there. */
static void print_chain(char ret[CHAIN_MAX], const struct answer_names *answer,
			const struct worker_frame *frames, uint32_t at)
{
	static const char cut[] = "...";
	size_t n = 0;

	*ret = '\0';
	while (at-- > 0 && n < CHAIN_MAX)
		n += (size_t)snprintf(ret + n, CHAIN_MAX - n, "%s%s %s:%" PRIu32, n ? " > " : "",
				      answer->text + frames[at].name,
				      node_name_base(answer->text + frames[at].file),
				      frames[at].line);
	if (n >= CHAIN_MAX)
		memcpy(ret + CHAIN_MAX - sizeof(cut), cut, sizeof(cut));
}

/* An instruction, at each of its frames that is wanted; at the function's if the symbol is. */
static int weblist_add_row(struct work *w, const struct code_symbol *symbol,
			   struct weblist_place *place, const struct answer_names *answer,
			   const struct worker_location *l)
{
	const struct worker_frame *frames = &answer->frames[l->first_frame];
	char chain[CHAIN_MAX];
	int r = 0;

	for (uint32_t i = 0; !r && i < l->n_frames; i++) {
		bool is_symbol = i + 1 == l->n_frames && symbol->is_named;

		if (!is_symbol && !weblist_frame_matches(w, answer, &frames[i]))
			continue;
		print_chain(chain, answer, frames, i);
		place->function = answer->text + frames[i].name;
		place->file = answer->text + frames[i].file;
		place->line = frames[i].line;
		place->chain = i ? chain : NULL;
		r = weblist_add_place(w, place);
	}
	if (l->n_frames)
		return r;
	place->function = symbol->name;
	place->file = "";
	place->line = 0;
	place->chain = NULL;
	return weblist_add_place(w, place);
}

/* What lies at the bytes of @row, of the spots from *@at on. */
static void weblist_weigh_row(const struct work *w, const struct code_symbol *symbol,
			      const struct code_row *row, size_t *at, struct weblist_place *place)
{
	const struct code_spot *spots = w->symbols.spots;

	place->flat = place->cum = 0;
	for (; *at < symbol->first + symbol->n && spots[*at].address < row->address + row->size;
	     ++*at) {
		place->flat = graph_add_clamped(place->flat, graph_mean(spots[*at].flat));
		place->cum = graph_add_clamped(place->cum, graph_mean(spots[*at].cum));
	}
}

/* @n of the rows from @first on, not more than a question holds. */
static int weblist_add_rows(struct work *w, const struct code_symbol *symbol,
			    const struct code_list *list, size_t first, size_t n, size_t *at)
{
	cleanup(freep) uint64_t *addresses = calloc(n, sizeof(*addresses));
	struct answer_names answer = {0};
	int r;

	if (!addresses)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		addresses[i] = list->rows[first + i].address;
	r = object_query_names(&symbol->file->object, true, addresses, n, &answer);
	for (size_t i = 0; !r && i < n; i++) {
		const struct code_row *row = &list->rows[first + i];
		struct weblist_place place = {
			.key = symbol->file->object.key,
			.address = row->address,
			.size = row->size,
			.text = row->text,
		};

		weblist_weigh_row(w, symbol, row, at, &place);
		r = weblist_add_row(w, symbol, &place, &answer, &answer.locations[i]);
	}
	return r < 0 ? r : 0;
}

static int weblist_add_symbol(struct work *w, const struct code_symbol *symbol)
{
	cleanup(code_list_deinit) struct code_list list = {0};
	size_t at = symbol->first;
	int r = code_symbols_list(symbol, w->v, &list);

	for (size_t i = 0; !r && i < list.n; i += WORKER_ADDRESSES_MAX) {
		size_t left = list.n - i;

		r = weblist_add_rows(w, symbol, &list, i,
				     left < WORKER_ADDRESSES_MAX ? left : WORKER_ADDRESSES_MAX,
				     &at);
	}
	return r;
}

/* What lies in no file that can be read: the kernel's, generated code. */
static int weblist_add_node(struct work *w, uint32_t id)
{
	const struct graph *g = w->v->view.graph;
	const struct graph_node *node = &g->nodes[id];
	const struct frame *info = &g->infos.all[node->info];
	const struct profile *p = w->input->profile;
	uint32_t mapping = objects_mapping(w->v->objects, info->object, info->address);
	struct objects_file *file = NULL;
	struct weblist_place place = {
		.function = profile_string(p, info->name),
		.file = profile_string(p, info->filename),
		.line = info->line,
		.address = info->address,
		.size = 1,
		.flat = graph_mean(node->flat),
		.cum = graph_mean(node->cum),
	};
	int r = 0;

	if (!info->name || !code_symbols_wants_node(w->v, w->input, id))
		return 0;
	if (mapping != PROFILE_NONE)
		r = objects_get(w->v->objects, mapping, &file);
	return r || file ? r : weblist_add_place(w, &place);
}

static int weblist_end(struct view *view, const struct view_input *input, FILE *out)
{
	struct code_view *v = (struct code_view *)view;
	struct values values;
	cleanup(weblist_work_deinit) struct work w = {
		.v = v,
		.input = input,
		.page = {.values = &values, .input = input, .options = &view->options},
	};
	int r = objects_new(&v->objects, input->profile) ?:
		code_view_sources(v, &w.page.sources) ?:
		code_symbols_init(&w.symbols, v, input, true);
	for (size_t i = 0; !r && i < w.symbols.n_symbols && !w.page.is_cut; i++)
		r = weblist_add_symbol(&w, &w.symbols.symbols[i]);
	for (size_t i = 0; !r && i < view->graph->n_order; i++)
		r = weblist_add_node(&w, view->graph->order[i]);
	if (r)
		return r;
	values_init(&values, input, &v->view.options);
	r = weblist_page_write(&w.page, out);
	return r == VIEW_E_NO_MATCH ? code_view_no_match(v) : r;
}

const struct view_class view_weblist = {
	.name = "weblist",
	.wants_addresses = true,
	.size = sizeof(struct code_view),
	.graph = CODE_VIEW_GRAPH,
	.init = code_view_init,
	.end = weblist_end,
	.deinit = code_view_deinit,
};
