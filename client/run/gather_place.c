/* SPDX-License-Identifier: MIT */
/*
 * The end of a process: each address is looked up in what was mapped at its generation, and
 * becomes a location in the mapping's part of the file. The same part in another process, or at
 * another address, is the same mapping of the profile.
 */
#include <stdlib.h>

#include "client/run/gather_private.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/reasons.h"
#include "common/room.h"

/* Of mappings that lay at one address one after the other, this many are looked at. */
#define OVERLAPS_MAX 64
#define LABELS_MAX   5

static int mapping_compare_start(const void *a, const void *b)
{
	const struct mapping *m = a, *n = b;

	return order_of(m->start, n->start) ?: order_of(m->first, n->first);
}

/* What lay at @address at @generation; else what did so last. NULL: nothing ever. */
static struct mapping *gather_find_mapping(const struct gather_process *p, uint64_t address,
					   uint32_t generation)
{
	struct mapping *found = NULL;
	size_t n = partition_point(p->n_mappings, i, p->mappings[i].start <= address);

	for (size_t i = 0; i < OVERLAPS_MAX && i < n; i++) {
		struct mapping *m = &p->mappings[n - 1 - i];

		if (address >= m->end)
			continue;
		if (m->first <= generation && generation <= m->last)
			return m;
		if (!found || m->last > found->last)
			found = m;
	}
	return found;
}

static bool segment_equals(const struct segment *s, const struct segment *t)
{
	return s->offset == t->offset && s->length == t->length && s->inode == t->inode &&
	       s->device == t->device && s->path == t->path && s->owner == t->owner;
}

static int add_mapping_build_id(struct gather *g, const struct mapping *m, const char *path,
				uint32_t *ret)
{
	char id[GATHER_ID_SIZE] = "";
	int r = 0;

	if (g->world.find_id && m->inode)
		r = g->world.find_id(g->world.userdata, path, m->device, m->inode, id);
	return r ?: profile_add_text(g->profile, id, ret);
}

static bool gather_knows_memory(struct gather_process *p)
{
	const struct gather_world *world = &p->gather->world;

	if (!p->is_asked)
		p->knows_memory = world->knows_memory &&
				  world->knows_memory(world->userdata, p->pid);
	p->is_asked = true;
	return p->knows_memory;
}

/*
 * Memory that is no file's is nowhere else. The kernel and the process may tell of it one after the
 * other, in an order of their own: then it is here twice, and one mapping all the same.
 */
static int place_mapping(struct gather_process *p, struct mapping *m)
{
	struct gather *g = p->gather;
	struct profile_mapping made = {
		.start = m->start,
		.limit = m->end,
		.offset = m->inode ? m->offset : m->start,
	};
	bool is_own = !m->inode && gather_knows_memory(p);
	struct segment segment = {
		.device = m->device,
		.inode = m->inode,
		.offset = made.offset,
		.length = m->end - m->start,
		.owner = is_own ? g->n_processes : 0,
	};
	int r = profile_add_text(g->profile, profile_string(p->raw, m->path), &made.path);

	if (r)
		return r;
	segment.path = made.path;
	for (size_t i = g->n_segments; i; i--) {
		if (!segment_equals(&g->segments[i - 1], &segment))
			continue;
		m->placed = g->segments[i - 1].mapping;
		m->is_placed = true;
		return 0;
	}
	r = add_mapping_build_id(g, m, profile_string(p->raw, m->path), &made.build_id)
		    ?: profile_append_mapping(g->profile, &made, &m->placed);
	if (!r && is_own)
		r = g->world.tell_memory(g->world.userdata, m->placed);
	if (r)
		return r;
	m->is_placed = true;
	segment.mapping = m->placed;
	return room_append(&g->segments, &g->max_segments, &g->n_segments, segment);
}

