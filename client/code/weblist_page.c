/* SPDX-License-Identifier: MIT */
/*
 * Places are sorted by function, file, line and address: a function in one file is a run of them,
 * and so is a line. Lines around those with instructions are shown, gaps between them are not.
 */
#include "client/code/weblist_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/header.h"
#include "client/analysis/memory_text.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "client/code/code_view.h"
#include "common/order.h"
#include "common/utf8.h"

#define MARGIN 5 /* lines around those that have instructions */
#define TAB    8

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

void weblist_page_deinit(struct weblist_page *page)
{
	source_files_free(page->sources);
	free(page->places);
	profile_arena_deinit(&page->texts);
}

/* For text and attributes; harmful characters (utf8.h) but newlines become "?", tabs blanks. */
static void weblist_put_text(FILE *out, const char *text)
{
	static const char special[] = "<>&\"\n";
	static const char *const escaped[] = {"&lt;", "&gt;", "&amp;", "&quot;", "\n"};
	size_t column = 0;
	bool is_harmless;

	for (size_t n; text && *text; text += n, column++) {
		const char *found = strchr(special, *text);

		n = utf8_next(text, &is_harmless);
		if (found) {
			fputs(escaped[found - special], out);
		} else if (*text == '\t') {
			fprintf(out, "%*s", (int)(TAB - column % TAB), "");
			column += TAB - 1 - column % TAB;
		} else {
			fwrite(is_harmless ? text : "?", 1, is_harmless ? n : 1, out);
		}
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

	weblist_put_number(out, code_view_print_value(page->values, text, flat));
	weblist_put_number(out, code_view_print_value(page->values, text, cum));
}

static int weblist_compare_places(const void *a, const void *b)
{
	const struct weblist_place *x = a, *y = b;

	return strcmp(x->function, y->function) ?:
		strcmp(x->file, y->file) ?:
		order_of(x->line, y->line) ?:
		order_of(x->key, y->key) ?:
		order_of(x->address, y->address);
}

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
	weblist_put_number(out, values_print(page->values, flat, sums.flat));
	weblist_put_number(out, values_print(page->values, cum, sums.cum));
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
		header_print_profile(header.out, page->input, page->values) ?:
		memory_text_close(&header);

	if (r)
		return r;
	fputs("<pre class=\"legend\">", out);
	weblist_put_text(out, header.text);
	fputs("Total: ", out);
	weblist_put_text(out, values_print(page->values, total, page->input->total));
	fputc('\n', out);
	for (size_t i = 0; i < page->options->n_filters; i++) {
		weblist_put_text(out, page->options->filters[i]);
		fputc('\n', out);
	}
	fputs("Click on a line, or press Enter, for its instructions.\n", out);
	if (page->is_cut)
		fputs("There is more than a page can hold: some is left out.\n", out);
	fputs("</pre>\n", out);
	return 0;
}

int weblist_page_write(struct weblist_page *page, FILE *out)
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
