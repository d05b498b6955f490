/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_TABLES_BPF_H
#define PROFD_BPF_TABLES_BPF_H

/*
 * The searches over what profd keeps in common/unwind/layout.h's arrays: from an address to its
 * mapping, from an offset in an image to its rule. profd writes while they read; whatever they meet
 * then, they end, and read nothing outside of the arrays.
 *
 * Global functions: the verifier looks at each once, by itself, knowing nothing of its arguments,
 * instead of once for every way that leads there.
 */
#include "bpf/abi.h"

/* Their sizes are profd's choice, before it loads the programs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} words SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TABLE_SLOTS_MAX);
	__type(key, __u32);
	__type(value, struct table_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_mapping);
} mappings SEC(".maps");

/* What tables_search() returns instead of a rule's word; distinct from all of them by their kind.
 */
#define TABLES_ABSENT  RULE_WORD(15) /* not there, or it changed meanwhile */
#define TABLES_NO_CFI  RULE_WORD(14)
#define TABLES_REFUSED RULE_WORD(13)
_Static_assert(N_RULE_KINDS <= 13, "enum rule_kind");

#define TABLES_NO_MAPPING 0xffffffffu

/*
 * The index of the last of the @n mappings from @first on that begins at or below @address, which
 * may end below it too; TABLES_NO_MAPPING: all begin above.
 */
__attribute__((noinline)) __u32 tables_find_mapping(__u32 first, __u32 n, __u64 address)
{
	__u32 low = first, high = first + n;

	for (__u32 i = 0; i < UNWIND_MAPPING_STEPS; i++) {
		__u32 middle = low + ((high - low) >> 1);
		struct unwind_mapping *m;

		if (low >= high)
			break;
		m = bpf_map_lookup_elem(&mappings, &middle);
		if (!m)
			return TABLES_NO_MAPPING;
		if (m->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first ? low - 1 : TABLES_NO_MAPPING;
}

/* The @i-th half of the run at word @first; 0 where that is outside. */
static __always_inline __u32 tables_half(__u32 first, __u32 i)
{
	__u32 at = first + (i >> 1);
	__u64 *word = bpf_map_lookup_elem(&words, &at);

	return word ? *word >> ((i & 1) << 5) : 0;
}

static __always_inline __u64 tables_lookup(__u32 first, __u32 n_rules, __u32 n_chunks, __u32 chunk,
					   __u32 offset)
{
	__u32 chunks = first + n_rules, rows = chunks + ((n_chunks + 2) >> 1);
	__u32 low = tables_half(chunks, chunk), high = tables_half(chunks, chunk + 1);
	__u32 rule;
	__u64 *word;

	offset &= TABLE_CHUNK - 1;
	/* The first row of the chunk behind @offset; the one before it rules. */
	for (__u32 i = 0; i < TABLE_SEARCH_STEPS; i++) {
		__u32 middle = low + ((high - low) >> 1);

		if (low >= high)
			break;
		if ((tables_half(rows, middle) & (TABLE_CHUNK - 1)) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return RULE_WORD(RULE_UNKNOWN);
	rule = tables_half(rows, low - 1) >> TABLE_CHUNK_BITS;
	if (rule >= n_rules)
		return RULE_WORD(RULE_UNKNOWN);
	rule += first;
	word = bpf_map_lookup_elem(&words, &rule);
	return word ? *word : RULE_WORD(RULE_UNKNOWN);
}

/*
 * The rule at file offset @offset by the table in @slot, or TABLES_*. @now_s: CLOCK_MONOTONIC
 * seconds. As table_search() of common/unwind/table.c, which is the one to read.
 */
__attribute__((noinline)) __u64 tables_search(__u32 slot, __u32 offset, __u32 now_s)
{
	volatile struct table_slot *s = bpf_map_lookup_elem(&slots, &slot);
	__u32 state, version, chunk, first_chunk, n_chunks;
	__u64 rule = RULE_WORD(RULE_UNKNOWN);

	if (!s)
		return TABLES_ABSENT;
	version = s->version;
	state = s->state;
	if (state == TABLE_NO_CFI)
		return TABLES_NO_CFI;
	if (state == TABLE_REFUSED)
		return TABLES_REFUSED;
	if (state != TABLE_LOADED)
		return TABLES_ABSENT;
	if (s->used_s != now_s)
		s->used_s = now_s;
	chunk = offset >> TABLE_CHUNK_BITS;
	first_chunk = s->first_chunk;
	n_chunks = s->n_chunks;
	if (chunk >= first_chunk && chunk - first_chunk < n_chunks)
		rule = tables_lookup(s->first, s->n_rules, n_chunks, chunk - first_chunk, offset);
	return s->version == version ? rule : TABLES_ABSENT;
}

/* Says that the table in @slot is in use, where a search was not necessary. */
static __always_inline void tables_touch(__u32 slot, __u32 now_s)
{
	struct table_slot *s = bpf_map_lookup_elem(&slots, &slot);

	if (s && s->used_s != now_s)
		s->used_s = now_s;
}

#endif
