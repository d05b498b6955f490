/* SPDX-License-Identifier: MIT */
#include "tests/unit/output/fixture.h"

#include "common/store/names.h"

static void check_escape(const char *text, const char *name)
{
	char escaped[NAMES_ESCAPED_MAX + 1], back[NAMES_ESCAPED_MAX + 1];

	names_escape(text, NAMES_ESCAPED_MAX, escaped);
	assert_string_equal(escaped, name);
	assert_true(names_unescape(escaped, back, sizeof(back)));
	assert_string_equal(back, text);
}

static void test_user_services(void **state)
{
	static const char *const others[] = {
		"user-",    "user-0",  "user-01", "user-7.service",   "user@7", "user@.service",
		"user-7 ",  "user-",   "user",    "user@0.service",   "",       "user--7",
		"user-+7",  "users",   "u",       "user-42949672960", "user_7", "user@7.service2",
		"a-user-7", "user- 7",
	};
	uint32_t uid;

	(void)state;
	assert_true(names_parse_user_service("user-7", &uid));
	assert_int_equal(uid, 7);
	assert_true(names_parse_user_service("user@4294967295.service", &uid));
	assert_int_equal(uid, UINT32_MAX);
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(names_parse_user_service(others[i], &uid));
}

static void test_escape(void **state)
{
	(void)state;
	check_escape("ssh.service", "ssh.service");
	check_escape("getty@tty1.service", "getty@tty1.service");
	check_escape("user-1000", "user-1000");
	check_escape(".hidden", "%2Ehidden");
	check_escape("..", "%2E.");
	check_escape("-.mount", "%2D.mount");
	check_escape("a/b c%d\n", "a%2Fb%20c%25d%0A");
	check_escape("caf\xc3\xa9", "caf%C3%A9");
	check_escape(".tmp-1", "%2Etmp-1");
}

static void test_escape_long(void **state)
{
	char text[1000], a[NAMES_ESCAPED_MAX + 1], b[NAMES_ESCAPED_MAX + 1], back[300];

	(void)state;
	memset(text, '/', sizeof(text));
	text[999] = '\0';
	names_escape(text, NAMES_ESCAPED_MAX, a);
	assert_true(strlen(a) <= NAMES_ESCAPED_MAX);
	assert_true(names_unescape(a, back, sizeof(back)));
	text[998] = 'x';
	names_escape(text, NAMES_ESCAPED_MAX, b);
	assert_string_not_equal(a, b);

	memset(text, 'a', sizeof(text));
	text[200] = '\0';
	names_escape(text, NAMES_ESCAPED_MAX, a);
	assert_string_equal(a, text); /* exactly as long as it may be */
	text[200] = 'a';
	text[201] = '\0';
	names_escape(text, NAMES_ESCAPED_MAX, a);
	assert_int_equal(strlen(a), NAMES_ESCAPED_MAX);
}

/* By its name, and by what list says of a directory whose name was cut. */
static void test_what_a_name_means(void **state)
{
	char service[256], dir[NAMES_ESCAPED_MAX + 1], listed[NAMES_ESCAPED_MAX + 1];

	(void)state;
	assert_true(names_match_service("a.service", "a.service"));
	assert_false(names_match_service("a.servic", "a.service"));
	assert_true(names_match_service("a", "a.service"));
	assert_true(names_match_service("a", "a"));
	assert_false(names_match_service("a.service", "a"));
	assert_false(names_match_service("a", "a.socket"));
	assert_false(names_match_service("a", "ab.service"));
	assert_false(names_match_service("kernel", "kernel.service"));
	assert_false(names_match_service("%2Ehidden", ".hidden"));
	memset(service, ':', 255);
	service[255] = '\0';
	names_escape(service, NAMES_ESCAPED_MAX, dir);
	assert_true(names_unescape(dir, listed, sizeof(listed)));
	assert_string_not_equal(listed, service);
	assert_true(names_match_service(service, service));
	assert_true(names_match_service(listed, service));
	service[254] = 'x';
	assert_false(names_match_service(listed, service));
}

