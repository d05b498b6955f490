/* SPDX-License-Identifier: MIT */
/*
 * Ranges are a sorted array; an answer's are made beside it and merged into it from behind. Texts
 * lie one behind the other, found by a keyed hash: the author of the image chose them.
 */
#include "daemon/output/symbols_names.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/partition_point.h"
#include "common/profile/profile.h"
#include "common/profile/profile_table.h"
#include "common/room.h"

/* Of one answer's texts: as many times as frames refer to them. */
#define READ_MAX (4 * (size_t)WORKER_ANSWER_MAX)

struct symbols_names_range {
	uint64_t start, last; /* both included: the last address has no successor */
	uint32_t first, n_frames;
};

struct symbols_names {
	struct symbols_names_range *ranges;
	size_t n_ranges, ranges_allocated;
	struct symbols_frame *frames;
	size_t n_frames, frames_allocated;
	char *text; /* texts, each with its NUL */
	size_t text_length, text_allocated;
	uint32_t *texts; /* where each begins */
	uint32_t n_texts;
	size_t texts_allocated;
	struct profile_table table; /* of the texts' numbers */
	struct profile_hash_key hash_key;
};

struct symbols_names_text {
	const char *data;
	size_t length;
};

struct addition {
	struct symbols_names *names;
	const struct answer_names *answer;
	size_t n_read;
	struct symbols_names_range *ranges;
	size_t n_ranges;
};

static int symbols_names_is_text(const void *owner, uint32_t index, const void *key)
{
	const struct symbols_names *n = owner;
	const struct symbols_names_text *text = key;
	const char *data = n->text + n->texts[index];

	/* It may be the shorter one, and the last. */
	return strncmp(data, text->data, text->length) == 0 && !data[text->length];
}

/* The text's number, given now if it has none. */
static int symbols_names_intern(struct symbols_names *n, const char *data, size_t length,
				uint32_t *ret)
{
	const struct symbols_names_text text = {.data = data, .length = length};
	uint32_t hash = profile_hash(&n->hash_key, data, length);
	int r;

	*ret = profile_table_find(&n->table, hash, symbols_names_is_text, n, &text);
	if (*ret != PROFILE_NONE)
		return 0;
	r = profile_table_reserve(&n->table);
	if (!r)
		r = room_make(&n->texts, &n->texts_allocated, n->n_texts + 1, sizeof(*n->texts));
	if (!r && n->text_length > UINT32_MAX - length)
		r = error_origin(-E2BIG);
	if (!r)
		r = room_make(&n->text, &n->text_allocated, n->text_length + length + 1, 1);
	if (r)
		return r;
	memcpy(n->text + n->text_length, data, length);
	n->text[n->text_length + length] = '\0';
	n->texts[n->n_texts] = (uint32_t)n->text_length;
	n->text_length += length + 1;
	profile_table_insert(&n->table, hash, n->n_texts);
	*ret = n->n_texts++;
	return 0;
}

int symbols_names_new(struct symbols_names **ret)
{
	cleanup(symbols_names_freep) struct symbols_names *n = calloc(1, sizeof(*n));
	uint32_t empty;
	int r;

	if (!n)
		return error_origin(-ENOMEM);
	profile_hash_key_init(&n->hash_key);
	r = symbols_names_intern(n, "", 0, &empty);
	if (r)
		return r;
	*ret = steal_ptr(&n);
	return 0;
}

void symbols_names_free(struct symbols_names *n)
{
	if (!n)
		return;
	profile_table_deinit(&n->table);
	free(n->text);
	free(n->texts);
	free(n->ranges);
	free(n->frames);
	free(n);
}

/* The number of ranges that begin at or before @address. */
static size_t symbols_names_before(const struct symbols_names *n, uint64_t address)
{
	return partition_point(n->n_ranges, i, n->ranges[i].start <= address);
}

bool symbols_names_find(const struct symbols_names *n, uint64_t address,
			const struct symbols_frame **ret, uint32_t *ret_n)
{
	size_t before = symbols_names_before(n, address);
	const struct symbols_names_range *r = before ? &n->ranges[before - 1] : NULL;

	if (!r || address > r->last)
		return false;
	*ret = n->frames ? &n->frames[r->first] : NULL;
	*ret_n = r->n_frames;
	return true;
}

