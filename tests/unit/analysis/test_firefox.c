/* SPDX-License-Identifier: MIT */
/* The Firefox Profiler's format, text by text: threads, stacks, times. integration/firefox has the
 * rules that it is held to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/analysis/firefox.h"
#include "common/cleanup.h"
#include "common/profile/profile.h"
#include "common/profile/sample_times.h"
#include "tests/unit/profile/text.h"

#define SECOND INT64_C(1795251600)
#define BUCKET ((uint64_t)SECOND * 10)

static struct profile *new_profile(void)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	p->period_type = (struct profile_value_type){text(p, "cpu"), text(p, "nanoseconds")};
	p->period = 10000000;
	p->time_ns = SECOND * 1000000000;
	p->duration_ns = 1000000000;
	return p;
}

static uint32_t locate(struct profile *p, uint32_t mapping, uint64_t address, const char *name)
{
	struct profile_function f = {.name = text(p, name), .filename = text(p, "a.c")};
	struct profile_line line = {.line = 7};
	uint32_t ret;

	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, mapping, address, &line, *name != 0, &ret), 0);
	return ret;
}

static void add_sample(struct profile *p, const uint32_t *chain, uint32_t n, int64_t count,
		       const char *thread)
{
	const struct profile_label labels[] = {
		{.key = text(p, "comm"), .str = text(p, "web")},
		{.key = text(p, "pid"), .num = 12},
		{.key = text(p, "thread"), .str = text(p, thread)},
	};

	assert_int_equal(profile_add_sample(p, chain, n, &count, labels, 3), 0);
}

static char *write_text(const struct profile *p)
{
	char *json = NULL;
	size_t length;
	FILE *out = open_memstream(&json, &length);

	assert_non_null(out);
	assert_int_equal(firefox_write(p, out), 0);
	fclose(out);
	return json;
}

static void assert_has(const char *json, const char *part)
{
	if (strstr(json, part))
		return;
	fputs(json, stderr);
	fail_msg("%s is not in it", part);
}

static void test_threads_and_tables(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();
	struct profile_mapping m = {.start = 0x1000, .limit = 0x2000, .offset = 0x100};
	cleanup(freep) char *json = NULL;
	uint32_t mapping, root, leaf, kernel, nameless;

	(void)state;
	m.path = text(p, "/usr/bin/web");
	m.build_id = text(p, "0123456789abcdef0123456789abcdef01234567");
	assert_int_equal(profile_add_mapping(p, &m, &mapping), 0);
	root = locate(p, mapping, 0x1010, "main");
	leaf = locate(p, PROFILE_NONE, 0, "handler.py");
	kernel = locate(p, PROFILE_NONE, PROFILE_KERNEL_HALF | 0x10, "read");
	nameless = locate(p, mapping, 0x1020, "");
	add_sample(p, (uint32_t[]){leaf, root}, 2, 2, "worker");
	assert_int_equal(profile_add_time(p, profile_last_sample(p), BUCKET + 3, 0, 2), 0);
	add_sample(p, (uint32_t[]){kernel, root}, 2, 1, "worker");
	assert_int_equal(profile_add_time(p, profile_last_sample(p), BUCKET + 3, 0, 1), 0);
	add_sample(p, (uint32_t[]){nameless, root}, 2, 4, "web");
	json = write_text(p);
	assert_has(json, "\"preprocessedProfileVersion\":55");
	assert_has(json, "\"breakpadId\":\"67452301AB89EFCD0123456789ABCDEF0\"");
	/* The main thread comes first, though its samples do not. */
	assert_true(strstr(json, "\"name\":\"web\",\"isMainThread\":true,\"pid\":\"12\"") <
		    strstr(json, "\"name\":\"worker\",\"isMainThread\":false,\"pid\":\"12\""));
	assert_has(json, "\"stackTable\":{\"length\":3,\"frame\":[0,1,2],\"prefix\":[null,0,0]}");
	assert_has(json, "\"category\":[2,3,1]");
	assert_has(json, "\"address\":[272,-1,-1]");
	assert_has(json, "\"stringArray\":[\"main\",\"a.c\",\"/usr/bin/web\",\"handler.py\","
			 "\"read\"]");
	assert_has(json, "\"stringArray\":[\"main\",\"a.c\",\"/usr/bin/web\",\"0x1020\"]");
	/* Three samples of 10 ms, from 300 ms on: two of one stack. */
	assert_has(json, "\"stack\":[1,2],\"time\":[310.000,325.000],\"weight\":[2,1],"
			 "\"threadCPUDelta\":[20000000,10000000]");
	/* Nobody knows when these four were. */
	assert_has(json, "\"stack\":[1],\"time\":[20.000],\"weight\":[4]");
}

