/* SPDX-License-Identifier: MIT */
#include "daemon/output/rollup_hours.h"

#include "common/store/names.h"

const uint32_t rollup_levels[ROLLUP_LEVELS] = {NAMES_ROLLED_HOUR_S, NAMES_ROLLED_DAY_S};

bool rollup_is_minute(const struct index_file *file, unsigned level)
{
	return file->stays <= level && file->seconds < rollup_levels[level];
}

uint64_t rollup_hour_of(const struct index_file *file, unsigned level)
{
	return file->start_s - file->start_s % rollup_levels[level];
}

bool rollup_next_hour(const struct index_queue *queue, struct rollup_hour *h)
{
	const struct index_file *files = queue->files;
	size_t i = h->end;

	if (i >= queue->end)
		return false;
	*h = (struct rollup_hour){.level = h->level,
				  .start_s = rollup_hour_of(&files[i], h->level),
				  .first = i};
	for (; i < queue->end && rollup_hour_of(&files[i], h->level) == h->start_s; i++) {
		h->has_failed |= files[i].failed;
		h->n += rollup_is_minute(&files[i], h->level);
	}
	h->end = i;
	return true;
}
