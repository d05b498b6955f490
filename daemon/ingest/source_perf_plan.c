/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/source_perf_plan.h"

#include "common/cleanup.h"
#include "common/clock.h"

#define KIB           UINT64_C(1024)
#define RING_MOST     (256 * 1024 * KIB)
#define RECORD_BYTES  512 /* besides the stack: registers, some fifty kernel frames */
#define RECORDS_LEAST 8   /* a ring for fewer loses them as soon as profd is busy elsewhere */
#define TICKS_MOST    (1 * NS_PER_MS)

static uint64_t wanted_bytes(uint64_t ticks, uint64_t stack_bytes)
{
	uint64_t records = 2 * (ticks < TICKS_MOST ? ticks : TICKS_MOST);

	if (records < RECORDS_LEAST)
		records = RECORDS_LEAST;
	return records * (RECORD_BYTES + stack_bytes);
}

struct perf_plan perf_plan_make(uint64_t most, uint64_t ticks)
{
	static const uint32_t sizes[] = {48 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 0};
	struct perf_plan plan = {0};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t wanted = wanted_bytes(ticks, sizes[i]), bytes = PERF_PLAN_RING_LEAST;

		while (bytes < wanted && bytes * 2 <= most && bytes < RING_MOST)
			bytes *= 2;
		plan = (struct perf_plan){.ring_bytes = bytes, .stack_bytes = sizes[i]};
		if (bytes >= wanted)
			break;
	}
	if (plan.ring_bytes > most)
		return (struct perf_plan){0};
	return plan;
}
