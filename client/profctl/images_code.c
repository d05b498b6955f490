/* SPDX-License-Identifier: MIT */
/*
 * Samples by source line and by instruction. Rows are a procedure's instructions, and those of its
 * addresses with samples that none of them has; lines are folded from them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/node_name.h"
#include "client/analysis/regex.h"
#include "client/code/code_list.h"
#include "client/code/code_view.h"
#include "client/code/source_file.h"
#include "client/images/image_code.h"
#include "client/profctl/images.h"
#include "client/profctl/json.h"
#include "client/profctl/table.h"
#include "common/error.h"
#include "common/order.h"

#define GAP_MAX 8 /* source lines without code that are shown between such with code */

/* --- what is listed --------------------------------------------------------------------------- */

struct line_count {
	const char *file; /* borrowed from the list */
	uint32_t line;
	uint64_t count;
	uint64_t file_count; /* of all lines of the file */
};

/* A procedure's instructions and lines with their samples. */
struct images_code_listing {
	const struct procedure *procedure;
	const struct image *image;
	struct code_list code;
	struct counted_row {
		struct code_row
			code; /* size 0: an address with samples that is in no instruction */
		uint64_t count;
	} * rows; /* by address */
	size_t n_rows;
	struct line_count *lines; /* by file, the hottest first, then by line */
	size_t n_lines;
};

static void listing_deinit(struct images_code_listing *l)
{
	code_list_deinit(&l->code);
	free(l->rows);
	free(l->lines);
}

/* Puts the samples of the procedure's addresses to its instructions. */
static int count_rows(struct images_code_listing *l)
{
	const struct image *image = l->image;
	const struct procedure *p = l->procedure;
	size_t first = image_first_count(image, p->start), end = first, next = 0;

	while (end < image->n_counts && image_address(image, end) - p->start < p->size)
		end++;
	l->rows = calloc(l->code.n + end - first + 1, sizeof(*l->rows));
	if (!l->rows)
		return error_origin(-ENOMEM);
	for (size_t i = first; i < end; i++) {
		uint64_t address = image_address(image, i);
		struct counted_row *row;

		while (next < l->code.n && l->code.rows[next].address <= address)
			l->rows[l->n_rows++].code = l->code.rows[next++];
		row = l->n_rows ? &l->rows[l->n_rows - 1] : NULL;
		if (!row || address - row->code.address >= row->code.size) {
			row = &l->rows[l->n_rows++];
			row->code = (struct code_row){.address = address, .text = "", .file = ""};
		}
		row->count += image->counts[i].count;
	}
	while (next < l->code.n)
		l->rows[l->n_rows++].code = l->code.rows[next++];
	return 0;
}

DEFINE_ORDER(line_compare_place, struct line_count,
	     strcmp(x->file, y->file) ?: order_of(x->line, y->line))

DEFINE_ORDER(line_compare_file_count, struct line_count,
	     order_of(y->file_count, x->file_count) ?: line_compare_place(x, y))

static void fold_lines(struct images_code_listing *l)
{
	size_t kept = 0;

	qsort(l->lines, l->n_lines, sizeof(*l->lines), line_compare_place);
	for (size_t i = 1; i < l->n_lines; i++) {
		if (line_compare_place(&l->lines[kept], &l->lines[i]) == 0)
			l->lines[kept].count += l->lines[i].count;
		else
			l->lines[++kept] = l->lines[i];
	}
	l->n_lines = kept + 1;
	for (size_t i = 0, end; i < l->n_lines; i = end) {
		uint64_t count = 0;

		for (end = i; end < l->n_lines && !strcmp(l->lines[end].file, l->lines[i].file);)
			count += l->lines[end++].count;
		for (size_t k = i; k < end; k++)
			l->lines[k].file_count = count;
	}
	qsort(l->lines, l->n_lines, sizeof(*l->lines), line_compare_file_count);
}

