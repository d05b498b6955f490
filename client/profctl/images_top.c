/* SPDX-License-Identifier: MIT */
/*
 * The hottest instructions. Chosen by their counts alone; then each image that has some is opened
 * once, for all of its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/profctl/images.h"
#include "client/profctl/json.h"
#include "client/profctl/table.h"
#include "common/error.h"

/*
 * Instructions are asked for with those around them: a question costs as much as tens of
 * instructions do. Bytes between two, and from the first to the last one of a question.
 */
#define GAP_MAX   64
#define RANGE_MAX 4096

struct hot {
	const struct image *image;
	uint64_t address, count;
	char *procedure, *text, *file; /* owned; NULL unknown */
	uint64_t offset;               /* in the procedure */
	uint32_t line;
};

static void hots_free(struct hot *hots, size_t n)
{
	for (size_t i = 0; hots && i < n; i++) {
		free(hots[i].procedure);
		free(hots[i].text);
		free(hots[i].file);
	}
	free(hots);
}

static int hot_compare_place(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int hot_compare_count(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return hot_compare_place(a, b);
}

/* Those asked for among what was seen so far. */
struct chosen {
	struct hot *hots; /* of twice as many as asked for */
	size_t n, top;
	uint64_t least; /* colder ones are none of them */
};

static void chosen_keep_top(struct chosen *c)
{
	qsort(c->hots, c->n, sizeof(*c->hots), hot_compare_count);
	if (!c->n || c->n < c->top)
		return;
	c->n = c->top;
	c->least = c->hots[c->n - 1].count;
}

static void chosen_add_image(struct chosen *c, const struct image *image)
{
	for (size_t i = 0; i < image->n_counts; i++) {
		if (image->counts[i].count < c->least)
			continue;
		if (c->n == 2 * c->top)
			chosen_keep_top(c);
		c->hots[c->n++] = (struct hot){
			.image = image,
			.address = image->tstart + image->counts[i].offset,
			.count = image->counts[i].count,
		};
	}
}

/* The hottest of all counts of @image, or of all images. */
static int choose_hottest(const struct images_job *job, const struct image *image, struct hot **ret,
			  size_t *ret_n)
{
	const struct image *images = image ? image : job->set->images;
	struct chosen c = {.top = (size_t)job->arguments->top};
	size_t n_images = image ? 1 : job->set->n, n = 0;

	for (size_t i = 0; i < n_images; i++)
		n += images[i].n_counts;
	if (c.top > n)
		c.top = n;
	c.hots = calloc(2 * c.top + 1, sizeof(*c.hots));
	if (!c.hots)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n_images; i++)
		chosen_add_image(&c, &images[i]);
	chosen_keep_top(&c);
	*ret = c.hots;
	*ret_n = c.n;
	return 0;
}

static int hot_set_name(void *context, size_t i, const struct image_place *place)
{
	struct hot *hot = (struct hot *)context + i;

	if (!*place->name)
		return 0;
	hot->procedure = strdup(place->name);
	hot->offset = hot->address - place->start;
	return hot->procedure ? 0 : error_origin(-ENOMEM);
}

static int set_instruction(struct hot *hot, const struct answer_code *answer,
			   const struct worker_instruction *instruction)
{
	hot->text = strdup(answer->text + instruction->text);
	hot->file = strdup(answer->text + instruction->file);
	hot->line = instruction->line;
	return hot->text && hot->file ? 0 : error_origin(-ENOMEM);
}

/*
 * Asks for all from the first of @hots to the last one at once. What does not begin an instruction
 * there stays as it is, since one may begin there nevertheless: where samples are among data.
 */
static int set_range_instructions(const struct images_job *job, struct image_code *code,
				  struct hot *hots, size_t n)
{
	const struct worker_range range = {hots[0].address, hots[n - 1].address + 1};
	uint32_t flags = WORKER_WANT_LINES | (job->arguments->intel ? WORKER_INTEL : 0);
	struct answer_code answer;
	int r;

	if (range.end < range.start)
		return 0;
	r = image_code_instructions(code, &range, flags, &answer);
	for (size_t i = 0, at = 0; !r && i < n && at < answer.n_instructions;) {
		const struct worker_instruction *instruction = &answer.instructions[at];

		if (instruction->address == hots[i].address)
			r = set_instruction(&hots[i], &answer, instruction);
		if (instruction->address >= hots[i].address)
			i++;
		else
			at++;
	}
	return r;
}

static int set_instructions(const struct images_job *job, struct image_code *code, struct hot *hots,
			    size_t n)
{
	int r = 0;

	for (size_t i = 0, end; !r && i < n; i = end) {
		for (end = i + 1; end < n && hots[end].address - hots[end - 1].address <= GAP_MAX &&
				  hots[end].address - hots[i].address < RANGE_MAX;)
			end++;
		r = set_range_instructions(job, code, hots + i, end - i);
		for (size_t k = i; !r && end - i > 1 && k < end; k++)
			if (!hots[k].text)
				r = set_range_instructions(job, code, &hots[k], 1);
	}
	return r;
}

/* Those of one image, in order of their addresses. */
static int describe_image_hots(const struct images_job *job, struct hot *hots, size_t n)
{
	cleanup(image_code_close) struct image_code code = {.object = OBJECT_NONE};
	cleanup(freep) uint64_t *addresses = calloc(n, sizeof(*addresses));
	int r;

	if (!addresses)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		addresses[i] = hots[i].address;
	r = image_code_open(&code, job->world, hots[0].image);
	if (!r)
		r = image_code_names(&code, addresses, n, hot_set_name, hots);
	if (!r)
		r = set_instructions(job, &code, hots, n);
	/* What is not here stays without names; that is noted. */
	return r == IMAGE_CODE_E_NONE ? 0 : r;
}

static int describe_hots(const struct images_job *job, struct hot *hots, size_t n)
{
	int r = 0;

	qsort(hots, n, sizeof(*hots), hot_compare_place);
	for (size_t i = 0, end; !r && i < n; i = end) {
		for (end = i + 1; end < n && hots[end].image == hots[i].image;)
			end++;
		r = describe_image_hots(job, hots + i, end - i);
	}
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
	json_text(j, "procedure", hot->procedure ? hot->procedure : "");
	json_number(j, "offset_bytes", hot->offset);
	json_text(j, "instruction", hot->text ? hot->text : "");
	json_text(j, "file", hot->file ? hot->file : "");
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
	if (hot->procedure)
		table_cell(t, "%s+0x%" PRIx64, hot->procedure, hot->offset);
	else
		table_cell(t, "%s", "");
	table_cell(t, "%s", hot->text ? hot->text : "");
	if (hot->line)
		table_cell(t, "%s:%" PRIu32, basename(hot->file), hot->line);
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
	struct hot *hots = NULL;
	size_t n = 0;
	int r = choose_hottest(job, image, &hots, &n);

	if (!r)
		r = describe_hots(job, hots, n);
	if (!r)
		images_begin(job, &j, json ? NULL : image, "instructions");
	for (size_t i = 0; !r && i < n; i++) {
		sum += hots[i].count;
		if (json)
			put_hot(&j, &hots[i], total);
		else
			add_hot(&t, &hots[i], sum, total);
	}
	if (!r)
		r = images_end(job, &j, &t);
	hots_free(hots, n);
	return r;
}
