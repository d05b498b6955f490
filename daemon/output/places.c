/* SPDX-License-Identifier: MIT */
/*
 * The index: a process's mappings by (image, outside of the generation, offset). Ranges of one
 * image may overlap (it was mapped twice), so each also knows how far those before it reach: the
 * search goes back from the last range that begins at or before the offset until none can hold it.
 *
 * Entries come process by process and generation by generation, so one index at a time is enough,
 * and it is made only where there is a frame that needs it.
 */
#include "daemon/output/places.h"

#include <errno.h>

#include "common/frame.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/room.h"

#define KIND_MASK (UINT64_C(0xf) << 60)

struct places_range {
	const struct mapping *mapping;
	uint64_t end;   /* offset in the image */
	uint64_t reach; /* the highest end of this and those before it of its image and rank */
	unsigned rank;  /* 0: valid in the generation; 1: before or after it */
};

/* Equal offsets: the lowest address last, as the search goes backwards. */
static int places_compare_range(const void *a, const void *b)
{
	const struct places_range *x = a, *y = b;

	return order_of(x->mapping->image->id, y->mapping->image->id)
		       ?: order_of(x->rank, y->rank)
		       ?: order_of(x->mapping->offset, y->mapping->offset)
		       ?: order_of(y->mapping->start, x->mapping->start);
}

static bool places_same_group(const struct places_range *a, const struct places_range *b)
{
	return a->mapping->image == b->mapping->image && a->rank == b->rank;
}

