/* SPDX-License-Identifier: MIT */
/* A window as text: how many samples each process has. */
#include "daemon/output/counts.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/error.h"
#include "common/memory_text.h"

#define COUNTS_MAX 4096

int counts_add(struct writing *g, const struct view_group *group, const char *dir)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	uint64_t sum = 0;
	int r = memory_text_open(&text);

	if (r)
		return r;
	for (size_t i = 0; i < group->n; i++) {
		const struct view_entry *e = &g->view->entries[group->first + i];

		fprintf(text.out, "%d %" PRIu64 "\n", (int)e->process->pid, e->entry->count);
		sum += e->entry->count;
	}
	return memory_text_close(&text)
		       ?: encoders_add_window(g, dir, CONTENTS_COUNTS, NULL,
					      (struct index_counts){.samples = sum},
					      (const uint8_t *)text.text, text.length);
}

int counts_count(struct store *store, const char *path, struct index_counts *ret)
{
	cleanup(freep) uint8_t *data = NULL;
	cleanup(freep) char *text = NULL;
	uint64_t sum = 0;
	size_t length;
	int r = store_read(store->fd, path, COUNTS_MAX, &data, &length);

	if (r)
		return r;
	text = strndup((const char *)data, length);
	if (!text)
		return error_origin(-ENOMEM);
	for (char *rest, *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		uint64_t count = 0;

		sscanf(line, "%*d %" SCNu64, &count);
		sum += count;
	}
	ret->samples = sum;
	return 0;
}
