/* SPDX-License-Identifier: MIT */
/* Tables of images and of procedures, of one epoch and of two. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/images/image_code.h"
#include "client/profctl/images.h"
#include "client/profctl/json.h"
#include "client/profctl/table.h"
#include "common/room.h"

#define ID_DIGITS 12 /* enough for people; --json has all */

static void print_field(FILE *out, const char *name, const char *value)
{
	fprintf(out, "  %s ", name);
	print_safely(out, value);
}

/* Lines above a table: what it is of. @image NULL: all of them. */
static void images_print_header(const struct images_job *job, const struct image *image)
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
	if (!image)
		return;
	fputs("# image ", out);
	print_safely(out, image->title);
	print_field(out, "id", image->id);
	fprintf(out, "  samples %" PRIu64 " (%.2f%%)\n", image->total,
		images_share(image->total, set->total));
}

void images_put_image(struct json *j, const struct image *image)
{
	json_text(j, "image", image->title);
	json_text(j, "id", image->id);
}

void images_put_address(struct json *j, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_text(j, "address", text);
}

/* The same in JSON: begins the object that all is in, and in it the array @key. */
static void images_begin_json(const struct images_job *job, struct json *j,
			      const struct image *image, const char *key)
{
	const struct image_set *set = job->set;

	json_begin_object(j, NULL);
	json_text(j, "epoch", job->epoch);
	json_text(j, "platform", set->platforms);
	json_text(j, "event", set->event);
	if (set->has_other_periods)
		json_text(j, "period", NULL);
	else
		json_number(j, "period", set->period);
	json_number(j, "samples", set->total);
	if (job->base) {
		json_text(j, "base_epoch", job->arguments->diff);
		json_number(j, "base_samples", job->base->total);
	}
	if (image)
		images_put_image(j, image);
	if (image && !job->base)
		json_number(j, "image_samples", image->total);
	json_begin_array(j, key);
}

void images_begin(const struct images_job *job, struct json *j, const struct image *image,
		  const char *key)
{
	if (job->arguments->json)
		images_begin_json(job, j, image, key);
	else
		images_print_header(job, image);
}

int images_end(const struct images_job *job, struct json *j, const struct table *t)
{
	if (!job->arguments->json)
		return table_print(t, job->context->out);
	json_end(j);
	return 0;
}

/* A line of a table: text and numbers. */
struct row {
	const char *name; /* the image's or the procedure's */
	uint64_t base, count;
};

struct rows {
	struct row *all;
	size_t n, max;
};

static void rows_deinit(struct rows *rows)
{
	free(rows->all);
}

static int rows_add(struct rows *rows, const char *name, bool is_base, uint64_t count)
{
	const struct row new = {.name = name,
				.base = is_base ? count : 0,
				.count = is_base ? 0 : count};

	return room_append(&rows->all, &rows->max, &rows->n, new);
}

/* --- of one epoch ----------------------------------------------------------------------------- */

int images_print_all(struct images_job *job)
{
	const struct image_set *set = job->set;
	cleanup(table_deinit) struct table t = TABLE_OF(">SAMPLES", ">%", ">CUM%", "ID", "IMAGE");
	struct json j = {.out = job->context->out};
	uint64_t sum = 0;

	images_begin(job, &j, NULL, "images");
	for (size_t i = 0; i < set->n; i++) {
		const struct image *image = &set->images[i];

		sum += image->total;
		if (job->arguments->json) {
			json_begin_object(&j, NULL);
			images_put_image(&j, image);
			json_number(&j, "samples", image->total);
			json_real(&j, "percent", images_share(image->total, set->total));
			json_real(&j, "cumulative_percent", images_share(sum, set->total));
			json_close(&j);
			continue;
		}
		table_cell(&t, "%" PRIu64, image->total);
		table_cell(&t, "%.2f", images_share(image->total, set->total));
		table_cell(&t, "%.2f", images_share(sum, set->total));
		table_cell(&t, "%.*s", ID_DIGITS, image->id);
		table_cell(&t, "%s", image->title);
	}
	return images_end(job, &j, &t);
}

static const char *procedure_name(const struct procedure *p)
{
	return *p->name ? p->name : "[no name]";
}

/* Opens the image's file and folds its samples. */
static int find_procedures(struct images_job *job, const struct image *image,
			   struct procedures *ret)
{
	cleanup(image_code_close) struct image_code code = {.object = OBJECT_NONE};
	int r = image_code_open(&code, job->source, image);

	return r ? r : procedures_init(ret, &code, image);
}