static int places_make_index(struct places *p, const struct mappings *mappings, uint32_t generation)
{
	const struct mapping *all;
	size_t n;

	p->mappings = NULL;
	p->n_ranges = 0;
	all = mappings_all(mappings, &n);
	if (room_make(&p->ranges, &p->capacity, n, sizeof(*p->ranges)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		/* Anonymous memory has no offsets. */
		if (all[i].image->kind == IMAGE_ANON)
			continue;
		p->ranges[p->n_ranges++] = (struct places_range){
			.mapping = &all[i],
			.end = all[i].offset + (all[i].end - all[i].start),
			.rank = !mapping_is_valid(&all[i], generation),
		};
	}
	if (p->n_ranges)
		qsort(p->ranges, p->n_ranges, sizeof(*p->ranges), places_compare_range);
	for (size_t i = 0; i < p->n_ranges; i++) {
		struct places_range *r = &p->ranges[i];

		r->reach = r->end;
		if (i && places_same_group(r, r - 1) && r[-1].reach > r->reach)
			r->reach = r[-1].reach;
	}
	p->mappings = mappings;
	p->generation = generation;
	return 0;
}

/* Whether @r comes behind everything of (@image, @rank) that begins at or before @offset. */
static bool places_is_behind(const struct places_range *r, uint64_t image, unsigned rank,
			     uint64_t offset)
{
	if (r->mapping->image->id != image)
		return r->mapping->image->id > image;
	if (r->rank != rank)
		return r->rank > rank;
	return r->mapping->offset > offset;
}

static const struct mapping *places_search(const struct places *p, uint64_t image, unsigned rank,
					   uint64_t offset)
{
	size_t n = partition_point(p->n_ranges, i,
				   !places_is_behind(&p->ranges[i], image, rank, offset));

	for (; n; n--) {
		const struct places_range *r = &p->ranges[n - 1];

		if (r->mapping->image->id != image || r->rank != rank || r->reach <= offset)
			break;
		if (r->end > offset)
			return r->mapping;
	}
	return NULL;
}

static int places_find_in_image(struct places *p, const struct view_entry *e, uint64_t frame,
				const struct mapping **ret)
{
	const struct mappings *mappings = e->process->mappings;
	uint32_t generation = e->entry->generation;
	int r;

	*ret = NULL;
	if (!mappings)
		return 0;
	if (p->mappings != mappings || p->generation != generation) {
		r = places_make_index(p, mappings, generation);
		if (r)
			return r;
	}
	for (unsigned rank = 0; rank < 2 && !*ret; rank++)
		*ret = places_search(p, frame_image(frame), rank, frame_offset(frame));
	return 0;
}

/* The mapping of @frame (NULL: none is known), and its address. */
static int places_find(struct places *p, const struct view_entry *e, uint64_t frame,
		       const struct mapping **ret, uint64_t *ret_address)
{
	int r;

	if (frame_kind(frame) != FRAME_IMAGE) {
		/* [vsyscall] lies in the kernel's half, and is no kernel frame. */
		*ret_address = frame_kind(frame) == FRAME_KERNEL ? frame : frame & ~KIND_MASK;
		*ret = e->process->mappings ? mappings_find(e->process->mappings,
							    e->entry->generation, *ret_address)
					    : NULL;
		return 0;
	}
	r = places_find_in_image(p, e, frame, ret);
	if (r)
		return r;
	*ret_address = *ret ? frame_offset(frame) - (*ret)->offset + (*ret)->start : frame;
	return 0;
}

/*
 * The headers of an image, NULL if there are none. The [vdso] is one image for all processes, which
 * has none of its own; that of 64-bit ones is the host's.
 */
static int places_get_headers(const struct view_entry *e, struct image *image,
			      struct symbols *symbols, const struct elf_summary **ret)
{
	struct image *program = e->process->program;
	int r = symbols_headers(symbols, image);

	*ret = image_elf(image);
	if (r || *ret || image->kind != IMAGE_VDSO)
		return r;
	r = program ? symbols_headers(symbols, program) : 0;
	if (!r && program && image_elf(program) && image_elf(program)->pointer_bytes != 8)
		return 0;
	*ret = symbols_vdso(symbols);
	return r;
}

static int places_native(struct places *p, const struct view_entry *e, uint64_t frame,
			 struct symbols *symbols, struct place *ret)
{
	const struct mapping *m;
	int r = places_find(p, e, frame, &m, &ret->address);

	if (r || !m)
		return r;
	ret->kind = PLACE_IMAGE;
	ret->mapping = m;
	ret->file_offset = ret->address - m->start + m->offset;
	if ((e->process->perf_map || e->process->jitdump) && jit_file_is_for(m->image))
		ret->generated = e->process;
	r = places_get_headers(e, m->image, symbols, &ret->elf);
	ret->has_vaddr = ret->elf && elf_summary_vaddr(ret->elf, ret->file_offset, &ret->vaddr);
	return r;
}

static void places_kernel(const struct kernel_images *kernel, uint64_t address, struct place *ret)
{
	*ret = (struct place){
		.address = address,
		.kernel = kernel_images_find(kernel, address),
		.has_vaddr = true,
		.vaddr = address,
	};
	ret->kind = ret->kernel ? PLACE_KERNEL : PLACE_NOWHERE;
}

static int places_code(struct places *p, const struct view_entry *e, uint64_t frame,
		       struct symbols *symbols, struct place *ret)
{
	(void)e, (void)symbols;
	ret->code = p->codes ? code_names_find(p->codes, frame, &ret->line) : NULL;
	ret->kind = ret->code ? PLACE_CODE : PLACE_NAMED;
	if (!ret->code)
		ret->name = "[unknown code]";
	return 0;
}

/* --- kinds of frames -------------------------------------------------------------------------- */

/* Another kind is a row. What has none is an address, whatever is in its top bits. */
static frame_placer *const frame_placers[FRAME_KINDS] = {
	[FRAME_USER] = places_native,
	[FRAME_IMAGE] = places_native,
	[FRAME_RUNTIME] = places_code,
	[FRAME_KERNEL] = places_native, /* of the process: [vsyscall] */
};

int places_frame(struct places *p, const struct view_entry *e, uint32_t i,
		 const struct kernel_images *kernel, struct symbols *symbols, struct place *ret)
{
	frame_placer *place;
	uint64_t frame;

	*ret = (struct place){.kind = PLACE_NOWHERE};
	if (i >= e->stack.n_frames)
		return 0;
	frame = e->stack.frames[i];
	if (i < e->stack.n_kernel) {
		places_kernel(kernel, frame, ret);
		return 0;
	}
	place = frame_placers[frame_kind(frame)] ?: places_native;
	return place(p, e, frame, symbols, ret);
}
