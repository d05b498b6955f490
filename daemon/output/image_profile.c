/* SPDX-License-Identifier: MIT */
/*
 * Two steps from a leaf to a file: the image (by its id) and then the file's name, because two
 * images can have one name: copies of a file with one build id. Offsets are collected as they
 * come and sorted once. Waits have no part in it.
 */
#include "daemon/output/image_profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/frame.h"
#include "common/order.h"
#include "common/profile/image_profile.h"
#include "common/room.h"
#include "common/store/names.h"
#include "daemon/output/places.h"

#define KERNEL_BIT (UINT64_C(1) << 63)
#define ID_ANON    UINT64_C(0) /* images and kernel images begin with 1 */
#define ID_UNKNOWN KERNEL_BIT
#define PATHS_MAX  16 /* one image in every container has as many paths */

struct known_image {
	uint64_t id;
	struct image_part *part;
	UT_hash_handle hh;
};

void image_parts_free(struct image_parts *parts)
{
	struct known_image *image, *next_image;
	struct image_part *part, *next_part;

	if (!parts)
		return;
	HASH_ITER (hh, parts->images, image, next_image) {
		HASH_DEL(parts->images, image);
		free(image);
	}
	HASH_ITER (hh, parts->files, part, next_part) {
		HASH_DEL(parts->files, part);
		free(part->name);
		image_profile_free(part->profile);
		free(part);
	}
	free(parts);
}

/* What a file is made of; texts borrowed. */
struct file_spec {
	const char *name; /* unescaped: the image's, or "anon@host" */
	const char *id;   /* NULL: anon and unknown, which have none in their name */
	const char *path;
	uint64_t tstart, tsize;
};

static char *image_part_file_name(const struct image_parts *parts, const struct file_spec *spec)
{
	char name[NAMES_IMAGE_MAX + 1], event[64 + 1], *ret;
	int n;

	names_escape(spec->name, NAMES_IMAGE_MAX, name);
	names_escape(parts->snapshot->event, 40, event);
	if (spec->id)
		n = asprintf(&ret, "%s.%s.%s", name, spec->id, event);
	else
		n = asprintf(&ret, "%s.%s", name, event);
	return n < 0 ? NULL : ret;
}

static int image_part_set_text(char **text, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return error_origin(-ENOMEM);
	free(*text);
	*text = copy;
	return 0;
}

/* All but the epoch and the counts. */
static int image_part_fill(const struct image_parts *parts, const struct file_spec *spec,
			   struct image_profile *p)
{
	p->period = parts->snapshot->period;
	p->tstart = spec->tstart;
	p->cpuspeed_mhz = parts->c->cpuspeed_mhz;
	p->cpucount = parts->c->cpucount;
	return image_part_set_text(&p->image, spec->id ? spec->id : "0")
		       ?: image_part_set_text(&p->platform, parts->c->host)
		       ?: image_part_set_text(&p->event, parts->snapshot->event)
		       ?: (spec->path ? image_part_set_text(&p->path, spec->path) : 0);
}

static int image_parts_get_file(struct image_parts *parts, const struct file_spec *spec,
				struct image_part **ret)
{
	cleanup(freep) char *name = image_part_file_name(parts, spec);
	struct image_part *part;
	int r;

	if (!name)
		return error_origin(-ENOMEM);
	HASH_FIND_STR(parts->files, name, part);
	if (!part) {
		part = calloc(1, sizeof(*part));
		if (!part)
			return error_origin(-ENOMEM);
		part->name = steal_ptr(&name);
		HASH_ADD_KEYPTR(hh, parts->files, part->name, strlen(part->name), part);
		r = image_profile_new(&part->profile)
			    ?: image_part_fill(parts, spec, part->profile);
		if (r)
			return r;
		/* Two lines in the header would be two paths. */
		for (char *p = part->profile->path; p && *p; p++)
			if (*p == '\n')
				*p = '?';
	}
	if (spec->tsize > part->profile->tsize)
		part->profile->tsize = spec->tsize;
	*ret = part;
	return 0;
}

