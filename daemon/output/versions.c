/* SPDX-License-Identifier: MIT */
#include "daemon/output/versions.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"
#include "common/worker/answer.h"
#include "daemon/output/symbols.h"

#define DIGITS    12 /* of a revision or build id */
#define TRIES_MAX 5  /* windows in which a package is looked for */

static void version_copy(const char *text, char ret[VERSION_SIZE])
{
	text_clean(text, strlen(text), ret, VERSION_SIZE - 1);
}

static void version_of_go(const struct go_build *go, char ret[VERSION_SIZE])
{
	char revision[VERSION_SIZE];

	if (go->version[0] && strcmp(go->version, "(devel)") != 0) {
		version_copy(go->version, ret);
		return;
	}
	if (!go->revision[0])
		return;
	snprintf(revision, sizeof(revision), "%.*s%s", DIGITS, go->revision,
		 go->is_modified ? "+dirty" : "");
	version_copy(revision, ret);
}

static void version_of_build_id(const struct elf_summary *elf, char ret[VERSION_SIZE])
{
	char id[ELF_BUILD_ID_TEXT];

	elf_build_id_print(elf->build_id, elf->build_id_length, id);
	snprintf(ret, VERSION_SIZE, "%.*s", DIGITS, id);
}

/* Of Go's four hashes the last one, which is that of the contents. */
static void version_of_go_id(const char *id, char ret[VERSION_SIZE])
{
	const char *last = strrchr(id, '/');

	snprintf(ret, VERSION_SIZE, "%.*s", DIGITS, last ? last + 1 : id);
}

/* What the file itself says of its release. */
static void version_of_file(const struct version_facts *facts, char ret[VERSION_SIZE])
{
	ret[0] = '\0';
	if (facts->release && facts->release->version[0])
		version_copy(facts->release->version, ret);
	else if (facts->go)
		version_of_go(facts->go, ret);
}

void version_choose(const struct version_facts *facts, char ret[VERSION_SIZE])
{
	version_of_file(facts, ret);
	if (ret[0])
		return;
	if (facts->package && facts->package[0])
		version_copy(facts->package, ret);
	else if (facts->elf && facts->elf->build_id_length)
		version_of_build_id(facts->elf, ret);
	else if (facts->release)
		version_of_go_id(facts->release->go_id, ret);
}

static int version_set(struct image *program, const char *package)
{
	const struct version_facts facts = {image_elf(program), image_go(program),
					    image_release(program), package};
	char version[VERSION_SIZE];

	version_choose(&facts, version);
	return image_set_version(program, version);
}

/* --- of a window ------------------------------------------------------------------------------ */

static bool version_needs_package(const struct image *program)
{
	const struct version_facts facts = {image_elf(program), image_go(program),
					    image_release(program), ""};
	char version[VERSION_SIZE];

	version_of_file(&facts, version);
	return !version[0] && facts.elf && symbols_may_be_packaged(program->path);
}

DEFINE_ORDER(version_compare_programs, struct symbols_package,
	     order_of((uintptr_t)x->program, (uintptr_t)y->program))

/* The programs without a version, each once. *ret: malloc'ed, the caller's. */
static int version_list_programs(const struct snapshot *snapshot, struct symbols_package **ret,
				 size_t *ret_n)
{
	struct symbols_package *all = calloc(snapshot->n_processes + 1, sizeof(*all));
	size_t n = 0, n_kept = 0;

	if (!all)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		struct image *program = snapshot->processes[i].program;

		if (program && !image_version(program))
			all[n++].program = program;
	}
	if (n)
		qsort(all, n, sizeof(*all), version_compare_programs);
	for (size_t i = 0; i < n; i++)
		if (!i || all[i].program != all[i - 1].program)
			all[n_kept++].program = all[i].program;
	*ret = all;
	*ret_n = n_kept;
	return 0;
}

/* Of those whose files say their version, or that are of no package. Keeps the others (*n). */
static int version_set_plain(struct symbols *s, struct symbols_package *all, size_t *n)
{
	size_t n_kept = 0;
	int r = 0;

	for (size_t i = 0; i < *n && !r; i++) {
		struct image *program = all[i].program;

		r = symbols_headers(s, program);
		if (r || !image_has_headers(program))
			continue;
		if (version_needs_package(program))
			all[n_kept++].program = program;
		else
			r = version_set(program, "");
	}
	*n = n_kept;
	return r;
}

/* What could not be found out is tried again with the next window, or given up. */
static int version_use_package(const struct symbols_package *p)
{
	if (!p->is_known && ++p->program->version_tries < TRIES_MAX)
		return 0;
	return version_set(p->program, p->version);
}

int versions_find(struct symbols *s, const struct snapshot *snapshot)
{
	cleanup(freep) struct symbols_package *all = NULL;
	size_t n = 0;
	int r;

	if (!(snapshot->labels & LABEL_VERSION))
		return 0;
	r = version_list_programs(snapshot, &all, &n)
		    ?: version_set_plain(s, all, &n)
		    ?: symbols_find_packages(s, all, n);
	for (size_t i = 0; i < n && !r; i++)
		r = version_use_package(&all[i]);
	return r;
}
