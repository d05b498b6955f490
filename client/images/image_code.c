/* SPDX-License-Identifier: MIT */
/*
 * An image is a file, tried at each of its paths until one has the image's id, or a part of the
 * kernel that runs, which has names but no instructions. Its procedures are those around the
 * addresses that have samples: one question for each, since an answer says how far it reaches.
 */
#include "client/images/image_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/order.h"
#include "common/room.h"
#include "common/text_print.h"

void image_code_close(struct image_code *c)
{
	object_deinit(&c->object);
	free(c->path);
	c->path = NULL;
}

static int image_code_open_kernel(struct image_code *c, const char *path)
{
	int r = kernel_get(c->source->kernel, path, c->image->id, &c->kernel);

	if (r <= 0)
		return r;
	notes_add(c->source->notes, "%s: %s", path,
		  kernel_is_path(path) ? kernel_error_text(r) : "is no file that could be read");
	return OBJECT_E_NONE;
}

static int image_code_open_file(struct image_code *c)
{
	int r = object_init(&c->object, c->source, c->path, c->image->id);

	if (r || c->object.is_identified)
		return r;
	notes_add(c->source->notes, "%s: the file here is not the one with the id %s", c->path,
		  c->image->id);
	return OBJECT_E_NONE;
}

int image_code_open(struct image_code *ret, struct object_source *source, const struct image *image)
{
	const char *at = image->paths;
	int r = OBJECT_E_NONE;

	*ret = (struct image_code){.source = source, .image = image, .object = OBJECT_NONE};
	if (!at)
		notes_add(source->notes, "%s: which file it is, the profile does not say",
			  image->name);
	else if (at[0] == '[')
		return image_code_open_kernel(ret, at);
	while (at && *at && r == OBJECT_E_NONE) {
		size_t n = strcspn(at, "\n");

		image_code_close(ret);
		ret->path = strndup(at, n);
		if (!ret->path)
			return error_origin(-ENOMEM);
		r = image_code_open_file(ret);
		at += n + (at[n] == '\n');
	}
	return r;
}

int image_code_place(struct image_code *c, uint64_t address, struct image_place *ret)
{
	uint64_t shift = c->kernel ? c->kernel->start - c->image->tstart : 0;
	const struct worker_location *l;
	struct symtab_symbol symbol;
	struct answer_names answer;
	int r;

	*ret = (struct image_place){.name = "", .start = address, .size = 1};
	if (c->kernel) {
		if (kernel_part_find(c->kernel, address + shift, &symbol))
			*ret = (struct image_place){symbol.name, symbol.start - shift, symbol.size};
		return OBJECT_E_OK;
	}
	/* Without lines: the function around the address, whatever is inlined there. */
	r = object_query_names(&c->object, false, &address, 1, &answer);
	if (r)
		return r;
	l = &answer.locations[0];
	ret->start = l->start;
	ret->size = l->size;
	if (l->n_frames)
		ret->name = answer.text + answer.frames[l->first_frame + l->n_frames - 1].name;
	return OBJECT_E_OK;
}

void procedures_deinit(struct procedures *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->all[i].name);
	free(p->all);
	*p = (struct procedures){0};
}

static int procedures_add(struct procedures *p, size_t *n_allocated,
			  const struct image_place *place, uint64_t count)
{
	struct procedure new = {.start = place->start, .size = place->size, .count = count};
	int r = text_copy(&new.name, place->name) ?: room_append(&p->all, n_allocated, &p->n, new);

	if (r)
		free(new.name);
	return r;
}

DEFINE_ORDER(procedures_compare_counts, struct procedure, order_of(y->count, x->count)
		?: strcmp(x->name, y->name)
		?: order_of(x->start, y->start))

int procedures_init(struct procedures *ret, struct image_code *code, const struct image *image)
{
	uint64_t nameless = 0;
	size_t n_allocated = 0;
	int r = 0;

	*ret = (struct procedures){0};
	for (size_t i = 0; i < image->n_counts && !r;) {
		struct image_place place;
		uint64_t count = 0;

		r = image_code_place(code, image_address(image, i), &place);
		if (r)
			break;
		do
			count += image->counts[i++].count;
		while (i < image->n_counts && image_address(image, i) - place.start < place.size);
		if (*place.name)
			r = procedures_add(ret, &n_allocated, &place, count);
		else
			nameless += count;
	}
	if (!r && nameless)
		r = procedures_add(ret, &n_allocated, &(struct image_place){.name = ""}, nameless);
	if (ret->n)
		qsort(ret->all, ret->n, sizeof(*ret->all), procedures_compare_counts);
	return r;
}
