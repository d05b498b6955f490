/* SPDX-License-Identifier: MIT */
/* What profctl writes: JSON, tables, the two views of the status, the configuration as JSON. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "client/profctl/status.h"
#include "client/profctl/table.h"

struct text {
	FILE *out;
	char *data;
	size_t size;
};

static void text_open(struct text *t)
{
	t->data = NULL;
	t->out = open_memstream(&t->data, &t->size);
	assert_non_null(t->out);
}

static void expect(struct text *t, const char *expected)
{
	assert_int_equal(fclose(t->out), 0);
	assert_string_equal(t->data, expected);
	free(t->data);
}

static void expect_parts(struct text *t, const char *const *parts, size_t n)
{
	assert_int_equal(fclose(t->out), 0);
	for (size_t i = 0; i < n; i++)
		if (!strstr(t->data, parts[i]))
			fail_msg("'%s' is not in:\n%s", parts[i], t->data);
	free(t->data);
}

static void test_json_texts(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"", "\"\"\n"},
		{"a\"b\\c/", "\"a\\\"b\\\\c/\"\n"},
		{"\n\t\x01\x1f\x7f", "\"\\n\\t\\u0001\\u001f\\u007f\"\n"},
		{"h\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa2",
		 "\"h\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa2\"\n"},
		/* Stray and cut sequences, overlong forms, a surrogate, past the last character. */
		{"\x80|\xc3|\xe2\x82|\xff", "\"\\ufffd|\\ufffd|\\ufffd\\ufffd|\\ufffd\"\n"},
		{"\xc0\x80", "\"\\ufffd\\ufffd\"\n"},
		{"\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\"\n"},
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"\n"},
		{"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json j = {0};
		struct text t;

		text_open(&t);
		j.out = t.out;
		json_text(&j, NULL, cases[i].text);
		json_end(&j);
		expect(&t, cases[i].json);
	}
}

static void put_sample(struct json *j)
{
	json_begin_object(j, NULL);
	json_number(j, "n", UINT64_MAX);
	json_begin_array(j, "a");
	json_real(j, NULL, 0.25);
	json_real(j, NULL, NAN);
	json_bool(j, NULL, true);
	json_close(j);
	json_begin_object(j, "empty");
	json_close(j);
	json_text(j, "z", NULL);
	json_end(j);
}

static void test_json_shape(void **state)
{
	struct json compact = {.compact = true}, pretty = {0};
	struct text t;

	(void)state;
	text_open(&t);
	compact.out = t.out;
	put_sample(&compact);
	put_sample(&compact);
	expect(&t, "{\"n\":18446744073709551615,\"a\":[0.25,null,true],\"empty\":{},\"z\":null}\n"
		   "{\"n\":18446744073709551615,\"a\":[0.25,null,true],\"empty\":{},\"z\":null}\n");
	text_open(&t);
	pretty.out = t.out;
	put_sample(&pretty);
	expect(&t, "{\n  \"n\": 18446744073709551615,\n  \"a\": [\n    0.25,\n    null,\n    true\n"
		   "  ],\n  \"empty\": {},\n  \"z\": null\n}\n");
}

static void test_table(void **state)
{
	cleanup(table_deinit) struct table table = TABLE_OF("NAME", ">N", "LAST");
	struct text t;

	(void)state;
	table_cell(&table, "%s", "h\xc3\xa9llo");
	table_cell(&table, "%d", 5);
	table_cell(&table, "x");
	table_cell(&table, "\x1b[31m\xc2\x9b");
	table_cell(&table, "1234");
	table_cell(&table, "\x9by");
	text_open(&t);
	assert_int_equal(table_print(&table, t.out), 0);
	expect(&t, "NAME       N  LAST\n"
		   "h\xc3\xa9llo      5  x\n"
		   "?[31m?  1234  ?y\n");
}

