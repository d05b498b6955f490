/* SPDX-License-Identifier: MIT */
/*
 * One array: first the open mappings, sorted and disjoint, so that a look-up in the newest
 * generation is one binary search; behind them the closed ones in order of their end. Those are
 * few (dlclose and dlopen at one address), and bounded: past CLOSED_MAX the oldest are forgotten.
 */
#include "daemon/resolve/mappings.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition_point.h"
#include "common/room.h"

#define OPEN_MAX        4096
#define CLOSED_MAX      512
#define GENERATIONS_MAX 512
/* For one more: what ends is moved, two parts of it may stay, and there is the new one. */
#define ADD_ROOM 4

struct mappings {
	atomic_uint n_references;
	struct mapping *all;
	uint32_t n_open, n_all;
	size_t capacity;
	uint32_t version;
	/*
	 * Generation base + 1 + i began at began_ns[i]; base is the oldest that is known, and
	 * almost always the only one: then there is no array.
	 */
	uint32_t base, n_began;
	uint64_t *began_ns;
};

int mappings_new(struct mappings **ret)
{
	struct mappings *m = calloc(1, sizeof(*m));

	if (!m)
		return error_origin(-ENOMEM);
	m->n_references = 1;
	*ret = m;
	return 0;
}

DEFINE_REF(mappings)

void mappings_unref(struct mappings *m)
{
	if (!m || atomic_fetch_sub(&m->n_references, 1) != 1)
		return;
	for (uint32_t i = 0; i < m->n_all; i++)
		image_unref(m->all[i].image);
	free(m->all);
	free(m->began_ns);
	free(m);
}

static int mappings_unshare(struct mappings **m)
{
	cleanup(mappings_unrefp) struct mappings *copy = NULL;
	struct mappings *old = *m;
	int r;

	if (atomic_load(&old->n_references) == 1)
		return 0;
	r = mappings_new(&copy);
	if (r)
		return r;
	copy->capacity = old->n_all + ADD_ROOM;
	copy->all = malloc(copy->capacity * sizeof(*copy->all));
	copy->began_ns = old->n_began ? malloc(GENERATIONS_MAX * sizeof(*copy->began_ns)) : NULL;
	if (!copy->all || (old->n_began && !copy->began_ns))
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < old->n_all; i++) {
		copy->all[i] = old->all[i];
		image_ref(copy->all[i].image);
	}
	if (old->n_began)
		memcpy(copy->began_ns, old->began_ns, old->n_began * sizeof(*copy->began_ns));
	copy->n_open = old->n_open;
	copy->n_all = old->n_all;
	copy->version = old->version;
	copy->base = old->base;
	copy->n_began = old->n_began;
	mappings_unref(old);
	*m = steal_ptr(&copy);
	return 0;
}

/* Index of the first open mapping that ends after @address. */
static uint32_t first_ending_after(const struct mappings *m, uint64_t address)
{
	return partition_point(m->n_open, i, m->all[i].end <= address);
}

static uint32_t newest_generation(const struct mappings *m)
{
	return m->base + m->n_began;
}

static int next_generation(struct mappings *m, uint64_t time_ns)
{
	if (!m->began_ns) {
		m->began_ns = malloc(GENERATIONS_MAX * sizeof(*m->began_ns));
		if (!m->began_ns)
			return error_origin(-ENOMEM);
	}
	if (m->n_began == GENERATIONS_MAX) {
		memmove(m->began_ns, m->began_ns + 1, (GENERATIONS_MAX - 1) * sizeof(*m->began_ns));
		m->base++;
		m->n_began--;
	}
	m->began_ns[m->n_began++] = time_ns;
	return 0;
}

/* There is room, see mappings_add(). */
static void mappings_insert(struct mappings *m, uint32_t at, const struct mapping *mapping)
{
	memmove(&m->all[at + 1], &m->all[at], (m->n_all - at) * sizeof(*m->all));
	m->all[at] = *mapping;
	image_ref(m->all[at].image);
	m->n_all++;
}

static void mappings_erase(struct mappings *m, uint32_t at)
{
	image_unref(m->all[at].image);
	m->n_all--;
	memmove(&m->all[at], &m->all[at + 1], (m->n_all - at) * sizeof(*m->all));
}

static void insert_open(struct mappings *m, uint32_t at, const struct mapping *mapping)
{
	mappings_insert(m, at, mapping);
	m->n_open++;
}

static void push_closed(struct mappings *m, const struct mapping *closed)
{
	if (m->n_all - m->n_open == CLOSED_MAX)
		mappings_erase(m, m->n_open);
	mappings_insert(m, m->n_all, closed);
}

static bool both_anonymous(const struct mapping *a, const struct mapping *b)
{
	return a->image->kind == IMAGE_ANON && b->image->kind == IMAGE_ANON;
}

/* Whether @old over the overlap already says what @new says. */
static bool mapping_agrees(const struct mapping *old, const struct mapping *new)
{
	return both_anonymous(old, new) ||
	       (old->image == new->image && old->start - old->offset == new->start - new->offset);
}

/*
 * Ends the open mapping @at in favour of [start, end): what it covers outside stays open. Returns
 * the number of open mappings before @at's successor.
 */