static int locate_address(struct gather_process *p, uint64_t address, uint32_t generation,
			  uint32_t *ret)
{
	struct mapping *m = gather_find_mapping(p, address, generation);
	struct profile *profile = p->gather->profile;
	int r;

	if (!m)
		return profile_add_location(profile, PROFILE_NONE, address, NULL, 0, ret);
	r = m->is_placed ? 0 : place_mapping(p, m);
	if (r)
		return r;
	address += profile->mappings[m->placed].start - m->start;
	return profile_add_location(profile, m->placed, address, NULL, 0, ret);
}

static int append_label(struct profile *p, const char *key, const char *text,
			struct profile_label *labels, uint32_t *n)
{
	struct profile_label *label = &labels[*n];
	int r;

	if (!text || !*text)
		return 0;
	*label = (struct profile_label){0};
	r = profile_add_text(p, key, &label->key) ?: profile_add_text(p, text, &label->str);
	*n += !r;
	return r;
}

/* How the stack ended, unless at its root. */
static int append_stack_labels(struct profile *profile, const struct profile_label *raw,
			       struct profile_label *labels, uint32_t *n)
{
	static const char *const truncated[] = {TRUNCATED_REASONS(REASON_NAME)};
	static const char *const broken[] = {BROKEN_REASONS(REASON_NAME)};
	const char *quality, *reason;

	if (raw[RAW_QUALITY].num == STACK_TRUNCATED) {
		quality = "truncated";
		reason = truncated[raw[RAW_REASON].num];
	} else if (raw[RAW_QUALITY].num == STACK_BROKEN) {
		quality = "broken";
		reason = broken[raw[RAW_REASON].num];
	} else {
		return 0;
	}
	return append_label(profile, "stack", quality, labels, n)
		       ?: append_label(profile, "reason", reason, labels, n);
}

/* Named as in profd's own files. */
static int make_sample_labels(struct gather_process *p, const struct profile_label *raw,
			      struct profile_label labels[LABELS_MAX], uint32_t *ret_n)
{
	struct profile *profile = p->gather->profile;

	labels[0] = (struct profile_label){.num = p->pid};
	*ret_n = 1;
	return profile_add_text(profile, "pid", &labels[0].key) ?:
	       append_label(profile, "comm", p->comm, labels, ret_n) ?:
	       append_label(profile, "thread", profile_string(p->raw, raw[RAW_THREAD].str), labels, ret_n) ?:
	       append_stack_labels(profile, raw, labels, ret_n);
}

static int place_sample(struct gather_process *p, size_t i)
{
	const struct profile_sample *s = &p->raw->samples[i];
	const struct profile_label *raw = &p->raw->sample_labels[s->first_label];
	struct profile_label labels[LABELS_MAX];
	uint32_t locations[RING_FRAMES_MAX], n_labels;
	int r = make_sample_labels(p, raw, labels, &n_labels);

	for (uint32_t j = 0; j < s->n_locations && !r; j++) {
		uint32_t location = p->raw->sample_locations[s->first_location + j];

		r = locate_address(p, p->raw->locations[location].address,
				   (uint32_t)raw[RAW_GENERATION].num, &locations[j]);
	}
	return r ? r
		 : profile_add_sample(p->gather->profile, locations, s->n_locations,
				      &p->raw->sample_values[i * 2], labels, n_labels);
}

static void add_ledger(struct ring_ledger *sum, const struct ring_ledger *ledger)
{
#define ADD(name) sum->name += ledger->name;
	RING_COUNTERS(ADD)
	ADD(taken)
	ADD(malformed)
	ADD(torn)
#undef ADD
}

int gather_finish(struct gather_process *p, const struct ring_ledger *ledger)
{
	struct gather *g = p->gather;
	int r = 0;

	add_ledger(&g->ledger, ledger);
	g->n_processes++;
	g->n_sampled += p->weight != 0;
	if (p->weight > g->program_weight) {
		free(g->program);
		g->program = steal_ptr(&p->program);
		g->program_weight = p->weight;
	}
	if (p->n_mappings)
		qsort(p->mappings, p->n_mappings, sizeof(*p->mappings), mapping_compare_start);
	for (size_t i = 0; i < p->raw->n_samples && !r; i++)
		r = place_sample(p, i);
	profile_clear_samples(p->raw);
	return gather_keep_error(g, r);
}