static void test_config(void **state)
{
	struct text t;

	(void)state;
	text_open(&t);
	assert_int_equal(config_text_to_json("[a]\nk = v w\nl = 1,2\nl = 3\nempty =\n\n"
					     "[b]\nk = a=b\n",
					     t.out),
			 0);
	expect(&t,
	       "{\n  \"a\": {\n    \"k\": \"v w\",\n    \"l\": \"1,2,3\",\n    \"empty\": \"\"\n"
	       "  },\n  \"b\": {\n    \"k\": \"a=b\"\n  }\n}\n");
}

/* A status with something in every field; the ledger closes when @seen is 95. */
static void show(uint64_t seen, void (*print)(const Profd__Control__Status *, FILE *), FILE *out)
{
	Profd__Control__Reason depth = PROFD__CONTROL__REASON__INIT, pointer = depth, full = depth,
			       skipped = depth, dropped = depth;
	Profd__Control__Reason *truncated[] = {&depth}, *broken[] = {&pointer},
			       *lost[] = {&skipped, &full}, *drops[] = {&dropped};
	Profd__Control__Ledger ledger = PROFD__CONTROL__LEDGER__INIT;
	Profd__Control__Memory memory = PROFD__CONTROL__MEMORY__INIT;
	Profd__Control__Cpu cpu = PROFD__CONTROL__CPU__INIT;
	Profd__Control__Store store = PROFD__CONTROL__STORE__INIT;
	Profd__Control__Export behind = PROFD__CONTROL__EXPORT__INIT;
	Profd__Control__Export idle = PROFD__CONTROL__EXPORT__INIT;
	Profd__Control__Export *exports[] = {&behind, &idle};
	Profd__Control__StoreShare share = PROFD__CONTROL__STORE_SHARE__INIT, unbounded = share;
	Profd__Control__StoreShare *shares[] = {&share, &unbounded};
	Profd__Control__LastFlush flush = PROFD__CONTROL__LAST_FLUSH__INIT;
	Profd__Control__Session system = PROFD__CONTROL__SESSION__INIT, other = system;
	Profd__Control__Unwinding unwinding = PROFD__CONTROL__UNWINDING__INIT;
	Profd__Control__Names names = PROFD__CONTROL__NAMES__INIT;
	Profd__Control__Reason waited = PROFD__CONTROL__REASON__INIT, never = waited;
	Profd__Control__Reason *counters[] = {&waited, &never};
	Profd__Control__Session *sessions[] = {&system, &other};
	Profd__Control__Status s = PROFD__CONTROL__STATUS__INIT;
	char *warnings[] = {(char[]){"no PMU\x1b[2J"}};

	depth.name = (char[]){"depth"};
	depth.count = 4;
	pointer.name = (char[]){"frame_pointer"};
	pointer.count = 6;
	skipped.name = (char[]){"skipped"};
	skipped.count = 5;
	full.name = (char[]){"ring_full"};
	full.count = 3;
	dropped.name = (char[]){"memory"};
	dropped.count = 2;
	ledger.expected = 100;
	ledger.seen = seen;
	ledger.complete = 60;
	ledger.guessed = 10;
	ledger.no_user = 11;
	ledger.in_flight = 1;
	ledger.outside = 6;
	ledger.truncated = truncated;
	ledger.broken = broken;
	ledger.lost = lost;
	ledger.n_truncated = ledger.n_broken = 1;
	ledger.n_lost = 2;
	memory.rss_bytes = 32 << 20;
	memory.bpf_bytes = 32 << 20;
	memory.budget_bytes = 128 << 20;
	memory.evicted_images = 9;
	memory.workers_bytes = 3 << 20;
	cpu.user_seconds = 1.5;
	cpu.system_seconds = 0.5;
	cpu.workers_seconds = 3;
	cpu.sampling_seconds = 4;
	cpu.control_seconds = 0.5;
	store.path = (char[]){"/var/lib/profd"};
	store.bytes = 4096;
	store.files = 12;
	store.full = true;
	store.shares = shares;
	store.n_shares = 2;
	share.uid = 1001;
	share.bytes = 3 << 20;
	share.files = 200;
	share.max_bytes = 4 << 20;
	share.max_files = 256;
	unbounded.uid = 1002;
	flush.started_ns = UINT64_C(1795262400000000000);
	flush.seconds = 0.25;
	flush.files = 7;
	flush.error = (char[]){"No space left on device"};
	system.name = (char[]){"system"};
	other.id = 4;
	other.name = (char[]){"pid-1"};
	other.target = (char[]){"pid 1"};
	other.frequency = 999;
	other.owner_uid = 1000;
	other.routed = 10;
	other.counted = 7;
	other.filtered = 1;
	other.dropped = drops;
	other.n_dropped = 1;
	other.complete = 1;
	other.guessed = 2;
	other.no_user = 2;
	other.truncated = truncated;
	other.broken = broken;
	other.n_truncated = other.n_broken = 1;
	waited.name = (char[]){"waited"};
	waited.count = 21;
	never.name = (char[]){"no_slot"};
	unwinding.tables = 5;
	unwinding.rows = 6000;
	unwinding.table_bytes = 65536;
	unwinding.waiting = 8;
	unwinding.counters = counters;
	unwinding.n_counters = 2;
	s.version = (char[]){"9.9"};
	s.pid = 77;
	s.uptime_seconds = 100;
	s.n_cpus = 2;
	s.event = (char[]){"cpu-clock"};
	s.source = (char[]){"bpf"};
	s.frequency = 99;
	s.warnings = warnings;
	s.n_warnings = 1;
	s.ledger = &ledger;
	s.memory = &memory;
	s.cpu = &cpu;
	s.store = &store;
	s.last_flush = &flush;
	s.sessions = sessions;
	s.n_sessions = 2;
	s.unwinding = &unwinding;
	behind.name = (char[]){"main"};
	behind.failing = true;
	behind.lag_seconds = 70;
	behind.waiting_windows = 2;
	behind.waiting_bytes = 4096;
	behind.sent_windows = 1;
	behind.dropped_windows = 3;
	idle.name = (char[]){"parca"};
	idle.sent_windows = 40;
	s.exports = exports;
	s.n_exports = 2;
	s.attached = 3;
	s.off_cpu_frequency = 49;
	s.avoided_files = 13;
	s.refused_jit_files = 16;
	names.workers_died = 14;
	names.bad_images = 15;
	names.slow_directories = 17;
	names.openers_lost = 18;
	names.cut = 19;
	names.last_bad_image = (char[]){"/evil\n"};
	names.trouble = (char[]){"too slow\n"};
	s.names = &names;
	print(&s, out);
}