static int image_parts_get_special(struct image_parts *parts, const char *what,
				   struct image_part **ret)
{
	cleanup(freep) char *name = NULL;

	if (asprintf(&name, "%s@%s", what, parts->c->host) < 0) {
		name = NULL;
		return error_origin(-ENOMEM);
	}
	return image_parts_get_file(parts, &(struct file_spec){.name = name, .tsize = 1}, ret);
}

static int image_parts_get_kernel(struct image_parts *parts, const struct kernel_image *image,
				  struct image_part **ret)
{
	char id[ELF_BUILD_ID_TEXT];
	struct file_spec spec = {
		.name = image->file,
		.id = id,
		.path = image->name,
		.tsize = image->end - image->start,
	};

	elf_build_id_print(image->build_id, image->build_id_length, id);
	if (!image->build_id_length)
		image_id_of_kernel(image->file, parts->c->release, id);
	return image_parts_get_file(parts, &spec, ret);
}

static void image_part_id(const struct image *image, const struct elf_summary *elf,
			  char ret[ELF_BUILD_ID_TEXT])
{
	elf_build_id_print(elf->build_id, elf->build_id_length, ret);
	if (!elf->build_id_length)
		image_id_of_file(image->path, image->size, image->mtime_ns, ret);
}

static int image_parts_get_image(struct image_parts *parts, const struct image *image,
				 const struct elf_summary *elf, struct image_part **ret)
{
	const char *slash = strrchr(image->path, '/');
	char id[ELF_BUILD_ID_TEXT];
	struct file_spec spec = {
		.name = slash && slash[1] ? slash + 1 : image->path,
		.id = id,
		.path = image->path,
	};
	uint64_t end;

	if (!elf_summary_text(elf, &spec.tstart, &end) || end <= spec.tstart)
		return image_parts_get_special(parts, "unknown", ret);
	spec.tsize = end - spec.tstart;
	image_part_id(image, elf, id);
	return image_parts_get_file(parts, &spec, ret);
}

/* Which image @place belongs to, and the offset in it; unknown unless all of it can be told. */
static uint64_t image_parts_classify(const struct place *place, uint64_t *ret_offset)
{
	uint64_t start, end;

	*ret_offset = 0;
	if (place->kind == PLACE_KERNEL && place->kernel->is_known) {
		*ret_offset = place->vaddr - place->kernel->start;
		return *ret_offset <= UINT32_MAX ? place->kernel->id | KERNEL_BIT : ID_UNKNOWN;
	}
	if (place->kind != PLACE_IMAGE)
		return ID_UNKNOWN;
	if (place->mapping->image->kind == IMAGE_ANON)
		return ID_ANON;
	if (!place->has_vaddr || !elf_summary_text(place->elf, &start, &end) ||
	    place->vaddr < start || place->vaddr >= end || place->vaddr - start > UINT32_MAX)
		return ID_UNKNOWN;
	*ret_offset = place->vaddr - start;
	return place->mapping->image->id;
}

static int image_parts_find_file(struct image_parts *parts, const struct place *place, uint64_t id,
				 struct image_part **ret)
{
	struct known_image *known;
	int r;

	HASH_FIND(hh, parts->images, &id, sizeof(id), known);
	if (known) {
		*ret = known->part;
		return 0;
	}
	if (id == ID_ANON)
		r = image_parts_get_special(parts, "anon", ret);
	else if (id == ID_UNKNOWN)
		r = image_parts_get_special(parts, "unknown", ret);
	else if (id & KERNEL_BIT)
		r = image_parts_get_kernel(parts, place->kernel, ret);
	else
		r = image_parts_get_image(parts, place->mapping->image, place->elf, ret);
	if (r)
		return r;
	known = calloc(1, sizeof(*known));
	if (!known)
		return error_origin(-ENOMEM);
	known->id = id;
	known->part = *ret;
	HASH_ADD(hh, parts->images, id, sizeof(known->id), known);
	return 0;
}

