/* SPDX-License-Identifier: MIT */
/*
 * The ring's memory is shared with a process that may write anything to it, so each record is
 * copied before it is checked. What does not fit the format makes the ring broken for good or,
 * where the next record can still be found, is counted as malformed.
 */
#include "common/shim/ring_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/frame.h"
#include "common/reasons.h"

/* More ticks than a timer of the highest frequency can miss while its thread runs. */
#define WEIGHT_MAX (1u << 20)

/* Mappings of which not all parts are there yet. */
struct maps_parts {
	char *text; /* owned; NULL: there are none */
	uint32_t generation;
	size_t length, done;
};

struct ring_reader {
	struct ring_page *page;
	_Atomic uint64_t *words;
	uint64_t n_words;
	uint64_t tail;
	bool is_broken;
	uint64_t taken, malformed, torn;
	bool has_maps;
	uint32_t generation; /* of the mappings that were handed over last */
	struct maps_parts parts;
	uint64_t record[RING_RECORD_MAX];
};

int ring_reader_new(struct ring_reader **ret, void *memory, size_t length)
{
	uint64_t n_words = ring_n_words(length);
	struct ring_reader *r;

	if (!n_words)
		return error_origin(-EINVAL);
	r = calloc(1, sizeof(*r));
	if (!r)
		return error_origin(-ENOMEM);
	r->page = memory;
	r->words = (_Atomic uint64_t *)(void *)((uint8_t *)memory + RING_PAGE);
	r->n_words = n_words;
	r->page->magic = RING_MAGIC;
	r->page->version = RING_VERSION;
	r->page->n_words = n_words;
	*ret = r;
	return 0;
}

void ring_reader_free(struct ring_reader *r)
{
	if (!r)
		return;
	free(r->parts.text);
	free(r);
}

void ring_reader_set_frequency(struct ring_reader *r, uint32_t frequency)
{
	atomic_store_explicit(&r->page->frequency, frequency, memory_order_relaxed);
}

static _Atomic uint64_t *word_at(struct ring_reader *r, uint64_t position)
{
	return &r->words[position & (r->n_words - 1)];
}

/* Copies the record of @n words, and gives its words back. */
static void ring_reader_copy_record(struct ring_reader *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		_Atomic uint64_t *word = word_at(r, r->tail + i);

		r->record[i] = atomic_load_explicit(word, memory_order_relaxed);
		atomic_store_explicit(word, 0, memory_order_relaxed);
	}
	r->tail += n;
	atomic_store_explicit(&r->page->tail, r->tail, memory_order_release);
}

static bool ring_parse_sample(uint64_t *record, uint32_t n, struct ring_sample *ret)
{
	if (n <= RING_SAMPLE_FIXED)
		return false;
	*ret = (struct ring_sample){
		.time_ns = record[1],
		.tid = (uint32_t)(record[2] >> 32),
		.weight = (uint32_t)record[2],
		.generation = (uint32_t)(record[3] >> 32),
		.frequency = (uint16_t)(record[3] >> 16),
		.quality = (uint8_t)record[3],
		.reason = (uint8_t)(record[3] >> 8),
		.frames = record + RING_SAMPLE_FIXED,
		.n_frames = n - RING_SAMPLE_FIXED,
	};
	memcpy(ret->comm, record + 4, RING_COMM);
	ret->comm[RING_COMM - 1] = '\0';
	for (uint32_t i = RING_SAMPLE_FIXED; i < n; i++)
		if (frame_kind(record[i]) != FRAME_USER)
			record[i] = 0;
	return ret->weight && ret->weight <= WEIGHT_MAX && ret->frequency &&
	       ret->frequency <= RING_FREQUENCY_MAX && ret->quality != STACK_NO_USER &&
	       ret->quality != STACK_GUESSED && ret->reason < N_STACK_REASONS(ret->quality);
}

static void drop_parts(struct ring_reader *r)
{
	free(r->parts.text);
	r->parts = (struct maps_parts){0};
}

/* Whether the @size bytes at @text go on with the parts that are there, or are the first. */
static bool is_next_maps_part(const struct ring_reader *r, uint32_t generation, uint64_t length,
			      uint64_t before, uint64_t size)
{
	const struct maps_parts *parts = &r->parts;

	if (!size || size > RING_MAPS_PART || length > RING_MAPS_MAX || before > length ||
	    size > length - before)
		return false;
	if (!before)
		return !r->has_maps || generation > r->generation;
	return parts->text && parts->generation == generation && parts->length == length &&
	       parts->done == before;
}

