/* SPDX-License-Identifier: MIT */
#include "common/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/output/snapshot.h"
#include "tests/support/temp_dir.h"

static struct config *parse(const char *text)
{
	struct config_message message;
	struct config *c = NULL;
	int r = config_parse(&c, text, "test.conf", &message);

	if (r)
		fail_msg("refused: %s", message.text);
	return c;
}

static char *print(const struct config *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(config_print(c, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_defaults(void **state)
{
	cleanup(config_freep) struct config *c = parse("");

	(void)state;
	assert_string_equal(c->event, "auto");
	assert_int_equal(c->frequency, 99);
	assert_false(c->off_cpu);
	assert_int_equal(c->off_cpu_frequency, 0);
	assert_true(c->kernel_stacks);
	assert_int_equal(c->max_depth, 1024);
	assert_true(c->exclude_self);
	assert_true(c->max_cpu > 0.0299 && c->max_cpu < 0.0301);
	assert_true(c->system_enabled);
	assert_non_null(c->exclude_services);
	assert_null(c->exclude_services[0]);
	assert_int_equal(c->interval_ns, UINT64_C(60000000000));
	assert_int_equal(c->formats, FORMAT_PPROF | FORMAT_IMAGES);
	assert_int_equal(c->symbolize, SYMBOLIZE_FUNCTIONS);
	assert_int_equal(c->labels, LABEL_PID | LABEL_COMM | LABEL_THREAD | LABEL_SERVICE |
					    LABEL_CONTAINER | LABEL_POD | LABEL_NAMESPACE |
					    LABEL_IMAGE | LABEL_VERSION | LABEL_WAIT);
	assert_string_equal(c->store_path, "/var/lib/profd");
	assert_int_equal(c->max_size, UINT64_C(2) << 30);
	assert_int_equal(c->max_age_s, 604800);
	assert_int_equal(c->keep_windows, 3);
	assert_int_equal(c->store_legacy_max_processes, 64);
	assert_int_equal(c->memory_budget, 128 << 20);
	assert_string_equal(c->control_socket, "/run/profd/control.sock");
	assert_int_equal(c->control_socket_mode, 0666);
	assert_int_equal(c->control_max_sessions, 64);
}

/* Every kind of value, blanks, comments, both separators, the last one wins. */
static void test_values(void **state)
{
	static const char text[] = "# a comment\n"
				   "[sampling]\n"
				   "  event = cycles:u  \r\n"
				   "frequency=1\nfrequency: 999\n"
				   "kernel_stacks = off\n"
				   "max_cpu = 2.5%\n"
				   "; another\n"
				   "[system]\nexclude_comms = a b, c\nexclude_comms = d\n"
				   "[flush]\ninterval = 500s\nformats = images , legacy\n"
				   "symbolize = lines\n"
				   "[labels]\ntid = yes\npid = no\n"
				   "[control]\nsocket_mode = 660";
	cleanup(config_freep) struct config *c = parse(text);

	(void)state;
	assert_string_equal(c->event, "cycles:u");
	assert_int_equal(c->frequency, 999);
	assert_false(c->kernel_stacks);
	assert_true(c->max_cpu > 0.0249 && c->max_cpu < 0.0251);
	assert_string_equal(c->exclude_comms[0], "a b");
	assert_string_equal(c->exclude_comms[1], "c");
	assert_string_equal(c->exclude_comms[2], "d");
	assert_null(c->exclude_comms[3]);
	assert_int_equal(c->interval_ns, UINT64_C(500000000000));
	assert_int_equal(c->formats, FORMAT_LEGACY | FORMAT_IMAGES);
	assert_int_equal(c->symbolize, SYMBOLIZE_LINES);
	assert_true(c->labels & LABEL_TID);
	assert_false(c->labels & LABEL_PID);
	assert_int_equal(c->control_socket_mode, 0660);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"event = x", "test.conf:1: 'event' is before any [section]"},
		{"\n[sampling]\nfrequencies = 9", "test.conf:3: unknown key 'frequencies'"},
		{"[nothing]\nlisten = x", "test.conf:2: unknown section [nothing]"},
		{"[sampling]\nfrequency = 0", "test.conf:2: frequency must be 1 to 100000"},
		{"[sampling]\noff_cpu = maybe", "test.conf:2: off_cpu must be"},
		{"[sampling]\noff_cpu_frequency = 100001",
		 "test.conf:2: off_cpu_frequency must be 0 to 100000"},
		{"[sampling]\nfrequency = 9x", "test.conf:2: frequency must be a number"},
		{"[sampling]\nfrequency = -1", "test.conf:2: frequency must be a number"},
		{"[sampling]\nfrequency = 99999999999999999999", "frequency is too large"},
		{"[sampling]\nmax_cpu = 0%", "max_cpu must be a percentage"},
		{"[sampling]\nmax_cpu = 1", "max_cpu must be a percentage"},
		{"[sampling]\nevent =", "event must not be empty"},
		{"[sampling]\nkernel_stacks = maybe", "must be yes or no"},
		{"[flush]\ninterval = 60", "interval must be a duration"},
		{"[flush]\ninterval = 10ms", "interval must be 1s to 1d"},
		{"[flush]\nformats = pprof,prof", "not 'prof'"},
		{"[flush]\nformats =", "not ''"},
		{"[store]\npath = var", "path must be an absolute path"},
		{"[store]\nmax_size = 1K", "max_size must be at least 1M"},
		{"[control]\nsocket_mode = 999", "socket_mode must be an octal mode"},
		{"[control]\nsocket_mode = 4777", "socket_mode must be an octal mode"},
		{"[system]\nexclude_comms = a,,b", "exclude_comms has an empty item"},
		{"[labels]\npid = yes ; why not", "test.conf:2: a comment needs a line"},
		{"[labels]\n\nrubbish\n", "test.conf:3: 'rubbish' is neither"},
		{"[labels\n", "test.conf:1: '[labels' lacks its ]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config_message message;
		struct config *c = NULL;

		assert_int_equal(config_parse(&c, cases[i].text, "test.conf", &message),
				 CONFIG_E_INVALID);
		assert_null(c);
		if (!strstr(message.text, cases[i].message))
			fail_msg("'%s' gave '%s'", cases[i].text, message.text);
	}
}

/* However long a line is, and whatever precedes it. */
static void test_long_lines(void **state)
{
	char text[400] = "\xef\xbb\xbf[system]\nexclude_comms = ";
	size_t length = strlen(text);
	cleanup(config_freep) struct config *c = NULL;

	(void)state;
	memset(text + length, 'x', sizeof(text) - 1 - length);
	c = parse(text);
	assert_string_equal(c->exclude_comms[0], text + length);
	assert_null(c->exclude_comms[1]);
}

static void test_print_reads_back(void **state)
{
	cleanup(config_freep) struct config *standard = parse(""), *c = NULL, *again = NULL;
	cleanup(freep) char *first = NULL, *second = NULL;
	char text[8192] = "[sampling]\nmax_cpu=0.3%\nfrequency=4001\noff_cpu=yes\n"
			  "off_cpu_frequency=49\n[system]\n";

	(void)state;
	for (int i = 0; i < 100; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "exclude_services = unit-%d.service\n", i);
	strcat(text, "[store]\nmin_free = 12345\nmax_age = 36h\n[labels]\ncgroup=on\n");
	c = parse(text);
	first = print(c);
	again = parse(first);
	second = print(again);
	assert_string_equal(first, second);
	assert_string_equal(again->exclude_services[99], "unit-99.service");
	assert_null(again->exclude_services[100]);
	free(second);
	second = print(standard);
	assert_string_not_equal(first, second);
}

static size_t n_keys_in(const char *text)
{
	size_t n = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		n += *line >= 'a' && *line <= 'z';
	}
	return n;
}

/* The shipped file: every key, and each with its default. */
static void test_shipped_file(void **state)
{
	cleanup(config_freep) struct config *standard = parse(""), *c = NULL;
	cleanup(freep) char *expected = print(standard), *got = NULL, *text = NULL;
	cleanup(fclosep) FILE *file = fopen(TEST_DATA "/../../systemd/profd.conf", "r");
	struct config_message message;
	size_t size = 0;

	(void)state;
	assert_non_null(file);
	assert_true(getdelim(&text, &size, '\0', file) > 0);
	assert_int_equal(config_parse(&c, text, "profd.conf", &message), CONFIG_E_OK);
	got = print(c);
	assert_string_equal(got, expected);
	assert_int_equal(n_keys_in(text), n_keys_in(expected));
}

/* A file is mended at once: all errors are reported, but of each unknown section one. */
static void test_all_errors(void **state)
{
	static const char text[] = "stray = 1\nstray = 2\n[sampling]\nfrequency = 0\nnope = 1\n"
				   "max_depth = 5\n[nothing]\na = 1\nb = 2\n[flush]\nrubbish\n";
	struct config_message message;
	struct config *c = NULL;
	char many[64 * 16] = "[flush]\n";

	(void)state;
	assert_int_equal(config_parse(&c, text, "f", &message), CONFIG_E_INVALID);
	assert_string_equal(message.text, "f:1: 'stray' is before any [section]\n"
					  "f:4: frequency must be 1 to 100000, not '0'\n"
					  "f:5: unknown key 'nope' in [sampling]\n"
					  "f:8: unknown section [nothing]\n"
					  "f:11: 'rubbish' is neither a [section] nor key = value");
	for (int i = 0; i < 40; i++)
		strcat(many, "interval = x\n");
	assert_int_equal(config_parse(&c, many, "f", &message), CONFIG_E_INVALID);
	assert_non_null(strstr(message.text, "f:16: "));
	assert_null(strstr(message.text, "f:17: "));
	assert_non_null(strstr(message.text, "not 'x'\n25 more errors"));
	assert_null(c);
}

static void test_load_with_drop_ins(void **state)
{
	static const char first[] = "profd.conf.d/10-a.conf", second[] = "profd.conf.d/20-b.conf";
	struct temp_dir dir;
	char path[256];
	cleanup(config_freep) struct config *c = NULL, *none = NULL;
	struct config_message message;

	(void)state;
	temp_dir_make(&dir);
	snprintf(path, sizeof(path), "%s/profd.conf", dir.path);
	assert_int_equal(config_load(&none, path, NULL, &message), CONFIG_E_INVALID);
	assert_non_null(strstr(message.text, "No such file"));
	write_text(dir.fd, "profd.conf", "[a]\nb=c\n");
	write_text(dir.fd, first, "d\n");
	write_text(dir.fd, second, "e\n");
	assert_int_equal(config_load(&none, path, NULL, &message), CONFIG_E_INVALID);
	assert_non_null(strstr(message.text, "profd.conf:2: unknown section [a]\n"));
	assert_non_null(strstr(message.text, "10-a.conf:1: 'd' is neither"));
	assert_non_null(strstr(message.text, "20-b.conf:1: 'e' is neither"));
	write_text(dir.fd, "profd.conf", "[sampling]\nfrequency=10\n[system]\nexclude_comms=a\n");
	write_text(dir.fd, second, "[sampling]\nfrequency=30\n[system]\nexclude_comms=b\n");
	write_text(dir.fd, first, "[sampling]\nfrequency=20\nevent=cycles\n");
	assert_int_equal(config_load(&c, path, NULL, &message), CONFIG_E_OK);
	assert_int_equal(c->frequency, 30);
	assert_string_equal(c->event, "cycles");
	assert_string_equal(c->exclude_comms[1], "b");
	write_text(dir.fd, second, "\n[sampling]\nfrequency=never\n");
	assert_int_equal(config_load(&none, path, NULL, &message), CONFIG_E_INVALID);
	assert_non_null(strstr(message.text, "20-b.conf:3: frequency must be"));
	temp_dir_remove(&dir);
}

static void test_paths_of_the_command_line(void **state)
{
	cleanup(config_freep) struct config *c = parse("[store]\npath=/a\n[control]\nsocket=/b\n");
	cleanup(freep) char *text = NULL;

	(void)state;
	assert_int_equal(config_set_paths(c, NULL, NULL), 0);
	assert_string_equal(c->store_path, "/a");
	assert_int_equal(config_set_paths(c, NULL, "/run/x"), 0);
	assert_string_equal(c->store_path, "/a");
	assert_int_equal(config_set_paths(c, "/var/x", NULL), 0);
	text = print(c);
	assert_non_null(strstr(text, "path = /var/x\n"));
	assert_non_null(strstr(text, "socket = /run/x\n"));
}

/* Each of them makes a difference, and nothing else does. */
static void test_what_lasts_till_a_restart(void **state)
{
	static const char *const lasting[] = {
		"[store]\npath=/a\n",     "[store]\ngroup=staff\n",
		"[control]\nsocket=/b\n", "[control]\nsocket_mode=0600\n",
		"[memory]\nbudget=64M\n", "[sampling]\nexclude_self=no\n",
	};
	cleanup(config_freep) struct config *others = parse("[sampling]\nfrequency=7\n"
							    "[store]\nmax_size=3G\n"
							    "[system]\nexclude_comms=x\n");
	cleanup(config_freep) struct config *standard = parse("");
	cleanup(freep) char *standard_text = print(standard), *others_text = print(others);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++) {
		cleanup(config_freep) struct config *c = parse(lasting[i]), *in_force = parse("");
		cleanup(freep) char *asked = print(c), *now = NULL, *kept = NULL;

		assert_true(config_swap_restart_only(c, in_force));
		now = print(c);
		kept = print(in_force);
		assert_string_equal(now, standard_text);
		assert_string_equal(kept, asked);
	}
	assert_false(config_swap_restart_only(others, standard));
	freep(&standard_text);
	standard_text = print(others);
	assert_string_equal(standard_text, others_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_print_reads_back),
		cmocka_unit_test(test_shipped_file),
		cmocka_unit_test(test_all_errors),
		cmocka_unit_test(test_load_with_drop_ins),
		cmocka_unit_test(test_paths_of_the_command_line),
		cmocka_unit_test(test_what_lasts_till_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
