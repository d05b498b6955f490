/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/gateway/http/credentials.h"
#include "common/clock.h"

#define NOW   (UINT64_C(1795262400) * NS_PER_S)
#define RANGE "--since 2026-11-21T10:00:00Z --until 2026-11-21T11:00:00Z"
#define ASKED "since=2026-11-21T10:00:00Z&until=2026-11-21T11:00:00Z"

static void expect_of(enum question_view view, const char *query, const char *store,
		      const char *wanted)
{
	static struct http_target target;
	struct http_message message;
	struct question q;
	char raw[2100], *command;

	snprintf(raw, sizeof(raw), "/api/x?" ASKED "%s", query);
	assert_int_equal(http_target_parse(raw, strlen(raw), &target), HTTP_TARGET_E_OK);
	assert_int_equal(question_parse(&target, view, NOW, &q, &message), QUESTION_E_OK);
	assert_int_equal(command_print(&q, store, &command), 0);
	if (wanted)
		assert_string_equal(command, wanted);
	else
		assert_null(command);
	free(command);
}

static void expect(enum question_view view, const char *query, const char *wanted)
{
	expect_of(view, query, "", wanted);
}

/* A store that no profd runs for. */
static void test_store(void **state)
{
	(void)state;
	expect_of(QUESTION_TOP, "&service=nginx.service", "/copy of/web-3",
		  "profctl report --text --store='/copy of/web-3' -s nginx.service " RANGE);
	expect_of(QUESTION_TOP, "&tag=pid:5", "/copy",
		  "profctl report --proto -o - --tagfocus=pid=5 --store=/copy " RANGE
		  " | profctl report --text -");
	expect_of(QUESTION_TOP, "&pid=5", "/copy", NULL);
	expect_of(QUESTION_TOP, "&base_since=2026-11-21T09:00:00Z", "/copy", NULL);
}

static void test_views(void **state)
{
	(void)state;
	expect(QUESTION_TOP, "", "profctl report --text " RANGE);
	expect(QUESTION_FLAME, "&service=nginx.service",
	       "profctl report --flame -o flame.html -s nginx.service " RANGE);
	expect(QUESTION_SANDWICH, "&function=a%3A%3Ab(int%2C%20char)",
	       "profctl report --peek='^a\\:\\:b\\(int\\x2c\\ char\\)$' " RANGE);
	expect(QUESTION_LABELS, "&pid=5",
	       "profctl collect -p 5 " RANGE " -o profile.pb.gz && profctl report --tags "
	       "profile.pb.gz");
}

/* A shell finds one word, and nothing to run. */
static void test_quoting(void **state)
{
	(void)state;
	expect(QUESTION_TOP, "&service=%24(reboot)%27%22%60",
	       "profctl report --text -s '$(reboot)'\\''\"`' " RANGE);
	expect(QUESTION_TOP, "&focus=a'b", "profctl report --text --focus='a'\\''b' " RANGE);
	expect(QUESTION_SANDWICH, "&function='x'", "profctl report --peek='^'\\''x'\\''$' " RANGE);
}

static void test_filters(void **state)
{
	(void)state;
	expect(QUESTION_TOP, "&focus=a&focus=b&hide=c&type=cpu",
	       "profctl report --text --focus='(?:a)|(?:b)' --hide=c --sample_index=cpu " RANGE);
	expect(QUESTION_TOP, "&tag=comm:a,b&tag=service:x&tag=comm:c",
	       "profctl report --text --tagfocus='(?:^comm\\:a\\x2cb$|^comm\\:c$),"
	       "(?:^service\\:x$)' " RANGE);
	/* A number is one only where profd's labels are. */
	expect(QUESTION_TOP, "&tag=comm:7",
	       "profctl report --text --tagfocus='(?:^comm\\:7$)' " RANGE);
	expect(QUESTION_TOP, "&tag=pid:7&tag=comm:a",
	       "profctl report --proto -o - --tagfocus=pid=7 " RANGE
	       " | profctl report --text --tagfocus='(?:^comm\\:a$)' -");
	expect(QUESTION_TOP, "&tag=pid:7&tag=pid:8", NULL);
}

static void test_comparison(void **state)
{
	(void)state;
	expect(QUESTION_FLAME, "&service=a&base_service=b",
	       "profctl collect -s b " RANGE " -o before.pb.gz && profctl collect -s a " RANGE
	       " -o profile.pb.gz && profctl report --flame -o flame.html "
	       "--diff_base=before.pb.gz profile.pb.gz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store),      cmocka_unit_test(test_views),
		cmocka_unit_test(test_quoting),    cmocka_unit_test(test_filters),
		cmocka_unit_test(test_comparison),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
