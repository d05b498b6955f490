/* SPDX-License-Identifier: MIT */
#include "client/shim/core/profile_encode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/shim/core/images.h"
#include "client/shim/core/tally.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/cpuprofile.h"

#define COMMENT_BYTES 512

static int collect_records(const struct tally *tally, struct cpuprofile_record **ret, size_t *ret_n)
{
	struct cpuprofile_record *records;
	struct tally_entry entry;
	size_t cursor = 0, n = 0;

	while (tally_next(tally, &cursor, &entry))
		n++;
	records = malloc((n + 1) * sizeof(*records));
	if (!records)
		return error_origin(-ENOMEM);
	*ret_n = 0;
	cursor = 0;
	/* Handlers go on adding: what came since is for the next time. */
	while (*ret_n < n && tally_next(tally, &cursor, &entry))
		records[(*ret_n)++] = (struct cpuprofile_record){
			.count = entry.count,
			.addresses = entry.frames,
			.n_addresses = entry.n,
		};
	*ret = records;
	return 0;
}

#define PUT_COUNTER(name)                                                                  \
	if (n >= 0 && n < COMMENT_BYTES)                                                   \
		n += snprintf(ret + n, (size_t)(COMMENT_BYTES - n), " " #name "=%" PRIu64, \
			      atomic_load(&counters->name));

static void put_counters_comment(const struct profile_counters *counters, char ret[COMMENT_BYTES])
{
	int n = snprintf(ret, COMMENT_BYTES, "# profd shim");

	PROFILE_COUNTERS(PUT_COUNTER)
}

int profile_encode(const struct tally *tally, struct images *images,
		   const struct profile_facts *facts, uint8_t **ret, size_t *ret_length)
{
	cleanup(freep) struct cpuprofile_record *records = NULL;
	struct cpuprofile profile = {
		.slot_bytes = sizeof(void *),
		.period_us = facts->period_us,
	};
	cleanup(freep) char *lines = NULL;
	char comment[COMMENT_BYTES];
	int r = collect_records(tally, &records, &profile.n_records)
			?: images_lines(images, &lines);

	if (r)
		return r;
	put_counters_comment(facts->counters, comment);
	profile.records = records;
	profile.maps = lines;
	profile.comments = comment;
	return cpuprofile_write(&profile, ret, ret_length);
}
