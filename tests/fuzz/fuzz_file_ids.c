/* SPDX-License-Identifier: MIT */
/*
 * Comments about the files of mappings (common/profile/file_ids.h): whatever they say, what is
 * found is of the mapping that was asked for, and what is written is found again.
 */
#include "common/profile/file_ids.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/profile/profile.h"

#define HASH "00112233445566778899aabbccddeeff"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void file_ids_require(int holds)
{
	if (!holds)
		abort();
}

static void check_mapping(const struct file_ids_table *t, struct profile *p, const char *gnu,
			  const char *path)
{
	struct profile_mapping m = {.limit = 1};
	const struct file_ids *ids;

	file_ids_require(!profile_add_text(p, gnu, &m.build_id));
	file_ids_require(!profile_add_text(p, path, &m.path));
	ids = file_ids_find(t, p, &m);
	file_ids_require(!ids ||
			 (strcmp(ids->gnu, gnu) == 0 && strcmp(ids->path, path) == 0 &&
			  (!*ids->htlhash || strlen(ids->htlhash) == 32) && !strchr(ids->go, ' ')));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(file_ids_deinit) struct file_ids_table t = {0};
	cleanup(freep) char *copy = strndup((const char *)data, size), *line = NULL;
	char *rest = copy, *at;

	file_ids_require(copy && !profile_new(&p));
	while ((at = strsep(&rest, "\n"))) {
		cleanup(freep) char *comment = NULL;

		file_ids_require(asprintf(&comment, FILE_IDS_LINE "%s", at) >= 0);
		file_ids_require(!profile_add_comment(p, comment));
	}
	line = file_ids_print(&(struct file_ids){HASH, "a/b/c/d", "ff", "/only here"});
	file_ids_require(line && !profile_add_comment(p, line));
	file_ids_require(!file_ids_read(&t, p));
	check_mapping(&t, p, "", "/x");
	check_mapping(&t, p, "ff", "/x");
	check_mapping(&t, p, "ff", "/only here");
	return 0;
}
