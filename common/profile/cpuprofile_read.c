/* SPDX-License-Identifier: MIT */
/*
 * Passes over the records: to find where the text begins; to find callers that all records share;
 * to add them, now that their addresses can be put into mappings. Between them, one over the text.
 *
 * libprofiler's handler finds itself in the stacks: below the leaf, which the kernel reports, is
 * what called the handler. go tool pprof deletes a caller of the leaf that at least n - n/32 of n
 * records have, up to twice, and a caller equal to the leaf; so is it here. What profd wrote itself
 * has no such frames, and none is deleted.
 *
 * Generous where a file is unusual but clear: more header slots than three, any padding, version 1
 * (what Java agents wrote; its addresses were not shifted, and have names in the text), a missing
 * trailer at the very end, records of count 0, symbols before it (google-pprof --raw; addresses not
 * shifted either). Text lines that are none of those known are skipped, as the format demands.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/legacy_frames.h"
#include "common/profile/legacy_maps.h"
#include "common/profile/legacy_names.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"
#include "common/room.h"

#define HEADER_SLOTS_MAX 65535 /* as google-pprof */
#define SHARED_MAX       2     /* callers of leaves that go */
#define SHARED_MARGIN    32    /* one of so many records may have another caller */

struct cpuprofile_reader {
	struct profile *p;
	struct profile_message *message;
	const uint8_t *data;
	size_t length, n_slots;
	unsigned slot_bytes;
	bool big_endian, is_shifted, is_java, has_symbols;
	int64_t period_ns;
	size_t first_record, text; /* a slot; an offset in bytes */
	bool has_trailer;
	struct legacy_maps maps;
	struct legacy_names names;
	uint32_t binary;             /* the mapping of all that has symbols */
	uint64_t shared[SHARED_MAX]; /* callers that go, in this order */
	unsigned n_shared;
	uint32_t *chain; /* of the record being read */
	size_t max_chain;
};

static void cpuprofile_reader_deinit(struct cpuprofile_reader *r)
{
	profile_free(r->p);
	legacy_maps_deinit(&r->maps);
	legacy_names_deinit(&r->names);
	free(r->chain);
}

#define REFUSE(r, ...) profile_refuse((r)->message, CPUPROFILE_E_MALFORMED, __VA_ARGS__)

static uint64_t cpuprofile_slot(const struct cpuprofile_reader *r, size_t index)
{
	return bytes_number(r->data + index * r->slot_bytes, r->slot_bytes, r->big_endian);
}

/* Size and order of the slots follow from the header's words: one of the four ways makes sense at
 * most. */
static int cpuprofile_read_header(struct cpuprofile_reader *r)
{
	uint64_t n_words, period;

	for (unsigned way = 0; way < 4; way++) {
		r->slot_bytes = way < 2 ? 8 : 4;
		r->big_endian = way & 1;
		r->n_slots = r->length / r->slot_bytes;
		if (r->n_slots < 5 || cpuprofile_slot(r, 0))
			continue;
		n_words = cpuprofile_slot(r, 1);
		if (n_words < 3 || n_words > HEADER_SLOTS_MAX || n_words + 2 > r->n_slots ||
		    cpuprofile_slot(r, 2) > 1)
			continue;
		r->is_java = cpuprofile_slot(r, 2) == 1;
		r->is_shifted = !r->is_java && !r->has_symbols;
		period = cpuprofile_slot(r, 3);
		r->period_ns = period > INT64_MAX / 1000 ? INT64_MAX : (int64_t)period * 1000;
		r->first_record = (size_t)n_words + 2;
		return 0;
	}
	return REFUSE(r, "not a legacy CPU profile: no header of slots 0, 3 or more, 0 or 1");
}

