/* SPDX-License-Identifier: MIT */
/* What a profile says of the files that its samples lie in: see pprof_spots.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/room.h"
#include "common/worker/text.h"
#include "daemon/output/pprof_spots.h"

#define PATH_BYTES 256

/* An image or a jit file of which there is something to say; the same pointer is the same file. */
struct file {
	const void *file;
	const char *path;
	const struct go_build *go; /* or NULL */
	bool is_bad;
};

struct files {
	struct file *all;
	size_t n, capacity;
};

static void files_deinit(struct files *f)
{
	free(f->all);
}

static int add(struct files *f, const struct file *file)
{
	if ((!file->is_bad && !file->go) || (f->n && f->all[f->n - 1].file == file->file))
		return 0;
	if (room_make(&f->all, &f->capacity, f->n + 1, sizeof(*f->all)))
		return -ENOMEM;
	f->all[f->n++] = *file;
	return 0;
}

static int add_image(struct files *f, const struct image *image)
{
	return add(f, &(struct file){.file = image,
				     .path = image->path,
				     .go = image_go(image),
				     .is_bad = atomic_load(&image->is_bad)});
}

static int add_jit(struct files *f, const struct jit_file *file)
{
	if (!file)
		return 0;
	return add(f, &(struct file){.file = file,
				     .path = file->path,
				     .is_bad = atomic_load(&file->is_bad)});
}

static int collect(struct files *f, const struct place *place)
{
	const struct snapshot_process *generated = place->generated;
	int r = 0;

	if (place->kind == PLACE_IMAGE)
		r = add_image(f, place->mapping->image);
	if (!r && generated)
		r = add_jit(f, generated->jitdump);
	if (!r && generated)
		r = add_jit(f, generated->perf_map);
	return r;
}

static int by_path(const void *a, const void *b)
{
	const struct file *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order)
		return order;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Each file once. */
static void sort(struct files *f)
{
	size_t kept = 0;

	if (f->n)
		qsort(f->all, f->n, sizeof(*f->all), by_path);
	for (size_t i = 0; i < f->n; i++)
		if (!kept || f->all[i].file != f->all[kept - 1].file)
			f->all[kept++] = f->all[i];
	f->n = kept;
}

static int tell_build(const struct file *file, struct profile *p)
{
	const struct go_build *go = file->go;
	char line[sizeof(*go) + PATH_BYTES + 128], path[PATH_BYTES + 1];

	text_clean(file->path, strlen(file->path), path, PATH_BYTES);
	snprintf(line, sizeof(line), "# profd go build:%s%s%s%s%s%s%s go=%s file=%s",
		 go->module[0] ? " module=" : "", go->module, go->version[0] ? " version=" : "",
		 go->version, go->revision[0] ? " revision=" : "", go->revision,
		 go->is_modified ? " modified=true" : "", go->go, path);
	return profile_add_comment(p, line);
}

static int tell_builds(const struct files *f, struct profile *p)
{
	unsigned n = 0;
	int r = 0;

	for (size_t i = 0; i < f->n && n < PPROF_BUILDS_MAX && !r; i++) {
		if (!f->all[i].go)
			continue;
		r = tell_build(&f->all[i], p);
		n++;
	}
	return r;
}

static int tell_bad(const struct files *f, struct profile *p)
{
	char path[PATH_BYTES + 1], line[PATH_BYTES + 32];
	size_t n_bad = 0, told = 0;
	int r;

	for (size_t i = 0; i < f->n; i++)
		n_bad += f->all[i].is_bad;
	if (!n_bad)
		return 0;
	snprintf(line, sizeof(line), "# profd ledger: bad_images=%zu", n_bad);
	r = profile_add_comment(p, line);
	for (size_t i = 0; i < f->n && told < PPROF_BAD_MAX && !r; i++) {
		const struct file *file = &f->all[i];

		if (!file->is_bad)
			continue;
		text_clean(file->path, strlen(file->path), path, PATH_BYTES);
		snprintf(line, sizeof(line), "# profd bad image: %s", path);
		r = profile_add_comment(p, line);
		told++;
	}
	return r;
}

int pprof_tell_files(const struct spots *spots, struct profile *p)
{
	cleanup(files_deinit) struct files files = {0};
	int r = 0;

	for (size_t i = 0; i < spots_count(spots) && !r; i++)
		r = collect(&files, &spots_get(spots, (uint32_t)i)->place);
	if (r)
		return r;
	sort(&files);
	r = tell_builds(&files, p);
	return r ? r : tell_bad(&files, p);
}
