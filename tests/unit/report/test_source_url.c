/* SPDX-License-Identifier: MIT */
/* What is a URL, what becomes of it, and where its server is asked for names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/report/source_url.h"
#include "tests/support/says.h"

static const struct source_url_times as_usual;

static struct source_url *parse(const char *text, int64_t seconds, int64_t timeout_s)
{
	const struct source_url_times times = {seconds, timeout_s};
	struct profile_message message = {{0}};
	struct source_url *url = NULL;
	int r = source_url_parse(text, &times, &url, &message);

	if (r)
		fail_msg("%s: %d, %s", text, r, message.text);
	return url;
}

static void assert_request(const char *text, int64_t seconds, const char *want)
{
	cleanup(source_url_freep) struct source_url *url = parse(text, seconds, 0);

	assert_string_equal(url->request, want);
}

static void test_requests(void **state)
{
	(void)state;
	assert_request("http://h:1/p", 0, "http://h:1/p");
	assert_request("HTTP://h/p?a=b&c#d", 0, "http://h/p?a=b&c");
	assert_request("https://h", 0, "https://h/debug/pprof/profile");
	assert_request("https+insecure://h/x", 0, "https://h/x");
	assert_request("h:80", 0, "http://h:80/debug/pprof/profile");
	assert_request("h:80/", 5, "http://h:80/debug/pprof/profile?seconds=5");
	assert_request("h.x-y_z:80/heap", 0, "http://h.x-y_z:80/heap");
	assert_request("h:80?seconds=9", 0, "http://h:80/debug/pprof/profile?seconds=9");
	assert_request(":6060/x", 0, "http://localhost:6060/x");
	assert_request("[::1]:80/x", 0, "http://[::1]:80/x");
	assert_request("http://u:p@h/x", 0, "http://u:p@h/x");
	assert_request("http://h/x?seconds=9&a=1&seconds=8", 5, "http://h/x?a=1&seconds=5");
	assert_request("http://h/x?secondsx=9", 5, "http://h/x?secondsx=9&seconds=5");
	assert_request("http://h/x?&&a", 0, "http://h/x?a");
}

static void test_what_is_none(void **state)
{
	static const char *const files[] = {
		"",     "profile.pb.gz", "dir/h:80", "./h:80", "h:",
		"h:x",  "h:80x",         "h:123456", "a b:80", "[x]:1",
		"[]:1", "://x",          "a/b://c",  ":",      "u@h:80",
	};
	struct profile_message message;
	struct source_url *url;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (source_url_parse(files[i], &as_usual, &url, &message) != SOURCE_URL_E_NONE)
			fail_msg("'%s' is taken for a URL", files[i]);
}

static void assert_bad(const char *text, const char *says)
{
	struct profile_message message = {{0}};
	struct source_url *url;

	if (source_url_parse(text, &as_usual, &url, &message) != SOURCE_URL_E_BAD)
		fail_msg("'%s' is taken", text);
	assert_says(message.text, says);
}

static void test_what_is_refused(void **state)
{
	char *text = malloc(5000);

	(void)state;
	assert_bad("ftp://h/x", "not by ftp");
	assert_bad("file:///etc/passwd", "not by file");
	assert_bad("http:///x", "names no host");
	assert_bad("http://u@/x", "names no host");
	assert_bad("http://h/a b", "no blanks");
	assert_bad("http://h/a\nb", "no blanks");
	assert_non_null(text);
	memset(text, 'x', 5000);
	memcpy(text, "http://h/", 9);
	text[4999] = '\0';
	assert_bad(text, "more than 4095 bytes");
	free(text);
}

static void assert_pages(const char *text, const char *symbols, const char *command)
{
	cleanup(source_url_freep) struct source_url *url = parse(text, 0, 0);

	assert_string_equal(url->symbols, symbols);
	if (command)
		assert_string_equal(url->command, command);
	else
		assert_null(url->command);
}

/* As pprof's symbolz has it. */
static void test_pages(void **state)
{
	(void)state;
	assert_pages("h:1", "http://h:1/debug/pprof/symbol", "http://h:1/debug/pprof/cmdline");
	assert_pages("http://h/pid/7/pprof/profile?seconds=3", "http://h/pid/7/pprof/symbol",
		     "http://h/pid/7/pprof/cmdline");
	assert_pages("https://u:p@h/pprof/heap", "https://u:p@h/pprof/symbol",
		     "https://u:p@h/pprof/cmdline");
	assert_pages("http://h/pprof/profile/", "http://h/pprof/symbolz", NULL);
	assert_pages("http://h/a/b.pb.gz?x", "http://h/a/symbolz", NULL);
}

static void test_shown(void **state)
{
	cleanup(source_url_freep) struct source_url *url = parse("https://u:p@x@h:1/a?b=c", 0, 0);
	cleanup(source_url_freep) struct source_url *plain = parse("https+insecure://u@h", 3, 0);

	(void)state;
	assert_string_equal(url->shown, "https://h:1/a?b=c");
	assert_string_equal(url->request, "https://u:p@x@h:1/a?b=c");
	assert_false(url->is_insecure);
	assert_true(plain->is_insecure);
	assert_string_equal(plain->shown, "https://h/debug/pprof/profile?seconds=3");
}

static void assert_times(const char *text, int64_t seconds, int64_t timeout_s,
			 unsigned want_seconds, uint64_t want_timeout_s)
{
	cleanup(source_url_freep) struct source_url *url = parse(text, seconds, timeout_s);

	assert_int_equal(url->seconds, want_seconds);
	assert_int_equal(url->timeout_ms, (want_timeout_s + 5) * 1000);
}

/* As pprof has them: half as long again, and five seconds. */
static void test_times(void **state)
{
	(void)state;
	assert_times("h:1", 0, 0, 0, 60);
	assert_times("h:1", 30, 0, 30, 45);
	assert_times("h:1", 3, 0, 3, 4);
	assert_times("h:1", 30, 7, 30, 7);
	assert_times("h:1/x?seconds=10", 0, 0, 10, 15);
	assert_times("h:1/x?seconds=10", 20, 0, 20, 30);
	assert_times("h:1/x?seconds=10", 0, 2, 10, 2);
	assert_times("h:1/x?seconds=-4", 0, 0, 0, 60);
	assert_times("h:1/x?seconds", 0, 0, 0, 60);
	assert_times("h:1/x?seconds=", 0, 0, 0, 60);
	assert_times("h:1/x?seconds=99999999999999999999", 0, 0, SOURCE_URL_SECONDS_MAX,
		     SOURCE_URL_SECONDS_MAX + SOURCE_URL_SECONDS_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),        cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_what_is_refused), cmocka_unit_test(test_pages),
		cmocka_unit_test(test_shown),           cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
