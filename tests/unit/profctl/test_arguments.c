/* SPDX-License-Identifier: MIT */
/* Command lines: every form of every option, and what is refused. */
#include "client/profctl/arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "tests/support/words.h"

#define NOW UINT64_C(1795262400000000000)

static struct words words; /* of the line that was parsed last: arguments borrow from it */

static int start(const char *line, struct start_arguments *ret, struct usage_message *message)
{
	words_split(&words, line);
	message->text[0] = '\0';
	return start_parse(words.argc, words.argv, ret, message);
}

static void test_start_options(void **state)
{
	static const char *const lines[] = {
		"start -F 999 -e cpu-clock:u -d 10s --name n --formats pprof,legacy --children "
		"--no-kernel 1234",
		"start 1234 -F999 -ecpu-clock:u -d10s --name=n --formats=pprof,legacy --no-kernel "
		"--children",
		"start --frequency=999 --event cpu-clock:u 1234 --duration 10s --name n --children "
		"--no-kernel --formats pprof,legacy",
		"start --frequency 999 --event=cpu-clock:u --duration=10s --name n --children "
		"--no-kernel --formats pprof,legacy -- 1234",
	};
	struct usage_message message;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct start_arguments a;

		if (start(lines[i], &a, &message))
			fail_msg("%s: %s", lines[i], message.text);
		assert_int_equal(a.n_targets, 1);
		assert_int_equal(a.targets[0].kind, PROFD__CONTROL__TARGET_KIND__PID);
		assert_int_equal(a.targets[0].number, 1234);
		assert_int_equal(a.request.rate, 999);
		assert_false(a.request.is_period);
		assert_string_equal(a.request.event, "cpu-clock:u");
		assert_int_equal(a.request.duration_ns, UINT64_C(10000000000));
		assert_string_equal(a.request.name, "n");
		assert_int_equal(a.request.n_formats, 2);
		assert_int_equal(a.formats[1], PROFD__CONTROL__FORMAT__LEGACY);
		assert_true(a.request.children && a.request.no_kernel);
		assert_false(a.json);
	}
}

static void test_start_targets(void **state)
{
	static const struct {
		const char *line;
		Profd__Control__TargetKind kind;
		int64_t number;
		const char *text;
	} cases[] = {
		{"start 1", PROFD__CONTROL__TARGET_KIND__PID, 1, ""},
		{"start -t 7", PROFD__CONTROL__TARGET_KIND__TID, 7, ""},
		{"start --tid=7", PROFD__CONTROL__TARGET_KIND__TID, 7, ""},
		{"start -s cron", PROFD__CONTROL__TARGET_KIND__SERVICE, 0, "cron"},
		{"start --service cron", PROFD__CONTROL__TARGET_KIND__SERVICE, 0, "cron"},
		{"start --cgroup /a/b", PROFD__CONTROL__TARGET_KIND__CGROUP, 0, "/a/b"},
		{"start --cgroup /sys/fs/cgroup/a", PROFD__CONTROL__TARGET_KIND__CGROUP, 0, "/a"},
		{"start --cgroup /sys/fs/cgroup/unified/a", PROFD__CONTROL__TARGET_KIND__CGROUP, 0,
		 "/a"},
		{"start --uid 0", PROFD__CONTROL__TARGET_KIND__UID, 0, ""},
		{"start --comm -x", PROFD__CONTROL__TARGET_KIND__COMM, 0, "-x"},
		{"start -C 0-3,8", PROFD__CONTROL__TARGET_KIND__CPUS, 0, "0-3,8"},
		{"start --all", PROFD__CONTROL__TARGET_KIND__ALL, 0, ""},
	};
	struct usage_message message;
	struct start_arguments a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (start(cases[i].line, &a, &message))
			fail_msg("%s: %s", cases[i].line, message.text);
		assert_int_equal(a.n_targets, 1);
		assert_int_equal(a.targets[0].kind, cases[i].kind);
		assert_int_equal(a.targets[0].number, cases[i].number);
		assert_string_equal(a.targets[0].text, cases[i].text);
	}
	/* Equal numbers of different things. */
	assert_int_equal(start("start 1 -t 1 --uid 1 -s 1", &a, &message), 0);
	assert_int_equal(a.n_targets, 4);
	assert_int_equal(start("start 1 2 -s x -c 500 --json", &a, &message), 0);
	assert_int_equal(a.n_targets, 3);
	assert_true(a.request.is_period && a.json);
	assert_int_equal(a.request.rate, 500);
}

