/* SPDX-License-Identifier: MIT */
/*
 * What a profile says of the files that its samples lie in (pprof_spots.h): a line for each thing
 * that there is to say, sorted, so that the same file, met in several processes, has it once.
 */
#include <stdio.h>
#include <string.h>

#include "common/profile/file_ids.h"
#include "common/text_print.h"
#include "common/worker/answer.h"
#include "daemon/output/pprof_spots.h"

#define BAD   "# profd bad image: "
#define BUILD "# profd go build:"

#define PATH_BYTES FILE_IDS_PATH_MAX
/* With the longest texts, a path and the words between them. */
#define LINE_BYTES (sizeof(struct go_build) + PATH_BYTES + 128)

/* A text ends where the next field may begin: what has a space in it would tell of others. */
static int comment_field_length(const char *text)
{
	return (int)strcspn(text, " ");
}

static void describe_build(const struct go_build *go, const char *path, char ret[LINE_BYTES])
{
	snprintf(ret, LINE_BYTES, BUILD "%s%.*s%s%.*s%s%.*s%s go=%.*s file=%s",
		 go->module[0] ? " module=" : "", comment_field_length(go->module), go->module,
		 go->version[0] ? " version=" : "", comment_field_length(go->version), go->version,
		 go->revision[0] ? " revision=" : "", comment_field_length(go->revision),
		 go->revision, go->is_modified ? " modified=true" : "",
		 comment_field_length(go->go), go->go, path);
}

/* @go: NULL if it is no Go program. */
static int pprof_lines_add_file(struct texts *l, const char *path, const struct go_build *go,
				bool is_bad)
{
	char clean[PATH_BYTES + 1], line[LINE_BYTES];
	int r = 0;

	text_clean(path, strlen(path), clean, PATH_BYTES);
	if (is_bad) {
		snprintf(line, sizeof(line), BAD "%s", clean);
		r = texts_add(l, strdup(line));
	}
	if (!r && go) {
		describe_build(go, clean, line);
		r = texts_add(l, strdup(line));
	}
	return r;
}

/* What its mapping has no room for (common/profile/file_ids.h). */
static int pprof_lines_add_ids(struct texts *l, const struct image *image)
{
	static const uint8_t none[ELF_HTLHASH_BYTES];
	const struct elf_release *release = image_release(image);
	char gnu[ELF_BUILD_ID_TEXT], htlhash[ELF_BUILD_ID_TEXT] = "", path[PATH_BYTES + 1];

	if (!release)
		return 0;
	if (memcmp(release->htlhash, none, sizeof(none)) != 0)
		elf_build_id_print(release->htlhash, sizeof(release->htlhash), htlhash);
	if (!*htlhash && !*release->go_id)
		return 0;
	elf_build_id_print(image_elf(image)->build_id, image_elf(image)->build_id_length, gnu);
	text_clean(image->path, strlen(image->path), path, PATH_BYTES);
	return texts_add(l, file_ids_print(&(struct file_ids){
				    .htlhash = htlhash,
				    .go = release->go_id,
				    .gnu = gnu,
				    .path = path,
			    }));
}

static int pprof_lines_add_jit(struct texts *l, const struct jit_file *file)
{
	return file ? pprof_lines_add_file(l, file->path, NULL, atomic_load(&file->is_bad)) : 0;
}

static int pprof_lines_add_place(struct texts *l, const struct place *place)
{
	const struct image *image = place->kind == PLACE_IMAGE ? place->mapping->image : NULL;
	int r = image ? pprof_lines_add_file(l, image->path, image_go(image),
					     atomic_load(&image->is_bad))
				?: pprof_lines_add_ids(l, image)
		      : 0;

	if (r || !place->generated)
		return r;
	return pprof_lines_add_jit(l, place->generated->jitdump)
		       ?: pprof_lines_add_jit(l, place->generated->perf_map);
}

/* Those that begin with @beginning, each once, at most @max; *ret_n: how many there are. */
static int pprof_lines_write(const struct texts *l, const char *beginning, size_t max,
			     struct profile *p, size_t *ret_n)
{
	int r = 0;

	*ret_n = 0;
	for (size_t i = 0; i < l->n && !r; i++) {
		if (strncmp(l->all[i], beginning, strlen(beginning)) != 0 ||
		    (i && strcmp(l->all[i], l->all[i - 1]) == 0))
			continue;
		if ((*ret_n)++ < max)
			r = profile_add_comment(p, l->all[i]);
	}
	return r;
}

int pprof_comment_files(const struct spots *spots, const uint32_t *order, size_t n,
			struct profile *p)
{
	cleanup(texts_deinit) struct texts lines = {0};
	size_t n_builds, n_ids, n_bad;
	char ledger[64];
	int r = 0;

	for (size_t i = 0; i < n && !r; i += spots_run_length(spots, order + i, n - i))
		r = pprof_lines_add_place(&lines, &spots->all[order[i]]);
	if (r)
		return r;
	texts_sort(&lines, 0);
	r = pprof_lines_write(&lines, BUILD, PPROF_BUILDS_MAX, p, &n_builds)
		    ?: pprof_lines_write(&lines, FILE_IDS_LINE, PPROF_IDS_MAX, p, &n_ids)
		    ?: pprof_lines_write(&lines, BAD, PPROF_BAD_MAX, p, &n_bad);
	if (r || !n_bad)
		return r;
	snprintf(ledger, sizeof(ledger), "# profd ledger: bad_images=%zu", n_bad);
	return profile_add_comment(p, ledger);
}
