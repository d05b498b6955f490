/* SPDX-License-Identifier: MIT */
/*
 * Records of perf rings, and lists of CPUs. Input: one record; its length field is made to fit
 * every second time.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpus.h"
#include "daemon/ingest/perf_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

static void check_event(const uint8_t *record, size_t length)
{
	struct process_event event;

	if (perf_record_process_event(record, length, &event) != PERF_RECORD_E_OK)
		return;
	if (event.kind >= N_PROCESS_EVENTS || !memchr(event.comm, 0, sizeof(event.comm)))
		abort();
	if (event.kind == PROCESS_EVENT_MMAP && strlen(event.map.path) >= length)
		abort();
}

static void check_sample(const uint8_t *record, size_t length, uint64_t sample_type)
{
	static struct perf_sample sample;
	const uint8_t *end = record + length;

	if (perf_record_sample(record, length, sample_type, &sample) != PERF_RECORD_E_OK)
		return;
	if (sample.n_kernel > SAMPLE_FRAMES_MAX || (!sample.has_user && sample.registers.known))
		abort();
	if (sample.stack_length &&
	    (sample.stack < record || sample.stack_length > (size_t)(end - sample.stack)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	uint8_t *copy;
	uint16_t size = (uint16_t)length;
	struct cpus cpus;

	cpus_parse(data, length, &cpus);
	if (length > UINT16_MAX)
		return 0;
	copy = malloc(length ? length : 1);
	if (!copy)
		return 0;
	if (length)
		memcpy(copy, data, length);
	if (length >= 8 && data[5] & 1)
		memcpy(copy + 6, &size, sizeof(size));
	check_event(copy, length);
	check_sample(copy, length, PERF_RECORD_SAMPLE_TYPE);
	check_sample(copy, length, PERF_RECORD_SAMPLE_TYPE | PERF_SAMPLE_STACK_USER);
	free(copy);
	return 0;
}
