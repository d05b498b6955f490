/* SPDX-License-Identifier: MIT */
/*
 * The file is for two readers, google-pprof ("Perl") and go tool pprof ("Go"), and each of them
 * takes more out of a file than the format puts in. What they do, and what is done about it:
 *
 * - Both take every caller for a return address and subtract 1: callers are written as lookup
 *   address + 1, the leaf as it is.
 * - Both assume that a second frame which all samples share was pushed by the signal handler, and
 *   delete it. Perl does so while all distinct chains share it, Go when at least n - n/32 of
 *   the n records do, twice. In a program with one hot loop that is the caller. When the second
 *   frames would satisfy either, every other such record gets its second frame written 1 lower:
 *   what is read is then 2 below the return address, still within the call instruction, which
 *   has at least two bytes everywhere. A lone record is split in two for that; a lone sample
 *   cannot be, and loses its callers in these readers.
 * - Go takes a second frame which reads 1 below the leaf for the leaf again, and deletes it.
 *   A leaf that was interrupted right behind a recursive call looks like that. The second frame is
 *   then written lower likewise.
 * - Perl ends at a record whose first address is 0: 1 is written instead.
 * - Go refuses any header but 0, 3, 0, period, 0, text without a trailer before it, and a line of
 *   64 KiB. Perl refuses chains of more than 65,536 addresses and periods of more than 2^32.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/cpuprofile.h"
#include "common/room.h"

#define ADDRESSES_MAX 65536
#define LINE_MAX_GO   65535
#define PARTS_MAX     65536 /* of one record: a count beyond is not a count of samples */

struct cpuprofile_writer {
	uint8_t *out;
	size_t length, size;
	unsigned slot_bytes;
	uint64_t slot_max;
};

static void cpuprofile_writer_deinit(struct cpuprofile_writer *w)
{
	free(w->out);
}

static int cpuprofile_put_bytes(struct cpuprofile_writer *w, const void *bytes, size_t n)
{
	int r = room_make(&w->out, &w->size, w->length + n, 1);

	if (r)
		return r;
	memcpy(w->out + w->length, bytes, n);
	w->length += n;
	return 0;
}

/* In the byte order of this machine, which is the profiled program's. */
static int put_slot(struct cpuprofile_writer *w, uint64_t value)
{
	uint32_t half = (uint32_t)value;

	return w->slot_bytes == 4 ? cpuprofile_put_bytes(w, &half, sizeof(half))
				  : cpuprofile_put_bytes(w, &value, sizeof(value));
}

static int put_slots(struct cpuprofile_writer *w, const uint64_t *values, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = put_slot(w, values[i]);
	return r;
}

/* An address that no slot holds comes from a broken stack: the highest one is written for it. */
static uint64_t leaf_slot(struct cpuprofile_writer *w, const struct cpuprofile_record *record)
{
	uint64_t leaf = record->addresses[0];

	return !leaf ? 1 : leaf > w->slot_max ? w->slot_max : leaf;
}

static uint64_t caller_slot(const struct cpuprofile_writer *w, uint64_t address)
{
	return address >= w->slot_max ? w->slot_max : address + 1;
}

/*
 * How the second frame of @record may be written: two ways that no reader takes for the leaf, the
 * truest first.
 */
static void second_slots(struct cpuprofile_writer *w, const struct cpuprofile_record *record,
			 uint64_t ret[2])
{
	uint64_t leaf = leaf_slot(w, record);
	uint64_t slot = caller_slot(w, record->addresses[1]);
	unsigned n = 0;

	for (unsigned i = 0; i < 3 && n < 2; i++) {
		/* Next to address 0, where no code is, there is room above only. */
		uint64_t candidate = slot > 2 ? slot - i : slot + i;

		/* Read back 1 lower, Go compares it plus 1 with the leaf. */
		if (candidate != leaf)
			ret[n++] = candidate;
	}
}

/* Into how many records the count of @record must be split so that it fits. */
static uint64_t n_parts(const struct cpuprofile_writer *w, const struct cpuprofile_record *record)
{
	return record->count / w->slot_max + (record->count % w->slot_max != 0);
}

/* Which second frames would be deleted. */
struct shared {
	bool any;
	bool split;    /* there is but one record: split it */
	uint64_t slot; /* as it would be written */
	bool turn;     /* the next such record takes its other way to be written */
};

/*
 * Finds the slot that n - n/32 or more of the records share. That is a majority, so the vote of
 * Boyer and Moore finds it in one pass without a table; a second pass counts.
 */
