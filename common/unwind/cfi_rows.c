/* SPDX-License-Identifier: MIT */
#include "common/unwind/cfi_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"

#define BUCKETS_MIN 256
/*
 * In tables that are half full at most, honest rules are found within some ten. Who makes rules
 * that all fall into one bucket is refused.
 */
#define PROBES_MAX 128

/* Multiplicative hashing; the constant is 2^64 divided by the golden ratio. */
static size_t cfi_rows_bucket(uint64_t rule, size_t n_buckets)
{
	return (size_t)((rule * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (n_buckets - 1);
}

int cfi_rows_builder_init(struct cfi_rows_builder *b, const struct cfi_limits *limits)
{
	*b = (struct cfi_rows_builder){.limits = *limits, .n_buckets = BUCKETS_MIN};
	/* Numbers of rows and rules are 32 bits wide. */
	if (b->limits.max_rows > UINT32_MAX - 1)
		b->limits.max_rows = UINT32_MAX - 1;
	if (b->limits.max_rules > UINT32_MAX - 1)
		b->limits.max_rules = UINT32_MAX - 1;
	b->rows = calloc(1, sizeof(*b->rows));
	b->buckets = calloc(b->n_buckets, sizeof(*b->buckets));
	if (!b->rows || !b->buckets) {
		cfi_rows_builder_deinit(b);
		return error_origin(-ENOMEM);
	}
	return 0;
}

void cfi_rows_builder_deinit(struct cfi_rows_builder *b)
{
	cfi_rows_free(b->rows);
	free(b->buckets);
	*b = (struct cfi_rows_builder){0};
}

static int cfi_rows_rehash(struct cfi_rows_builder *b)
{
	size_t n = b->n_buckets * 2;
	uint32_t *buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < b->rows->n_rules; i++) {
		size_t at = cfi_rows_bucket(b->rows->rules[i], n);

		while (buckets[at])
			at = (at + 1) & (n - 1);
		buckets[at] = (uint32_t)i + 1;
	}
	free(b->buckets);
	b->buckets = buckets;
	b->n_buckets = n;
	return CFI_E_OK;
}

static int cfi_rows_add_rule(struct cfi_rows_builder *b, uint64_t rule, size_t bucket)
{
	struct cfi_rows *rows = b->rows;

	if (rows->n_rules >= b->limits.max_rules)
		return CFI_E_TOO_BIG;
	if (room_append(&rows->rules, &b->rules_size, &rows->n_rules, rule))
		return -ENOMEM;
	b->buckets[bucket] = (uint32_t)rows->n_rules;
	return rows->n_rules * 2 > b->n_buckets ? cfi_rows_rehash(b) : CFI_E_OK;
}

/* The number of @rule. */
static int cfi_rows_intern_rule(struct cfi_rows_builder *b, uint64_t rule, uint32_t *ret)
{
	size_t at = cfi_rows_bucket(rule, b->n_buckets);

	for (unsigned i = 0; i < PROBES_MAX; i++) {
		uint32_t found = b->buckets[at];

		if (!found) {
			*ret = (uint32_t)b->rows->n_rules;
			return cfi_rows_add_rule(b, rule, at);
		}
		if (b->rows->rules[found - 1] == rule) {
			*ret = found - 1;
			return CFI_E_OK;
		}
		at = (at + 1) & (b->n_buckets - 1);
	}
	return CFI_E_TOO_BIG;
}

int cfi_rows_put(struct cfi_rows_builder *b, uint32_t offset, uint64_t rule)
{
	struct cfi_rows *rows = b->rows;
	uint32_t number;
	int r;

	/* Before the first row nothing is known either. */
	if (!rows->n_rows && rule == RULE_WORD(RULE_UNKNOWN))
		return CFI_E_OK;
	r = cfi_rows_intern_rule(b, rule, &number);
	if (r)
		return r;
	if (rows->n_rows && rows->rows[rows->n_rows - 1].rule == number)
		return CFI_E_OK;
	if (rows->n_rows >= b->limits.max_rows)
		return CFI_E_TOO_BIG;
	return room_append(&rows->rows, &b->rows_size, &rows->n_rows,
			   (struct cfi_row){.offset = offset, .rule = number});
}

void cfi_rows_cut(struct cfi_rows_builder *b, size_t n_rows)
{
	if (n_rows < b->rows->n_rows)
		b->rows->n_rows = n_rows;
}

void cfi_rows_clear(struct cfi_rows_builder *b)
{
	b->rows->n_rows = 0;
	b->rows->n_rules = 0;
	memset(b->buckets, 0, b->n_buckets * sizeof(*b->buckets));
}
