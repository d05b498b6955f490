/* SPDX-License-Identifier: MIT */
/* Tables come and go: what a reader in the kernel sees at each moment is what layout.h promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/resolve/table_pool.h"
#include "daemon/resolve/unwinder.h"

#define SECOND   UINT64_C(1000000000)
#define N_WORDS  100u
#define N_SLOTS  8u
#define N_IMAGES 12u

struct fixture {
	uint64_t words[N_WORDS];
	struct table_slot slots[N_SLOTS];
	struct image *images[N_IMAGES];
	struct unwinder_stats stats;
	struct table_pool *pool;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct table_memory memory = {
		.words = f->words, .n_words = N_WORDS, .slots = f->slots, .n_slots = N_SLOTS};

	for (unsigned i = 0; i < N_IMAGES; i++) {
		f->images[i] = calloc(1, sizeof(*f->images[i]));
		f->images[i]->n_references = 1; /* an image table's */
		f->images[i]->id = i + 1;
		f->images[i]->kind = IMAGE_VDSO;
		f->images[i]->fd = -1;
		f->images[i]->path = strdup("x");
	}
	assert_int_equal(table_pool_new(&f->pool, &memory, &f->stats), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	table_pool_free(f->pool);
	for (unsigned i = 0; i < N_IMAGES; i++) {
		assert_int_equal(f->images[i]->n_references, 1);
		image_unref(f->images[i]);
	}
	free(f);
	return 0;
}

static uint32_t slot_of(struct fixture *f, unsigned image, uint64_t now)
{
	uint32_t slot;

	assert_int_equal(table_pool_slot(f->pool, f->images[image], now, &slot), 0);
	return slot;
}

static struct table_result *result_of(struct fixture *f, unsigned image, size_t n_words,
				      enum table_state what)
{
	struct table_result *r = calloc(1, sizeof(*r));

	r->image = image_ref(f->images[image]);
	r->slot.state = what;
	if (what != TABLE_LOADED)
		return r;
	r->slot.n_rules = 1 + image;
	r->slot.n_rows = 7;
	r->n_words = n_words;
	r->words = calloc(n_words, sizeof(*r->words));
	for (size_t i = 0; i < n_words; i++)
		r->words[i] = image * 1000 + i;
	return r;
}

/* Requests and installs; returns what install says. */
static int load(struct fixture *f, unsigned image, size_t n_words, enum table_state what,
		uint64_t now)
{
	cleanup(table_result_freep) struct table_result *result = NULL;
	uint32_t slot = slot_of(f, image, now), installed;
	struct image *wanted;
	int r;

	r = table_pool_request(f->pool, slot, now, &wanted);
	if (r)
		return 100 + r;
	assert_ptr_equal(wanted, f->images[image]);
	assert_int_equal(table_pool_request(f->pool, slot, now, &wanted), TABLE_POOL_E_PENDING);
	result = result_of(f, image, n_words, what);
	r = table_pool_install(f->pool, result, now, &installed);
	assert_int_equal(installed, slot);
	return r;
}

static void assert_table(struct fixture *f, unsigned image, size_t n_words)
{
	const struct table_slot *slot = &f->slots[slot_of(f, image, 0)];

	assert_int_equal(slot->state, TABLE_LOADED);
	assert_int_equal(slot->n_rules, 1 + image);
	for (size_t i = 0; i < n_words; i++)
		assert_int_equal(f->words[slot->first + i], image * 1000 + i);
}

static void test_from_absent_to_loaded(void **state)
{
	struct fixture *f = *state;
	uint32_t slot = slot_of(f, 0, SECOND), version;

	assert_int_equal(slot_of(f, 0, SECOND), slot);
	assert_int_not_equal(slot_of(f, 1, SECOND), slot);
	assert_int_equal(f->slots[slot].state, TABLE_ABSENT);
	assert_false(table_pool_is_ready(f->pool, f->images[0]));
	version = f->slots[slot].version;
	assert_int_equal(load(f, 0, 10, TABLE_LOADED, SECOND), TABLE_POOL_E_OK);
	assert_table(f, 0, 10);
	assert_int_not_equal(f->slots[slot].version, version);
	assert_true(table_pool_is_ready(f->pool, f->images[0]));
	/* Not wanted any more. */
	assert_int_equal(load(f, 0, 10, TABLE_LOADED, SECOND), 100 + TABLE_POOL_E_LATER);
	assert_int_equal(f->stats.tables_loaded, 1);
	assert_int_equal(f->stats.tables, 1);
	assert_int_equal(f->stats.rows, 7);
	assert_int_equal(f->stats.table_bytes, 10 * sizeof(uint64_t));
}