/* Finds the text. Checks every record, so that the other pass need not. */
static int skim_records(struct cpuprofile_reader *r)
{
	size_t i = r->first_record;
	uint64_t count, n;

	while (i < r->n_slots) {
		if (r->n_slots - i < 2)
			break;
		count = cpuprofile_slot(r, i);
		n = cpuprofile_slot(r, i + 1);
		if (n > r->n_slots - i - 2)
			return REFUSE(r,
				      "the record at byte %zu has %" PRIu64
				      " addresses, more than the file",
				      i * r->slot_bytes, n);
		if (!count && n == 1 && !cpuprofile_slot(r, i + 2)) {
			r->text = (i + 3) * r->slot_bytes;
			r->has_trailer = true;
			return 0;
		}
		i += 2 + (size_t)n;
	}
	r->text = i * r->slot_bytes;
	if (r->text != r->length)
		return REFUSE(r, "the file ends at byte %zu, in the middle of a record", r->length);
	return 0;
}

/* --- records ---------------------------------------------------------------------------------- */

struct cpuprofile_place {
	uint64_t count, n; /* of addresses */
	size_t first;      /* slot of the leaf */
};

/* The record at slot *@i, and moves behind it. False: there is none. */
static bool cpuprofile_next(const struct cpuprofile_reader *r, size_t *i,
			    struct cpuprofile_place *ret)
{
	if ((*i + 2) * r->slot_bytes > r->text)
		return false;
	*ret = (struct cpuprofile_place){cpuprofile_slot(r, *i), cpuprofile_slot(r, *i + 1),
					 *i + 2};
	*i += 2 + (size_t)ret->n;
	return true;
}

/* How many callers of the leaf go, those that all records share. */
static uint64_t shared_callers(const struct cpuprofile_reader *r, const struct cpuprofile_place *at)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < r->n_shared && n + 1 < at->n; k++)
		n += cpuprofile_slot(r, at->first + 1 + (size_t)n) == r->shared[k];
	return n;
}

/* False: the leaf has no caller. */
static bool leaf_caller(const struct cpuprofile_reader *r, const struct cpuprofile_place *at,
			uint64_t *ret)
{
	uint64_t n = shared_callers(r, at);

	if (n + 1 >= at->n)
		return false;
	*ret = cpuprofile_slot(r, at->first + 1 + (size_t)n);
	return true;
}

/*
 * Adds the caller that nearly all records have to r->shared. More than half of them have it, so
 * that it is left when each that has it cancels one that has not. False: there is none.
 */
static bool find_shared_caller(struct cpuprofile_reader *r)
{
	struct cpuprofile_place at;
	uint64_t caller, candidate = 0;
	size_t i, votes = 0, n = 0, n_have = 0;

	for (i = r->first_record; cpuprofile_next(r, &i, &at);) {
		if (!leaf_caller(r, &at, &caller))
			continue;
		if (!votes)
			candidate = caller;
		votes += caller == candidate ? 1 : (size_t)-1;
	}
	for (i = r->first_record; cpuprofile_next(r, &i, &at); n++)
		n_have += leaf_caller(r, &at, &caller) && caller == candidate;
	/* The trailer counts as a record there, without callers. */
	n -= r->has_trailer;
	if (!n_have || n_have < n - n / SHARED_MARGIN)
		return false;
	r->shared[r->n_shared++] = candidate;
	return true;
}

static void find_shared_callers(struct cpuprofile_reader *r)
{
	/* Comments are profd's. */
	if (!r->is_shifted || r->p->n_comments)
		return;
	while (r->n_shared < SHARED_MAX && find_shared_caller(r))
		;
}

static int add_address(struct cpuprofile_reader *r, uint64_t address, bool is_caller, uint32_t *ret)
{
	const struct legacy_name *name = legacy_names_find(&r->names, address);
	uint32_t mapping;

	if (r->is_shifted && is_caller && address)
		address--;
	mapping = r->has_symbols ? r->binary : legacy_maps_find(&r->maps, r->p, address);
	if (!name)
		return profile_add_location(r->p, mapping, address, NULL, 0, ret);
	/* A place in Java's code had another address in another process. */
	return profile_add_location(r->p, mapping, r->is_java ? 0 : address,
				    &r->names.lines[name->first_line], name->n_lines, ret);
}

