/* SPDX-License-Identifier: MIT */
#include "client/images/procedures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/order.h"
#include "common/room.h"

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

		if (room_make(&made->all, &m->n_allocated, made->n + 1, sizeof(*made->all)))
			return -ENOMEM;
		new.name = strdup(place->name);
		if (!new.name)
			return error_origin(-ENOMEM);
		made->all[made->n++] = new;
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
