/* SPDX-License-Identifier: MIT */
#include "daemon/output/pprof_spots.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "common/error.h"

#define SLOTS_MIN 256u

struct spots {
	struct spot *spots;
	uint32_t n, capacity;
	/* Open addressing; a slot holds the spot's index + 1. Addresses are strangers' choice. */
	uint32_t *slots;
	uint32_t n_slots; /* power of two */
	uint64_t seed;
};

int spots_new(struct spots **ret)
{
	cleanup(spots_freep) struct spots *s = calloc(1, sizeof(*s));

	if (!s)
		return error_origin(-ENOMEM);
	s->slots = calloc(SLOTS_MIN, sizeof(*s->slots));
	if (!s->slots)
		return error_origin(-ENOMEM);
	s->n_slots = SLOTS_MIN;
	if (getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) != sizeof(s->seed))
		s->seed = (uint64_t)(uintptr_t)s;
	*ret = steal_ptr(&s);
	return 0;
}

void spots_free(struct spots *s)
{
	if (!s)
		return;
	free(s->spots);
	free(s->slots);
	free(s);
}

/* What tells spots apart besides the address: whose mapping, or which kernel image. */
static uint64_t spot_owner(const struct spot *spot)
{
	if (spot->fixed_name)
		return (uint64_t)(uintptr_t)spot->fixed_name;
	if (spot->place.kind == PLACE_KERNEL)
		return (uint64_t)(uintptr_t)spot->place.kernel;
	return (uint64_t)(uintptr_t)spot->place.mapping;
}

/* A process that was forked shares the mappings of its parent, but makes other code there. */
static bool spot_equal(const struct spot *a, const struct spot *b)
{
	return a->place.address == b->place.address && spot_owner(a) == spot_owner(b) &&
	       a->place.generated == b->place.generated;
}

static uint32_t spot_hash(const struct spots *s, const struct spot *spot)
{
	unsigned __int128 product = (unsigned __int128)(spot_owner(spot) ^ s->seed) *
				    (spot->place.address ^ UINT64_C(0x9e3779b97f4a7c15));
	uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);

	return (uint32_t)((folded * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static uint32_t *spots_probe(const struct spots *s, const struct spot *spot)
{
	for (uint32_t i = spot_hash(s, spot);; i++) {
		uint32_t *slot = &s->slots[i & (s->n_slots - 1)];
		const struct spot *other = *slot ? &s->spots[*slot - 1] : NULL;

		if (!other || spot_equal(other, spot))
			return slot;
	}
}

static int spots_grow(struct spots *s)
{
	if (s->n == s->capacity) {
		uint32_t bigger = s->capacity ? s->capacity * 2 : SLOTS_MIN;
		struct spot *moved = reallocarray(s->spots, bigger, sizeof(*moved));

		if (!moved)
			return error_origin(-ENOMEM);
		s->spots = moved;
		s->capacity = bigger;
	}
	if ((uint64_t)s->n * 4 >= (uint64_t)s->n_slots * 3) {
		uint32_t *slots;

		if (s->n_slots > UINT32_MAX / 2)
			return error_origin(-E2BIG);
		slots = calloc((size_t)s->n_slots * 2, sizeof(*slots));
		if (!slots)
			return error_origin(-ENOMEM);
		free(s->slots);
		s->slots = slots;
		s->n_slots *= 2;
		for (uint32_t i = 0; i < s->n; i++)
			*spots_probe(s, &s->spots[i]) = i + 1;
	}
	return 0;
}

static int spots_add(struct spots *s, const struct spot *spot, uint32_t *ret)
{
	uint32_t *slot = spots_probe(s, spot);
	int r;

	if (!*slot) {
		r = spots_grow(s);
		if (r)
			return r;
		s->spots[s->n++] = *spot;
		slot = spots_probe(s, spot); /* empty still, unless the table has moved */
		*slot = s->n;
	}
	*ret = *slot - 1;
	return 0;
}

int spots_add_user(struct spots *s, const struct view *view, const struct view_entry *e,
		   uint64_t frame, struct symbols *symbols, uint32_t *ret)
{
	struct spot spot = {0};
	int r = places_user(view->places, e, frame, symbols, &spot.place);

	return r ? r : spots_add(s, &spot, ret);
}

int spots_add_kernel(struct spots *s, const struct kernel_images *kernel, uint64_t address,
		     uint32_t *ret)
{
	struct spot spot = {0};

	places_kernel(kernel, address, &spot.place);
	return spots_add(s, &spot, ret);
}

int spots_add_name(struct spots *s, enum spot_name name, uint32_t *ret)
{
	static const char *const names[] = {"[kernel]", "[unknown]"};
	struct spot spot = {.fixed_name = names[name]};

	return spots_add(s, &spot, ret);
}

const struct spot *spots_get(const struct spots *s, uint32_t i)
{
	return &s->spots[i];
}

size_t spots_count(const struct spots *s)
{
	return s->n;
}

uint64_t spots_image(const struct spot *spot)
{
	const struct place *place = &spot->place;

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
	uint64_t x = spots_image(&s->spots[i]), y = spots_image(&s->spots[j]);

	if (x != y)
		return x < y ? -1 : 1;
	if (place_process_serial(&s->spots[i].place) != place_process_serial(&s->spots[j].place))
		return place_process_serial(&s->spots[i].place) <
				       place_process_serial(&s->spots[j].place)
			       ? -1
			       : 1;
	return i < j ? -1 : i > j; /* in order of appearance */
}

int spots_by_image(const struct spots *s, uint32_t **ret, size_t *ret_n)
{
	uint32_t *order = calloc(s->n ? s->n : 1, sizeof(*order));

	if (!order)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < s->n; i++)
		order[i] = i;
	qsort_r(order, s->n, sizeof(*order), spots_compare_image, (void *)(uintptr_t)s);
	*ret = order;
	*ret_n = s->n;
	return 0;
}
