/* SPDX-License-Identifier: MIT */
/*
 * A spot is told from others by its address and what it lies in. They keep their numbers: samples
 * go by these.
 */
#include "daemon/output/pprof_spots.h"

#include <errno.h>

#include "common/error.h"
#include "common/frame.h"
#include "common/order.h"
#include "common/room.h"
#include "daemon/resolve/jit_files.h"

void spots_init(struct spots *s)
{
	profile_hash_key_init(&s->hash_key);
}

void spots_deinit(struct spots *s)
{
	free(s->all);
	free(s->n_generated);
	profile_table_deinit(&s->table);
}

/* What tells spots apart besides the address: whose mapping, or which kernel image. */
static const void *spot_owner(const struct place *place)
{
	return place->kind == PLACE_NAMED    ? (const void *)place->name
	       : place->kind == PLACE_KERNEL ? (const void *)place->kernel
					     : place->mapping;
}

/* A process that was forked shares the mappings of its parent, but makes other code there. */
static int spots_is_spot(const void *owner, uint32_t index, const void *key)
{
	const struct spots *s = owner;
	const struct place *a = &s->all[index], *b = key;

	return a->address == b->address && spot_owner(a) == spot_owner(b) &&
	       a->generated == b->generated && a->code == b->code && a->line == b->line;
}

static uint32_t spots_find(const struct spots *s, const struct place *spot, uint32_t *ret_hash)
{
	const uint64_t words[] = {spot->address, (uintptr_t)spot_owner(spot), (uintptr_t)spot->code,
				  spot->line};

	*ret_hash = profile_hash(&s->hash_key, words, sizeof(words));
	return profile_table_find(&s->table, *ret_hash, spots_is_spot, s, spot);
}

static int spots_add(struct spots *s, const struct place *spot, uint32_t *ret)
{
	uint32_t hash;
	int r;

	*ret = spots_find(s, spot, &hash);
	if (*ret != PROFILE_NONE)
		return 0;
	*ret = (uint32_t)s->n;
	r = profile_table_reserve(&s->table) ?: room_append(&s->all, &s->capacity, &s->n, *spot);
	if (!r)
		profile_table_insert(&s->table, hash, *ret);
	return r;
}

/* Whether the process has had all that it may have, as @spot would be one more. */
static int spots_are_enough(struct spots *s, size_t max, const struct snapshot *snapshot,
			    const struct snapshot_process *process, const struct place *spot,
			    bool *ret)
{
	size_t i = (size_t)(process - snapshot->processes);
	uint32_t hash;

	*ret = false;
	if (spot->kind != PLACE_IMAGE || !jit_file_is_for(spot->mapping->image) ||
	    i >= snapshot->n_processes || spots_find(s, spot, &hash) != PROFILE_NONE)
		return 0;
	if (!s->n_generated)
		s->n_generated = calloc(snapshot->n_processes, sizeof(*s->n_generated));
	if (!s->n_generated)
		return error_origin(-ENOMEM);
	*ret = s->n_generated[i] >= max;
	s->n_generated[i] += !*ret;
	return 0;
}

static bool is_in_loop(uint64_t frame)
{
	return frame_kind(frame) == FRAME_RUNTIME && frame & FRAME_RUNTIME_LOOP;
}

bool spots_has_frame(const struct view_entry *e, uint32_t i)
{
	return i <= e->stack.n_kernel || !is_in_loop(e->stack.frames[i - 1]);
}

/* An interpreter's frame, with the native one of its loop if that is the next one. */
static int spots_place_code(const struct context *c, const struct view *view,
			    const struct view_entry *e, uint32_t i, struct place *spot)
{
	struct place code = *spot;
	int r = 0;

	if (is_in_loop(e->stack.frames[i]) && i + 1 < e->stack.n_frames)
		r = places_frame(view->places, e, i + 1, c->kernel, c->symbols, spot);
	spot->code = code.code;
	spot->line = code.line;
	return r;
}

int spots_add_frame(struct spots *s, const struct context *c, const struct view *view,
		    const struct view_entry *e, uint32_t i, uint32_t *ret)
{
	struct place spot;
	bool enough;
	int r = places_frame(view->places, e, i, c->kernel, c->symbols, &spot);

	if (!r && spot.kind == PLACE_CODE)
		r = spots_place_code(c, view, e, i, &spot);
	if (!r)
		r = spots_are_enough(s, c->text_bytes / BYTES_OF_GENERATED_SPOT, view->snapshot,
				     e->process, &spot, &enough);
	if (r)
		return r;
	return enough ? spots_add_name(s, "[more generated code]", ret) : spots_add(s, &spot, ret);
}

int spots_add_name(struct spots *s, const char *name, uint32_t *ret)
{
	return spots_add(s, &(struct place){.kind = PLACE_NAMED, .name = name}, ret);
}

/* Which image it is in: the same number, the same image; 0: in none. */
static uint64_t spots_image(const struct place *place)
{
	if (place->kind == PLACE_KERNEL)
		return place->kernel->id | UINT64_C(1) << 63;
	return place->kind == PLACE_IMAGE ? place->mapping->image->id : 0;
}

/* Generated code has names of its own in each process. */
static uint64_t place_process_serial(const struct place *place)
{
	return place->generated ? place->generated->serial : 0;
}

static int spots_compare_image(const void *a, const void *b, void *userdata)
{
	const struct spots *s = userdata;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct place *x = &s->all[i], *y = &s->all[j];

	return order_of(spots_image(x), spots_image(y))
		       ?: order_of(place_process_serial(x), place_process_serial(y))
		       ?: order_of(i, j); /* in order of appearance */
}

int spots_by_image(const struct spots *s, uint32_t **ret, size_t *ret_n)
{
	uint32_t *order = calloc(s->n + 1, sizeof(*order));

	if (!order)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < s->n; i++)
		order[i] = i;
	qsort_r(order, s->n, sizeof(*order), spots_compare_image, (void *)(uintptr_t)s);
	*ret = order;
	*ret_n = s->n;
	return 0;
}

size_t spots_run_length(const struct spots *s, const uint32_t *order, size_t n)
{
	const struct place *first = &s->all[order[0]];
	size_t i = 1;

	while (i < n && spots_image(&s->all[order[i]]) == spots_image(first) &&
	       s->all[order[i]].generated == first->generated)
		i++;
	return i;
}
