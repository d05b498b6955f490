/* SPDX-License-Identifier: MIT */
/*
 * A block is made in two passes over its samples: their times are gathered, which gives the range
 * that all of them are in, relative to each one's base; then they are coded.
 *
 * Interpolative coding is the same recursion on both sides: from a range of elements, and the range
 * of what they may be, to two halves of both. Writing, elements are found in the runs of equal ones
 * by how many there are before; reading, a half of which nothing is left to choose is a run. So a
 * sample that was counted often costs no more than its runs, and each step costs a bit at least.
 */
#include "common/profile/times_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/partition_point.h"
#include "common/profile/bits.h"
#include "common/profile/windows.h"
#include "common/room.h"

#define BLOCK_SAMPLES  4096u
#define BLOCK_TIMES    65536u  /* no more samples after that many */
#define SAMPLE_TIMES   100000u /* of one: 5 bytes at most each, which go into a field of 1 MiB */
#define BLOCK_FIELDS   6u      /* that are numbers */
#define RELATIVE_MAX   (INT64_C(1) << 30)  /* from a sample's base: some years */
#define PROFILE_TIMES  (UINT32_C(1) << 25) /* in a profile that is read; half a GiB */
#define BITS_BYTES_MAX ((UINT64_C(1) << 20) - 256)

