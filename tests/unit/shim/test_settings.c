/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/shim/core/settings.h"

#define PID 4711

/* An environment of some variables; the one that getter() looks into. */
static char environment[8][128];

static char *getter(const char *name)
{
	size_t n = strlen(name);

	for (unsigned i = 0; i < 8; i++)
		if (!strncmp(environment[i], name, n) && environment[i][n] == '=')
			return environment[i] + n + 1;
	return NULL;
}

static void set(const char *a, const char *b, const char *c)
{
	memset(environment, 0, sizeof(environment));
	snprintf(environment[0], sizeof(environment[0]), "%s", a ? a : "");
	snprintf(environment[1], sizeof(environment[1]), "%s", b ? b : "");
	snprintf(environment[2], sizeof(environment[2]), "%s", c ? c : "");
}

static struct settings read_them(const char *a, const char *b, const char *c)
{
	struct settings s;

	set(a, b, c);
	settings_read(&s, getter, PID);
	return s;
}

static void test_nothing_is_set(void **state)
{
	struct settings s = read_them(NULL, NULL, NULL);

	(void)state;
	assert_int_equal(s.frequency, 100);
	assert_int_equal(s.tick_signal, SIGPROF);
	assert_int_equal(s.switch_signal, 0);
	assert_false(s.is_realtime || s.is_bad_signal);
	assert_string_equal(s.path, "");
}

static void test_who_must_not_look_does_not(void **state)
{
	struct settings s;

	(void)state;
	set("CPUPROFILE=f", "CPUPROFILE_FREQUENCY=7", NULL);
	settings_read(&s, NULL, PID);
	assert_int_equal(s.frequency, 100);
	assert_string_equal(s.path, "");
	assert_string_equal(environment[0], "CPUPROFILE=f");
}

static void test_wall_clock(void **state)
{
	struct settings s = read_them("CPUPROFILE_REALTIME=", NULL, NULL);

	(void)state;
	assert_true(s.is_realtime && !s.is_per_thread);
	s = read_them("CPUPROFILE_REALTIME=1", "CPUPROFILE_PER_THREAD_TIMERS=", NULL);
	assert_true(s.is_realtime && s.is_per_thread);
	s = read_them("CPUPROFILE_REALTIME=1", "CPUPROFILE_TIMER_SIGNAL=34", NULL);
	assert_true(s.is_realtime && s.is_per_thread);
}

static void test_frequency(void **state)
{
	static const struct {
		const char *text;
		unsigned frequency;
	} cases[] = {
		{"", 100},    {"0", 100},     {"-5", 100},    {"many", 100},
		{"1", 1},     {"10x", 100},   {"4000", 4000}, {"4001", 4000},
		{" 50", 50},  {"1.5", 100},   {"0x10", 100},  {"99999999999999999999", 100},
		{"250", 250}, {"5000", 4000},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "CPUPROFILE_FREQUENCY=%s", cases[i].text);
		assert_int_equal(read_them(text, NULL, NULL).frequency, cases[i].frequency);
	}
}

static void test_signals(void **state)
{
	struct settings s = read_them("CPUPROFILE=f", "CPUPROFILESIGNAL=12",
				      "CPUPROFILE_TIMER_SIGNAL=0x22");

	(void)state;
	assert_int_equal(s.switch_signal, 12);
	assert_int_equal(s.tick_signal, 34);
	assert_false(s.is_bad_signal);
	/* Without a file there is nothing to switch. */
	assert_int_equal(read_them("CPUPROFILESIGNAL=12", NULL, NULL).switch_signal, 0);
	for (unsigned i = 0; i < 2; i++) {
		const char *name = i ? "CPUPROFILESIGNAL" : "CPUPROFILE_TIMER_SIGNAL";
		static const char *const bad[] = {"", "0", "65", "-1", "x", "12 ", "9", "19"};

		for (unsigned j = 0; j < sizeof(bad) / sizeof(bad[0]); j++) {
			char text[64];

			snprintf(text, sizeof(text), "%s=%s", name, bad[j]);
			assert_true(read_them("CPUPROFILE=f", text, NULL).is_bad_signal);
		}
	}
	/* One signal cannot be both. */
	assert_true(read_them("CPUPROFILE=f", "CPUPROFILESIGNAL=27", NULL).is_bad_signal);
}

static void test_who_is_a_child(void **state)
{
	struct settings s = read_them("CPUPROFILE=file", NULL, NULL);

	(void)state;
	assert_string_equal(s.path, "file");
	/* Whom this process starts sees the mark. */
	assert_int_equal((unsigned char)environment[0][11], 'f' | 0x80);
	settings_read(&s, getter, PID + 1);
	assert_string_equal(s.path, "file_4712");
	assert_int_equal((unsigned char)environment[0][11], 'f' | 0x80);
	assert_string_equal(read_them("CPUPROFILE=f", "CPUPROFILE_USE_PID=1", NULL).path, "f_4711");
	assert_string_equal(read_them("CPUPROFILE=f", "CPUPROFILE_USE_PID=0", NULL).path, "f");
	assert_string_equal(read_them("CPUPROFILE=", NULL, NULL).path, "");
}

static void test_server(void **state)
{
	static const struct {
		const char *connect, *chosen, *socket;
	} cases[] = {
		{"PROFD_CONNECT=1", NULL, SETTINGS_SOCKET_DEFAULT},
		{"PROFD_CONNECT=1", "PROFD_SOCKET=", SETTINGS_SOCKET_DEFAULT},
		{"PROFD_CONNECT=1", "PROFD_SOCKET=/run/other", "/run/other"},
		{"PROFD_CONNECT=/run/mine", "PROFD_SOCKET=/run/other", "/run/mine"},
		{"PROFD_CONNECT=", "PROFD_SOCKET=/run/other", NULL},
		{"PROFD_CONNECT=0", "PROFD_SOCKET=/run/other", NULL},
		{"PROFD_SOCKET=/run/other", NULL, NULL},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct settings s = read_them(cases[i].connect, cases[i].chosen, NULL);

		if (cases[i].socket)
			assert_string_equal(s.socket, cases[i].socket);
		else
			assert_null(s.socket);
		settings_read(&s, NULL, PID);
		assert_null(s.socket);
	}
}

static void test_names(void **state)
{
	char name[PATH_MAX], long_name[PATH_MAX];

	(void)state;
	assert_true(settings_name(name, "/tmp", "a/b", ".0"));
	assert_string_equal(name, "/tmp/a/b.0");
	assert_true(settings_name(name, "/tmp", "/a", ""));
	assert_string_equal(name, "/a");
	assert_true(settings_name(name, NULL, "a", ".1"));
	assert_string_equal(name, "a.1");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_true(settings_name(name, "", "/", ""));
	assert_false(settings_name(name, "/tmp", long_name, ""));
}

static void test_names_of_children(void **state)
{
	char name[PATH_MAX];

	(void)state;
	assert_true(settings_child_name(name, "/t/f", 10, 12));
	assert_string_equal(name, "/t/f_12");
	assert_true(settings_child_name(name, "/t/f_10", 10, 12));
	assert_string_equal(name, "/t/f_12");
	assert_true(settings_child_name(name, "/t/f_110", 10, 12));
	assert_string_equal(name, "/t/f_110_12");
	assert_true(settings_child_name(name, "_10", 10, 12));
	assert_string_equal(name, "_10_12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_set),
		cmocka_unit_test(test_who_must_not_look_does_not),
		cmocka_unit_test(test_wall_clock),
		cmocka_unit_test(test_frequency),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_who_is_a_child),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_of_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
