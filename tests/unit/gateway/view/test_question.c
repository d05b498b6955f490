/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/question.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/gateway/http/credentials.h"
#include "common/clock.h"
#include "tests/support/says.h"

#define NOW_S UINT64_C(1795262400)
#define NOW   (NOW_S * NS_PER_S)

static struct http_message message;

static int parse(const char *query, enum question_view view, struct question *q)
{
	static struct http_target target;
	char raw[2100];

	snprintf(raw, sizeof(raw), "/api/x?%s", query);
	assert_int_equal(http_target_parse(raw, strlen(raw), &target), HTTP_TARGET_E_OK);
	return question_parse(&target, view, NOW, q, &message);
}

static void test_scope(void **state)
{
	struct question q;

	(void)state;
	assert_int_equal(parse("", QUESTION_FLAME, &q), QUESTION_E_OK);
	assert_int_equal(q.scope, QUESTION_MACHINE);
	assert_int_equal(q.range.until_ns, NOW);
	assert_int_equal(q.range.since_ns, NOW - 3600 * NS_PER_S);
	assert_false(q.has_base);
	assert_int_equal(parse("service=a%26b", QUESTION_FLAME, &q), QUESTION_E_OK);
	assert_int_equal(q.scope, QUESTION_SERVICE);
	assert_string_equal(question_text(&q, q.service), "a&b");
	assert_string_equal(question_text(&q, q.base_service), "a&b");
	assert_int_equal(parse("pid=12&limit=3", QUESTION_TOP, &q), QUESTION_E_OK);
	assert_int_equal(q.scope, QUESTION_PID);
	assert_int_equal(q.pid, 12);
	assert_int_equal(q.limit, 3);
}

static void test_times(void **state)
{
	struct question q;

	(void)state;
	assert_int_equal(parse("since=1795262000.25&until=1795262100", QUESTION_TOP, &q), 0);
	assert_int_equal(q.range.since_ns, UINT64_C(1795262000250000000));
	assert_int_equal(q.range.until_ns, UINT64_C(1795262100000000000));
	assert_int_equal(parse("since=-10m", QUESTION_TOP, &q), 0);
	assert_int_equal(q.range.since_ns, NOW - 600 * NS_PER_S);
	assert_int_equal(
		parse("since=-2h&until=-1h&base_since=-26h&base_until=-25h", QUESTION_TOP, &q), 0);
	assert_true(q.has_base);
	assert_int_equal(q.base.since_ns, NOW - 26 * 3600 * NS_PER_S);
	/* Another service, at the same time. */
	assert_int_equal(parse("service=a&since=-2h&base_service=b", QUESTION_TOP, &q), 0);
	assert_true(q.has_base);
	assert_int_equal(q.base.since_ns, q.range.since_ns);
	assert_string_equal(question_text(&q, q.base_service), "b");
}

static void test_filters(void **state)
{
	const char *text;
	struct question q;
	size_t i = 0;

	(void)state;
	assert_int_equal(parse("tag=comm:a:b&focus=x&tag=pid:5&hide=(a|b)", QUESTION_LABELS, &q),
			 0);
	assert_int_equal(q.n_filters, 4);
	assert_string_equal(question_next_filter(&q, QUESTION_TAG, &i), "comm:a:b");
	assert_string_equal(question_next_filter(&q, QUESTION_TAG, &i), "pid:5");
	assert_null(question_next_filter(&q, QUESTION_TAG, &i));
	i = 0;
	text = question_next_filter(&q, QUESTION_HIDE, &i);
	assert_string_equal(text, "(a|b)");
}

static void test_refused(void **state)
{
	static const struct {
		const char *query;
		enum question_view view;
		const char *says;
	} cases[] = {
		{"servce=a", QUESTION_FLAME, "no parameter 'servce'"},
		{"service=", QUESTION_FLAME, "service is empty"},
		{"service=a&pid=1", QUESTION_FLAME, "either service or pid"},
		{"service=a&service=b", QUESTION_FLAME, "service is given twice"},
		{"pid=0", QUESTION_FLAME, "pid is a number"},
		{"pid=99999999999999999999", QUESTION_FLAME, "pid is a number"},
		{"pid=-1", QUESTION_FLAME, "pid is a number"},
		{"since=soon", QUESTION_FLAME, "since is a moment"},
		{"since=1795262000.", QUESTION_FLAME, "since is a moment"},
		{"since=1795262000.1234567890", QUESTION_FLAME, "since is a moment"},
		{"since=-1h&until=-2h", QUESTION_FLAME, "until is not after since"},
		{"base_since=-1h&base_until=-2h", QUESTION_FLAME, "base_until is not after"},
		{"tag=comm", QUESTION_FLAME, "tag is KEY:VALUE"},
		{"tag=:a", QUESTION_FLAME, "tag is KEY:VALUE"},
		{"focus=", QUESTION_FLAME, "a filter is empty"},
		{"function=f", QUESTION_FLAME, "no parameter 'function'"},
		{"", QUESTION_SANDWICH, "function is missing"},
		{"idle=1", QUESTION_TOP, "idle is true or false, not '1'"},
		{"idle=true", QUESTION_HEAT, "there is no parameter 'idle' here"},
		{"limit=0", QUESTION_TOP, "limit is a number from 1 to 2000"},
		{"limit=61", QUESTION_USAGE, "limit is a number from 1 to 60"},
		{"steps=601", QUESTION_USAGE, "steps is a number from 1 to 600"},
		{"focus=a", QUESTION_USAGE, "no parameter 'focus'"},
	};
	struct question q;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].query, cases[i].view, &q), QUESTION_E_BAD);
		assert_says(message.text, cases[i].says);
	}
}

/* All that a target can have fits. */
static void test_long(void **state)
{
	char query[2040] = "function=";
	struct question q;

	(void)state;
	memset(query + strlen(query), 'f', 2020 - strlen(query));
	assert_int_equal(parse(query, QUESTION_SOURCE, &q), QUESTION_E_OK);
	assert_int_equal(strlen(question_text(&q, q.function)), 2020 - strlen("function="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scope),   cmocka_unit_test(test_times),
		cmocka_unit_test(test_filters), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
