/* SPDX-License-Identifier: MIT */
/* The page's address is the report's question, or there is none. */
#include "client/report/page_url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/memory_text.h"
#include "tests/support/words.h"

#define SINCE_NS UINT64_C(1795251600000000000) /* 2026-11-21T09:00:00Z */

/* The address of a command line; NULL, and the message. The caller frees it. */
static char *address_of(const char *line, struct profile_message *message)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct report_arguments a;
	struct words words;
	struct page_question question = {.since_ns = SINCE_NS, .until_ns = SINCE_NS + 1000000000};
	int r;

	words_split(&words, "report");
	words_add(&words, line);
	if (report_parse(words.argc, words.argv, false, &a, message))
		fail_msg("%s: %s", line, message->text);
	assert_true(a.inputs.url);
	question.options = &a.options;
	question.inputs = &a.inputs;
	assert_int_equal(memory_text_open(&text), 0);
	r = page_url_print(text.out, &question, message);
	assert_int_equal(memory_text_close(&text), 0);
	report_arguments_deinit(&a);
	if (!r)
		return steal_ptr(&text.text);
	assert_int_equal(r, REPORT_E_BAD_OPTION);
	return NULL;
}

static void test_addresses(void **state)
{
	static const char *const cases[][2] = {
		{"--url --since -1h", "/?since=-1h&view=top"},
		{"--url --since -1h -s nginx --flame", "/?since=-1h&service=nginx.service"},
		{"--url --since 09:00 --until 10:00 --flame -s user-1000",
		 "/?since=2026-11-21T09:00:00Z&until=2026-11-21T09:00:01Z&service=user-1000"},
		{"--url --since -1h --peek=^do&it$", "/?since=-1h&view=sandwich&function=do%26it"},
		{"--url --since -1h --list=parse", "/?since=-1h&view=source&function=parse"},
		{"--url --since -1h --flame --focus=a.*b --hide=[x] --tagfocus=thread=worker",
		 "/?since=-1h&focus=a.%2Ab&hide=%5Bx%5D&tag=thread:worker"},
		{"--url --since -1h --flame --sample_index=samples", "/?since=-1h&type=samples"},
		{"--url --since -1h --flame --sample_index=wall --idle",
		 "/?since=-1h&idle=true&type=wall"},
		{"--url --since -1h --text --cum --nodecount=5", "/?since=-1h&view=top"},
	};
	struct profile_message message;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(freep) char *address = address_of(cases[i][0], &message);

		if (!address)
			fail_msg("%s: %s", cases[i][0], message.text);
		assert_string_equal(address, cases[i][1]);
	}
}

static void test_scopes(void **state)
{
	static const struct {
		struct page_scope scope;
		const char *wanted; /* NULL: refused */
	} cases[] = {
		{{.service = ""}, "/?since=-7d"},
		{{.service = "nginx", .since_ns = SINCE_NS},
		 "/?since=2026-11-21T09:00:00Z&service=nginx.service"},
		{{.service = "user-1000", .until_ns = SINCE_NS},
		 "/?since=2026-11-14T09:00:00Z&until=2026-11-21T09:00:00Z&service=user-1000"},
		{{.service = "", .is_table = true}, "/?view=top"},
		{{.service = "a&b.service", .is_table = true}, "/?view=top&service=a%26b.service"},
		{{.service = "", .pid = 7, .is_table = true}, "/?view=top&pid=7"},
		{{.service = "web-*"}, NULL},
		{{.service = "a,b"}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(memory_text_deinit) struct memory_text text = {0};
		struct profile_message message;
		int r;

		assert_int_equal(memory_text_open(&text), 0);
		r = page_url_print_scope(text.out, &cases[i].scope, &message);
		assert_int_equal(memory_text_close(&text), 0);
		assert_int_equal(r, cases[i].wanted ? REPORT_E_OK : REPORT_E_BAD_OPTION);
		if (cases[i].wanted)
			assert_string_equal(text.text, cases[i].wanted);
	}
}

static void test_refused(void **state)
{
	static const char *const cases[][2] = {
		{"--url --until now", "--since"},
		{"--url --since -1h --svg", "--svg"},
		{"--url --since -1h --ignore=a", "--ignore"},
		{"--url --since -1h --lines", "--lines"},
		{"--url --since -1h --mean", "--mean"},
		{"--url --since -1h --peek=a|b", "a|b"},
		{"--url --since -1h --tagfocus=32kb:", "32kb:"},
		{"--url --since -1h --tagfocus=a=b,c=d", "a=b,c=d"},
		{"--url --since -1h -s web-*", "web-*"},
		{"--url --since -1h --base=x", "files"},
		{"--url profile.pb.gz", "profctl web"},
	};
	struct profile_message message;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup(freep) char *address = address_of(cases[i][0], &message);

		if (address)
			fail_msg("%s: %s", cases[i][0], address);
		if (!strstr(message.text, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], message.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