static void test_unescape_refuses(void **state)
{
	static const char *const bad[] = {"",    "%",    "%2", "%2g",     "a b", "%00",
					  "%2f", ".tmp", "-x", "caf\xc3", "a/b", "x%"};
	char back[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(names_unescape(bad[i], back, sizeof(back)));
	assert_false(names_unescape("abcdef", back, 6));
	assert_true(names_unescape("abcdef", back, 7));
}

static void test_windows(void **state)
{
	static const char *const good[] = {
		"20261121T090000Z-60s.pb.gz",        "20261121T090000Z-60s.pb.gz.1",
		"20261121T090000Z-3600s.pb.gz.12",   "20261121T090000Z-1s.sh-12.prof",
		"20240229T235959Z-60s.a.b-3.prof.2", "20261121T090000Z-60s.sh-12.prof.1",
	};
	static const char *const bad[] = {
		"",
		"20261121T090000Z-60s.pb",
		"20261121T090000Z-060s.pb.gz",
		"20261121T090000Z-60.pb.gz",
		"20261121T090000-60s.pb.gz",
		"20261131T090000Z-60s.pb.gz",
		"20230229T090000Z-60s.pb.gz",
		"20261121T240000Z-60s.pb.gz",
		"20261121T090000Z-60s.pb.gz.0",
		"20261121T090000Z-60s.pb.gz.01",
		"20261121T090000Z-60s.pb.gz~",
		"20261121T090000Z-99999999999s.pb.gz",
		"20261121T090000Z-60s..prof/x",
		"2026112",
		"20261121T090000Z-60s.",
	};
	struct names_window window;
	char again[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(names_parse_window(good[i], &window));
		assert_true(names_window(&window, again, sizeof(again)));
		assert_string_equal(again, good[i]);
		assert_int_equal(window.format == CONTENTS_LEGACY,
				 strstr(good[i], ".prof") != NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(names_parse_window(bad[i], &window));
	assert_true(names_parse_window("20261121T090000Z-60s.pb.gz", &window));
	assert_int_equal(window.start_s, T0);
	assert_int_equal(window.seconds, 60);
	assert_false(names_window(&window, again, 20));
}

static void test_times(void **state)
{
	char start[NAMES_START_SIZE], day[NAMES_DAY_SIZE];

	(void)state;
	names_start(T0, start);
	assert_string_equal(start, "20261121T090000Z");
	names_day(T0 - T0 % DAY - 1, day);
	assert_string_equal(day, "20261120");
	assert_true(names_parse_day("20261121"));
	assert_false(names_parse_day("2026112"));
	assert_false(names_parse_day("202611211"));
	names_start(UINT64_MAX, start);
	assert_int_equal(strlen(start), NAMES_START_SIZE - 1);
}

/* Nanoseconds have 64 bits, and no clock of Linux can be set to what they cannot tell. */
static void test_end_of_time(void **state)
{
	struct names_window w;

	(void)state;
	assert_true(names_parse_window("22620411T234700Z-16s.pb.gz", &w));
	assert_false(names_parse_window("22620411T234700Z-17s.pb.gz", &w));
	assert_false(names_parse_window("22620411T234716Z-4294967295s.pb.gz", &w));
	assert_false(names_parse_window("99991231T235959Z-60s.pb.gz", &w));
}

static void test_epochs(void **state)
{
	char name[NAMES_EPOCH_SIZE];
	uint64_t begin_s;

	(void)state;
	names_epoch(T0 + 59, name);
	assert_string_equal(name, "2611210900");
	assert_true(names_parse_epoch(name, &begin_s));
	assert_int_equal(begin_s, T0);
	assert_false(names_parse_epoch("2613210900", &begin_s));
	assert_false(names_parse_epoch("261121090", &begin_s));
	assert_false(names_parse_epoch("26112109000", &begin_s));
	assert_false(names_parse_epoch("26112109xx", &begin_s));
	assert_false(names_parse_epoch("", &begin_s));
}

static void test_suffix(void **state)
{
	char cut[NAMES_ESCAPED_MAX + 1] = "";

	(void)state;
	memset(cut, 'L', NAMES_ESCAPED_MAX);
	assert_false(names_lacks_suffix(cut));
	assert_true(names_lacks_suffix("nginx"));
	assert_true(names_lacks_suffix("user-x"));
	assert_true(names_lacks_suffix("user-"));
	assert_true(names_lacks_suffix("getty@tty1"));
	assert_false(names_lacks_suffix("nginx.service"));
	assert_false(names_lacks_suffix("docker-ab.scope"));
	assert_false(names_lacks_suffix(""));
	assert_false(names_lacks_suffix("kernel"));
	assert_false(names_lacks_suffix("other"));
	assert_false(names_lacks_suffix("transient"));
	assert_false(names_lacks_suffix("user-1000"));
}

/* Several, as they are asked for. */
static void test_select(void **state)
{
	static const struct {
		const char *asked, *service;
		bool is;
	} cases[] = {
		{"a,b", "b.service", true},
		{"a,b", "c.service", false},
		{"a.service,b.scope", "b.scope", true},
		{"web-*", "web-1.service", true},
		{"web-*", "web-.service", true},
		{"web-*", "webx.service", false},
		{"*b*c", "abbcbc.service", true},
		{"*b*c", "abbcbd.service", false},
		{"w?b", "web.service", true},
		{"w?b", "wb.service", false},
		{"*.scope", "docker-1.scope", true},
		{"*.scope", "a.service", false},
		{"*", "kernel", true},
		{",,a", "a.service", true},
		{"nginx", "nginx.service", true},
		{"nginx", "nginx.socket", false},
		{"kernel,x", "kernel.service", false},
		{"***********************************************b",
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (names_select_service(cases[i].asked, cases[i].service) != cases[i].is)
			fail_msg("%s: %s", cases[i].asked, cases[i].service);
	assert_true(names_is_pattern("a,b") && names_is_pattern("*") && names_is_pattern("a?"));
	assert_false(names_is_pattern("") || names_is_pattern("a@b.service"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_escape_long),
		cmocka_unit_test(test_user_services),
		cmocka_unit_test(test_what_a_name_means),
		cmocka_unit_test(test_unescape_refuses),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_end_of_time),
		cmocka_unit_test(test_epochs),
		cmocka_unit_test(test_suffix),
		cmocka_unit_test(test_select),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
