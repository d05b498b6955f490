/* SPDX-License-Identifier: MIT */
/* Tables of images and of procedures, of one epoch and of two. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/images/procedures.h"
#include "client/profctl/images.h"
#include "client/profctl/json.h"
#include "client/profctl/table.h"
#include "common/error.h"

#define ID_DIGITS 12 /* enough for people; --json has all */

static void print_field(FILE *out, const char *name, const char *value)
{
	fprintf(out, "  %s ", name);
	print_safely(out, value);
}

/* A line above a table that says what it is of. */
void images_print_header(const struct images_job *job)
{
	const struct image_set *set = job->set;
	FILE *out = job->context->out;

	fputs("# epoch ", out);
	print_safely(out, job->epoch);
	if (job->base)
		print_field(out, "against", job->arguments->diff);
	print_field(out, "platform", set->platforms);
	print_field(out, "event", set->event);
	if (set->has_other_periods)
		fputs("  period differs", out);
	else
		fprintf(out, "  period %" PRIu64, set->period);
	fprintf(out, "  samples %" PRIu64, set->total);
	if (job->base)
		fprintf(out, ", %" PRIu64 " before", job->base->total);
	fputc('\n', out);
}

void images_put_header(const struct images_job *job, struct json *j)
{
	const struct image_set *set = job->set;

	json_text(j, "epoch", job->epoch);
	json_text(j, "platform", set->platforms);
	json_text(j, "event", set->event);
	if (set->has_other_periods)
		json_null(j, "period");
	else
		json_number(j, "period", set->period);
	json_number(j, "samples", set->total);
	if (job->base) {
		json_text(j, "base_epoch", job->arguments->diff);
		json_number(j, "base_samples", job->base->total);
	}
}

/* The same of one image. */
void images_print_image(const struct images_job *job, const struct image *image)
{
	FILE *out = job->context->out;
	size_t length;
	const char *title = image_title(image, &length);
	cleanup(freep) char *copy = strndup(title, length);

	images_print_header(job);
	fputs("# image ", out);
	print_safely(out, copy ? copy : "");
	print_field(out, "id", image->id);
	fprintf(out, "  samples %" PRIu64 " (%.2f%%)\n", image->total,
		images_share(image->total, job->set->total));
}

void images_put_image(struct json *j, const struct image *image)
{
	size_t length;
	const char *title = image_title(image, &length);
	cleanup(freep) char *copy = strndup(title, length);

	json_text(j, "image", copy ? copy : "");
	json_text(j, "id", image->id);
}

/* A line of a table: text and numbers. */
struct row {
	char *name; /* owned */
	uint64_t base, count;
};

static void rows_free(struct row *rows, size_t n)
{
	for (size_t i = 0; rows && i < n; i++)
		free(rows[i].name);
	free(rows);
}

/* --- of one epoch ----------------------------------------------------------------------------- */

int images_print_all(struct images_job *job)
{
	static const char *const columns[] = {">SAMPLES", ">%", ">CUM%", "ID", "IMAGE", NULL};
	const struct image_set *set = job->set;
	cleanup(table_freep) struct table *t = NULL;
	struct json j = {.out = job->context->out};
	uint64_t sum = 0;
	int r = 0;

	if (job->arguments->json) {
		json_begin_object(&j, NULL);
		images_put_header(job, &j);
		json_begin_array(&j, "images");
	} else {
		r = table_new(&t, columns);
	}
	for (size_t i = 0; !r && i < set->n; i++) {
		const struct image *image = &set->images[i];
		size_t length;
		const char *title = image_title(image, &length);

		sum += image->total;
		if (job->arguments->json) {
			json_begin_object(&j, NULL);
			images_put_image(&j, image);
			json_number(&j, "samples", image->total);
			json_real(&j, "percent", images_share(image->total, set->total));
			json_real(&j, "cumulative_percent", images_share(sum, set->total));
			json_end_object(&j);
			continue;
		}
		table_cell(t, "%" PRIu64, image->total);
		table_cell(t, "%.2f", images_share(image->total, set->total));
		table_cell(t, "%.2f", images_share(sum, set->total));
		table_cell(t, "%.*s", ID_DIGITS, image->id);
		table_cell(t, "%.*s", (int)length, title);
	}
	if (r)
		return r;
	if (job->arguments->json) {
		json_end_array(&j);
		json_end_object(&j);
		json_end(&j);
		return 0;
	}
	images_print_header(job);
	return table_print(t, job->context->out);
}

