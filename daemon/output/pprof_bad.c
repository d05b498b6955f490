/* SPDX-License-Identifier: MIT */
/* Which files a profile lacks names of because an image worker died of them: see pprof_spots.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/room.h"
#include "common/worker/text.h"
#include "daemon/output/pprof_spots.h"

#define PATH_BYTES 256

/* An image or a jit file; the same pointer is the same file. */
struct bad {
	const void *file;
	const char *path;
};

struct bads {
	struct bad *all;
	size_t n, capacity;
};

static void bads_deinit(struct bads *b)
{
	free(b->all);
}

static int add(struct bads *b, const void *file, const char *path)
{
	if (b->n && b->all[b->n - 1].file == file)
		return 0;
	if (room_make(&b->all, &b->capacity, b->n + 1, sizeof(*b->all)))
		return -ENOMEM;
	b->all[b->n++] = (struct bad){.file = file, .path = path};
	return 0;
}

static int add_jit(struct bads *b, const struct jit_file *file)
{
	return file && atomic_load(&file->is_bad) ? add(b, file, file->path) : 0;
}

static int collect(struct bads *b, const struct place *place)
{
	const struct snapshot_process *generated = place->generated;
	int r = 0;

	if (place->kind == PLACE_IMAGE && atomic_load(&place->mapping->image->is_bad))
		r = add(b, place->mapping->image, place->mapping->image->path);
	if (!r && generated)
		r = add_jit(b, generated->jitdump);
	if (!r && generated)
		r = add_jit(b, generated->perf_map);
	return r;
}

static int by_path(const void *a, const void *b)
{
	const struct bad *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order)
		return order;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Each file once. */
static void sort(struct bads *b)
{
	size_t kept = 0;

	qsort(b->all, b->n, sizeof(*b->all), by_path);
	for (size_t i = 0; i < b->n; i++)
		if (!kept || b->all[i].file != b->all[kept - 1].file)
			b->all[kept++] = b->all[i];
	b->n = kept;
}

static int tell(const struct bads *b, struct profile *p)
{
	char path[PATH_BYTES + 1], line[PATH_BYTES + 32];
	int r;

	snprintf(line, sizeof(line), "# profd ledger: bad_images=%zu", b->n);
	r = profile_add_comment(p, line);
	for (size_t i = 0; i < b->n && i < PPROF_BAD_MAX && !r; i++) {
		text_clean(b->all[i].path, strlen(b->all[i].path), path, PATH_BYTES);
		snprintf(line, sizeof(line), "# profd bad image: %s", path);
		r = profile_add_comment(p, line);
	}
	return r;
}

int pprof_tell_bad(const struct spots *spots, struct profile *p)
{
	cleanup(bads_deinit) struct bads bads = {0};
	int r = 0;

	for (size_t i = 0; i < spots_count(spots) && !r; i++)
		r = collect(&bads, &spots_get(spots, (uint32_t)i)->place);
	if (r || !bads.n)
		return r;
	sort(&bads);
	return tell(&bads, p);
}
