/* SPDX-License-Identifier: MIT */
/*
 * Counters over a store that is made up: windows of a minute, which come, are merged and go. They
 * grow by what was used, and never fall.
 */
#include "client/gateway/service_cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"

#define START (UINT64_C(1795262400) * NS_PER_S)
#define S     NS_PER_S

static char service[] = "a.service";

static Profd__Control__Listing *listing_of(uint64_t cpu_ns)
{
	static Profd__Control__ListingRow row = PROFD__CONTROL__LISTING_ROW__INIT;
	static Profd__Control__ListingRow *rows[] = {&row};
	static Profd__Control__Listing listing = PROFD__CONTROL__LISTING__INIT;

	row.service = service;
	row.cpu_ns = cpu_ns;
	listing.n_rows = cpu_ns != 0;
	listing.rows = rows;
	return &listing;
}

/* A service that uses a second of CPU time each second; what windows that end after @since have. */
static uint64_t used_ns(uint64_t since_ns, uint64_t now_ns)
{
	uint64_t first_ns = since_ns > START ? (since_ns - START) / (60 * S) * 60 * S : 0;

	return now_ns - START - first_ns;
}

static uint64_t shown_ns(const struct service_cpu *s)
{
	const struct service_cpu_entry *e = service_cpu_next(s, NULL);

	if (!e)
		return 0;
	assert_string_equal(service_cpu_name(e), service);
	assert_null(service_cpu_next(s, e));
	return service_cpu_ns(e);
}

/* @lost_ns: of the store, since the start. */
static void scrape(struct service_cpu *s, uint64_t now_ns, uint64_t lost_ns)
{
	uint64_t since_ns = service_cpu_since(s, now_ns), next_ns;

	assert_int_equal(service_cpu_update(s, listing_of(used_ns(since_ns, now_ns) - lost_ns),
					    now_ns, &next_ns),
			 0);
	if (next_ns)
		service_cpu_move(s, listing_of(used_ns(next_ns, now_ns)), next_ns);
}

static void test_grows(void **state)
{
	cleanup(service_cpu_freep) struct service_cpu *s = NULL;
	uint64_t first;

	(void)state;
	assert_int_equal(service_cpu_new(&s), 0);
	scrape(s, START + 100 * S, 0);
	/* The window that is open, and the one that may just have been. */
	first = shown_ns(s);
	assert_in_range(first, 40 * S, 100 * S);
	for (uint64_t t = 115; t < 20000; t += 15) {
		scrape(s, START + t * S, 0);
		assert_int_equal(shown_ns(s), first + (t - 100) * S);
	}
}

/* profd is killed: its open window is lost. */
static void test_never_falls(void **state)
{
	cleanup(service_cpu_freep) struct service_cpu *s = NULL;
	uint64_t before;

	(void)state;
	assert_int_equal(service_cpu_new(&s), 0);
	scrape(s, START + 100 * S, 0);
	scrape(s, START + 170 * S, 0);
	before = shown_ns(s);
	scrape(s, START + 175 * S, 30 * S);
	assert_int_equal(shown_ns(s), before);
	scrape(s, START + 185 * S, 30 * S);
	assert_int_equal(shown_ns(s), before + 10 * S);
}

static void test_absent(void **state)
{
	cleanup(service_cpu_freep) struct service_cpu *s = NULL;
	uint64_t next_ns, now_ns = START + 100 * S;

	(void)state;
	assert_int_equal(service_cpu_new(&s), 0);
	scrape(s, now_ns, 0);
	next_ns = shown_ns(s);
	/* It ended: what it has used stays, for a day. */
	service_cpu_move(s, listing_of(0), now_ns + 700 * S);
	assert_int_equal(service_cpu_update(s, listing_of(0), now_ns + 710 * S, &now_ns), 0);
	assert_int_equal(shown_ns(s), next_ns);
	service_cpu_move(s, listing_of(0), START + 100000 * S);
	assert_int_equal(shown_ns(s), 0);
}

/* What nobody asked for in hours is not known: the windows may have been merged. */
static void test_pause(void **state)
{
	cleanup(service_cpu_freep) struct service_cpu *s = NULL;

	(void)state;
	assert_int_equal(service_cpu_new(&s), 0);
	scrape(s, START + 100 * S, 0);
	scrape(s, START + 10000 * S, 0);
	assert_in_range(shown_ns(s), 0, 120 * S);
}

static void test_bounded(void **state)
{
	cleanup(service_cpu_freep) struct service_cpu *s = NULL;
	Profd__Control__ListingRow row = PROFD__CONTROL__LISTING_ROW__INIT, *rows[] = {&row};
	Profd__Control__Listing listing = PROFD__CONTROL__LISTING__INIT;
	const struct service_cpu_entry *e = NULL;
	char name[32];
	uint64_t next_ns;
	unsigned n = 0;

	(void)state;
	assert_int_equal(service_cpu_new(&s), 0);
	service_cpu_since(s, START);
	row.service = name;
	row.cpu_ns = 1;
	listing.n_rows = 1;
	listing.rows = rows;
	for (unsigned i = 0; i < SERVICE_CPU_MAX + 100; i++) {
		snprintf(name, sizeof(name), "service-%u", i);
		assert_int_equal(service_cpu_update(s, &listing, START, &next_ns), 0);
	}
	while ((e = service_cpu_next(s, e)))
		n++;
	assert_int_equal(n, SERVICE_CPU_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),   cmocka_unit_test(test_never_falls),
		cmocka_unit_test(test_absent),  cmocka_unit_test(test_pause),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