static void print_plain(const Profd__Control__Status *status, FILE *out)
{
	message_make_harmless(&status->base);
	assert_int_equal(status_print(status, false, out), 0);
}

static void print_json(const Profd__Control__Status *status, FILE *out)
{
	status_print_json(status, true, out);
}

static void test_status_view(void **state)
{
	static const char *const parts[] = {
		"profd 9.9",
		"pid 77",
		"up 1 min 40 s",
		"cpu-clock at 99 Hz, waits at 49 Hz through bpf",
		" known; 3 processes have libprofd; 13 not opened, on FUSE or an unknown device; ",
		"; 16 perf maps and jitdumps rejected\n",
		"warning: no PMU?[2J",
		"unwind rules or names for new images: too slow?\n",
		"warning: 14 image workers died and were replaced; 15 images killed one and are ",
		" and are skipped from now on, the last one /evil?\n",
		"truncated: depth",
		"broken: frame_pointer",
		"lost: ring_full",
		"adds up: expected",
		"adds up: seen",
		"75.00 % complete, 12.50 % guessed, 5.00 % truncated, 7.50 % broken",
		"  system   none yet\n",
		"  s4       complete 1 (6.67 %), guessed 2 (13.33 %), no user stack 2 (13.33 %), ",
		"truncated: depth 4 (26.67 %), broken: frame_pointer 6 (40.00 %)\n",
		("unwind rules of 5 images: 6000 rows, 64 KiB; 8 samples are waiting for more\n"
		 "          21  of these waited for unwind rules or memory\n"),
		"50 % of the budget; 3.0 MiB of it in child processes; 9 images evicted",
		" system + 3.0 s child processes: 2.50 % of the machine\n"
		"  for     4.0 s sampling + 0 ms process events + 0 ms names + 0 ms output + 500 "
		"ms "
		"control\n",
		"disk full",
		"7 files in 250 ms",
		"error: No space left on device",
		"\nUsers' shares of the store\n"
		"  UID      SIZE  MAX SIZE  FILES  MAX FILES\n"
		"  1001  3.0 MiB   4.0 MiB    200        256\n"
		"  1002      0 B         -      0          -\n",
		"\nExports\n  TARGET ",
		" REFUSED  DROPPED  TOO OLD  STATE\n",
		"\n  main    1 min 10 s ",
		" failing\n",
		"\n  parca            - ",
		"  s4 ",
		"  system ",
		"999",
	};
	struct text t;

	(void)state;
	text_open(&t);
	show(95, print_plain, t.out);
	expect_parts(&t, parts, ARRAY_SIZE(parts));
}