int images_print_procedures(struct images_job *job, const struct image *image)
{
	cleanup(procedures_deinit) struct procedures procedures = {0};
	cleanup(table_deinit) struct table t = TABLE_OF(">SAMPLES", ">%", ">CUM%", ">ADDRESS",
							"PROCEDURE");
	struct json j = {.out = job->context->out};
	uint64_t sum = 0;
	int r = find_procedures(job, image, &procedures);

	if (r)
		return r;
	images_begin(job, &j, image, "procedures");
	for (size_t i = 0; i < procedures.n; i++) {
		const struct procedure *p = &procedures.all[i];

		sum += p->count;
		if (job->arguments->json) {
			json_begin_object(&j, NULL);
			json_text(&j, "name", p->name);
			images_put_address(&j, p->start);
			json_number(&j, "size_bytes", p->size);
			json_number(&j, "samples", p->count);
			json_real(&j, "percent", images_share(p->count, image->total));
			json_close(&j);
			continue;
		}
		table_cell(&t, "%" PRIu64, p->count);
		table_cell(&t, "%.2f", images_share(p->count, image->total));
		table_cell(&t, "%.2f", images_share(sum, image->total));
		if (*p->name)
			table_cell(&t, "%" PRIx64, p->start);
		else
			table_cell(&t, "%s", "");
		table_cell(&t, "%s", procedure_name(p));
	}
	return images_end(job, &j, &t);
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

/* One row a name. */
static void fold_rows(struct rows *rows)
{
	struct row *all = rows->all;
	size_t kept = 0;

	if (!rows->n)
		return;
	qsort(all, rows->n, sizeof(*all), row_compare_name);
	for (size_t i = 1; i < rows->n; i++) {
		if (strcmp(all[i].name, all[kept].name) != 0) {
			all[++kept] = all[i];
			continue;
		}
		all[kept].base += all[i].base;
		all[kept].count += all[i].count;
	}
	rows->n = kept + 1;
}

/* @image: NULL for images, else its procedures. */
static int show_rows(const struct images_job *job, const struct image *image, struct rows *rows,
		     struct totals *totals)
{
	cleanup(table_deinit) struct table t = TABLE_OF(">BASE", ">BASE%", ">SAMPLES", ">%",
							">DIFF%", "NAME");
	struct json j = {.out = job->context->out};

	fold_rows(rows);
	qsort_r(rows->all, rows->n, sizeof(*rows->all), row_compare_difference, totals);
	images_begin(job, &j, image, image ? "procedures" : "images");
	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->all[i];
		double base_share = images_share(row->base, totals->base);
		double share = images_share(row->count, totals->count);

		if (job->arguments->json) {
			json_begin_object(&j, NULL);
			json_text(&j, "name", row->name);
			json_number(&j, "base_samples", row->base);
			json_real(&j, "base_percent", base_share);
			json_number(&j, "samples", row->count);
			json_real(&j, "percent", share);
			json_real(&j, "difference_percent", row_difference(row, totals));
			json_close(&j);
			continue;
		}
		table_cell(&t, "%" PRIu64, row->base);
		table_cell(&t, "%.2f", base_share);
		table_cell(&t, "%" PRIu64, row->count);
		table_cell(&t, "%.2f", share);
		table_cell(&t, "%+.2f", row_difference(row, totals));
		table_cell(&t, "%s", row->name);
	}
	return images_end(job, &j, &t);
}

int images_diff_all(struct images_job *job)
{
	const struct image_set *sets[] = {job->base, job->set};
	struct totals totals = {job->base->total, job->set->total};
	cleanup(rows_deinit) struct rows rows = {0};
	int r = 0;

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; !r && i < sets[k]->n; i++)
			r = rows_add(&rows, sets[k]->images[i].title, k == 0,
				     sets[k]->images[i].total);
	return r ? r : show_rows(job, NULL, &rows, &totals);
}

int images_diff_procedures(struct images_job *job, const struct image *image,
			   const struct image *base)
{
	cleanup(procedures_deinit) struct procedures before = {0}, now = {0};
	const struct procedures *procedures[] = {&before, &now};
	struct totals totals = {base ? base->total : 0, image->total};
	cleanup(rows_deinit) struct rows rows = {0};
	int r = (base ? find_procedures(job, base, &before) : 0)
			?: find_procedures(job, image, &now);

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; !r && i < procedures[k]->n; i++) {
			const struct procedure *p = &procedures[k]->all[i];

			r = rows_add(&rows, procedure_name(p), k == 0, p->count);
		}
	return r ? r : show_rows(job, image, &rows, &totals);
}