static void test_without_a_table(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f, 0, 0, TABLE_NO_CFI, SECOND), TABLE_POOL_E_OK);
	assert_int_equal(f->slots[slot_of(f, 0, SECOND)].state, TABLE_NO_CFI);
	assert_true(table_pool_is_ready(f->pool, f->images[0]));
	assert_int_equal(load(f, 1, 0, TABLE_REFUSED, SECOND), TABLE_POOL_E_OK);
	assert_int_equal(f->slots[slot_of(f, 1, SECOND)].state, TABLE_REFUSED);
	/* A file that could not be opened: nothing to ask for. */
	f->images[2]->kind = IMAGE_FILE;
	assert_int_equal(f->slots[slot_of(f, 2, SECOND)].state, TABLE_REFUSED);
	/* One that killed an image worker: the same, though its headers say that it has a table. */
	f->images[4]->kind = IMAGE_FILE;
	f->images[4]->fd = 0;
	assert_int_equal(f->slots[slot_of(f, 4, SECOND)].state, TABLE_ABSENT);
	f->images[5]->kind = IMAGE_FILE;
	f->images[5]->fd = 0;
	atomic_store(&f->images[5]->is_bad, true);
	assert_int_equal(f->slots[slot_of(f, 5, SECOND)].state, TABLE_REFUSED);
	f->images[4]->fd = f->images[5]->fd = -1;
	f->images[3]->kind = IMAGE_ANON;
	assert_int_equal(slot_of(f, 3, SECOND), SLOT_NONE);
	assert_true(table_pool_is_ready(f->pool, f->images[3]));
	assert_int_equal(f->stats.tables_refused, 3);
	assert_int_equal(f->stats.tables, 0);
}

static void test_a_failure_is_tried_again_later(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f, 0, 0, TABLE_ABSENT, SECOND), TABLE_POOL_E_LATER);
	assert_int_equal(load(f, 0, 5, TABLE_LOADED, 2 * SECOND), 100 + TABLE_POOL_E_LATER);
	assert_int_equal(load(f, 0, 5, TABLE_LOADED, 3 * SECOND), TABLE_POOL_E_OK);
}

static void test_the_least_used_goes(void **state)
{
	struct fixture *f = *state;
	uint32_t version;

	assert_int_equal(load(f, 0, 40, TABLE_LOADED, 10 * SECOND), TABLE_POOL_E_OK);
	assert_int_equal(load(f, 1, 40, TABLE_LOADED, 10 * SECOND), TABLE_POOL_E_OK);
	f->slots[slot_of(f, 0, 0)].used_s = 14;
	f->slots[slot_of(f, 1, 0)].used_s = 13;
	/* Both were searched a moment ago: nobody goes. */
	assert_int_equal(load(f, 2, 30, TABLE_LOADED, 15 * SECOND), TABLE_POOL_E_FULL);
	assert_table(f, 0, 40);
	assert_table(f, 1, 40);

	version = f->slots[slot_of(f, 1, 0)].version;
	for (unsigned i = 0; i < 3; i++) {
		cleanup(table_result_freep) struct table_result *r = result_of(f, 2, 30,
									       TABLE_LOADED);
		uint64_t now = 16 * SECOND + i * SECOND / 2;
		uint32_t slot;
		int got = table_pool_install(f->pool, r, now, &slot);

		/* What was evicted rests for a second before it is overwritten. */
		assert_int_equal(got, i < 2 ? TABLE_POOL_E_FULL : TABLE_POOL_E_OK);
		assert_int_equal(f->slots[slot_of(f, 1, 0)].state, TABLE_ABSENT);
		assert_int_not_equal(f->slots[slot_of(f, 1, 0)].version, version);
		if (i < 2)
			assert_int_equal(f->words[40], 1000);
	}
	assert_table(f, 0, 40);
	assert_table(f, 2, 30);
	assert_int_equal(f->stats.tables_evicted, 1);
	assert_int_equal(f->stats.tables, 2);
	assert_int_equal(f->stats.table_bytes, 70 * sizeof(uint64_t));
	/* It may come back. */
	f->slots[slot_of(f, 0, 0)].used_s = 10;
	assert_int_equal(load(f, 1, 20, TABLE_LOADED, 18 * SECOND), TABLE_POOL_E_OK);
}