static int count_lines(struct images_code_listing *l)
{
	l->lines = calloc(l->n_rows + 1, sizeof(*l->lines));
	if (!l->lines)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < l->n_rows; i++) {
		const struct code_row *row = &l->rows[i].code;

		if (row->line)
			l->lines[l->n_lines++] = (struct line_count){.file = row->file,
								     .line = row->line,
								     .count = l->rows[i].count};
	}
	if (l->n_lines)
		fold_lines(l);
	return 0;
}

/* --- as text ---------------------------------------------------------------------------------- */

static void print_count(FILE *out, uint64_t count, uint64_t total)
{
	if (count)
		fprintf(out, "%10" PRIu64 "  %6.2f", count, images_share(count, total));
	else
		fprintf(out, "%10s  %6s", ".", ".");
}

static void print_line(FILE *out, const struct images_code_listing *l, uint64_t count,
		       uint32_t line, const struct source_file *source)
{
	const char *text = source_file_line(source, line);

	print_count(out, count, l->image->total);
	fprintf(out, "  %7" PRIu32, line);
	if (text && *text) {
		fputs("  ", out);
		code_view_print_source(out, text);
	}
	fputc('\n', out);
}

/* The lines of one file; returns the index behind them. */
static size_t print_file(FILE *out, const struct images_code_listing *l, size_t i,
			 const struct source_file *source)
{
	const char *file = l->lines[i].file;

	fputs("\n# source ", out);
	print_safely(out, file);
	if (source->why)
		fprintf(out, "  (%s)", source->why);
	fprintf(out, "\n%10s  %6s  %7s  %s\n", "SAMPLES", "%", "LINE", "SOURCE");
	for (; i < l->n_lines && strcmp(l->lines[i].file, file) == 0; i++) {
		const struct line_count *last = i ? &l->lines[i - 1] : NULL;
		uint32_t gap = last && strcmp(last->file, file) == 0
				       ? l->lines[i].line - last->line - 1
				       : 0;

		if (gap > GAP_MAX)
			fprintf(out, "%10s\n", "...");
		else
			for (uint32_t k = gap; k > 0; k--)
				print_line(out, l, 0, l->lines[i].line - k, source);
		print_line(out, l, l->lines[i].count, l->lines[i].line, source);
	}
	return i;
}

static void print_instructions(FILE *out, const struct images_code_listing *l)
{
	fprintf(out, "\n%10s  %6s  %12s  %-48s  %s\n", "SAMPLES", "%", "ADDRESS", "INSTRUCTION",
		"LINE");
	for (size_t i = 0; i < l->n_rows; i++) {
		const struct code_row *row = &l->rows[i].code;

		print_count(out, l->rows[i].count, l->image->total);
		fprintf(out, "  %12" PRIx64 "%s", row->address, *row->text ? "  " : "");
		print_safely(out, row->text);
		if (row->line) {
			size_t length = strlen(row->text);

			fprintf(out, "%*s", length < 48 ? (int)(50 - length) : 2, "");
			print_safely(out, node_name_base(row->file));
			fprintf(out, ":%" PRIu32, row->line);
		}
		fputc('\n', out);
	}
}

static int print_listing(const struct images_job *job, const struct images_code_listing *l,
			 struct source_files *sources)
{
	FILE *out = job->context->out;

