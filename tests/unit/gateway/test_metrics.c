/* SPDX-License-Identifier: MIT */
/* The text of /metrics; promtool and Prometheus judge it in live/gateway. */
#include "client/gateway/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"

#define NOW (UINT64_C(1795262400) * NS_PER_S)

static Profd__Control__ListingRow row = PROFD__CONTROL__LISTING_ROW__INIT;
static Profd__Control__ListingRow *rows[] = {&row};

static char *print(const Profd__Control__Status *status, bool is_openmetrics, const char *service)
{
	cleanup(service_cpu_freep) struct service_cpu *services = NULL;
	Profd__Control__Listing listing = PROFD__CONTROL__LISTING__INIT;
	const struct http_counters http = {.requests = {0, 0, 12, 0, 3},
					   .slow = 2,
					   .refused = {[HTTP_REFUSED_TOO_LARGE] = 5},
					   .connections = 9};
	uint64_t since_ns;
	size_t length;
	char *text;

	row.service = (char *)(uintptr_t)service;
	row.cpu_ns = 1500000000;
	listing.n_rows = 1;
	listing.rows = rows;
	assert_int_equal(service_cpu_new(&services), 0);
	service_cpu_since(services, NOW);
	assert_int_equal(service_cpu_update(services, &listing, NOW, &since_ns), 0);
	assert_int_equal(metrics_print(&(struct metrics_source){.status = status,
								.services = services,
								.http = &http},
				       is_openmetrics, &text, &length),
			 0);
	assert_int_equal(length, strlen(text));
	assert_int_equal(text[length - 1], '\n');
	return text;
}

static void assert_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at != text && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("no line \"%s\" in:\n%s", line, text);
}

static Profd__Control__Status *status_of_all(void)
{
	static Profd__Control__Reason skipped = PROFD__CONTROL__REASON__INIT,
				      ring_full = PROFD__CONTROL__REASON__INIT,
				      depth = PROFD__CONTROL__REASON__INIT;
	static Profd__Control__Reason *lost[] = {&skipped, &ring_full}, *truncated[] = {&depth};
	static Profd__Control__Status status = PROFD__CONTROL__STATUS__INIT;
	static Profd__Control__Ledger ledger = PROFD__CONTROL__LEDGER__INIT;
	static Profd__Control__Cpu cpu = PROFD__CONTROL__CPU__INIT;
	static Profd__Control__Memory memory = PROFD__CONTROL__MEMORY__INIT;
	static char words[][10] = {"skipped", "ring_full", "depth", "1.2.3"};

	skipped.name = words[0];
	skipped.count = 4;
	ring_full.name = words[1];
	ring_full.count = 1;
	depth.name = words[2];
	depth.count = 7;
	ledger.expected = 1000;
	ledger.complete = 890;
	ledger.guessed = 10;
	ledger.no_user = 50;
	ledger.n_lost = 2;
	ledger.lost = lost;
	ledger.n_truncated = 1;
	ledger.truncated = truncated;
	cpu.user_seconds = 1;
	cpu.system_seconds = 2;
	cpu.bpf_seconds = 4;
	cpu.workers_seconds = 0.5;
	memory.budget_bytes = 134217728;
	status.version = words[3];
	status.ledger = &ledger;
	status.cpu = &cpu;
	status.memory = &memory;
	return &status;
}

static void test_text(void **state)
{
	char *text = print(status_of_all(), false, "nginx.service");

	(void)state;
	assert_line(text, "# TYPE profd_build_info gauge");
	assert_line(text, "profd_build_info{version=\"1.2.3\"} 1");
	assert_line(text, "# TYPE profd_samples_total counter");
	assert_line(text, "profd_samples_total{outcome=\"counted\"} 957");
	assert_line(text, "profd_samples_total{outcome=\"lost\"} 5");
	assert_line(text, "profd_lost_samples_total{reason=\"ring_full\"} 1");
	assert_line(text, "profd_stacks_total{outcome=\"guessed\"} 10");
	assert_line(text, "profd_stacks_total{outcome=\"truncated\"} 7");
	assert_line(text, "profd_stacks_total{outcome=\"broken\"} 0");
	assert_line(text, "profd_cpu_seconds_total 7.500000000");
	assert_line(text, "profd_memory_budget_bytes 134217728");
	assert_line(text, "profd_service_cpu_seconds_total{service=\"nginx.service\"} 1.500000000");
	assert_line(text, "profd_gateway_requests_total{status=\"2xx\"} 12");
	assert_line(text, "profd_gateway_requests_total{status=\"5xx\"} 0");
	assert_line(text, "profd_gateway_slow_connections_total 2");
	assert_line(text, "profd_gateway_http_refused_total{reason=\"malformed\"} 0");
	assert_line(text, "profd_gateway_http_refused_total{reason=\"too_large\"} 5");
	assert_line(text, "profd_gateway_http_connections 9");
	assert_line(text, "profd_truncated_stacks_total{reason=\"depth\"} 7");
	assert_null(strstr(text, "# EOF"));
	free(text);
}

static void test_openmetrics(void **state)
{
	char *text = print(status_of_all(), true, "nginx.service");

	(void)state;
	assert_line(text, "# TYPE profd_build info");
	assert_line(text, "profd_build_info{version=\"1.2.3\"} 1");
	assert_line(text, "# TYPE profd_samples counter");
	assert_line(text, "profd_samples_total{outcome=\"counted\"} 957");
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
}

/* A profd that has not begun to sample, or is of another version, has less. */
static void test_little(void **state)
{
	Profd__Control__Status status = PROFD__CONTROL__STATUS__INIT;
	char *text = print(&status, false, "x");

	(void)state;
	assert_line(text, "profd_build_info{version=\"\"} 1");
	assert_line(text, "# TYPE profd_samples_total counter");
	assert_null(strstr(text, "\nprofd_samples_total{"));
	free(text);
}

/* A service is called what a stranger calls it. */
static void test_names(void **state)
{
	char *text = print(status_of_all(), false, "a\"b\\c\nd\xff\x1b[e\xc3\xa9");

	(void)state;
	assert_line(text, "profd_service_cpu_seconds_total{service="
			  "\"a\\\"b\\\\c?d\xef\xbf\xbd?[e\xc3\xa9\"} 1.500000000");
	free(text);
}

static void test_accept(void **state)
{
	static const char *const text[] = {
		"",
		"*/*",
		"text/plain;version=0.0.4;q=1,*/*;q=0.1",
		"application/openmetrics-text;version=0.0.1",
		"application/openmetrics-text;version=2.0.0",
		"application/openmetrics-text;q=0",
		"application/openmetrics-text;q=0.4,text/plain;q=0.5",
		"application/openmetrics-textual",
		",;=,;;q",
		"application/openmetrics-text;q=x",
	};
	static const char *const openmetrics[] = {
		"application/openmetrics-text",
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
		/* Prometheus 2.42, and 3. */
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		"version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
		"application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;"
		"escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		"text/plain;q=0.5 , application/openmetrics-text ; q = 0.500",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(text); i++)
		if (metrics_wants_openmetrics(text[i]))
			fail_msg("\"%s\"", text[i]);
	for (size_t i = 0; i < ARRAY_SIZE(openmetrics); i++)
		if (!metrics_wants_openmetrics(openmetrics[i]))
			fail_msg("\"%s\"", openmetrics[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),   cmocka_unit_test(test_openmetrics),
		cmocka_unit_test(test_little), cmocka_unit_test(test_names),
		cmocka_unit_test(test_accept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
