/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/report/symbolize_mode.h"
#include "common/cleanup.h"

/* What pprof's internal/symbolizer makes of the same words: l, f, r, ! for the four
 * places and ways, then the style of names where it is not the default. */
static const struct {
	const char *text, *want;
} modes[] = {
	{"", "lr"},
	{"local", "l"},
	{"fastlocal", "lf"},
	{"remote", "r"},
	{"REMOTE", "r"},
	{"force", "lr!"},
	{"none", ""},
	{"no", ""},
	{"none:force", ""},
	{"local:none", ""},
	{"remote:force", "r!"},
	{"force:local", "l!"},
	{"local:remote", "r"},
	{"remote:local", "l"},
	{":local:", "l"},
	{"fastlocal:remote:local", "lf"},
	{"demangle=none", "lr!N"},
	{"local:demangle=full", "l!F"},
	{"Demangle=Templates:remote", "r!T"},
	{"demangle=full:demangle=templates", "lr!T"},
	{"demangle=default", "lr"},
	{"demangle=full:demangle=default", "lr!F"},
	{"demangle=full:none", ""},
};

static void test_modes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct symbolize_mode m;
		static const char *const names[] = {"", "", "N", "F", "T"};
		char got[8] = "";

		assert_true(symbolize_mode_parse(modes[i].text, &m));
		strcat(got, m.is_local ? "l" : "");
		strcat(got, m.is_fast ? "f" : "");
		strcat(got, m.is_remote ? "r" : "");
		strcat(got, m.is_forced ? "!" : "");
		strcat(got, names[m.names]);
		assert_int_equal(m.names == SYMBOLIZE_NAMES_KEPT, !m.is_local && !m.is_remote);
		if (strcmp(got, modes[i].want) != 0)
			fail_msg("'%s': '%s'", modes[i].text, got);
	}
}

static void test_refused(void **state)
{
	static const char *const words[] = {"locally",      "local,remote", "local:x",
					    "demangle=",    "force local",  "demangle",
					    "demangle=all", "full",         "demangle=full,local"};
	struct symbolize_mode m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_false(symbolize_mode_parse(words[i], &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
