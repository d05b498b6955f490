/* SPDX-License-Identifier: MIT */
/*
 * A ring that libprofd.so is said to have filled, and answers to its request for one. Input: four
 * bytes for the position of the head, one that says whether the process is gone, and how often
 * words are written after the first drain; then words, which lie at the beginning of the ring.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/frame.h"
#include "common/maps.h"
#include "common/reasons.h"
#include "common/shim/attach.h"
#include "common/shim/ring_reader.h"

#define FIXED  5
#define LENGTH (RING_PAGE + RING_WORDS_MIN * 8)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_sample(void *userdata, const struct ring_sample *s)
{
	uint64_t *n = userdata;

	if (!s->weight || !s->frequency || s->frequency > RING_FREQUENCY_MAX || !s->n_frames ||
	    s->n_frames > RING_FRAMES_MAX || strlen(s->comm) >= RING_COMM ||
	    s->reason >= (s->quality == STACK_COMPLETE    ? 1
			  : s->quality == STACK_TRUNCATED ? N_TRUNCATED
			  : s->quality == STACK_BROKEN    ? N_BROKEN
							  : 0))
		abort();
	for (uint32_t i = 0; i < s->n_frames; i++)
		if (frame_kind(s->frames[i]) != FRAME_USER)
			abort();
	*n += s->weight;
}

static void on_maps(void *userdata, uint32_t generation, const char *text, size_t length)
{
	const char *end = text + length;
	struct maps_line line;

	(void)userdata;
	(void)generation;
	if (!length || length > RING_MAPS_MAX || memchr(text, 0, length))
		abort();
	for (; text < end; text += line.length + 1)
		if (maps_parse(text, end, &line) &&
		    (line.start >= line.end || line.path_length > line.length))
			abort();
}

static void fill(uint8_t *memory, const uint8_t *data, size_t size)
{
	memcpy(memory + RING_PAGE, data, size < LENGTH - RING_PAGE ? size : LENGTH - RING_PAGE);
}

static void read_ring(const uint8_t *data, size_t size)
{
	uint8_t *memory = aligned_alloc(RING_PAGE, LENGTH);
	struct ring_page *page = (void *)memory;
	struct ring_reader *reader;
	struct ring_ledger ledger;
	uint64_t n = 0;
	const struct ring_sink sink = {on_sample, on_maps, &n};
	uint32_t head;

	if (!memory)
		return;
	memset(memory, 0, LENGTH);
	if (ring_reader_new(&reader, memory, LENGTH))
		abort();
	memcpy(&head, data, sizeof(head));
	fill(memory, data + FIXED, size - FIXED);
	atomic_store(&page->head, head);
	for (unsigned i = 0; i <= (data[4] >> 1) % 8u; i++) {
		ring_reader_drain(reader, 1000, false, &sink);
		fill(memory, data + FIXED, size - FIXED);
		atomic_fetch_add(&page->head, head);
	}
	if (ring_reader_drain(reader, SIZE_MAX, data[4] & 1, &sink) == RING_READER_E_MORE)
		abort();
	ring_reader_ledger(reader, &ledger);
	if (ledger.taken != n || ledger.seen < ledger.complete)
		abort();
	ring_reader_free(reader);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attach_reason reason = {"x"};

	if (attach_parse_answer(data, size, &reason) == ATTACH_E_REFUSED)
		for (const char *p = reason.text; *p; p++)
			if (*p < ' ' || *p > '~')
				abort();
	if (size >= FIXED)
		read_ring(data, size);
	return 0;
}
