/* SPDX-License-Identifier: MIT */
#include "daemon/output/origin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/units.h"
#include "common/utf8.h"
#include "daemon/output/stored.h"

/* The newest file of profile.proto of the services. False: there is none. */
static bool origin_find_newest(struct index *index, char path[INDEX_PATH_SIZE])
{
	uint64_t newest_s = 0;
	bool is_found = false;

	for (struct index_shelf *shelf = index->shelves; shelf; shelf = shelf->hh.next) {
		const struct index_queue *queue = index_pprof(shelf);
		const struct index_file *last = &queue->files[queue->end - 1];

		if (shelf->is_session || queue->first == queue->end || last->start_s < newest_s ||
		    !index_path(shelf, last, path, INDEX_PATH_SIZE))
			continue;
		newest_s = last->start_s;
		is_found = true;
	}
	return is_found;
}

static void origin_take_text(const char *comment, const char *name, char ret[ORIGIN_TEXT_MAX + 1])
{
	if (*ret || strncmp(comment, name, strlen(name)) != 0)
		return;
	snprintf(ret, ORIGIN_TEXT_MAX + 1, "%s", comment + strlen(name));
	utf8_make_harmless(ret, "");
}

static void origin_take_comment(struct origin *o, const char *comment)
{
	char cpus[ORIGIN_TEXT_MAX + 1] = "";
	uint64_t n;

	origin_take_text(comment, "# profd host: ", o->host);
	origin_take_text(comment, "# profd kernel: ", o->kernel);
	origin_take_text(comment, "# profd cpus: ", cpus);
	if (*cpus && !units_parse_number(cpus, &n) && n <= UINT16_MAX)
		o->n_cpus = (uint32_t)n;
}

int origin_find(struct origin *ret, struct store *store, size_t max_bytes)
{
	cleanup(stored_freep) struct stored *stored = NULL;
	char path[INDEX_PATH_SIZE];
	const struct profile *p;
	int r;

	*ret = (struct origin){0};
	if (!origin_find_newest(&store->index, path))
		return 0;
	r = stored_open(&stored, store, path, max_bytes);
	while (r == STORED_E_OK)
		r = stored_step(stored);
	if (r != STORED_E_TABLES && r != STORED_E_DONE)
		return r < 0 ? r : 0;
	p = stored_profile(stored);
	for (size_t i = 0; i < p->n_comments; i++)
		origin_take_comment(ret, profile_string(p, p->comments[i]));
	return 0;
}
