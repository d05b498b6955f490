/* SPDX-License-Identifier: MIT */
/*
 * Recordings. Input: a file. What decodes must be sane, and encode to the very same bytes, but for
 * flags and numbers that have no meaning yet.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ingest/replay_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

static void check(const struct replay_record *record, const uint8_t *data, size_t used)
{
	static uint8_t bytes[REPLAY_RECORD_MAX];
	size_t length;

	switch (record->type) {
	case REPLAY_SAMPLER:
		length = replay_encode_sampler(record->sampler, &record->spec, bytes);
		if (length != used || memcmp(bytes + 16, data + 16, used - 16) != 0)
			abort();
		break;
	case REPLAY_SAMPLE:
		length = replay_encode_sample(&record->sample, bytes);
		if (length != used || memcmp(bytes + 60, data + 60, used - 60) != 0)
			abort();
		break;
	case REPLAY_EVENT:
		length = replay_encode_event(&record->event, bytes);
		/* A path with a NUL inside ends there; what is no mapping has none. */
		if (length > used || memcmp(bytes + 8, data + 8, 36) != 0)
			abort();
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	static struct replay_record record;
	size_t at = 0, used = 0;

	replay_decode_head(data, length);
	while (replay_decode(data + at, length - at, &record, &used) == REPLAY_E_OK) {
		if (used < 8 || used > length - at)
			abort();
		check(&record, data + at, used);
		at += used;
	}
	return 0;
}