static void print_short(const Profd__Control__Status *status, FILE *out)
{
	message_make_harmless(&status->base);
	assert_int_equal(status_print_short(status, false, out), 0);
}

/* What leads fits a terminal, whatever there is. */
static void test_status_short(void **state)
{
	static const char *const parts[] = {
		"profd 9.9 on ",
		", up 1 min 40 s\n",
		"  rate     cpu-clock at 99 Hz through bpf, 0 processes, 3 with libprofd\n",
		"  waits    at 49 Hz\n",
		"  stacks   75.00 % complete, 12.50 % guessed, 5.00 % truncated, 7.50 % broken\n",
		"  ticks    100, 8.00 % of them lost; all are accounted for\n",
		"  cost     2.50 % of the machine's CPUs\n",
		"  memory   64 MiB of 128 MiB\n",
		"  disk     4.0 KiB in 12 files, disk full\n",
		", error: No space left on device\n",
		"  exports  main: 1 window sent, 2 wait, 1 min 10 s behind, 3 dropped, failing\n",
		"\n           parca: 40 windows sent\n",
		"  sessions s4 pid-1: 7 samples of ",
		"warning: no PMU?[2J\n",
		"2 more warnings: profctl status -v\n",
	};
	size_t n_lines = 0;
	struct text t;

	(void)state;
	text_open(&t);
	show(95, print_short, t.out);
	assert_int_equal(fflush(t.out), 0);
	for (const char *line = t.data; *line; line = strchr(line, '\n') + 1, n_lines++)
		assert_true(strcspn(line, "\n") <= 80);
	assert_true(n_lines <= 24);
	expect_parts(&t, parts, ARRAY_SIZE(parts));
	text_open(&t);
	show(94, print_short, t.out);
	expect_parts(&t, (const char *const[]){"lost; they do not add up"}, 1);
}

/* A ledger that does not close is not passed over. */
static void test_status_view_open_ledger(void **state)
{
	static const char *const parts[] = {"does not add up, off by 1: expected",
					    "does not add up, off by -1: seen"};
	struct text t;

	(void)state;
	text_open(&t);
	show(94, print_plain, t.out);
	expect_parts(&t, parts, ARRAY_SIZE(parts));
}

