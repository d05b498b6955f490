/* SPDX-License-Identifier: MIT */
/* What `record` is told, and the line that shows how far it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/profctl/arguments.h"
#include "client/profctl/progress.h"
#include "common/cleanup.h"
#include "tests/support/words.h"

static struct words words; /* arguments borrow from it */

static int parse(const char *line, struct record_arguments *ret, struct usage_message *message)
{
	message->text[0] = '\0';
	words_split(&words, line);
	return record_parse(words.argc, words.argv, ret, message);
}

static void test_targets(void **state)
{
	struct usage_message message;
	struct record_arguments a;

	(void)state;
	assert_int_equal(parse("record -a", &a, &message), 0);
	assert_true(a.all);
	assert_string_equal(a.output.path, "");
	assert_int_equal(a.output.format, ANY_PPROF);
	assert_true(!a.frequency && !a.duration_ns && !*a.event && !a.command);
	assert_int_equal(parse("record -p 12 -F 999 -e cpu-clock:u -d 10s -o x.prof", &a, &message),
			 0);
	assert_false(a.all);
	assert_int_equal(a.pid, 12);
	assert_int_equal(a.frequency, 999);
	assert_int_equal(a.duration_ns, 10000000000);
	assert_string_equal(a.event, "cpu-clock:u");
	assert_int_equal(a.output.format, ANY_CPUPROFILE);
	assert_int_equal(parse("record --service=a.service --output=-", &a, &message), 0);
	assert_string_equal(a.service, "a.service");
	assert_string_equal(a.output.path, "-");
}

static void test_waits(void **state)
{
	struct usage_message message;
	struct record_arguments a;

	(void)state;
	assert_int_equal(parse("record --wall -p 12", &a, &message), 0);
	assert_string_equal(a.event, "wall");
	assert_int_equal(parse("record --off-cpu -- sleep 1", &a, &message), 0);
	assert_string_equal(a.event, "off-cpu");
	assert_string_equal(a.command[0], "sleep");
	assert_int_equal(parse("record -e off-cpu -a -o x.collapsed", &a, &message), 0);
	assert_int_equal(parse("record --wall -p 12 -o x.prof", &a, &message), OPTIONS_BAD);
	assert_non_null(strstr(message.text, "CPU time alone"));
	assert_int_equal(parse("record -e off-cpu -p 12 -o x.prof", &a, &message), OPTIONS_BAD);
	assert_int_equal(parse("record --wall --off-cpu -a", &a, &message), OPTIONS_BAD);
	assert_non_null(strstr(message.text, "only one of --wall, --off-cpu and -e"));
	assert_int_equal(parse("record --wall -e cycles -a", &a, &message), OPTIONS_BAD);
}

/* Its options are its own, with and without the dashes before it. */
static void test_command(void **state)
{
	struct usage_message message;
	struct record_arguments a;

	(void)state;
	assert_int_equal(parse("record -o c.collapsed sort -p 3 -a", &a, &message), 0);
	assert_ptr_equal(a.command, words.argv + 3);
	assert_int_equal(a.output.format, ANY_COLLAPSED);
	assert_int_equal(a.pid, 0);
	assert_int_equal(parse("record -F5 -- -odd -a", &a, &message), 0);
	assert_ptr_equal(a.command, words.argv + 3);
	assert_string_equal(a.command[0], "-odd");
}

static void test_refused(void **state)
{
	static const char *const lines[] = {
		"record",
		"record --",
		"record -a -p 3",
		"record -p 3 -s x",
		"record -s web-*",
		"record -a sort",
		"record -p 0",
		"record -p x",
		"record -p 4294967297",
		"record -a -F 0",
		"record -a -F -1",
		"record -a -F 4294967296",
		"record -a -d 0",
		"record -a -d 10x",
		"record -a -o x.prof",
		"record -s a -o x.prof",
		"record -o - sort",
		"record -a --json",
		"record -a -o",
		"record -s",
	};
	struct usage_message message;
	struct record_arguments a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (parse(lines[i], &a, &message) != OPTIONS_BAD)
			fail_msg("%s: not refused", lines[i]);
		assert_true(*message.text);
	}
	assert_int_equal(parse("record -a -d 0.5", &a, &message), 0);
	assert_int_equal(a.duration_ns, 500000000);
	assert_int_equal(parse("record --help", &a, &message), VERB_HELP);
	assert_int_equal(parse("record -a sleep 10", &a, &message), OPTIONS_BAD);
	assert_non_null(strstr(message.text, "the duration is -d TIME"));
}

static void test_progress_line(void **state)
{
	char line[128];

	(void)state;
	assert_int_equal(progress_line(line, sizeof(line), 80, 0.5, "5 s of 10 s"), 44);
	assert_string_equal(line, "[############            ]  50 % 5 s of 10 s");
	progress_line(line, sizeof(line), 80, 3, "x");
	assert_string_equal(line, "[########################] 100 % x");
	progress_line(line, sizeof(line), 80, PROGRESS_UNKNOWN, "3 s");
	assert_string_equal(line, "3 s");
	/* It never fills the last column. */
	assert_int_equal(progress_line(line, sizeof(line), 10, 0, "long"), 9);
	assert_int_equal(strlen(line), 9);
	assert_int_equal(progress_line(line, sizeof(line), 0, 0, "long"), 0);
	assert_int_equal(progress_line(line, 8, 80, 0, "long"), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),       cmocka_unit_test(test_command),
		cmocka_unit_test(test_waits),         cmocka_unit_test(test_refused),
		cmocka_unit_test(test_progress_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