static void test_some_room_is_kept(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f, 0, 50, TABLE_LOADED, 10 * SECOND), TABLE_POOL_E_OK);
	assert_int_equal(load(f, 1, 50, TABLE_LOADED, 10 * SECOND), TABLE_POOL_E_OK);
	table_pool_hold(f->pool, slot_of(f, 0, 0));
	table_pool_hold(f->pool, slot_of(f, 1, 0));
	f->slots[slot_of(f, 1, 0)].used_s = 15;
	table_pool_sweep(f->pool, 20 * SECOND);
	assert_table(f, 0, 50);
	table_pool_sweep(f->pool, 21 * SECOND);
	assert_int_equal(f->slots[slot_of(f, 0, 0)].state, TABLE_ABSENT);
	assert_table(f, 1, 50);
}

/* A number that a published mapping holds means one image; another gets it only after a rest. */
static void test_slots_are_used_again_with_care(void **state)
{
	struct fixture *f = *state;
	uint32_t slots[N_SLOTS], version;

	for (unsigned i = 0; i < N_SLOTS; i++) {
		slots[i] = slot_of(f, i, SECOND);
		table_pool_hold(f->pool, slots[i]);
	}
	assert_int_equal(slot_of(f, N_SLOTS, SECOND), SLOT_NONE);
	table_pool_sweep(f->pool, 5 * SECOND);
	for (unsigned i = 0; i < N_SLOTS; i++)
		assert_int_equal(slot_of(f, i, 5 * SECOND), slots[i]);

	table_pool_release(f->pool, slots[3]);
	version = f->slots[slots[3]].version;
	table_pool_sweep(f->pool, 6 * SECOND);
	assert_int_not_equal(f->slots[slots[3]].version, version);
	assert_int_equal(slot_of(f, 9, 7 * SECOND - 1), SLOT_NONE);
	version = f->slots[slots[3]].version;
	assert_int_equal(slot_of(f, 9, 7 * SECOND), slots[3]);
	assert_int_not_equal(f->slots[slots[3]].version, version);
	assert_int_equal(f->stats.no_slot, 2);
	table_pool_release(f->pool, SLOT_NONE);
	table_pool_hold(f->pool, N_SLOTS);
}

static void test_tables_outlive_their_last_process(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f, 0, 5, TABLE_LOADED, SECOND), TABLE_POOL_E_OK);
	assert_int_equal(load(f, 1, 5, TABLE_LOADED, SECOND), TABLE_POOL_E_OK);
	f->images[1]->n_references++; /* some process maps it */
	table_pool_sweep(f->pool, 200 * SECOND);
	assert_table(f, 0, 5);
	table_pool_sweep(f->pool, 302 * SECOND);
	assert_false(table_pool_is_ready(f->pool, f->images[0]));
	assert_table(f, 1, 5);
	f->images[1]->n_references--;
}

/* Whatever the order: runs in use never overlap, and each table holds its own words. */
static void test_random(void **state)
{
	struct fixture *f = *state;
	uint64_t now = SECOND;
	size_t sizes[N_IMAGES];

	srand(7);
	for (unsigned i = 0; i < N_IMAGES; i++)
		sizes[i] = 1 + (size_t)rand() % 40;
	for (unsigned i = 0; i < 20000; i++) {
		unsigned image = (unsigned)rand() % N_IMAGES;
		uint32_t slot = slot_of(f, image, now);

		now += (uint64_t)rand() % (SECOND / 4);
		if (slot != SLOT_NONE && f->slots[slot].state == TABLE_LOADED && rand() % 2)
			f->slots[slot].used_s = (uint32_t)(now / SECOND);
		else if (slot != SLOT_NONE)
			load(f, image, sizes[image], TABLE_LOADED, now);
		if (rand() % 8 == 0)
			table_pool_sweep(f->pool, now);
		for (unsigned k = 0; k < N_IMAGES; k++)
			if (table_pool_is_ready(f->pool, f->images[k]))
				assert_table(f, k, sizes[k]);
		/* A pending one that found no room is dropped by its owner. */
		if (slot != SLOT_NONE && f->slots[slot].state == TABLE_ABSENT) {
			cleanup(table_result_freep) struct table_result *r =
				result_of(f, image, 1, TABLE_LOADED);

			table_pool_drop(f->pool, r, now);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_from_absent_to_loaded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_a_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_failure_is_tried_again_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_least_used_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_some_room_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slots_are_used_again_with_care, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_tables_outlive_their_last_process, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