static const char *procedure_name(const struct procedure *p)
{
	return *p->name ? p->name : "[no name]";
}

static int print_procedures(const struct images_job *job, const struct image *image,
			    const struct procedures *procedures)
{
	static const char *const columns[] = {">SAMPLES", ">%",        ">CUM%",
					      ">ADDRESS", "PROCEDURE", NULL};
	cleanup(table_freep) struct table *t = NULL;
	uint64_t sum = 0;
	int r = table_new(&t, columns);

	if (r)
		return r;
	for (size_t i = 0; i < procedures->n; i++) {
		const struct procedure *p = &procedures->all[i];

		sum += p->count;
		table_cell(t, "%" PRIu64, p->count);
		table_cell(t, "%.2f", images_share(p->count, image->total));
		table_cell(t, "%.2f", images_share(sum, image->total));
		if (*p->name)
			table_cell(t, "%" PRIx64, p->start);
		else
			table_cell(t, "%s", "");
		table_cell(t, "%s", procedure_name(p));
	}
	images_print_image(job, image);
	return table_print(t, job->context->out);
}

static void put_procedures(const struct images_job *job, const struct image *image,
			   const struct procedures *procedures)
{
	struct json j = {.out = job->context->out};
	char address[32];

	json_begin_object(&j, NULL);
	images_put_header(job, &j);
	images_put_image(&j, image);
	json_number(&j, "image_samples", image->total);
	json_begin_array(&j, "procedures");
	for (size_t i = 0; i < procedures->n; i++) {
		const struct procedure *p = &procedures->all[i];

		json_begin_object(&j, NULL);
		json_text(&j, "name", p->name);
		snprintf(address, sizeof(address), "0x%" PRIx64, p->start);
		json_text(&j, "address", address);
		json_number(&j, "size_bytes", p->size);
		json_number(&j, "samples", p->count);
		json_real(&j, "percent", images_share(p->count, image->total));
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	json_end(&j);
}

/* Opens the image's file and folds its samples. */
static int find_procedures(struct images_job *job, const struct image *image,
			   struct procedures *ret)
{
	cleanup(image_code_close) struct image_code code = {.object = OBJECT_NONE};
	int r = image_code_open(&code, job->world, image);

	return r ? r : procedures_init(ret, &code, image);
}

int images_print_procedures(struct images_job *job, const struct image *image)
{
	cleanup(procedures_deinit) struct procedures procedures = {0};
	int r = find_procedures(job, image, &procedures);

	if (!r && job->arguments->json)
		put_procedures(job, image, &procedures);
	else if (!r)
		r = print_procedures(job, image, &procedures);
	return r;
}

/* --- of two ----------------------------------------------------------------------------------- */

/* Epochs are not equally long: it is the shares that differ. */
struct totals {
	uint64_t base, count;
};

static double row_difference(const struct row *row, const struct totals *totals)
{
	return images_share(row->count, totals->count) - images_share(row->base, totals->base);
}

static int row_compare_difference(const void *a, const void *b, void *context)
{
	double x = row_difference(a, context), y = row_difference(b, context);

	x = x < 0 ? -x : x;
	y = y < 0 ? -y : y;
	if (x > y || x < y)
		return x > y ? -1 : 1;
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static int row_compare_name(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

/* One row a name. Returns how many remain. */
static size_t fold_rows(struct row *rows, size_t n)
{
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(rows, n, sizeof(*rows), row_compare_name);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(rows[i].name, rows[kept].name) != 0) {
			rows[++kept] = rows[i];
			continue;
		}
		rows[kept].base += rows[i].base;
		rows[kept].count += rows[i].count;
		free(rows[i].name);
	}
	return kept + 1;
}

static int print_diff_rows(const struct images_job *job, const struct row *rows, size_t n,
			   const struct totals *totals)
{
	static const char *const columns[] = {">BASE",  ">BASE%", ">SAMPLES", ">%",
					      ">DIFF%", "NAME",   NULL};
	cleanup(table_freep) struct table *t = NULL;
	int r = table_new(&t, columns);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++) {
		table_cell(t, "%" PRIu64, rows[i].base);
		table_cell(t, "%.2f", images_share(rows[i].base, totals->base));
		table_cell(t, "%" PRIu64, rows[i].count);
		table_cell(t, "%.2f", images_share(rows[i].count, totals->count));
		table_cell(t, "%+.2f", row_difference(&rows[i], totals));
		table_cell(t, "%s", rows[i].name);
	}
	return table_print(t, job->context->out);
}

