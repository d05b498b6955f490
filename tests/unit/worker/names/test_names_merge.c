/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/worker/names/elf_names.h"
#include "tests/support/random.h"

#define BASE  0x1000u
#define N_MAX 48u

/* --- the rules once more, without any cleverness ------------------------------------------------
 */

static bool model_beats(const struct symtab_entry *a, const struct symtab_entry *b)
{
	if (a->source != b->source)
		return a->source < b->source;
	if (a->start != b->start)
		return a->start > b->start;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->size != b->size)
		return a->size > b->size;
	return strcmp(a->name, b->name) < 0;
}

static bool covers(const struct symtab_entry *e, uint64_t address)
{
	return e->size && e->start <= address && address - e->start < e->size;
}

static const struct symtab_entry *model_find(const struct symtab_entry *entries, size_t n,
					     uint64_t address)
{
	const struct symtab_entry *found = NULL;
	uint64_t start = 0;

	for (size_t i = 0; i < n; i++) {
		if (covers(&entries[i], address) && (!found || model_beats(&entries[i], found)))
			found = &entries[i];
		if (entries[i].start <= address && entries[i].start > start)
			start = entries[i].start;
	}
	if (found)
		return found;
	for (size_t i = 0; i < n; i++)
		if (covers(&entries[i], start))
			return NULL;
	for (size_t i = 0; i < n; i++) {
		const struct symtab_entry *e = &entries[i];

		if (e->start == start && address < e->limit && (!found || model_beats(e, found)))
			found = e;
	}
	return found;
}

/* The one piece of all sources that holds @address. */
static const struct symtab_entry *find_piece(const struct symtab_entries *pieces, uint64_t address)
{
	const struct symtab_entry *found = NULL;

	for (unsigned s = 0; s < NAMES_MERGE_SOURCES; s++) {
		for (size_t i = 0; i < pieces[s].n; i++) {
			const struct symtab_entry *e = &pieces[s].entries[i];

			assert_true(e->size > 0);
			assert_int_equal(e->source, s);
			if (!covers(e, address))
				continue;
			assert_null(found);
			found = e;
		}
	}
	return found;
}

static void check_random(uint64_t seed, unsigned n, unsigned span)
{
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	struct symtab_entries pieces[NAMES_MERGE_SOURCES] = {0};
	struct symtab_entry copy[N_MAX];
	char names[N_MAX][16];
	size_t n_pieces = 0;

	for (unsigned i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", random_next(&seed) % n);
		copy[i] = (struct symtab_entry){
			.start = BASE + random_next(&seed) % span,
			.size = random_next(&seed) % 3 ? random_next(&seed) % (span / 2) : 0,
			.limit = BASE + span,
			.rank = (enum symtab_rank)(random_next(&seed) % 3),
			.source = random_next(&seed) % 4,
			.name = names[i],
			.name_length = (uint32_t)strlen(names[i]),
		};
		assert_int_equal(symtab_entries_add(&list, &copy[i]), 0);
	}
	assert_int_equal(names_merge(&list, pieces), 0);
	for (uint64_t a = BASE - 2; a < BASE + 2 * span; a++) {
		const struct symtab_entry *expected = model_find(copy, n, a);
		const struct symtab_entry *found = find_piece(pieces, a);

		assert_int_equal(found != NULL, expected != NULL);
		if (!expected)
			continue;
		assert_int_equal(found->source, expected->source);
		assert_string_equal(found->name, expected->name);
		assert_true(found->start >= expected->start);
	}
	for (unsigned s = 0; s < NAMES_MERGE_SOURCES; s++) {
		for (size_t i = 1; i < pieces[s].n; i++)
			assert_true(pieces[s].entries[i - 1].start < pieces[s].entries[i].start);
		n_pieces += pieces[s].n;
		symtab_entries_deinit(&pieces[s]);
	}
	assert_true(n_pieces <= 2 * n);
}

static void test_against_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 2000; seed++) {
		uint64_t s = seed;
		unsigned n = 1 + random_next(&s) % (N_MAX - 1);

		check_random(seed, n, 10 + random_next(&s) % 120);
	}
}

static void test_edges(void **state)
{
	static const struct symtab_entry entries[] = {
		{.start = 0, .size = UINT64_MAX, .name = "all", .name_length = 3, .source = 1},
		{.start = UINT64_MAX - 2, .size = 9, .name = "end", .name_length = 3},
		{.start = 5, .size = 0, .limit = 4, .name = "none", .name_length = 4},
		{.start = 7, .size = 1, .name = "one", .name_length = 3},
	};
	cleanup(symtab_entries_deinit) struct symtab_entries list = {0};
	struct symtab_entries pieces[NAMES_MERGE_SOURCES] = {0};

	(void)state;
	assert_int_equal(names_merge(&list, pieces), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(entries); i++)
		assert_int_equal(symtab_entries_add(&list, &entries[i]), 0);
	assert_int_equal(names_merge(&list, pieces), 0);
	assert_int_equal(pieces[0].n, 2);
	assert_int_equal(pieces[1].n, 2);
	assert_int_equal(pieces[0].entries[1].start, UINT64_MAX - 2);
	assert_int_equal(pieces[0].entries[1].size, 2);
	assert_int_equal(pieces[1].entries[0].size, 7);
	assert_int_equal(pieces[1].entries[1].start, 8);
	assert_int_equal(pieces[1].entries[1].size, UINT64_MAX - 2 - 8);
	symtab_entries_deinit(&pieces[0]);
	symtab_entries_deinit(&pieces[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
