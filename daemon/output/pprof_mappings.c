/* SPDX-License-Identifier: MIT */
/*
 * One image may lie at another address in each process: the segment that was seen first becomes the
 * mapping, and addresses of the others are moved into it (see the model in pprof.c). By convention
 * the first mapping is the main program's, so it is made before any spot is placed.
 */
#include <errno.h>
#include <unistd.h>

#include "common/error.h"
#include "common/room.h"
#include "daemon/output/pprof_spots.h"

void pprof_mappings_deinit(struct pprof_mappings *m)
{
	free(m->segments);
	profile_table_deinit(&m->table);
}

static uint64_t page_floor(uint64_t value)
{
	return value & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

static uint64_t page_ceil(uint64_t value)
{
	return page_floor(value + (uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

/*
 * What the whole mapping says, when there is no better. Anonymous memory has no offsets; but
 * readers that merge take two mappings for one that are equal in file, length and offset (go tool
 * pprof), so it is given one that nothing else has: where it lies.
 */
static struct pprof_segment segment_of_mapping(const struct mapping *m)
{
	struct pprof_segment s = {
		.image = m->image->id,
		.offset = m->offset,
		.length = m->end - m->start,
		.start = m->start,
	};

	if (m->image->kind == IMAGE_ANON)
		s.offset = m->start;
	return s;
}

/*
 * The segment of @place and where its process has it. The kernel maps whole pages (mmap of
 * PT_LOAD), and a mapping may be a part only (mprotect): the segment tells start and length.
 */
static struct pprof_segment segment_of_place(const struct place *place)
{
	const struct mapping *m = place->mapping;
	struct pprof_segment s = segment_of_mapping(m);

	if (m->image->kind == IMAGE_ANON || !place->elf)
		return s;
	for (uint32_t i = 0; i < place->elf->n_segments; i++) {
		const struct elf_segment *e = &place->elf->segments[i];
		uint64_t offset = page_floor(e->offset);
		uint64_t end = page_ceil(e->offset + e->file_size);
		uint64_t back = m->offset - offset; /* may wrap: the segment begins behind */

		if (!e->executable || place->file_offset < offset || place->file_offset >= end ||
		    end < offset)
			continue;
		if (offset < m->offset && back > m->start)
			continue;
		s.offset = offset;
		s.length = end - offset;
		s.start = m->start - back;
		break;
	}
	return s;
}

static int pprof_segments_equal(const void *owner, uint32_t index, const void *key)
{
	const struct pprof_segment *a = &((const struct pprof_mappings *)owner)->segments[index];
	const struct pprof_segment *b = key;

	return a->image == b->image && a->offset == b->offset && a->length == b->length;
}

/* Finds the segment like @segment, or makes a mapping of @path of it. @segment is that one then. */
static int pprof_segment_get(struct pprof_mappings *m, struct profile *p,
			     struct pprof_segment *segment, const char *path,
			     const uint8_t *build_id, size_t build_id_length)
{
	const uint64_t words[] = {segment->image, segment->offset, segment->length};
	struct profile_mapping mapping = {
		.start = segment->start,
		.limit = segment->start + segment->length,
		.offset = segment->offset,
	};
	char hex[ELF_BUILD_ID_TEXT];
	uint32_t hash, found;
	int r;

	if (!m->n_segments)
		profile_hash_key_init(&m->hash_key);
	hash = profile_hash(&m->hash_key, words, sizeof(words));
	found = profile_table_find(&m->table, hash, pprof_segments_equal, m, segment);
	if (found != PROFILE_NONE) {
		*segment = m->segments[found];
		return 0;
	}
	elf_build_id_print(build_id, build_id_length, hex);
	r = profile_add_text(p, path, &mapping.path) ?:
	    profile_add_text(p, hex, &mapping.build_id) ?:
	    profile_add_mapping(p, &mapping, &segment->mapping) ?:
	    profile_table_reserve(&m->table) ?:
	    room_append(&m->segments, &m->capacity, &m->n_segments, *segment);
	if (!r)
		profile_table_insert(&m->table, hash, (uint32_t)m->n_segments - 1);
	return r;
}

static int pprof_mappings_kernel(struct pprof_mappings *m, struct profile *p,
				 const struct kernel_image *image, uint32_t *ret)
{
	struct pprof_segment segment = {
		.image = image->id | UINT64_C(1) << 63,
		.length = image->end - image->start,
		.start = image->start,
	};
	int r = pprof_segment_get(m, p, &segment, image->name, image->build_id,
				  image->build_id_length);

	*ret = segment.mapping;
	return r;
}

int pprof_mappings_place(struct pprof_mappings *m, struct profile *p, const struct place *place,
			 uint64_t *address, uint32_t *ret)
{
	struct pprof_segment segment;
	const struct elf_summary *elf = place->elf;
	uint64_t start;
	int r;

	*ret = PROFILE_NONE;
	if (place->kind == PLACE_NOWHERE || place->kind == PLACE_NAMED || place->kind == PLACE_CODE)
		return 0;
	if (place->kind == PLACE_KERNEL)
		return pprof_mappings_kernel(m, p, place->kernel, ret);

	segment = segment_of_place(place);
	start = segment.start;
	r = pprof_segment_get(m, p, &segment, place->mapping->image->path,
			      elf ? elf->build_id : NULL, elf ? elf->build_id_length : 0);
	if (r)
		return r;
	*address = *address - start + segment.start;
	*ret = segment.mapping;
	return 0;
}

struct pprof_mappings_tally {
	const struct image *program; /* NULL: kernel threads */
	const struct view_entry *e;
	uint64_t count;
};

/* The program with the most samples. *ret is untouched when none is known. */
static int find_main_program(const struct view *view, const struct view_group *group,
			     struct pprof_mappings_tally *ret)
{
	cleanup(freep) struct pprof_mappings_tally *tallies = calloc(group->n + 1,
								     sizeof(*tallies));
	size_t n = 0;

	if (!tallies)
		return error_origin(-ENOMEM);
	for (size_t i = group->first; i < group->first + group->n; i++) {
		const struct view_entry *e = &view->entries[i];
		const struct image *program = e->process->program;
		size_t at = n;

		if (!program && !e->process->kernel_thread)
			continue;
		/* Entries come process by process: it is mostly the newest one. */
		while (at && tallies[at - 1].program != program)
			at--;
		if (!at) {
			at = ++n;
			tallies[at - 1] = (struct pprof_mappings_tally){.program = program, .e = e};
		}
		tallies[at - 1].count += e->entry->count;
	}
	for (size_t i = 0; i < n; i++)
		if (tallies[i].count > ret->count)
			*ret = tallies[i];
	return 0;
}

int pprof_mappings_main(struct pprof_mappings *m, struct profile *p, const struct context *c,
			const struct view *view, const struct view_group *group)
{
	struct place place = {.kind = PLACE_IMAGE};
	const struct mapping *all;
	struct pprof_mappings_tally best = {0};
	uint64_t address;
	uint32_t ignored;
	size_t n = 0;
	int r = find_main_program(view, group, &best);

	if (r || !best.e)
		return r;
	if (!best.program)
		return view->snapshot->hide_kernel
			       ? 0
			       : pprof_mappings_kernel(m, p, kernel_images_main(c->kernel),
						       &ignored);
	if (!best.e->process->mappings)
		return 0;
	all = mappings_all(best.e->process->mappings, &n);
	for (size_t i = 0; i < n; i++) {
		if (all[i].image == best.program &&
		    mapping_is_valid(&all[i], best.e->entry->generation) &&
		    (!place.mapping || all[i].start < place.mapping->start))
			place.mapping = &all[i];
	}
	if (!place.mapping)
		return 0;
	r = symbols_headers(c->symbols, best.e->process->program);
	if (r)
		return r;
	place.file_offset = place.mapping->offset;
	place.elf = image_elf(best.program);
	address = place.mapping->start;
	return pprof_mappings_place(m, p, &place, &address, &ignored);
}
