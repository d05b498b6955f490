/* SPDX-License-Identifier: MIT */
#include "daemon/output/window_events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add(char **text, enum window_event_kind kind, uint32_t at_s, uint64_t n,
		const char *build)
{
	struct window_event e = {.kind = kind, .at_s = at_s, .n = n, .of = 10 * n};

	snprintf(e.text, sizeof(e.text), "%s", build);
	assert_int_equal(window_events_add(text, &e), 0);
}

static void test_there_and_back(void **state)
{
	struct window_event e;
	char *text = NULL;
	const char *at;

	(void)state;
	add(&text, WINDOW_EVENT_BOOTED, 0, 0, "");
	add(&text, WINDOW_EVENT_LOST, 60, 5, "");
	add(&text, WINDOW_EVENT_RESTARTED, 120, 0, "");
	add(&text, WINDOW_EVENT_BUILD, 120, 0, "c0ffee /usr/bin/a b");
	assert_string_equal(text, "0 booted\n60 lost 5 50\n120 restarted\n"
				  "120 build c0ffee /usr/bin/a b\n");
	at = text;
	for (unsigned i = 0; i < 4; i++)
		assert_true(window_events_next(&at, &e));
	assert_int_equal(e.kind, WINDOW_EVENT_BUILD);
	assert_int_equal(e.at_s, 120);
	assert_string_equal(e.text, "c0ffee /usr/bin/a b");
	assert_false(window_events_next(&at, &e));
	/* Losses of an hour are one. */
	add(&text, WINDOW_EVENT_LOST, 180, 7, "");
	add(&text, WINDOW_EVENT_LOST, 3600, 1, "");
	assert_string_equal(text, "0 booted\n120 restarted\n120 build c0ffee /usr/bin/a b\n"
				  "60 lost 12 120\n3600 lost 1 10\n");
	free(text);
}

/* What is too much is left out. */
static void test_bounds(void **state)
{
	char *text = NULL, path[2 * WINDOW_EVENTS_TEXT_MAX];
	struct window_event e;
	const char *at;
	unsigned n = 0;

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	path[6] = ' ';
	for (unsigned i = 0; i < 100; i++)
		add(&text, WINDOW_EVENT_BUILD, i, 0, path);
	assert_true(strlen(text) <= WINDOW_EVENTS_MAX);
	for (at = text; window_events_next(&at, &e); n++)
		assert_int_equal(e.at_s, n);
	assert_int_equal(n, 7);
	free(text);
}

static void test_malformed(void **state)
{
	static const char *const texts[] = {
		"",
		"0 booted",
		"booted\n",
		"0 bootedx\n",
		"0 booted x\n",
		"0 lost 1\n",
		"0 lost 1 2 3\n",
		"0 lost -1 2\n",
		"0 build x\n",
		"12345678901 booted\n",
		"\n",
	};
	struct window_event e;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *at = texts[i];

		if (window_events_next(&at, &e) && e.kind != WINDOW_EVENT_LOST)
			fail_msg("'%s' is accepted", texts[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
