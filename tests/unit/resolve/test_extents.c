/* SPDX-License-Identifier: MIT */
/* Against a model that has one owner, or one time of return, for each element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/resolve/extents.h"

#define N    400u
#define REST 100u
#define RUNS 64u

static void test_first_fit_and_joining(void **state)
{
	cleanup(extents_freep) struct extents *e = NULL;
	size_t a, b, c, all;

	(void)state;
	assert_int_equal(extents_new(&e, 10, REST), 0);
	assert_int_equal(extents_allocate(e, 3, 0, &a), EXTENTS_E_OK);
	assert_int_equal(extents_allocate(e, 4, 0, &b), EXTENTS_E_OK);
	assert_int_equal(extents_allocate(e, 3, 0, &c), EXTENTS_E_OK);
	assert_int_equal(a, 0);
	assert_int_equal(b, 3);
	assert_int_equal(c, 7);
	assert_int_equal(extents_allocate(e, 1, 0, &all), EXTENTS_E_FULL);

	extents_release(e, a, 3, 1000);
	extents_release(e, c, 3, 1001);
	extents_release(e, b, 4, 1002);
	assert_int_equal(extents_unused(e), 10);
	assert_int_equal(extents_allocate(e, 3, 1000 + REST - 1, &a), EXTENTS_E_FULL);
	assert_int_equal(extents_allocate(e, 4, 1001 + REST, &a), EXTENTS_E_FULL);
	assert_int_equal(extents_allocate(e, 10, 1002 + REST, &all), EXTENTS_E_OK);
	assert_int_equal(all, 0);
}

struct model {
	int owner[N];         /* run's index, or -1 */
	uint64_t returned[N]; /* when it came back */
	size_t first[RUNS], n[RUNS];
};

/* Whether @n elements in a row are free and have rested. */
static bool model_has(const struct model *m, size_t n, uint64_t now)
{
	size_t row = 0;

	for (size_t i = 0; i < N; i++) {
		row = m->owner[i] < 0 && m->returned[i] <= now ? row + 1 : 0;
		if (row == n)
			return true;
	}
	return false;
}

static void take(struct extents *e, struct model *m, unsigned run, size_t n, uint64_t now)
{
	bool fits = model_has(m, n, now);
	size_t first = 0;

	assert_int_equal(extents_allocate(e, n, now, &first), fits ? EXTENTS_E_OK : EXTENTS_E_FULL);
	if (!fits)
		return;
	assert_true(first + n <= N);
	for (size_t i = first; i < first + n; i++) {
		assert_int_equal(m->owner[i], -1);
		assert_true(m->returned[i] <= now);
		m->owner[i] = (int)run;
	}
	m->first[run] = first;
	m->n[run] = n;
}

static void give(struct extents *e, struct model *m, unsigned run, uint64_t now)
{
	extents_release(e, m->first[run], m->n[run], now);
	for (size_t i = m->first[run]; i < m->first[run] + m->n[run]; i++) {
		m->owner[i] = -1;
		m->returned[i] = now + REST;
	}
	m->n[run] = 0;
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 30; seed++) {
		cleanup(extents_freep) struct extents *e = NULL;
		struct model m;
		uint64_t now = REST;

		srand(seed);
		memset(&m, 0, sizeof(m));
		memset(m.owner, -1, sizeof(m.owner));
		assert_int_equal(extents_new(&e, N, REST), 0);
		for (unsigned i = 0; i < 2000; i++) {
			unsigned run = (unsigned)rand() % RUNS;
			size_t unused = 0;

			now += (uint64_t)rand() % 8;
			if (m.n[run])
				give(e, &m, run, now);
			else
				take(e, &m, run, 1 + (size_t)rand() % 30, now);
			for (size_t k = 0; k < N; k++)
				unused += m.owner[k] < 0;
			assert_int_equal(extents_unused(e), unused);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_fit_and_joining),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