static void find_shared(struct cpuprofile_writer *w, const struct cpuprofile *c, struct shared *ret)
{
	uint64_t n = 0, votes = 0, count = 0, candidate = 0, slots[2];

	for (size_t i = 0; i < c->n_records; i++) {
		uint64_t parts = n_parts(w, &c->records[i]);

		n += parts;
		if (c->records[i].n_addresses < 2)
			continue;
		second_slots(w, &c->records[i], slots);
		if (slots[0] == candidate) {
			votes += parts;
		} else if (votes >= parts) {
			votes -= parts;
		} else {
			candidate = slots[0];
			votes = parts - votes;
		}
	}
	for (size_t i = 0; i < c->n_records; i++) {
		if (c->records[i].n_addresses < 2)
			continue;
		second_slots(w, &c->records[i], slots);
		if (slots[0] == candidate)
			count += n_parts(w, &c->records[i]);
	}
	*ret = (struct shared){.any = count && count >= n - n / 32,
			       .split = n == 1,
			       .slot = candidate};
}

static int put_record(struct cpuprofile_writer *w, const struct cpuprofile_record *record,
		      uint64_t count, struct shared *shared)
{
	uint64_t slots[2];
	int r = put_slots(w, (const uint64_t[]){count, record->n_addresses, leaf_slot(w, record)},
			  3);

	if (r || record->n_addresses == 1)
		return r;
	second_slots(w, record, slots);
	if (shared->any && slots[0] == shared->slot) {
		slots[0] = shared->turn ? slots[1] : slots[0];
		shared->turn = !shared->turn;
	}
	r = put_slot(w, slots[0]);
	for (uint32_t i = 2; i < record->n_addresses && !r; i++)
		r = put_slot(w, caller_slot(w, record->addresses[i]));
	return r;
}

static int put_records(struct cpuprofile_writer *w, const struct cpuprofile *c)
{
	struct shared shared;
	int r = 0;

	find_shared(w, c, &shared);
	for (size_t i = 0; i < c->n_records; i++) {
		const struct cpuprofile_record *record = &c->records[i];
		uint64_t left = record->count, part;

		while (left && !r) {
			part = left < w->slot_max ? left : w->slot_max;
			if (shared.any && shared.split && left == record->count && left > 1)
				part = left - left / 2;
			r = put_record(w, record, part, &shared);
			left -= part;
		}
	}
	return r;
}

/* Whole lines: ends what does not end in a newline. */
static int cpuprofile_put_text(struct cpuprofile_writer *w, const char *text)
{
	size_t length = text ? strlen(text) : 0;
	int r;

	if (!length)
		return 0;
	r = cpuprofile_put_bytes(w, text, length);
	return r || text[length - 1] == '\n' ? r : cpuprofile_put_bytes(w, "\n", 1);
}

static bool lines_too_long(const char *text)
{
	const char *end;

	for (; text; text = end ? end + 1 : NULL) {
		end = strchr(text, '\n');
		if ((end ? (size_t)(end - text) : strlen(text)) >= LINE_MAX_GO)
			return true;
	}
	return false;
}

static bool cpuprofile_is_writable(const struct cpuprofile_writer *w, const struct cpuprofile *c)
{
	if ((c->slot_bytes != 4 && c->slot_bytes != 8) || lines_too_long(c->maps) ||
	    lines_too_long(c->comments))
		return false;
	for (size_t i = 0; i < c->n_records; i++) {
		if (!c->records[i].count || !c->records[i].n_addresses ||
		    c->records[i].n_addresses > ADDRESSES_MAX ||
		    n_parts(w, &c->records[i]) > PARTS_MAX)
			return false;
	}
	return true;
}

int cpuprofile_write(const struct cpuprofile *c, uint8_t **ret, size_t *ret_length)
{
	cleanup(cpuprofile_writer_deinit) struct cpuprofile_writer w = {
		.slot_bytes = c->slot_bytes};
	uint64_t period = c->period_us;
	int r;

	w.slot_max = c->slot_bytes == 4 ? UINT32_MAX : UINT64_MAX;
	if (!cpuprofile_is_writable(&w, c))
		return error_origin(-EINVAL);
	period = !period ? 1 : period > UINT32_MAX ? UINT32_MAX : period;
	r = put_slots(&w, (const uint64_t[]){0, 3, 0, period, 0}, 5) ?:
	    put_records(&w, c) ?:
	    put_slots(&w, (const uint64_t[]){0, 1, 0}, 3) ?:
	    cpuprofile_put_text(&w, c->maps) ?:
	    cpuprofile_put_text(&w, c->comments);
	if (r)
		return r;
	*ret = steal_ptr(&w.out);
	*ret_length = w.length;
	return 0;
}
