/* SPDX-License-Identifier: MIT */
/* What a profile says of the files that its samples lie in: see pprof_spots.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/room.h"
#include "common/worker/answer.h"
#include "daemon/output/pprof_spots.h"

#define PATH_BYTES 256

/* An image or a jit file of which there is something to say; the same pointer is the same file. */
struct pprof_file {
	const void *file;
	const char *path;
	const struct go_build *go; /* or NULL */
	bool is_bad;
};

struct pprof_files {
	struct pprof_file *all;
	size_t n, capacity;
};

static void pprof_files_deinit(struct pprof_files *f)
{
	free(f->all);
}

static int pprof_files_compare(const void *a, const void *b)
{
	const struct pprof_file *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order)
		return order;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Each file once. */
static void pprof_files_sort(struct pprof_files *f)
{
	size_t kept = 0;

	if (f->n)
		qsort(f->all, f->n, sizeof(*f->all), pprof_files_compare);
	for (size_t i = 0; i < f->n; i++)
		if (!kept || f->all[i].file != f->all[kept - 1].file)
			f->all[kept++] = f->all[i];
	f->n = kept;
}

static int pprof_files_add(struct pprof_files *f, const struct pprof_file *file)
{
	int r;

	if (!file->is_bad && !file->go)
		return 0;
	r = room_make(&f->all, &f->capacity, f->n + 1, sizeof(*f->all));
	if (r)
		return r;
	f->all[f->n++] = *file;
	return 0;
}

static int pprof_files_add_jit(struct pprof_files *f, const struct jit_file *file)
{
	return file ? pprof_files_add(f, &(struct pprof_file){.file = file,
							      .path = file->path,
							      .is_bad = atomic_load(&file->is_bad)})
		    : 0;
}

static int pprof_files_add_place(struct pprof_files *f, const struct place *place)
{
	const struct image *image = place->kind == PLACE_IMAGE ? place->mapping->image : NULL;
	int r = 0;

	if (image)
		r = pprof_files_add(f, &(struct pprof_file){.file = image,
							    .path = image->path,
							    .go = image_go(image),
							    .is_bad = atomic_load(&image->is_bad)});
	if (!r && place->generated)
		r = pprof_files_add_jit(f, place->generated->jitdump);
	if (!r && place->generated)
		r = pprof_files_add_jit(f, place->generated->perf_map);
	return r;
}

/* With the longest texts, a path and the words between them. */
#define BUILD_BYTES (sizeof(struct go_build) + PATH_BYTES + 128)

/* A text ends where the next field may begin: what has a space in it would tell of others. */
static int comment_field_length(const char *text)
{
	return (int)strcspn(text, " ");
}

static void describe_build(const struct pprof_file *file, char ret[BUILD_BYTES])
{
	const struct go_build *go = file->go;
	char path[PATH_BYTES + 1];

	text_clean(file->path, strlen(file->path), path, PATH_BYTES);
	snprintf(ret, BUILD_BYTES, "# profd go build:%s%.*s%s%.*s%s%.*s%s go=%.*s file=%s",
		 go->module[0] ? " module=" : "", comment_field_length(go->module), go->module,
		 go->version[0] ? " version=" : "", comment_field_length(go->version), go->version,
		 go->revision[0] ? " revision=" : "", comment_field_length(go->revision),
		 go->revision, go->is_modified ? " modified=true" : "",
		 comment_field_length(go->go), go->go, path);
}

/* The same program in several containers is several files, and one line. */
static int pprof_comment_builds(const struct pprof_files *f, struct profile *p)
{
	char line[BUILD_BYTES], before[BUILD_BYTES] = "";
	unsigned n = 0;
	int r = 0;

	for (size_t i = 0; i < f->n && n < PPROF_BUILDS_MAX && !r; i++) {
		if (!f->all[i].go)
			continue;
		describe_build(&f->all[i], line);
		if (strcmp(line, before) == 0)
			continue;
		r = profile_add_comment(p, line);
		memcpy(before, line, sizeof(line));
		n++;
	}
	return r;
}

static int pprof_comment_bad_files(const struct pprof_files *f, struct profile *p)
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
		const struct pprof_file *file = &f->all[i];

		if (!file->is_bad)
			continue;
		text_clean(file->path, strlen(file->path), path, PATH_BYTES);
		snprintf(line, sizeof(line), "# profd bad image: %s", path);
		r = profile_add_comment(p, line);
		told++;
	}
	return r;
}

int pprof_comment_files(const struct spots *spots, const uint32_t *order, size_t n,
			struct profile *p)
{
	cleanup(pprof_files_deinit) struct pprof_files files = {0};
	int r = 0;

	for (size_t i = 0; i < n && !r; i += spots_run_length(spots, order + i, n - i))
		r = pprof_files_add_place(&files, &spots->all[order[i]]);
	if (r)
		return r;
	pprof_files_sort(&files);
	r = pprof_comment_builds(&files, p);
	return r ? r : pprof_comment_bad_files(&files, p);
}