static int addition_add_text(struct addition *a, uint32_t offset, uint32_t *ret)
{
	const char *text = a->answer->text + offset;
	size_t length;

	*ret = 0;
	if (!offset || a->n_read > READ_MAX)
		return 0;
	length = strlen(text);
	a->n_read += length;
	return symbols_names_intern(a->names, text, length, ret);
}

static int addition_add_frames(struct addition *a, const struct worker_location *l)
{
	struct symbols_names *n = a->names;
	int r = room_make(&n->frames, &n->frames_allocated, n->n_frames + l->n_frames,
			  sizeof(*n->frames));

	for (uint32_t i = 0; i < l->n_frames && !r; i++) {
		const struct worker_frame *from = &a->answer->frames[l->first_frame + i];
		struct symbols_frame *to = &n->frames[n->n_frames];

		*to = (struct symbols_frame){.line = from->line, .start_line = from->start_line};
		r = addition_add_text(a, from->name, &to->name)
			    ?: addition_add_text(a, from->system_name, &to->system_name)
			    ?: addition_add_text(a, from->file, &to->file);
		n->n_frames += !r;
	}
	return r;
}

/*
 * The range of @l, cut where others begin and end: those known before, and those of this answer.
 * False: @address has become known.
 */
static bool addition_cut_range(const struct addition *a, uint64_t address,
			       const struct worker_location *l, bool by_address,
			       struct symbols_names_range *ret)
{
	const struct symbols_names *n = a->names;
	size_t before = symbols_names_before(n, address);
	uint64_t start = by_address ? address : l->start;
	uint64_t last = by_address ? address : l->start + (l->size - 1);

	if (before && n->ranges[before - 1].last >= address)
		return false;
	if (before && n->ranges[before - 1].last >= start)
		start = n->ranges[before - 1].last + 1;
	if (before < n->n_ranges && n->ranges[before].start <= last)
		last = n->ranges[before].start - 1;
	if (a->n_ranges) {
		uint64_t previous = a->ranges[a->n_ranges - 1].last;

		if (previous >= address)
			return false;
		if (previous >= start)
			start = previous + 1;
	}
	*ret = (struct symbols_names_range){.start = start, .last = last};
	return true;
}

static int addition_add_location(struct addition *a, uint64_t address,
				 const struct worker_location *l, bool by_address)
{
	struct symbols_names_range range;
	int r;

	if (!addition_cut_range(a, address, l, by_address, &range))
		return 0;
	range.first = (uint32_t)a->names->n_frames;
	r = addition_add_frames(a, l);
	if (r)
		return r;
	range.n_frames = (uint32_t)a->names->n_frames - range.first;
	a->ranges[a->n_ranges++] = range;
	return 0;
}

static int symbols_names_merge(struct symbols_names *n, const struct symbols_names_range *more,
			       size_t n_more)
{
	size_t i = n->n_ranges, j = n_more;

	if (room_make(&n->ranges, &n->ranges_allocated, i + j, sizeof(*n->ranges)))
		return -ENOMEM;
	n->n_ranges += n_more;
	while (j) {
		struct symbols_names_range *at = &n->ranges[i + j - 1];

		*at = i && n->ranges[i - 1].start > more[j - 1].start ? n->ranges[--i] : more[--j];
	}
	return 0;
}

int symbols_names_add(struct symbols_names *n, const uint64_t *addresses,
		      const struct answer_names *answer, bool by_address)
{
	cleanup(freep) struct symbols_names_range *ranges = calloc((size_t)answer->n_locations + 1,
								   sizeof(*ranges));
	struct addition a = {.names = n, .answer = answer, .ranges = ranges};
	int r = 0;

	if (!ranges)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < answer->n_locations && !r; i++)
		r = addition_add_location(&a, addresses[i], &answer->locations[i], by_address);
	return r ? r : symbols_names_merge(n, ranges, a.n_ranges);
}

const char *symbols_names_text(const struct symbols_names *n, uint32_t text)
{
	return n->text + n->texts[text];
}

uint32_t symbols_names_n_texts(const struct symbols_names *n)
{
	return n->n_texts;
}

size_t symbols_names_bytes(const struct symbols_names *n)
{
	return sizeof(*n) + n->ranges_allocated * sizeof(*n->ranges) +
	       n->frames_allocated * sizeof(*n->frames) + n->text_allocated +
	       n->texts_allocated * sizeof(*n->texts) + n->table.n_slots * sizeof(*n->table.slots);
}