static void test_start_refusals(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{"start", "no target"},
		{"start 0", "not a process id"},
		{"start nginx", "'nginx' is not a process id; a service is -s nginx"},
		{"start 12x", "not a process id"},
		{"start 2147483648", "not a process id"},
		{"start --uid 4294967295", "not a user id"},
		{"start --all --all", "--all is given twice"},
		{"start 1 2 1", "a target is named twice"},
		{"start -t 7 --tid 7", "a target is named twice"},
		{"start -s cron 1 -s cron", "a target is named twice"},
		{"start -s a,b", "-s takes one service here, not 'a,b'"},
		{"start --cgroup /a --cgroup /sys/fs/cgroup/a", "a target is named twice"},
		{"start 1 -F", "-F needs an argument"},
		{"start 1 --event", "--event needs an argument"},
		{"start 1 -F 0", "-F must be"},
		{"start 1 -c 5k", "-c must be"},
		{"start 1 -F 9 -c 9", "one of -F and -c"},
		{"start 1 -d 10x", "-d takes seconds, or a duration"},
		{"start 1 -d 0", "-d takes seconds, or a duration"},
		{"start 1 --formats images", "system session"},
		{"start 1 --formats=", "is empty"},
		{"start 1 --frequenc 9", "unknown option --frequenc"},
		{"start 1 --children=yes", "takes no argument"},
		{"start 1 -x", "unknown option -x"},
		{"start 1 2 --name n", "a single target"},
	};
	struct usage_message message;
	struct start_arguments a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(start(cases[i].line, &a, &message), OPTIONS_BAD);
		if (!strstr(message.text, cases[i].why))
			fail_msg("%s: %s", cases[i].line, message.text);
	}
	assert_int_equal(start("start --help", &a, &message), VERB_HELP);
}

static int stop(const char *line, struct stop_arguments *ret)
{
	struct usage_message message;

	words_split(&words, line);
	return stop_parse(words.argc, words.argv, ret, &message);
}