/* Returns 0, 1 (it makes no sense) or -ENOMEM. */
static int ring_reader_parse_maps(struct ring_reader *r, uint32_t n, const struct ring_sink *sink)
{
	uint32_t generation = (uint32_t)(r->record[1] >> 32);
	uint64_t size = (uint32_t)r->record[1], length = r->record[2] >> 32;
	uint64_t before = (uint32_t)r->record[2];
	struct maps_parts *parts = &r->parts;

	if (n < RING_MAPS_FIXED || size > (uint64_t)(n - RING_MAPS_FIXED) * 8 ||
	    !is_next_maps_part(r, generation, length, before, size) ||
	    memchr(r->record + RING_MAPS_FIXED, 0, size)) {
		drop_parts(r);
		return 1;
	}
	if (!before) {
		drop_parts(r);
		parts->text = malloc(length);
		if (!parts->text)
			return error_origin(-ENOMEM);
		parts->generation = generation;
		parts->length = length;
	}
	memcpy(parts->text + before, r->record + RING_MAPS_FIXED, size);
	parts->done = before + size;
	if (parts->done < length)
		return 0;
	r->has_maps = true;
	r->generation = generation;
	sink->maps(sink->userdata, generation, parts->text, length);
	drop_parts(r);
	return 0;
}

/* The record that was copied. Returns 0 or -ENOMEM. */
static int ring_reader_dispatch(struct ring_reader *r, uint64_t head, const struct ring_sink *sink)
{
	struct ring_sample sample;
	int outcome = 1;

	if (RING_TYPE(head) == RING_SAMPLE) {
		outcome = ring_parse_sample(r->record, RING_LENGTH(head), &sample) ? 0 : 1;
		if (!outcome) {
			r->taken += sample.weight;
			sink->sample(sink->userdata, &sample);
		}
	} else if (RING_TYPE(head) == RING_MAPS) {
		outcome = sink->maps ? ring_reader_parse_maps(r, RING_LENGTH(head), sink) : 0;
	}
	if (outcome > 0)
		r->malformed++;
	return outcome < 0 ? outcome : 0;
}

int ring_reader_drain(struct ring_reader *r, size_t budget, bool is_last,
		      const struct ring_sink *sink)
{
	size_t n_words = 0;

	while (!r->is_broken) {
		uint64_t head = atomic_load_explicit(word_at(r, r->tail), memory_order_acquire);
		/* After the record's: it is not behind that. */
		uint64_t there = atomic_load(&r->page->head) - r->tail;
		bool is_whole = head & RING_COMMITTED;
		uint32_t n = RING_LENGTH(head);
		int result;

		if (there > r->n_words) {
			r->is_broken = true;
			break;
		}
		if (!there || !head || (!is_whole && !is_last))
			return RING_READER_E_OK;
		if (!n || n > RING_RECORD_MAX || n > there) {
			r->is_broken = true;
			break;
		}
		if (n_words >= budget)
			return RING_READER_E_MORE;
		n_words += n;
		ring_reader_copy_record(r, n);
		if (!is_whole) {
			r->torn++;
			continue;
		}
		result = ring_reader_dispatch(r, head, sink);
		if (result)
			return result;
	}
	drop_parts(r);
	return RING_READER_E_BROKEN;
}

void ring_reader_ledger(const struct ring_reader *r, struct ring_ledger *ret)
{
	struct ring_counters *counters = &r->page->counters;
	/* Sums of these cannot wrap. */
	const uint64_t max = UINT64_MAX / 16;
	uint64_t sum;

	/* Seen last: an honest library raises it first. */
#define LOAD(name)                                \
	ret->name = atomic_load(&counters->name); \
	if (ret->name > max)                      \
		ret->name = max;
	LOAD(complete)
	LOAD(truncated)
	LOAD(broken)
	LOAD(filtered)
	LOAD(lost)
	LOAD(seen)
#undef LOAD
	sum = ret->complete + ret->truncated + ret->broken + ret->filtered + ret->lost;
	if (ret->seen < sum)
		ret->seen = sum;
	ret->taken = r->taken;
	ret->malformed = r->malformed;
	ret->torn = r->torn;
}