/* False: the label gives none. */
static bool sample_base(const struct profile *p, uint32_t sample, uint32_t window_key,
			uint64_t *base)
{
	const struct profile_sample *s = &p->samples[sample];

	for (uint32_t i = 0; i < s->n_labels && window_key != PROFILE_NONE; i++) {
		const struct profile_label *l = &p->sample_labels[s->first_label + i];

		if (l->key != window_key || l->str)
			continue;
		if (l->num < 0 || (uint64_t)l->num >= PROFILE_BUCKET_MAX / 10)
			return false;
		*base = (uint64_t)l->num * 10;
		break;
	}
	return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

struct times_making {
	const struct profile *p;
	size_t first, n;
	uint32_t window_key;
	struct sample_times times;     /* of all samples */
	size_t ends[BLOCK_SAMPLES];    /* in times, of each one's; nothing: not known */
	uint64_t bases[BLOCK_SAMPLES]; /* of those whose times are known */
	uint64_t base, scales;
	int64_t low, high;
	size_t n_known;
	struct bits_out bits;
	/* Of the elements that are being coded: runs, and how many there are up to each one's end.
	 */
	const struct profile_time *runs;
	uint64_t *sums;
	size_t n_runs, max_sums;
	unsigned scale;
};

static void times_making_freep(struct times_making **making)
{
	struct times_making *m = *making;

	if (!m)
		return;
	sample_times_deinit(&m->times);
	free(m->bits.data);
	free(m->sums);
	free(m);
}

static size_t making_first_time(const struct times_making *m, size_t i)
{
	return i ? m->ends[i - 1] : 0;
}

/* Those of sample @i are not known, after all. */
static void making_drop_sample(struct times_making *m, size_t i)
{
	m->times.n = making_first_time(m, i);
}

/* The times of as many samples as go into the block. */
static int making_gather(struct times_making *m, size_t end)
{
	m->base = UINT64_MAX;
	for (; m->first + m->n < end && m->n < BLOCK_SAMPLES && m->times.n < BLOCK_TIMES; m->n++) {
		const uint32_t sample = (uint32_t)(m->first + m->n);
		const size_t before = m->times.n;
		int r = profile_knows_times(m->p, sample)
				? sample_times_gather(&m->times, m->p, sample)
				: 0;

		if (r)
			return r;
		m->bases[m->n] = UINT64_MAX;
		if (m->times.n - before > SAMPLE_TIMES ||
		    !sample_base(m->p, sample, m->window_key, &m->bases[m->n]))
			making_drop_sample(m, m->n);
		m->ends[m->n] = m->times.n;
		for (size_t t = before; t < m->times.n && m->bases[m->n] == UINT64_MAX; t++)
			if (m->times.all[t].bucket < m->base)
				m->base = m->times.all[t].bucket;
	}
	if (m->base == UINT64_MAX)
		m->base = 0;
	return 0;
}

/* The range of all times relative to their bases. What is too far away is not known. */
static void making_find_range(struct times_making *m)
{
	size_t n = 0;

	m->low = RELATIVE_MAX;
	m->high = -RELATIVE_MAX;
	for (size_t i = 0, first = 0, end; i < m->n; i++, first = end) {
		int64_t low = RELATIVE_MAX, high = -RELATIVE_MAX, at;

		end = m->ends[i];
		if (m->bases[i] == UINT64_MAX)
			m->bases[i] = m->base;
		for (size_t t = first; t < end; t++) {
			at = (int64_t)m->times.all[t].bucket - (int64_t)m->bases[i];
			low = at < low ? at : low;
			high = at > high ? at : high;
		}
		if (low > -RELATIVE_MAX && high < RELATIVE_MAX && first < end) {
			memmove(&m->times.all[n], &m->times.all[first],
				(end - first) * sizeof(*m->times.all));
			for (size_t t = n; t < n + end - first; t++)
				m->scales |= UINT64_C(1) << m->times.all[t].scale;
			n += end - first;
			m->n_known++;
			m->low = low < m->low ? low : m->low;
			m->high = high > m->high ? high : m->high;
		}
		m->ends[i] = n;
	}
}

/* Whether all buckets that may be coded are such that there may be. */
static bool making_is_in_range(const struct times_making *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (making_first_time(m, i) < m->ends[i] &&
		    ((int64_t)m->bases[i] + m->low < 0 ||
		     m->bases[i] + (uint64_t)m->high >= PROFILE_BUCKET_MAX))
			return false;
	return m->n_known > 0;
}

/* Bucket number @i of the runs, at their scale. */
static uint64_t making_element(const struct times_making *m, uint64_t i)
{
	size_t run = partition_point(m->n_runs, j, m->sums[j] <= i);

	return m->runs[run].bucket >> m->scale;
}

/* The elements from @first up to @end, all from @low to @high. */
static int making_put_elements(struct times_making *m, uint64_t first, uint64_t end, uint64_t low,
			       uint64_t high)
{
	const uint64_t middle = first + (end - first) / 2;
	uint64_t element;

	if (first == end || low == high)
		return 0;
	element = making_element(m, middle);
	return bits_put(&m->bits, element - low, high - low + 1)
		       ?: making_put_elements(m, first, middle, low, element)
		       ?: making_put_elements(m, middle + 1, end, element, high);
}

/* The @n runs of one scale; *left: what has not been counted of the sample. */
static int making_put_scale(struct times_making *m, uint64_t base, const struct profile_time *runs,
			    size_t n, uint64_t *left)
{
	const uint64_t low = base + (uint64_t)m->low, high = base + (uint64_t)m->high;
	const bool is_last = m->scales >> m->scale == 1;
	uint64_t sum = 0;
	int r = room_make(&m->sums, &m->max_sums, n + 1, sizeof(*m->sums));

	for (size_t i = 0; i < n && !r; i++)
		m->sums[i] = sum += runs[i].count;
	m->runs = runs;
	m->n_runs = n;
	if (!r && !is_last)
		r = bits_put(&m->bits, sum, *left + 1);
	*left -= sum;
	return r ? r : making_put_elements(m, 0, sum, low >> m->scale, high >> m->scale);
}

static int making_put_sample(struct times_making *m, size_t i)
{
	size_t first = making_first_time(m, i), next;
	const size_t end = m->ends[i];
	uint64_t left = 0;
	int r = 0;

	if (m->n_known < m->n)
		r = bits_put(&m->bits, first < end, 2);
	for (size_t t = first; t < end; t++)
		left += m->times.all[t].count;
	for (m->scale = 0; first < end && m->scale <= PROFILE_SCALE_MAX && !r; m->scale++) {
		if (!(m->scales >> m->scale & 1))
			continue;
		for (next = first; next < end && m->times.all[next].scale == m->scale; next++)
			;
		r = making_put_scale(m, m->bases[i], &m->times.all[first], next - first, &left);
		first = next;
	}
	return r;
}

static int making_close(const struct times_making *m, struct times_block *ret)
{
	const uint64_t low = (uint64_t)m->low << 1 ^ (uint64_t)(m->low >> 63); /* as sint64 */
	const uint64_t numbers[BLOCK_FIELDS] = {
		m->n, m->base, m->scales, low, (uint64_t)(m->high - m->low), m->n_known < m->n};
	const size_t n_bytes = (m->bits.n_bits + 7) / 8;
	uint8_t *field = malloc((BLOCK_FIELDS + 2) * WIRE_FIELD_MAX + n_bytes), *bits;

	if (!field)
		return error_origin(-ENOMEM);
	bits = wire_put_numbers(field + WIRE_FIELD_MAX, 1, numbers, BLOCK_FIELDS);
	if (n_bytes)
		memcpy(bits + WIRE_FIELD_MAX, m->bits.data, n_bytes);
	bits = wire_close_list(bits, BLOCK_FIELDS + 1, bits + WIRE_FIELD_MAX + n_bytes);
	ret->field = field;
	ret->length = (size_t)(wire_close(field, PPROF_TIMES, bits) - field);
	return 0;
}

static int making_run(struct times_making *m, size_t end, struct times_block *ret)
{
	int r = making_gather(m, end);

	if (r)
		return r;
	ret->n_samples = m->n;
	making_find_range(m);
	if (!making_is_in_range(m))
		return 0;
	for (size_t i = 0; i < m->n && !r; i++)
		r = making_put_sample(m, i);
	return r || m->bits.n_bits > 8 * BITS_BYTES_MAX ? r : making_close(m, ret);
}

int times_block_make(const struct profile *p, size_t first, size_t end, struct times_block *ret)
{
	cleanup(times_making_freep) struct times_making *m = NULL;

	*ret = (struct times_block){.n_samples = end - first};
	if (!p->n_times)
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return error_origin(-ENOMEM);
	m->p = p;
	m->first = first;
	m->window_key = profile_find_text(p, WINDOWS_LABEL);
	return making_run(m, end, ret);
}

int times_block_measure(const struct profile *p, size_t *ret)
{
	size_t length = 0;

	for (size_t i = 0; i < p->n_samples;) {
		struct times_block block;
		int r = times_block_make(p, i, p->n_samples, &block);

		if (r)
			return r;
		free(block.field);
		length += block.length;
		i += block.n_samples;
	}
	*ret = length;
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void times_reading_stop(struct times_reading *t)
{
	free(t->bits);
	t->bits = NULL;
	t->n_samples = 0;
}

void times_reading_deinit(struct times_reading *t)
{
	times_reading_stop(t);
	sample_times_deinit(&t->list);
}

/* Whether its numbers are such as a writer has. */
static bool times_reading_is_sane(const struct times_reading *t)
{
	return t->base < PROFILE_BUCKET_MAX && t->scales && t->scales >> PROFILE_SCALE_MAX <= 1 &&
	       t->low > -RELATIVE_MAX && t->low < RELATIVE_MAX && t->span <= 2 * RELATIVE_MAX;
}

int times_reading_begin(struct times_reading *t, const struct profile *p,
			const struct wire_field *f)
{
	struct wire w = f->bytes, bits = {0};
	uint64_t m[BLOCK_FIELDS];
	struct wire_field field;
	size_t n;

	times_reading_stop(t);
	if (f->type != WIRE_BYTES || !wire_read_numbers(w, m, BLOCK_FIELDS))
		return 0;
	while (wire_next(&w, &field))
		if (field.number == BLOCK_FIELDS + 1 && field.type == WIRE_BYTES)
			bits = field.bytes;
	t->base = m[1];
	t->scales = m[2];
	t->low = (int64_t)(m[3] >> 1) ^ -(int64_t)(m[3] & 1);
	t->span = m[4];
	t->partial = m[5];
	n = (size_t)(bits.end - bits.at);
	if (!times_reading_is_sane(t) || n > BITS_BYTES_MAX)
		return 0;
	t->bits = malloc(n + 1);
	if (!t->bits)
		return error_origin(-ENOMEM);
	if (n)
		memcpy(t->bits, bits.at, n);
	t->n_bits = n * 8;
	t->at = 0;
	t->n_samples = m[0];
	t->window_key = profile_find_text(p, WINDOWS_LABEL);
	return 0;
}

enum { TIMES_E_OK, TIMES_E_MALFORMED };

/* Into the list: @n times the bucket @element of @scale. TIMES_E_* or negative errno. */
static int times_reading_put(struct times_reading *t, uint64_t element, unsigned scale, uint64_t n)
{
	struct profile_time *last = t->list.n ? &t->list.all[t->list.n - 1] : NULL;
	uint64_t bucket = element << scale, some;
	int r = 0;

	if (last && last->scale == scale && last->bucket == bucket) {
		some = n < UINT32_MAX - last->count ? n : UINT32_MAX - last->count;
		last->count += (uint32_t)some;
		n -= some;
	}
	for (; n && !r; n -= some) {
		some = n < UINT32_MAX ? n : UINT32_MAX;
		if (t->list.n == SAMPLE_TIMES)
			return TIMES_E_MALFORMED;
		r = room_append(&t->list.all, &t->list.max, &t->list.n,
				(struct profile_time){
					.bucket = bucket, .scale = scale, .count = (uint32_t)some});
	}
	return r;
}

/* @n elements, all from @low to @high; see making_put_elements(). */
static int times_reading_elements(struct times_reading *t, struct bits_in *in, unsigned scale,
				  uint64_t n, uint64_t low, uint64_t high)
{
	uint64_t element;

	if (!n)
		return TIMES_E_OK;
	if (low == high)
		return times_reading_put(t, low, scale, n);
	if (!bits_get(in, high - low + 1, &element))
		return TIMES_E_MALFORMED;
	element += low;
	return times_reading_elements(t, in, scale, n / 2, low, element)
		       ?: times_reading_put(t, element, scale, 1)
		       ?: times_reading_elements(t, in, scale, n - n / 2 - 1, element, high);
}

static int times_reading_list(struct times_reading *t, struct bits_in *in, uint64_t base,
			      uint64_t count)
{
	const int64_t low = (int64_t)base + t->low;
	uint64_t n;

	if (low < 0 || (uint64_t)low + t->span >= PROFILE_BUCKET_MAX)
		return TIMES_E_MALFORMED;
	for (unsigned scale = 0; scale <= PROFILE_SCALE_MAX; scale++) {
		int r;

		if (!(t->scales >> scale & 1))
			continue;
		n = count;
		if (t->scales >> scale > 1 && !bits_get(in, count + 1, &n))
			return TIMES_E_MALFORMED;
		r = times_reading_elements(t, in, scale, n, (uint64_t)low >> scale,
					   ((uint64_t)low + t->span) >> scale);
		if (r)
			return r;
		count -= n;
	}
	return TIMES_E_OK;
}

int times_reading_sample(struct times_reading *t, struct profile *p)
{
	struct bits_in in = {.data = t->bits, .n_bits = t->n_bits, .at = t->at};
	const uint32_t sample = profile_last_sample(p);
	uint64_t known = 1, base = t->base;
	int64_t count = 0;
	int r;

	if (!t->n_samples)
		return 0;
	t->n_samples--;
	if (t->partial && !bits_get(&in, 2, &known))
		known = 0;
	if (!known) {
		t->at = in.at;
		return 0;
	}
	if (p->n_sample_types)
		count = p->sample_values[(size_t)sample * p->n_sample_types];
	t->list.n = 0;
	r = count > 0 && sample_base(p, sample, t->window_key, &base) && p->n_times < PROFILE_TIMES
		    ? times_reading_list(t, &in, base, (uint64_t)count)
		    : TIMES_E_MALFORMED;
	if (r) {
		times_reading_stop(t);
		return r < 0 ? r : 0;
	}
	t->at = in.at;
	for (size_t i = t->list.n; i-- && !r;)
		r = profile_add_time(p, sample, t->list.all[i].bucket, t->list.all[i].scale,
				     t->list.all[i].count);
	return r;
}