/* @image: NULL for images, else its procedures. */
static void put_diff_rows(const struct images_job *job, const struct image *image,
			  const struct row *rows, size_t n, const struct totals *totals)
{
	struct json j = {.out = job->context->out};

	json_begin_object(&j, NULL);
	images_put_header(job, &j);
	if (image)
		images_put_image(&j, image);
	json_begin_array(&j, image ? "procedures" : "images");
	for (size_t i = 0; i < n; i++) {
		json_begin_object(&j, NULL);
		json_text(&j, "name", rows[i].name);
		json_number(&j, "base_samples", rows[i].base);
		json_real(&j, "base_percent", images_share(rows[i].base, totals->base));
		json_number(&j, "samples", rows[i].count);
		json_real(&j, "percent", images_share(rows[i].count, totals->count));
		json_real(&j, "difference_percent", row_difference(&rows[i], totals));
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	json_end(&j);
}

static int show_rows(const struct images_job *job, const struct image *image, struct row *rows,
		     size_t n, struct totals *totals)
{
	if (n)
		qsort_r(rows, n, sizeof(*rows), row_compare_difference, totals);
	if (job->arguments->json) {
		put_diff_rows(job, image, rows, n, totals);
		return 0;
	}
	if (image)
		images_print_image(job, image);
	else
		images_print_header(job);
	return print_diff_rows(job, rows, n, totals);
}

int images_diff_all(struct images_job *job)
{
	const struct image_set *sets[] = {job->base, job->set};
	struct totals totals = {job->base->total, job->set->total};
	struct row *rows = calloc(job->base->n + job->set->n, sizeof(*rows));
	size_t n = 0;
	int r = rows ? 0 : error_origin(-ENOMEM);

	for (unsigned k = 0; !r && k < 2; k++)
		for (size_t i = 0; !r && i < sets[k]->n; i++, n++) {
			const struct image *image = &sets[k]->images[i];
			size_t length;
			const char *title = image_title(image, &length);

			rows[n].name = strndup(title, length);
			*(k ? &rows[n].count : &rows[n].base) = image->total;
			r = rows[n].name ? 0 : error_origin(-ENOMEM);
		}
	if (!r) {
		n = fold_rows(rows, n);
		r = show_rows(job, NULL, rows, n, &totals);
	}
	rows_free(rows, n);
	return r;
}

int images_diff_procedures(struct images_job *job, const struct image *image,
			   const struct image *base)
{
	cleanup(procedures_deinit) struct procedures before = {0}, now = {0};
	const struct procedures *procedures[] = {&before, &now};
	struct totals totals = {base ? base->total : 0, image->total};
	struct row *rows = NULL;
	size_t n = 0;
	int r = base ? find_procedures(job, base, &before) : 0;

	if (!r)
		r = find_procedures(job, image, &now);
	if (!r) {
		rows = calloc(before.n + now.n + 1, sizeof(*rows));
		r = rows ? 0 : error_origin(-ENOMEM);
	}
	for (unsigned k = 0; !r && k < 2; k++)
		for (size_t i = 0; !r && i < procedures[k]->n; i++, n++) {
			const struct procedure *p = &procedures[k]->all[i];

			rows[n].name = strdup(procedure_name(p));
			*(k ? &rows[n].count : &rows[n].base) = p->count;
			r = rows[n].name ? 0 : error_origin(-ENOMEM);
		}
	if (!r) {
		n = fold_rows(rows, n);
		r = show_rows(job, image, rows, n, &totals);
	}
	rows_free(rows, n);
	return r;
}