/* Appends; a count beyond 32 bits is an overflow that no epoch can hold. */
static int image_part_add_count(struct image_part *part, uint64_t offset, uint64_t n)
{
	struct image_profile *p = part->profile;

	p->total += n;
	if (p->total > UINT32_MAX)
		return IMAGE_PROFILE_E_OVERFLOW;
	return room_append(&p->counts, &part->capacity, &p->n_counts,
			   (struct image_profile_count){.offset = (uint32_t)offset,
							.count = (uint32_t)n});
}

DEFINE_ORDER(count_compare_offset, struct image_profile_count, order_of(x->offset, y->offset))

static void image_profile_sort_counts(struct image_profile *p)
{
	size_t kept = 0;

	qsort(p->counts, p->n_counts, sizeof(*p->counts), count_compare_offset);
	for (size_t i = 1; i < p->n_counts; i++) {
		if (p->counts[i].offset == p->counts[kept].offset)
			p->counts[kept].count += p->counts[i].count;
		else
			p->counts[++kept] = p->counts[i];
	}
	p->n_counts = kept + 1;
}

static int image_part_compare_name(const struct image_part *a, const struct image_part *b)
{
	return strcmp(a->name, b->name);
}

/* An interpreter's frames are in no file: the leaf is the native frame of its loop. */
static uint32_t image_leaf(const struct stack *stack)
{
	uint32_t i = 0;

	while (!stack->n_kernel && i < stack->n_frames &&
	       frame_kind(stack->frames[i]) == FRAME_RUNTIME)
		i++;
	return i;
}

int image_parts_new(struct image_parts **ret, const struct context *c, const struct view *view)
{
	cleanup(image_parts_freep) struct image_parts *parts = calloc(1, sizeof(*parts));
	int r;

	if (!parts)
		return error_origin(-ENOMEM);
	parts->c = c;
	parts->snapshot = view->snapshot;
	for (size_t i = 0; i < view->n_entries; i++) {
		const struct view_entry *e = &view->entries[i];
		uint64_t id, offset;
		struct place place;
		struct image_part *part;

		if (view_is_wait(e))
			continue;
		r = places_frame(view->places, e, image_leaf(&e->stack), c->kernel, c->symbols,
				 &place);
		if (r)
			return r;
		id = image_parts_classify(&place, &offset);
		r = image_parts_find_file(parts, &place, id, &part)
			    ?: image_part_add_count(part, offset, e->entry->count);
		if (r)
			return r;
	}
	HASH_SRT(hh, parts->files, image_part_compare_name);
	for (struct image_part *part = parts->files; part; part = part->hh.next)
		image_profile_sort_counts(part->profile);
	*ret = steal_ptr(&parts);
	return 0;
}

int image_part_encode(const struct image_part *part, const char *epoch, const char *ledger,
		      struct image_profile *old, uint8_t **ret, size_t *ret_length)
{
	struct image_profile *new = part->profile, *p = old ? old : new;
	int r;

	if (p->period != new->period || p->tstart != new->tstart ||
	    strcmp(p->event, new->event) != 0 || strcmp(p->image, new->image) != 0)
		return IMAGE_PROFILE_E_MISMATCH;
	if (new->tsize > p->tsize)
		p->tsize = new->tsize;
	r = old ? image_profile_add(old, new->counts, new->n_counts)
		: image_part_set_text(&new->epoch, epoch);
	if (!r && new->path)
		r = image_profile_add_line(&p->path, new->path, strlen(new->path), PATHS_MAX);
	if (!r && ledger)
		r = image_part_set_text(&p->ledger, ledger);
	return r ? r : image_profile_write(p, ret, ret_length);
}
