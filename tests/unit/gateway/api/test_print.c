/* SPDX-License-Identifier: MIT */
#include "client/gateway/api/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/memory_text.h"
#include "common/utf8.h"

#define NOW (UINT64_C(1795262400) * NS_PER_S)

static char *print(void (*to)(FILE *out, const Profd__Control__Response *response, uint64_t now_ns),
		   const Profd__Control__Response *response)
{
	struct memory_text text = {0};

	assert_int_equal(memory_text_open(&text), 0);
	to(text.out, response, NOW);
	assert_int_equal(memory_text_close(&text), 0);
	assert_true(utf8_is_valid(text.text));
	assert_null(strchr(text.text, '<'));
	return text.text;
}

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" does not have \"%s\"", text, part);
}

static void test_events(void **state)
{
	static char service[] = "a\"<b>", build[] = "c0ffee /usr/bin/a b";
	Profd__Control__UsageTable t = PROFD__CONTROL__USAGE_TABLE__INIT;
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
	Profd__Control__UsageEvent events[6], *all[6];
	char *text;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		profd__control__usage_event__init(&events[i]);
		events[i].kind = (Profd__Control__UsageEventKind)i;
		events[i].at_ns = NOW + i * NS_PER_S;
		events[i].service = service;
		events[i].text = build;
		events[i].lost = 12;
		events[i].ticks = 600;
		all[i] = &events[i];
	}
	t.n_events = 6;
	t.events = all;
	response.usage = &t;
	text = print(api_print_usage, &response);
	/* Not the last one, whose kind is not known. */
	expect(text,
	       "\"events\":[{\"at_ms\":1795262400000,\"kind\":\"lost\",\"text\":\"12 of 600 ticks "
	       "of "
	       "the machine were lost\"},"
	       "{\"at_ms\":1795262401000,\"kind\":\"restart\",\"text\":\"profd was restarted\"},"
	       "{\"at_ms\":1795262402000,\"kind\":\"restart\",\"text\":\"the machine was "
	       "restarted\"},"
	       "{\"at_ms\":1795262403000,\"kind\":\"restart\",\"text\":\"a\\\"\\u003cb> was "
	       "restarted\"},"
	       "{\"at_ms\":1795262404000,\"kind\":\"build\",\"text\":\"a\\\"\\u003cb> runs another "
	       "build of /usr/bin/a b: c0ffee\"}]}");
	free(text);
}

/* Of two CPUs: a second, a gap of two, and half a second. */
static void test_usage(void **state)
{
	static char name[] = "a\"<b>\xff";
	uint64_t steps[] = {500000000, 0, 0, 1000000000, 0}, none[5] = {0};
	uint64_t peaks[] = {1900000000, 0, 0, 1000000000, 0};
	uint64_t peaks_at[] = {NOW + 200000000, 0, 0, NOW + 3 * NS_PER_S, 0};
	float covered[] = {1, 0, 0, 0.5F, 0};
	Profd__Control__UsageRow row = PROFD__CONTROL__USAGE_ROW__INIT, *rows = &row;
	Profd__Control__UsageRow others = PROFD__CONTROL__USAGE_ROW__INIT;
	Profd__Control__UsagePeak peak = PROFD__CONTROL__USAGE_PEAK__INIT, *standouts = &peak;
	Profd__Control__UsageTable t = PROFD__CONTROL__USAGE_TABLE__INIT;
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
	char *text;

	(void)state;
	row.service = name;
	row.cpu_ns = 1500000000;
	row.n_step_ns = others.n_step_ns = t.n_covered = 5;
	row.step_ns = steps;
	others.step_ns = none;
	row.n_peak_ns = row.n_peak_at_ns = 5;
	row.peak_ns = peaks;
	row.peak_at_ns = peaks_at;
	peak.service = name;
	peak.at_ns = peaks_at[0];
	peak.cpu_ns = peaks[0];
	peak.usual_ns = 250000000;
	t.n_peaks = 1;
	t.peaks = &standouts;
	t.covered = covered;
	t.since_ns = NOW;
	t.until_ns = NOW + 5 * NS_PER_S;
	t.step_ns = NS_PER_S;
	t.n_cpus = 2;
	t.n_rows = 1;
	t.rows = &rows;
	t.others = &others;
	response.usage = &t;
	text = print(api_print_usage, &response);
	expect(text, "\"step_ms\":1000,\"n_cpus\":2,\"steps\":5,\"covered\":[1,0,0,0.5,0]");
	expect(text, "{\"name\":\"a\\\"\\u003cb>\\ufffd\",\"cpu_seconds\":1.500,\"share\":0.500000,"
		     "\"cores\":[0.5,null,null,2,null],\"peaks\":{\"cores\":[1.9,null,null,1,null],"
		     "\"after_ms\":[200,0,0,0,0]}}");
	expect(text, "\"peaks\":[{\"service\":\"a\\\"\\u003cb>\\ufffd\",\"at_ms\":1795262400200,"
		     "\"cores\":1.9,\"usual_cores\":0.25}],\"events\"");
	expect(text, "\"other\":{\"n\":0,\"cpu_seconds\":0.000,");
	/* What precedes the first window, and follows the last one, is no pause. */
	expect(text,
	       "\"events\":[{\"at_ms\":1795262401000,\"kind\":\"pause\",\"text\":\"nothing was "
	       "sampled for about 2.5 s\"}]}");
	free(text);
	t = (Profd__Control__UsageTable)PROFD__CONTROL__USAGE_TABLE__INIT;
	text = print(api_print_usage, &response);
	expect(text, "\"services\":[],\"other\":{\"n\":0,\"cpu_seconds\":0,");
	free(text);
}

static void test_machine(void **state)
{
	static char host[] = "web\x01<3>", warning[] = "a \"warning\"\n";
	char *warnings[] = {warning};
	Profd__Control__Status status = PROFD__CONTROL__STATUS__INIT;
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
	char *text;

	(void)state;
	status.host = host;
	status.n_cpus = 4;
	status.warnings = warnings;
	status.n_warnings = 1;
	response.status = &status;
	text = print(api_print_machine, &response);
	expect(text, "{\"host\":\"web\\u0001\\u003c3>\",");
	expect(text,
	       "\"now_ms\":1795262400000,\"oldest_ms\":null,\"newest_ms\":null,\"n_cpus\":4,");
	expect(text, "\"warnings\":[\"a \\\"warning\\\"\\n\"],\"read_only\":false");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