static uint32_t close_mapping(struct mappings *m, uint32_t at, uint64_t start, uint64_t end)
{
	struct mapping old = m->all[at], closed = old;
	uint32_t generation = newest_generation(m), next = at;

	closed.until = generation;
	push_closed(m, &closed);
	mappings_erase(m, at);
	m->n_open--;
	if (old.start < start) {
		struct mapping left = old;

		left.end = start;
		left.from = generation;
		insert_open(m, next++, &left);
	}
	if (old.end > end && m->n_open < OPEN_MAX) {
		struct mapping right = old;

		right.start = end;
		right.offset += end - old.start;
		right.from = generation;
		insert_open(m, next, &right);
	}
	return next;
}

/* Ends all that disagrees with @new; *ret_any tells whether there was something. */
static int close_conflicts(struct mappings *m, const struct mapping *new, uint64_t time_ns,
			   bool *ret_any)
{
	uint32_t at = first_ending_after(m, new->start);
	int r;

	*ret_any = false;
	while (at < m->n_open && m->all[at].start < new->end) {
		if (mapping_agrees(&m->all[at], new)) {
			at++;
			continue;
		}
		if (!*ret_any) {
			r = next_generation(m, time_ns);
			if (r)
				return r;
		}
		*ret_any = true;
		at = close_mapping(m, at, new->start, new->end);
	}
	return 0;
}

/*
 * Makes one mapping of @added and the agreeing open mapping @at. What the old one said of earlier
 * generations is kept as a closed mapping.
 */
static void mappings_merge(struct mappings *m, uint32_t at, struct mapping *added)
{
	struct mapping old = m->all[at];

	if (old.start < added->start) {
		if (!both_anonymous(&old, added))
			added->offset -= added->start - old.start;
		added->start = old.start;
	}
	if (old.end > added->end)
		added->end = old.end;
	if (old.from < added->from) {
		old.until = added->from;
		push_closed(m, &old);
	} else {
		added->from = old.from;
	}
	mappings_erase(m, at);
	m->n_open--;
}

int mappings_add(struct mappings **ret, const struct mapping *new, uint64_t time_ns, bool full)
{
	struct mapping added = *new;
	bool conflict = false;
	struct mappings *m;
	uint32_t at = first_ending_after(*ret, new->start);
	int r;

	m = *ret;
	if (at < m->n_open && m->all[at].start <= new->start &&
	    m->all[at].end >= new->end &&mapping_agrees(&m->all[at], new))
		return MAPPINGS_E_OK;
	full = full || m->n_open >= OPEN_MAX;
	if (full && (at == m->n_open || m->all[at].start >= new->end))
		return MAPPINGS_E_FULL;
	r = mappings_unshare(ret);
	if (r)
		return r;
	m = *ret;
	r = room_make(&m->all, &m->capacity, m->n_all + ADD_ROOM, sizeof(*m->all));
	if (r)
		return r;
	m->version++;
	r = close_conflicts(m, new, time_ns, &conflict);
	if (r)
		return r;
	if (full)
		return MAPPINGS_E_FULL;

	/* What is left in the way agrees; anonymous neighbours agree, too. */
	added.from = conflict ? newest_generation(m) : 0;
	added.until = GENERATION_OPEN;
	at = first_ending_after(m, added.start);
	if (at > 0 && m->all[at - 1].end == added.start && both_anonymous(&m->all[at - 1], &added))
		at--;
	while (at < m->n_open &&
	       (m->all[at].start < added.end ||
		(m->all[at].start == added.end && both_anonymous(&m->all[at], &added)))) {
		mappings_merge(m, at, &added);
	}
	insert_open(m, at, &added);
	return MAPPINGS_E_OK;
}

uint32_t mappings_generation(const struct mappings *m, uint64_t time_ns)
{
	for (uint32_t i = m->n_began; i > 0; i--)
		if (m->began_ns[i - 1] <= time_ns)
			return m->base + i;
	return m->base;
}

const struct mapping *mappings_find(const struct mappings *m, uint32_t generation, uint64_t address)
{
	uint32_t at = first_ending_after(m, address);

	if (at < m->n_open && m->all[at].start <= address && m->all[at].from <= generation)
		return &m->all[at];
	for (at = m->n_open; at < m->n_all; at++) {
		const struct mapping *old = &m->all[at];

		if (old->from <= generation && generation < old->until && old->start <= address &&
		    address < old->end)
			return old;
	}
	return NULL;
}

const struct mapping *mappings_all(const struct mappings *m, size_t *ret_n)
{
	*ret_n = m->n_all;
	return m->all;
}

const struct mapping *mappings_get_open(const struct mappings *m, size_t *ret_n)
{
	*ret_n = m->n_open;
	return m->all;
}

uint32_t mappings_version(const struct mappings *m)
{
	return m->version;
}

size_t mappings_bytes(const struct mappings *m)
{
	return sizeof(*m) + m->capacity * sizeof(*m->all) +
	       (m->began_ns ? GENERATIONS_MAX * sizeof(*m->began_ns) : 0);
}

size_t mappings_share_bytes(const struct mappings *m)
{
	return mappings_bytes(m) / atomic_load(&m->n_references);
}