/* What was not sampled is a pause; a thread that does nothing has no stack until it goes on. */
static void test_pauses(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile();
	cleanup(freep) char *json = NULL;
	uint32_t leaf = locate(p, PROFILE_NONE, 0x10, "main");

	(void)state;
	add_sample(p, &leaf, 1, 22, "web");
	assert_int_equal(profile_add_time(p, profile_last_sample(p), BUCKET, 0, 20), 0);
	assert_int_equal(profile_add_time(p, profile_last_sample(p), BUCKET + 50, 0, 2), 0);
	assert_int_equal(profile_add_comment(p, "# profd covered: 1795251600000000000+1000000000"),
			 0);
	assert_int_equal(profile_add_comment(p, "# profd covered: 1795251604000000000+2000000000"),
			 0);
	json = write_text(p);
	/* More than fit into a bucket at the interval have all of it. */
	assert_has(json, "\"stack\":[0,null,0],\"time\":[50.000,5000.000,5010.000],"
			 "\"weight\":[20,0,2]");
	assert_has(json, "\"pausedRanges\":[{\"startTime\":1000.000,\"endTime\":4000.000,");
}

/* Waits are no samples of a CPU; a profile of them alone is shown, but not as CPU time. */
static void test_waits(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile(), *alone = new_profile();
	cleanup(freep) char *before = NULL, *after = NULL, *of_alone = NULL;
	const uint32_t chain = locate(p, PROFILE_NONE, 0x10, "main");
	const uint32_t other = locate(alone, PROFILE_NONE, 0x10, "main");
	const int64_t wait[] = {1, 0, 500};
	struct profile_value_type off_cpu = {0};
	struct profile_label labels[3];

	(void)state;
	add_sample(p, &chain, 1, 4, "web");
	memcpy(labels, p->sample_labels, sizeof(labels));
	before = write_text(p);
	assert_has(before, "\"threadCPUDelta\":[");
	assert_int_equal(profile_insert_sample_type(p, 1, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_insert_sample_type(p, 2, "off_cpu", "nanoseconds"), 0);
	assert_int_equal(profile_append_sample(p, &chain, 1, wait, labels, 3), 0);
	after = write_text(p);
	assert_string_equal(after, before);

	add_sample(alone, &other, 1, 4, "web");
	assert_int_equal(profile_add_text(alone, "off_cpu", &off_cpu.type), 0);
	off_cpu.unit = alone->period_type.unit;
	alone->period_type = off_cpu;
	of_alone = write_text(alone);
	assert_has(of_alone, "\"weight\":[4]");
	assert_null(strstr(of_alone, "\"threadCPUDelta\":["));
}

static void test_nothing(void **state)
{
	cleanup(profile_freep) struct profile *p = new_profile(), *empty = NULL;
	cleanup(freep) char *json = write_text(p), *of_empty = NULL;

	(void)state;
	assert_has(json, "\"threads\":[]}");
	assert_int_equal(profile_new(&empty), 0);
	of_empty = write_text(empty);
	assert_has(of_empty, "\"threads\":[]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_and_tables),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
