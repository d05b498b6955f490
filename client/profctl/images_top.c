/* SPDX-License-Identifier: MIT */
/*
 * The hottest instructions. Chosen by their counts alone; then each image that has some is opened
 * once, for all of its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/node_name.h"
#include "client/profctl/images.h"
#include "client/profctl/json.h"
#include "client/profctl/table.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/profile_table.h"
#include "common/room.h"

struct hot {
	const struct image *image;
	uint64_t address, count;
	const char *procedure, *text, *file; /* "" unknown */
	uint64_t offset;                     /* in the procedure */
	uint32_t line;
};

DEFINE_ORDER(hot_compare_place, struct hot,
	     order_of(x->image, y->image) ?: order_of(x->address, y->address))

DEFINE_ORDER(hot_compare_count, struct hot, order_of(y->count, x->count) ?: hot_compare_place(x, y))

/* Sorts them, the hottest first, and keeps @top. */
static void hots_cut(struct hot *hots, size_t *n, size_t top)
{
	qsort(hots, *n, sizeof(*hots), hot_compare_count);
	*n = *n < top ? *n : top;
}

/* The hottest of all counts of @image, or of all images; never more than twice as many are held. */
static int choose_hottest(const struct images_job *job, const struct image *image, struct hot **ret,
			  size_t *ret_n)
{
	const struct image *images = image ? image : job->set->images;
	size_t n_images = image ? 1 : job->set->n, top = (size_t)job->arguments->top, n = 0;
	size_t allocated = 0;
	int r = 0;

	*ret = NULL;
	for (size_t i = 0; i < n_images; i++) {
		for (size_t k = 0; !r && k < images[i].n_counts; k++) {
			const struct hot hot = {
				.image = &images[i],
				.address = image_address(&images[i], k),
				.count = images[i].counts[k].count,
				.procedure = "",
				.text = "",
				.file = "",
			};

			if (n == 2 * top)
				hots_cut(*ret, &n, top);
			r = room_append(ret, &allocated, &n, hot);
		}
	}
	if (n)
		hots_cut(*ret, &n, top);
	*ret_n = n;
	return r;
}

/* @text, which is the worker's, as long as @texts. */
static int hot_keep(struct profile_arena *texts, const char *text, const char **ret)
{
	*ret = profile_arena_copy(texts, text, strlen(text));
	return *ret ? 0 : error_origin(-ENOMEM);
}

/*
 * Each instruction is asked for by its own address: one may begin there that the code before it
 * does not lead to, where samples are among data.
 */
static int describe_hot(const struct images_job *job, struct image_code *code, struct hot *hot,
			struct profile_arena *texts)
{
	const struct worker_range range = {hot->address, hot->address + 1};
	uint32_t flags = WORKER_WANT_LINES | (job->arguments->intel ? WORKER_INTEL : 0);
	struct image_place place;
	struct answer_code answer;
	int r = image_code_place(code, hot->address, &place);

	if (!r && *place.name) {
		hot->offset = hot->address - place.start;
		r = hot_keep(texts, place.name, &hot->procedure);
	}
	if (r || code->kernel || !range.end)
		return r;
	r = object_code(&code->object, &range, flags, &answer);
	if (r || !answer.n_instructions || answer.instructions->address != hot->address)
		return r;
	hot->line = answer.instructions->line;
	return hot_keep(texts, answer.text + answer.instructions->text, &hot->text)
		       ?: hot_keep(texts, answer.text + answer.instructions->file, &hot->file);
}

/* Those of one image from @hots on; *ret_n: how many they are. */
static int describe_image_hots(const struct images_job *job, struct hot *hots, size_t n,
			       struct profile_arena *texts, size_t *ret_n)
{
	cleanup(image_code_close) struct image_code code = {.object = OBJECT_NONE};
	const struct image *image = hots->image;
	int r = image_code_open(&code, job->source, image);

	for (*ret_n = 0; *ret_n < n && hots[*ret_n].image == image; ++*ret_n)
		if (!r)
			r = describe_hot(job, &code, &hots[*ret_n], texts);
	/* What is not here stays without names; that is noted. */
	return r == OBJECT_E_NONE ? 0 : r;
}

static int describe_hots(const struct images_job *job, struct hot *hots, size_t n,
			 struct profile_arena *texts)
{
	int r = 0;

	if (!n)
		return 0;
	qsort(hots, n, sizeof(*hots), hot_compare_place);
	for (size_t i = 0, n_here; !r && i < n; i += n_here)
		r = describe_image_hots(job, hots + i, n - i, texts, &n_here);
	qsort(hots, n, sizeof(*hots), hot_compare_count);
	return r;
}

static void put_hot(struct json *j, const struct hot *hot, uint64_t total)
{
	json_begin_object(j, NULL);
	json_number(j, "samples", hot->count);
	json_real(j, "percent", images_share(hot->count, total));
	images_put_address(j, hot->address);
	images_put_image(j, hot->image);
	json_text(j, "procedure", hot->procedure);
	json_number(j, "offset_bytes", hot->offset);
	json_text(j, "instruction", hot->text);
	json_text(j, "file", hot->file);
	json_number(j, "line", hot->line);
	json_close(j);
}

/* @sum: of it and all hotter ones. */
static void add_hot(struct table *t, const struct hot *hot, uint64_t sum, uint64_t total)
{
	table_cell(t, "%" PRIu64, hot->count);
	table_cell(t, "%.2f", images_share(hot->count, total));
	table_cell(t, "%.2f", images_share(sum, total));
	table_cell(t, "%" PRIx64, hot->address);
	table_cell(t, "%s", hot->image->name);
	if (*hot->procedure)
		table_cell(t, "%s+0x%" PRIx64, hot->procedure, hot->offset);
	else
		table_cell(t, "%s", "");
	table_cell(t, "%s", hot->text);
	if (hot->line)
		table_cell(t, "%s:%" PRIu32, node_name_base(hot->file), hot->line);
	else
		table_cell(t, "%s", "");
}

int images_print_top(struct images_job *job, const struct image *image)
{
	cleanup(table_deinit) struct table t = TABLE_OF(">SAMPLES", ">%", ">CUM%", ">ADDRESS",
							"IMAGE", "PROCEDURE", "INSTRUCTION",
							"LINE");
	uint64_t total = image ? image->total : job->set->total, sum = 0;
	bool json = job->arguments->json;
	struct json j = {.out = job->context->out};
	cleanup(profile_arena_deinit) struct profile_arena texts = {0};
	cleanup(freep) struct hot *hots = NULL;
	size_t n = 0;
	int r = choose_hottest(job, image, &hots, &n) ?: describe_hots(job, hots, n, &texts);

	if (r)
		return r;
	images_begin(job, &j, json ? NULL : image, "instructions");
	for (size_t i = 0; i < n; i++) {
		sum += hots[i].count;
		if (json)
			put_hot(&j, &hots[i], total);
		else
			add_hot(&t, &hots[i], sum, total);
	}
	return images_end(job, &j, &t);
}
