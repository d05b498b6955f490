/* SPDX-License-Identifier: MIT */
/*
 * --weblist: a page of source lines and, behind each, the instructions that were made of it, with
 * what they weigh: one file, which loads no other and opens without a network. What is inlined is
 * shown where it is written and where it is called from, there with the way down to it. Values are
 * those of addresses: a line's are the sum of its instructions'.
 *
 * Places are sorted by function, file, line and address: a function in one file is a run of them,
 * and so is a line. Lines around those with instructions are shown, gaps between them are not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/node_name.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "client/code/code_symbols.h"
#include "client/code/code_view.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/profile/profile.h"
#include "common/room.h"
#include "common/utf8.h"

#define PLACES_MAX 200000 /* more is nothing for a browser */
#define CHAIN_MAX  1024
#define MARGIN     5 /* lines around those that have instructions */

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
	struct code_view *v;
	const struct view_input *input;
	struct values values;
	struct code_symbols symbols;
	struct source_files *sources;
	struct weblist_place *places;
	size_t n, n_allocated;
	struct profile_arena texts; /* of the places */
	bool is_cut;                /* there are more */
};

/* --- the page --------------------------------------------------------------------------------- */

static const char page_head[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\">\n"
	"<head>\n"
	"<meta charset=\"UTF-8\">\n"
	"<title>profctl report --weblist</title>\n"
	"<style>\n"
	"body { font-family: sans-serif; margin: 1em; background: #fff; color: #111; }\n"
	"h2 { font-size: 1.1em; margin: 1.5em 0 0; }\n"
	".file, .legend { color: #555; font-size: .9em; }\n"
	"pre { margin: .3em 0; overflow-x: auto; line-height: 1.25; }\n"
	".l { display: block; white-space: pre; }\n"
	".n { color: #777; }\n"
	".c { cursor: pointer; }\n"
	".c:hover, .c:focus { background: #eef; outline: none; }\n"
	".h { background: #fff2dc; }\n"
	".a { display: none; color: #146; background: #f6f8fa; }\n"
	".o + .a { display: block; }\n"
	".i { color: #777; }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"body { background: #181a1b; color: #ddd; } .h { background: #43351c; }\n"
	".c:hover, .c:focus { background: #2a2f3a; } .a { color: #9cf; background: #202427; }\n"
	".file, .legend, .n, .i { color: #999; } }\n"
	"</style>\n"
	"</head>\n"
	"<body>\n";

static const char page_end[] =
	"<script>\n"
	"\"use strict\";\n"
	"function toggle(e) {\n"
	"  const line = e.target.closest(\".c\");\n"
	"  if (!line || (e.type === \"keydown\" && e.key !== \"Enter\" && e.key !== \" \")) "
	"return;\n"
	"  line.setAttribute(\"aria-expanded\", line.classList.toggle(\"o\"));\n"
	"  e.preventDefault();\n"
	"}\n"
	"document.addEventListener(\"click\", toggle);\n"
	"document.addEventListener(\"keydown\", toggle);\n"
	"</script>\n"
	"</body>\n"
	"</html>\n";

static void weblist_page_deinit(struct weblist_page *page)
{
	code_symbols_deinit(&page->symbols);
	source_files_free(page->sources);
	free(page->places);
	profile_arena_deinit(&page->texts);
}

/* For text and attributes; harmful characters (utf8.h) but newlines and tabs become "?". */
static void weblist_put_text(FILE *out, const char *text)
{
	static const char special[] = "<>&\"\n\t";
	static const char *const escaped[] = {"&lt;", "&gt;", "&amp;", "&quot;", "\n", "\t"};
	bool is_harmless;

	for (size_t n; text && *text; text += n) {
		const char *found = strchr(special, *text);

		n = utf8_next(text, &is_harmless);
		if (found)
			fputs(escaped[found - special], out);
		else
			fwrite(is_harmless ? text : "?", 1, is_harmless ? n : 1, out);
	}
}

/* A value, at the right of ten columns and a blank. */
static void weblist_put_number(FILE *out, const char *text)
{
	size_t n = utf8_length(text);

	fprintf(out, " %*s", n < 10 ? (int)(10 - n) : 0, "");
	weblist_put_text(out, text);
}

/* Both, "." for nothing. */
static void weblist_put_values(const struct weblist_page *page, int64_t flat, int64_t cum,
			       FILE *out)
{
	char text[MEASURE_TEXT_MAX];

	weblist_put_number(out, code_view_print_value(&page->values, text, flat));
	weblist_put_number(out, code_view_print_value(&page->values, text, cum));
}

DEFINE_ORDER(weblist_compare_places, struct weblist_place, strcmp(x->function, y->function)
		?: strcmp(x->file, y->file)
		?: order_of(x->line, y->line)
		?: order_of(x->key, y->key)
		?: order_of(x->address, y->address))

/* What some places weigh. */
struct sums {
	int64_t flat, cum;
	bool has_instructions;
};

static struct sums weblist_sum_places(const struct weblist_place *places, size_t n)
{
	struct sums sums = {0};

	for (size_t i = 0; i < n; i++) {
		sums.flat = graph_add_clamped(sums.flat, places[i].flat);
		sums.cum = graph_add_clamped(sums.cum, places[i].cum);
		sums.has_instructions |= places[i].text != NULL;
	}
	return sums;
}

static void weblist_put_instructions(const struct weblist_page *page,
				     const struct weblist_place *places, size_t n, FILE *out)
{
	fputs("<span class=\"a\">", out);
	for (size_t i = 0; i < n; i++) {
		const struct weblist_place *p = &places[i];

		if (!p->text)
			continue;
		/* A gap between this and the one before it. */
		if (i && (places[i - 1].address + places[i - 1].size != p->address ||
			  places[i - 1].key != p->key))
			fprintf(out, "%39s&#8942;\n", "");
		fputs("       ", out);
		weblist_put_values(page, p->flat, p->cum, out);
		fprintf(out, " %10" PRIx64 ": ", p->address);
		weblist_put_text(out, p->text);
		if (p->chain) {
			fputs("  <span class=\"i\">", out);
			weblist_put_text(out, p->chain);
			fputs("</span>", out);
		}
		fputc('\n', out);
	}
	fputs("</span>", out);
}

static void weblist_put_line(const struct weblist_page *page, int64_t line, const char *source,
			     const struct weblist_place *places, size_t n, FILE *out)
{
	struct sums sums = weblist_sum_places(places, n);
	bool live = sums.has_instructions;

	fprintf(out, "<span class=\"l%s%s\"%s>", live ? " c" : "",
		sums.flat || sums.cum ? " h" : "",
		live ? " tabindex=\"0\" role=\"button\" aria-expanded=\"false\"" : "");
	fprintf(out, "<span class=\"n\">%7" PRId64 "</span>", line);
	weblist_put_values(page, sums.flat, sums.cum, out);
	fputs("  ", out);
	if (line)
		weblist_put_text(out, source ? source : "???");
	else
		fputs("<i>no line is known</i>", out);
	fputs("</span>", out);
	if (live)
		weblist_put_instructions(page, places, n, out);
}

/* Lines from @line to before @end, which have no instructions, as far as the file has them. */
static void weblist_put_gap(const struct weblist_page *page, const struct source_file *file,
			    int64_t line, int64_t end, FILE *out)
{
	for (; line < end; line++) {
		const char *source = source_file_line(file, (uint64_t)line);

		if (source)
			weblist_put_line(page, line, source, NULL, 0, out);
	}
}

/* A function in one file. */
static int weblist_put_function(const struct weblist_page *page, const struct weblist_place *places,
				size_t n, FILE *out)
{
	char flat[MEASURE_TEXT_MAX], cum[MEASURE_TEXT_MAX], share[MEASURE_TEXT_MAX];
	struct sums sums = weblist_sum_places(places, n);
	const struct source_file *file;
	int64_t next = 1; /* line that was not shown yet */
	int r = source_files_get(page->sources, places->file, &file);

	if (r)
		return r;
	fputs("<h2>", out);
	weblist_put_text(out, places->function);
	fputs("</h2><div class=\"file\">", out);
	weblist_put_text(out, *places->file ? places->file : "no source file is known");
	if (*places->file && file->why)
		fprintf(out, " (%s)", file->why);
	fputs("</div>\n<pre>Total:", out);
	weblist_put_number(out, values_print(&page->values, flat, sums.flat));
	weblist_put_number(out, values_print(&page->values, cum, sums.cum));
	fprintf(out, " (flat, cum) %s\n",
		measure_print_percentage(share, sizeof(share), sums.cum, page->input->total));
	for (size_t i = 0, end; i < n; i = end) {
		int64_t line = places[i].line;

		for (end = i + 1; end < n && places[end].line == line;)
			end++;
		if (line > 0) {
			if (line - next > 2 * MARGIN) {
				weblist_put_gap(page, file, next, next > 1 ? next + MARGIN : next,
						out);
				fprintf(out, "%6s&#8942;\n", "");
				next = line - MARGIN;
			}
			weblist_put_gap(page, file, next, line, out);
			next = line < INT64_MAX - MARGIN ? line + 1 : INT64_MAX - MARGIN;
		}
		weblist_put_line(page, line, source_file_line(file, (uint64_t)line), places + i,
				 end - i, out);
	}
	weblist_put_gap(page, file, next, next + MARGIN, out);
	fputs("</pre>\n", out);
	return 0;
}

/* The header that stands above every report. */
static int weblist_put_legend(const struct weblist_page *page, FILE *out)
{
	cleanup(memory_text_deinit) struct memory_text header = {0};
	char total[MEASURE_TEXT_MAX];
	int r = memory_text_open(&header) ?:
		header_print_profile(header.out, page->input, &page->values) ?:
		memory_text_close(&header);

	if (r)
		return r;
	fputs("<pre class=\"legend\">", out);
	weblist_put_text(out, header.text);
	fputs("Total: ", out);
	weblist_put_text(out, values_print(&page->values, total, page->input->total));
	fputc('\n', out);
	for (size_t i = 0; i < page->v->view.options.n_filters; i++) {
		weblist_put_text(out, page->v->view.options.filters[i]);
		fputc('\n', out);
	}
	fputs("Click on a line, or press Enter, for its instructions.\n", out);
	if (page->is_cut)
		fputs("There is more than a page can hold: some is left out.\n", out);
	fputs("</pre>\n", out);
	return 0;
}

/* Sorts the places. VIEW_E_OK, VIEW_E_NO_MATCH (no function with samples) or negative errno. */
static int weblist_page_write(struct weblist_page *page, FILE *out)
{
	bool any = false;
	int r = 0;

	if (page->n)
		qsort(page->places, page->n, sizeof(*page->places), weblist_compare_places);
	for (size_t i = 0; i < page->n && !any; i++)
		any = page->places[i].flat || page->places[i].cum;
	if (!any)
		return VIEW_E_NO_MATCH;
	fputs(page_head, out);
	r = weblist_put_legend(page, out);
	for (size_t i = 0, end; !r && i < page->n; i = end) {
		const struct weblist_place *first = &page->places[i];
		struct sums sums;

		for (end = i + 1; end < page->n &&
				  !strcmp(page->places[end].function, first->function) &&
				  !strcmp(page->places[end].file, first->file);)
			end++;
		sums = weblist_sum_places(first, end - i);
		if (sums.flat || sums.cum)
			r = weblist_put_function(page, first, end - i, out);
	}
	fputs(page_end, out);
	return r;
}

/* --- places ----------------------------------------------------------------------------------- */

/* @place's texts are copied. */
static int weblist_add_place(struct weblist_page *w, const struct weblist_place *place)
{
	struct weblist_place copy;
	const char **const texts[] = {&copy.function, &copy.file, &copy.text, &copy.chain};

	if (w->n == PLACES_MAX) {
		w->is_cut = true;
		return 0;
	}
	copy = *place;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *text = *texts[i];

		if (text)
			*texts[i] = profile_arena_copy(&w->texts, text, strlen(text));
		if (text && !*texts[i])
			return error_origin(-ENOMEM);
	}
	return room_append(&w->places, &w->n_allocated, &w->n, copy);
}

static bool weblist_frame_matches(const struct weblist_page *w, const struct answer_names *answer,
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
static int weblist_add_row(struct weblist_page *w, const struct code_symbol *symbol,
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
static void weblist_weigh_row(const struct weblist_page *w, const struct code_symbol *symbol,
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
static int weblist_add_rows(struct weblist_page *w, const struct code_symbol *symbol,
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

static int weblist_add_symbol(struct weblist_page *w, const struct code_symbol *symbol)
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
static int weblist_add_node(struct weblist_page *w, uint32_t id)
{
	const struct graph *g = w->v->view.graph;
	const struct graph_node *node = &g->nodes[id];
	const struct frame *info = graph_frame(g, id);
	const struct profile *p = w->input->profile;
	uint32_t mapping = objects_mapping(p, info);
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
	cleanup(weblist_page_deinit) struct weblist_page w = {.v = v, .input = input};
	int r = objects_new(&v->objects, input->profile) ?:
		code_view_sources(v, &w.sources) ?:
		code_symbols_init(&w.symbols, v, input, true);
	for (size_t i = 0; !r && i < w.symbols.n_symbols && !w.is_cut; i++)
		r = weblist_add_symbol(&w, &w.symbols.symbols[i]);
	for (size_t i = 0; !r && i < view->graph->n_order; i++)
		r = weblist_add_node(&w, view->graph->order[i]);
	if (r)
		return r;
	values_init(&w.values, input, &v->view.options);
	r = weblist_page_write(&w, out);
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