	fputs("\n# procedure ", out);
	print_safely(out, l->procedure->name);
	fprintf(out, "  address %" PRIx64 "  size %" PRIu64 "  samples %" PRIu64 " (%.2f%%)\n",
		l->procedure->start, l->procedure->size, l->procedure->count,
		images_share(l->procedure->count, l->image->total));
	for (size_t i = 0; i < l->n_lines;) {
		const struct source_file *source;
		int r = source_files_get(sources, l->lines[i].file, &source);

		if (r)
			return r;
		i = print_file(out, l, i, source);
	}
	print_instructions(out, l);
	return 0;
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void put_row(struct json *j, const struct counted_row *row)
{
	json_begin_object(j, NULL);
	images_put_address(j, row->code.address);
	json_number(j, "size_bytes", row->code.size);
	json_number(j, "samples", row->count);
	json_text(j, "instruction", row->code.text);
	json_text(j, "file", row->code.file);
	json_number(j, "line", row->code.line);
	json_close(j);
}

static int put_listing(struct json *j, const struct images_code_listing *l,
		       struct source_files *sources)
{
	json_begin_object(j, NULL);
	json_text(j, "name", l->procedure->name);
	images_put_address(j, l->procedure->start);
	json_number(j, "size_bytes", l->procedure->size);
	json_number(j, "samples", l->procedure->count);
	json_begin_array(j, "lines");
	for (size_t i = 0; i < l->n_lines; i++) {
		const struct source_file *source;
		int r = source_files_get(sources, l->lines[i].file, &source);

		if (r)
			return r;
		json_begin_object(j, NULL);
		json_text(j, "file", l->lines[i].file);
		json_number(j, "line", l->lines[i].line);
		json_number(j, "samples", l->lines[i].count);
		json_text(j, "source", source_file_line(source, l->lines[i].line));
		json_close(j);
	}
	json_close(j);
	json_begin_array(j, "instructions");
	for (size_t i = 0; i < l->n_rows; i++)
		put_row(j, &l->rows[i]);
	json_close(j);
	json_close(j);
	return 0;
}

/* --- --list ----------------------------------------------------------------------------------- */

struct list_work {
	struct images_job *job;
	const struct image *image;
	struct image_code code;
	struct procedures procedures;
	struct regex *regex;
	struct source_files *sources;
};

static void list_work_deinit(struct list_work *w)
{
	source_files_free(w->sources);
	regex_free(w->regex);
	procedures_deinit(&w->procedures);
	image_code_close(&w->code);
}

static int list_procedure(struct list_work *w, const struct procedure *p, struct json *j)
{
	const struct images_arguments *a = w->job->arguments;
	const struct worker_range range = {p->start, p->start + p->size};
	uint32_t flags = WORKER_WANT_LINES | (a->intel ? WORKER_INTEL : 0);
	cleanup(listing_deinit) struct images_code_listing listing = {.procedure = p,
								      .image = w->image};
	int r = 0;

	/* The kernel has none. */
	if (!w->code.kernel)
		r = code_list_add(&listing.code, &w->code.object, &range, flags);
	r = r ?: count_rows(&listing) ?: count_lines(&listing);
	if (r)
		return r;
	return a->json ? put_listing(j, &listing, w->sources)
		       : print_listing(w->job, &listing, w->sources);
}

static int list_procedures(struct list_work *w)
{
	struct json j = {.out = w->job->context->out};
	size_t n = 0;
	int r = 0;

	images_begin(w->job, &j, w->image, "procedures");
	for (size_t i = 0; !r && i < w->procedures.n; i++) {
		const struct procedure *p = &w->procedures.all[i];

		if (!*p->name || !regex_matches(w->regex, p->name))
			continue;
		n++;
		r = list_procedure(w, p, &j);
	}
	if (w->job->arguments->json)
		json_end(&j);
	if (r || n)
		return r;
	notes_add(w->job->source->notes, "no procedure with samples matches '%s'",
		  w->job->arguments->list);
	return OBJECT_E_NONE;
}

int images_print_list(struct images_job *job, const struct image *image)
{
	cleanup(list_work_deinit) struct list_work w = {
		.job = job,
		.image = image,
		.code = {.object = OBJECT_NONE},
	};
	struct profile_message message;
	int r = regex_new(&w.regex, "--list", job->arguments->list, &message);

	if (r > 0) {
		notes_add(job->source->notes, "%s", message.text);
		return OBJECT_E_NONE;
	}
	r = r ?:
		source_files_new(&w.sources, job->source->files, job->arguments->source_path,
				 job->arguments->trim_path) ?:
		image_code_open(&w.code, job->source, image) ?:
		procedures_init(&w.procedures, &w.code, image);
	return r ? r : list_procedures(&w);
}
