/* SPDX-License-Identifier: MIT */
/*
 * An image is a file, tried at each of its paths until one has the image's id, or a part of the
 * kernel that runs, which has names but no instructions. Its procedures are made of the names at
 * the addresses that have samples.
 */
#include "client/images/image_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/order.h"
#include "common/room.h"
#include "common/text_print.h"

_Static_assert((int)IMAGE_CODE_E_OK == (int)OBJECT_E_OK &&
		       (int)IMAGE_CODE_E_NONE == (int)OBJECT_E_NONE &&
		       (int)IMAGE_CODE_E_NO_WORKER == (int)OBJECT_E_NO_WORKER,
	       "what becomes of an object becomes of the image");

int image_world_init(struct image_world *ret, int root_fd, struct notes *notes)
{
	int r;

	*ret = (struct image_world){.notes = notes};
	r = files_new(&ret->files, root_fd) ?:
		kernel_new(&ret->kernel, ret->files) ?:
		asker_new(&ret->asker, NULL, 0);
	ret->source = (struct object_source){
		.files = ret->files, .asker = ret->asker, .notes = notes, .want_lines = true};
	return r;
}

void image_world_deinit(struct image_world *w)
{
	asker_free(w->asker);
	kernel_free(w->kernel);
	files_free(w->files);
}

void image_code_close(struct image_code *c)
{
	object_deinit(&c->object);
	free(c->path);
	c->path = NULL;
}

static int image_code_open_kernel(struct image_code *c, const char *path)
{
	int r = kernel_get(c->world->kernel, path, c->image->id, &c->kernel);

	if (r <= 0)
		return r;
	notes_add(c->world->notes, "%s: %s", path,
		  kernel_is_path(path) ? kernel_error_text(r) : "is no file that could be read");
	return IMAGE_CODE_E_NONE;
}

static int image_code_open_file(struct image_code *c)
{
	int r = object_init(&c->object, &c->world->source, c->path, c->image->id);

	if (r || c->object.is_identified)
		return r;
	notes_add(c->world->notes, "%s: the file here is not the one with the id %s", c->path,
		  c->image->id);
	return IMAGE_CODE_E_NONE;
}

int image_code_open(struct image_code *ret, struct image_world *w, const struct image *image)
{
	const char *at = image->paths;
	int r = IMAGE_CODE_E_NONE;

	*ret = (struct image_code){.world = w, .image = image, .object = OBJECT_NONE};
	if (!at)
		notes_add(w->notes, "%s: which file it is, the profile does not say", image->name);
	else if (at[0] == '[')
		return image_code_open_kernel(ret, at);
	while (at && *at && r == IMAGE_CODE_E_NONE) {
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

static int image_code_kernel_names(struct image_code *c, const uint64_t *addresses, size_t n,
				   image_code_visit visit, void *context)
{
	uint64_t shift = c->kernel->start - c->image->tstart;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		struct image_place place = {.name = "", .start = addresses[i], .size = 1};
		struct symtab_symbol symbol;

		if (kernel_part_find(c->kernel, addresses[i] + shift, &symbol))
			place = (struct image_place){
				.name = symbol.name,
				.start = symbol.start - shift,
				.size = symbol.size,
			};
		r = visit(context, i, &place);
	}
	return r;
}

int image_code_names(struct image_code *c, const uint64_t *addresses, size_t n,
		     image_code_visit visit, void *context)
{
	int r = 0;

	if (c->kernel)
		return image_code_kernel_names(c, addresses, n, visit, context);
	for (size_t at = 0; !r && at < n;) {
		size_t n_asked = n - at < WORKER_ADDRESSES_MAX ? n - at : WORKER_ADDRESSES_MAX;
		struct answer_names answer;

		/* Without lines: the function around the address, whatever is inlined there. */
		r = object_query_names(&c->object, false, addresses + at, n_asked, &answer);
		for (size_t i = 0; !r && i < n_asked; i++) {
			const struct worker_location *l = &answer.locations[i];
			struct image_place place = {.name = "", .start = l->start, .size = l->size};

			if (l->n_frames)
				place.name = answer.text +
					     answer.frames[l->first_frame + l->n_frames - 1].name;
			r = visit(context, at + i, &place);
		}
		at += n_asked;
	}
	return r;
}

int image_code_instructions(struct image_code *c, const struct worker_range *range, uint32_t flags,
			    struct answer_code *ret)
{
	if (c->kernel) {
		*ret = (struct answer_code){.text = ""};
		return IMAGE_CODE_E_OK;
	}
	return object_code(&c->object, range, flags, ret);
}

struct making {
	struct procedures *made;
	size_t n_allocated;
	const struct image *image;
	size_t nameless; /* index + 1 of that without a name; 0: none yet */
};

void procedures_deinit(struct procedures *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->all[i].name);
	free(p->all);
	*p = (struct procedures){0};
}

/* Addresses ascend: it is the last function again, a new one, or none. */
static int procedures_add_count(void *context, size_t i, const struct image_place *place)
{
	struct making *m = context;
	struct procedures *made = m->made;
	bool is_named = *place->name;
	size_t at = is_named ? made->n : m->nameless; /* + 1 */

	if (!at ||
	    (is_named && (!*made->all[at - 1].name || made->all[at - 1].start != place->start))) {
		struct procedure new = {.start = is_named ? place->start : 0,
					.size = is_named ? place->size : 0};

		if (text_copy(&new.name, place->name) ||
		    room_append(&made->all, &m->n_allocated, &made->n, new)) {
			free(new.name);
			return -ENOMEM;
		}
		at = made->n;
		if (!is_named)
			m->nameless = at;
	}
	made->all[at - 1].count += m->image->counts[i].count;
	return 0;
}

static int procedures_compare_counts(const void *a, const void *b)
{
	const struct procedure *x = a, *y = b;

	return order_of(y->count, x->count) ?:
		strcmp(x->name, y->name) ?:
		order_of(x->start, y->start);
}

int procedures_init(struct procedures *ret, struct image_code *code, const struct image *image)
{
	cleanup(freep) uint64_t *addresses = calloc(image->n_counts + 1, sizeof(*addresses));
	struct making m = {.made = ret, .image = image};
	int r;

	*ret = (struct procedures){0};
	if (!addresses)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < image->n_counts; i++)
		addresses[i] = image->tstart + image->counts[i].offset;
	r = image_code_names(code, addresses, image->n_counts, procedures_add_count, &m);
	if (ret->n)
		qsort(ret->all, ret->n, sizeof(*ret->all), procedures_compare_counts);
	return r;
}