static int read_record(struct cpuprofile_reader *r, const struct cpuprofile_place *at)
{
	int64_t values[2];
	uint64_t skipped = shared_callers(r, at);
	uint32_t n = 0;
	int e = room_make(&r->chain, &r->max_chain, (size_t)at->n, sizeof(*r->chain));

	/* The handler may find the leaf on the stack, too. */
	skipped += r->is_shifted && !r->p->n_comments && skipped + 1 < at->n &&
		   cpuprofile_slot(r, at->first + 1 + (size_t)skipped) ==
			   cpuprofile_slot(r, at->first);
	for (uint64_t i = 0; i < at->n && !e; i += i ? 1 : 1 + skipped)
		e = add_address(r, cpuprofile_slot(r, at->first + (size_t)i), i > 0,
				&r->chain[n++]);
	if (e)
		return e;
	values[0] = at->count > INT64_MAX ? INT64_MAX : (int64_t)at->count;
	if (__builtin_mul_overflow(values[0], r->period_ns, &values[1]))
		values[1] = INT64_MAX;
	return profile_add_sample(r->p, r->chain, n, values, NULL, 0);
}

static int cpuprofile_read_records(struct cpuprofile_reader *r)
{
	struct cpuprofile_place at;
	int e = 0;

	for (size_t i = r->first_record; !e && cpuprofile_next(r, &i, &at);) {
		if (at.n >= PROFILE_NONE)
			return error_origin(-E2BIG);
		if (at.count)
			e = read_record(r, &at);
	}
	return e;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* What google-pprof --raw writes before the profile. */
static int cpuprofile_read_symbols(struct cpuprofile_reader *r)
{
	static const char marker[] = "--- profile";
	const char *at = (const char *)r->data, *end;
	struct profile_mapping m = {.has_functions = true};
	int e;

	if (r->length < strlen(CPUPROFILE_SYMBOLS) ||
	    memcmp(at, CPUPROFILE_SYMBOLS, strlen(CPUPROFILE_SYMBOLS)))
		return 0;
	end = at + r->length;
	at += strlen(CPUPROFILE_SYMBOLS);
	e = legacy_names_read_symbols(&r->names, r->p, at, end, &at, &m.path)
		    ?: profile_add_mapping(r->p, &m, &r->binary);
	if (e)
		return e;
	r->has_symbols = true;
	if ((size_t)(end - at) < strlen(marker) || memcmp(at, marker, strlen(marker)))
		return REFUSE(r, "no CPU profile behind the symbols, at byte %zu",
			      (size_t)((const uint8_t *)at - r->data));
	at = memchr(at, '\n', (size_t)(end - at));
	at = at ? at + 1 : end;
	r->length -= (size_t)((const uint8_t *)at - r->data);
	r->data = (const uint8_t *)at;
	return 0;
}

static int cpuprofile_read_text(struct cpuprofile_reader *r)
{
	const char *text = (const char *)r->data + r->text;
	const char *end = (const char *)r->data + r->length;

	int e = legacy_maps_read(&r->maps, r->p, text, end, r->message);

	return e || !r->is_java ? e : legacy_names_read_java(&r->names, r->p, text, end);
}

static int cpuprofile_read_all(struct cpuprofile_reader *r)
{
	int e = profile_new(&r->p) ?:
		cpuprofile_read_symbols(r) ?:
		cpuprofile_read_header(r) ?:
		skim_records(r) ?:
		value_types_add(r->p, "cpu-clock") ?:
		profile_add_text(r->p, LEGACY_DROP_HANDLER, &r->p->drop_frames) ?:
		cpuprofile_read_text(r);

	if (e)
		return e;
	r->p->period = r->period_ns;
	find_shared_callers(r);
	return cpuprofile_read_records(r);
}

int cpuprofile_read(const uint8_t *data, size_t length, struct profile **ret,
		    struct profile_message *message)
{
	cleanup(cpuprofile_reader_deinit) struct cpuprofile_reader r = {.message = message,
									.data = data,
									.length = length};
	int e = cpuprofile_read_all(&r);

	if (e == -E2BIG)
		return REFUSE(&r, "more entries of a kind than can be numbered");
	if (!e)
		*ret = steal_ptr(&r.p);
	return e;
}