static void test_stop(void **state)
{
	static const char *const bad[] = {"stop",         "stop s0",  "stop s",     "stop x",
					  "stop s1 s2",   "stop 0",   "stop -1",    "stop s1x",
					  "stop --all 1", "stop 1 2", "stop S1 --x"};
	struct stop_arguments a;

	(void)state;
	assert_int_equal(stop("stop s12 --json", &a), 0);
	assert_true(a.request.which_case == PROFD__CONTROL__STOP__WHICH_ID);
	assert_true(a.request.id == 12 && !a.all && a.json);
	assert_int_equal(stop("stop 34", &a), 0);
	assert_true(a.request.which_case == PROFD__CONTROL__STOP__WHICH_PID);
	assert_true(a.request.pid == 34 && !a.all && !a.json);
	assert_int_equal(stop("stop --all", &a), 0);
	assert_true(a.all && a.request.which_case == PROFD__CONTROL__STOP__WHICH_ALL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (stop(bad[i], &a) != OPTIONS_BAD)
			fail_msg("%s was taken", bad[i]);
}

static int list(const char *line, Profd__Control__List *ret)
{
	struct usage_message message;
	struct list_arguments a;
	int r;

	words_split(&words, line);
	r = list_parse(words.argc, words.argv, NOW, &a, &message);
	*ret = a.request;
	return r;
}

static void test_list(void **state)
{
	static const char *const bad[] = {"list x",
					  "list --since",
					  "list --since soon",
					  "list --since -1m --until -2m",
					  "list -s",
					  "list --service=",
					  "list --since -1h 14:00",
					  "list --since today x"};
	Profd__Control__List a;

	(void)state;
	assert_int_equal(list("list", &a), 0);
	assert_string_equal(a.service, "");
	assert_int_equal(a.since_ns | a.until_ns, 0);
	assert_int_equal(list("list --since -10m --until=-5m -s a.service --json", &a), 0);
	assert_string_equal(a.service, "a.service");
	assert_int_equal(a.since_ns, NOW - UINT64_C(600000000000));
	assert_int_equal(a.until_ns, NOW - UINT64_C(300000000000));
	/* A day and its time of day, as two words: what a shell makes of them. */
	setenv("TZ", "UTC", 1);
	tzset();
	assert_int_equal(list("list --since 2026-11-21 14:30 --until=2026-11-21 15:00Z -s x", &a),
			 0);
	assert_int_equal(a.since_ns, UINT64_C(1795271400000000000));
	assert_int_equal(a.until_ns, UINT64_C(1795273200000000000));
	assert_string_equal(a.service, "x");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (list(bad[i], &a) != OPTIONS_BAD)
			fail_msg("%s was taken", bad[i]);
}

static int collect(const char *line, struct collect_arguments *ret)
{
	struct usage_message message;

	words_split(&words, line);
	return collect_parse(words.argc, words.argv, NOW, ret, &message);
}

static void test_collect(void **state)
{
	static const char *const bad[] = {"collect x",
					  "collect -s a -p 1",
					  "collect -p 1 --session s1",
					  "collect -p 1 -p 2",
					  "collect -s a -s a",
					  "collect --session s1 --session s2",
					  "collect --service=",
					  "collect -p 0",
					  "collect --session 1",
					  "collect -s",
					  "collect --format xml",
					  "collect --format legacy",
					  "collect --format legacy -s a",
					  "collect --since -1m --until -2m",
					  "collect --json -o -"};
	struct collect_arguments a;

	(void)state;
	assert_int_equal(collect("collect", &a), 0);
	assert_true(!a.request.which_case && !a.request.stored && !*a.output.path);
	assert_int_equal(a.output.format, ANY_PPROF);
	assert_int_equal(collect("collect -s a.service --since -10m --until -5m -o x --stored", &a),
			 0);
	assert_int_equal(a.request.which_case, PROFD__CONTROL__COLLECT__WHICH_SERVICE);
	assert_string_equal(a.request.service, "a.service");
	assert_string_equal(a.output.path, "x");
	assert_true(a.request.stored);
	assert_int_equal(a.request.since_ns, NOW - UINT64_C(600000000000));
	assert_int_equal(a.request.until_ns, NOW - UINT64_C(300000000000));
	assert_int_equal(collect("collect -p12 --format=legacy -o -", &a), 0);
	assert_int_equal(a.request.which_case, PROFD__CONTROL__COLLECT__WHICH_PID);
	assert_int_equal(a.request.pid, 12);
	assert_int_equal(a.output.format, ANY_CPUPROFILE);
	assert_int_equal(collect("collect --session s3 --format collapsed --json", &a), 0);
	assert_int_equal(a.request.which_case, PROFD__CONTROL__COLLECT__WHICH_SESSION);
	assert_int_equal(a.request.session, 3);
	assert_int_equal(a.output.format, ANY_COLLAPSED);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (collect(bad[i], &a) != OPTIONS_BAD)
			fail_msg("%s was taken", bad[i]);
}

static int vacuum(const char *line, Profd__Control__Vacuum *ret, bool *ret_json)
{
	struct usage_message message;

	words_split(&words, line);
	return vacuum_parse(words.argc, words.argv, ret, ret_json, &message);
}

static void test_vacuum(void **state)
{
	static const char *const bad[] = {"vacuum 3d", "vacuum --max-age 0", "vacuum --max-size x",
					  "vacuum --max-age 3"};
	Profd__Control__Vacuum a;
	bool json;

	(void)state;
	assert_int_equal(vacuum("vacuum", &a, &json), 0);
	assert_true(!a.max_age_ns && !a.max_size_bytes && !a.dry_run && !json);
	assert_int_equal(vacuum("vacuum -n", &a, &json), 0);
	assert_true(a.dry_run);
	assert_int_equal(vacuum("vacuum --max-age 12h --max-size=500M --json", &a, &json), 0);
	assert_int_equal(a.max_age_ns, UINT64_C(43200000000000));
	assert_int_equal(a.max_size_bytes, 500 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (vacuum(bad[i], &a, &json) != OPTIONS_BAD)
			fail_msg("%s was taken", bad[i]);
}

static void test_others(void **state)
{
	char *watch[] = {(char[]){"status"}, (char[]){"-w"}, (char[]){"--json"}};
	char *flush[] = {(char[]){"flush"}, (char[]){"s3"}};
	char *pid[] = {(char[]){"flush"}, (char[]){"3"}};
	char *extra[] = {(char[]){"epoch"}, (char[]){"now"}};
	char *pause[] = {(char[]){"pause"}, (char[]){"--for"}, (char[]){"10m"}, (char[]){"1h"}};
	char *never[] = {(char[]){"pause"}, (char[]){"--for=0s"}};
	struct usage_message message;
	struct status_arguments s;
	Profd__Control__Pause p;
	Profd__Control__Flush f;
	bool json;

	(void)state;
	assert_int_equal(status_parse(3, watch, &s, &message), 0);
	assert_true(s.watch && s.json);
	assert_int_equal(flush_parse(2, flush, &f, &json, &message), 0);
	assert_int_equal(f.id, 3);
	assert_int_equal(flush_parse(1, flush, &f, &json, &message), 0);
	assert_int_equal(f.id, 0);
	assert_int_equal(flush_parse(2, pid, &f, &json, &message), OPTIONS_BAD);
	assert_int_equal(pause_parse(1, pause, &p, &message), 0);
	assert_int_equal(p.duration_ns, 0);
	assert_int_equal(pause_parse(3, pause, &p, &message), 0);
	assert_int_equal(p.duration_ns, UINT64_C(600000000000));
	assert_int_equal(pause_parse(4, pause, &p, &message), OPTIONS_BAD);
	assert_int_equal(pause_parse(2, never, &p, &message), OPTIONS_BAD);
	assert_int_equal(plain_parse(1, extra, &json, &message), 0);
	assert_int_equal(plain_parse(2, extra, &json, &message), OPTIONS_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_options),  cmocka_unit_test(test_start_targets),
		cmocka_unit_test(test_start_refusals), cmocka_unit_test(test_stop),
		cmocka_unit_test(test_list),           cmocka_unit_test(test_collect),
		cmocka_unit_test(test_vacuum),         cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