static void test_status_json(void **state)
{
	static const char *const parts[] = {
		"{\"version\":\"9.9\",\"pid\":77,\"uptime_seconds\":100,\"host\":\"\",\"kernel\":"
		"\"\","
		"\"source\":\"bpf\",\"event\":\"cpu-clock\",\"frequency\":99,\"warnings\":[\"no PMU"
		"\\u001b[2J\"],\"ledger\":{\"expected\":100,\"seen\":95,\"complete\":60,\"no_"
		"user\":"
		"11,\"truncated\":{\"depth\":4},\"broken\":{\"frame_pointer\":6},\"lost\":{"
		"\"skipped"
		"\":5,\"ring_full\":3},\"in_flight\":1,\"outside\":6,\"guessed\":10},\"throttled\":"
		"0,\"memory\":{"
		"\"rss_bytes\":"
		"33554432,\"bpf_bytes\":33554432,\"budget_bytes\":134217728,\"evicted_images\":9,"
		"\"workers_bytes\":3145728},"
		"\"cpu\":{\"user_seconds\":1.5,\"system_seconds\":0.5,\"bpf_seconds\":0,"
		"\"workers_seconds\":3,\"sampling_seconds\":4,\"events_seconds\":0,"
		"\"names_seconds\":0,\"output_seconds\":0,\"control_seconds\":0.5,\"recent_share\":"
		"0,\"switches_seconds\":0},",
		"\"processes\":0,\"images\":0,\"store\":{\"path\":\"/var/lib/"
		"profd\",\"bytes\":4096,"
		"\"files\":12,\"oldest\":null,\"full\":true,\"shares\":["
		"{\"uid\":1001,\"bytes\":3145728,\"files\":200,\"max_bytes\":4194304,\"max_"
		"files\":256},"
		"{\"uid\":1002,\"bytes\":0,\"files\":0,\"max_bytes\":0,\"max_files\":0}],"
		"\"newest\":null},"
		"\"last_flush\":{\"started\":"
		"\"2026-11-21T12:00:00Z\",\"seconds\":0.25,\"files\":7,\"error\":\"No space left "
		"on "
		"device\"},\"sessions\":[{\"id\":\"system\",",
		"{\"id\":\"s4\",\"name\":\"pid-1\",\"target\":\"pid "
		"1\",\"event\":\"\",\"frequency\":"
		"999,\"owner_uid\":1000,\"started\":null,\"routed\":10,\"counted\":7,\"filtered\":"
		"1,"
		"\"dropped\":{\"memory\":2},\"windows_written\":0,\"complete\":1,\"no_user\":2,"
		"\"truncated\":{\"depth\":4},\"broken\":{\"frame_pointer\":6},\"guessed\":2}],"
		"\"drain_lateness\":null,\"n_cpus\":2,\"unwinding\":{"
		"\"tables\":5,\"rows\":6000,\"table_bytes\":65536,\"waiting\":8,\"waited\":21,"
		"\"no_slot\":0},\"avoided_files\":13,\"names\":{\"workers_died\":14,\"bad_images\":"
		"15,"
		"\"last_bad_image\":\"/evil\\n\",\"trouble\":\"too slow\\n\","
		"\"slow_directories\":17,\"openers_lost\":18,\"cut\":19},\"refused_jit_files\":16,"
		"\"attached\":3,\"control\":null,\"read_only\":false,\"window_seconds\":0,"
		"\"exports\":[{\"name\":\"main\",\"failing\":true,\"lag_seconds\":70,"
		"\"waiting_windows\":2,\"waiting_bytes\":4096,\"sent_windows\":1,"
		"\"refused_windows\":0,\"dropped_windows\":3,\"held_windows\":0},"
		"{\"name\":\"parca\",\"failing\":false,\"lag_seconds\":0,"
		"\"waiting_windows\":0,\"waiting_bytes\":0,\"sent_windows\":40,"
		"\"refused_windows\":0,\"dropped_windows\":0,\"held_windows\":0}],"
		"\"off_cpu_frequency\":49}"
		"\n",
	};
	struct text t;

	(void)state;
	text_open(&t);
	show(95, print_json, t.out);
	expect_parts(&t, parts, ARRAY_SIZE(parts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_texts),
		cmocka_unit_test(test_json_shape),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_status_view),
		cmocka_unit_test(test_status_short),
		cmocka_unit_test(test_status_view_open_ledger),
		cmocka_unit_test(test_status_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
