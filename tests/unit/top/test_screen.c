/* SPDX-License-Identifier: MIT */
/* What is drawn, and what keys do: a screen is played back onto a field of characters. */
#include "client/top/screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/profctl/arguments.h"
#include "client/top/characters.h"
#include "client/top/keys.h"
#include "tests/support/words.h"

#define ROWS_MAX    40
#define COLUMNS_MAX 200

static const struct top_function functions[] = {
	{.name = (char[]){"hot"}, .interval = {75, 75, 0}, .all = {150, 150, 0}},
	{.name = (char[]){"\x1b[31mred\x9b\xc2\x9b\n\t"},
	 .interval = {25, 25, 0},
	 .all = {50, 50, 0}},
	{.name = (char[]){"main"}, .interval = {0, 100, 0}, .all = {0, 200, 0}},
	{.name = (char[]){"gone"}, .all = {0, 1, 0}},
};

static struct top_facts facts = {
	.target = "everything",
	.interval_ns = 2000000000,
	.all_ns = 4000000000,
	.sums = {.samples = 4, .value = 100, .all_samples = 8, .all_value = 200},
};

static size_t list(const struct top_function *ret[4])
{
	for (size_t i = 0; i < 4; i++)
		ret[i] = &functions[i];
	return 4;
}

/* Plays the few sequences that are to come; fails at others, and where a line is too long. */
static void play(const char *text, unsigned rows, unsigned columns,
		 char field[ROWS_MAX][COLUMNS_MAX + 1])
{
	unsigned row = 0, column = 0;

	memset(field, 0, ROWS_MAX * (COLUMNS_MAX + 1));
	for (; *text; text++) {
		if (!strncmp(text, "\x1b[K", 3) || !strncmp(text, "\x1b[m", 3)) {
			text += 2;
		} else if (!strncmp(text, "\x1b[7m", 4)) {
			text += 3;
		} else if (!strncmp(text, "\r\n", 2)) {
			text++;
			row++;
			column = 0;
			assert_true(row < rows);
		} else {
			assert_true((unsigned char)*text >= 0x20 && *text != 0x7f);
			assert_true(column < columns);
			field[row][column++] = *text;
		}
	}
	assert_int_equal(row + 1, rows);
}

static void draw_table(const struct top_view *view, const struct top_table *table, unsigned rows,
		       unsigned columns, char field[ROWS_MAX][COLUMNS_MAX + 1])
{
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	top_draw(view, table, rows, columns, out);
	assert_int_equal(fclose(out), 0);
	play(text, rows, columns, field);
	free(text);
}

static void draw(const struct top_view *view, unsigned rows, unsigned columns,
		 char field[ROWS_MAX][COLUMNS_MAX + 1])
{
	const struct top_function *all[4];
	size_t n = list(all);

	draw_table(view, &(struct top_table){&facts, all, n}, rows, columns, field);
}

static void test_screen(void **state)
{
	struct top_view view = {.interval_ns = 2000000000};
	char field[ROWS_MAX][COLUMNS_MAX + 1];

	(void)state;
	draw(&view, 10, 80, field);
	assert_string_equal(field[0], "profd top: everything");
	assert_string_equal(field[1], "last 2.0 s: 4 samples; all 4.0 s: 8 samples");
	assert_string_equal(field[2], "    flat      cum |  flat all   cum all  function");
	assert_string_equal(field[3], "  75.00%   75.00% |    75.00%    75.00%  hot");
	assert_string_equal(field[4], "  25.00%   25.00% |    25.00%    25.00%  ?[31mred????");
	assert_string_equal(field[5], "   0.00%  100.00% |     0.00%   100.00%  main");
	assert_string_equal(field[6], "   0.00%    0.00% |     0.00%     0.50%  gone");
	assert_string_equal(field[7], "");
	assert_string_equal(field[9], "4 functions, by flat, every 2s  (h help, q quit)");
	facts.n_lost = 3;
	draw(&view, 10, 80, field);
	assert_string_equal(field[1], "last 2.0 s: 4 samples; all 4.0 s: 8 samples; 3 lost");
	facts.n_lost = 0;
	facts.sums.samples = 1;
	draw(&view, 10, 80, field);
	assert_string_equal(field[1], "last 2.0 s: 1 sample; all 4.0 s: 8 samples");
	facts.sums.samples = 4;
	facts.sums.n_forgotten = 2;
	draw(&view, 10, 80, field);
	assert_string_equal(field[1],
			    "last 2.0 s: 4 samples; all 4.0 s: 8 samples; 2 functions forgotten");
	facts.sums.n_forgotten = 0;
	view.first = 2;
	draw(&view, 10, 80, field);
	assert_string_equal(field[3] + 41, "main");
	view.has_help = true;
	draw(&view, 16, 80, field);
	assert_non_null(strstr(field[4], "q        ends"));
}

/* Whatever size it has: nothing is drawn outside of it. */
static void test_sizes(void **state)
{
	struct top_view view = {.interval_ns = 1};
	char field[ROWS_MAX][COLUMNS_MAX + 1];

	(void)state;
	for (unsigned help = 0; help < 2; help++) {
		view.has_help = help;
		for (unsigned rows = 1; rows <= ROWS_MAX; rows++)
			for (unsigned columns = 1; columns <= 120; columns++)
				draw(&view, rows, columns, field);
	}
}

/* Numbers give way to names, those of the whole time first. */
static void test_narrow(void **state)
{
	static const struct {
		unsigned columns;
		enum top_order order;
		const char *headings, *row;
	} cases[] = {
		{57, TOP_BY_FLAT, "    flat      cum |  flat all   cum all  function",
		 "  75.00%   80.00% |    70.00%    90.00%  hot"},
		{56, TOP_BY_CUM, "    flat      cum  function", "  75.00%   80.00%  hot"},
		{35, TOP_BY_FLAT, "    flat      cum  function", "  75.00%   80.00%  hot"},
		{34, TOP_BY_FLAT, "function", "hot"},
		{3, TOP_BY_FLAT, "fu~", "hot"},
		{2, TOP_BY_FLAT, "f~", "h~"},
		{1, TOP_BY_FLAT, "~", "~"},
	};
	const struct top_function hot = {.name = (char[]){"hot"},
					 .interval = {75, 80, 0},
					 .all = {140, 180, 0}};
	const struct top_function *all[] = {&hot};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct top_view view = {.order = cases[i].order};
		char field[ROWS_MAX][COLUMNS_MAX + 1];

		draw_table(&view, &(struct top_table){&facts, all, 1}, 6, cases[i].columns, field);
		assert_string_equal(field[2], cases[i].headings);
		assert_string_equal(field[3], cases[i].row);
	}
}

/* Who runs a function, and of which file it is: behind it, in a column of their own. */
static void test_places(void **state)
{
	const struct top_function placed[] = {
		{.name = (char[]){"parse"},
		 .module = "libxml2.so.2.9.14",
		 .who = "nginx.service",
		 .interval = {75, 75, 0}},
		{.name = (char[]){"do_work"},
		 .module = "nginx",
		 .who = "nginx",
		 .has_others = true},
		{.name = (char[]){"[cc1]"}, .module = "cc1", .who = "cc1"},
		{.name = (char[]){"[libz.so]"}, .module = "libz.so", .who = "gzip"},
		{.name = (char[]){"f"}, .module = "a-long-program-name", .who = "a-long-program-"},
		{.name = (char[]){"a_name_that_is_a_lot_longer_than_there_is_room_for_it"},
		 .module = "kernel"},
		{.name = (char[]){"g"}, .module = "", .who = "\x1b[31m"},
	};
	const struct top_function *all[ARRAY_SIZE(placed)];
	const struct top_table table = {&facts, all, ARRAY_SIZE(placed)};
	struct top_view view = {.interval_ns = 1};
	char field[ROWS_MAX][COLUMNS_MAX + 1];
	size_t length;
	char *text;
	FILE *out;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(placed); i++)
		all[i] = &placed[i];
	draw_table(&view, &table, 12, 80, field);
	assert_string_equal(field[2], "    flat      cum  function                             "
				      "process: module");
	assert_string_equal(field[3], "  75.00%   75.00%  parse                                "
				      "nginx.service: libxml2.~");
	assert_string_equal(field[4] + 19, "do_work                              nginx+");
	assert_string_equal(field[5] + 19, "[cc1]                                cc1");
	assert_string_equal(field[6] + 19, "[libz.so]                            gzip");
	assert_string_equal(field[7] + 19, "f                                    "
					   "a-long-program-name");
	assert_string_equal(field[8] + 19, "a_name_that_is_a_lot_longer_than_t~  kernel");
	assert_string_equal(field[9] + 19, "g                                    ?[31m");
	/* Where there is no room they go before the numbers of the interval and names do. */
	draw_table(&view, &table, 12, 60, field);
	assert_string_equal(field[3],
			    "  75.00%   75.00%  parse                    nginx.service: ~");
	draw_table(&view, &table, 12, 40, field);
	assert_string_equal(field[2], "    flat      cum  function");
	assert_string_equal(field[3], "  75.00%   75.00%  parse");
	draw_table(&view, &table, 12, 34, field);
	assert_string_equal(field[2], "function             process: mod~");
	draw_table(&view, &table, 12, 20, field);
	assert_string_equal(field[3], "parse");
	/* As text: nothing is cut, or all fits the terminal. */
	out = open_memstream(&text, &length);
	assert_non_null(out);
	top_print(&table, 2, 0, out);
	top_print(&table, 2, 80, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "%  parse  nginx.service: libxml2.so.2.9.14\n"));
	assert_non_null(strstr(text, "\n  75.00%   75.00%  parse                                "
				     "nginx.service: libxml2.~\n"));
	free(text);
}

static void expect_name(const char *name, size_t columns, const char *wanted)
{
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	top_put_name(out, name, columns);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, wanted);
	free(text);
}

static void test_wide_names(void **state)
{
	char marks[64] = "e", kept[64] = "e";

	(void)state;
	expect_name("\xe6\xbc\xa2\xe6\xbc\xa2", 4, "\xe6\xbc\xa2\xe6\xbc\xa2");
	/* There is no half of a wide one. */
	expect_name("\xe6\xbc\xa2\xe6\xbc\xa2", 3, "\xe6\xbc\xa2~");
	expect_name("\xe6\xbc\xa2\xe6\xbc\xa2", 2, "~");
	expect_name("\xe6\xbc\xa2\xe6\xbc\xa2", 0, "");
	expect_name("e\xcc\x81"
		    "f",
		    2,
		    "e\xcc\x81"
		    "f");
	expect_name("e\xcc\x81"
		    "fg",
		    2, "e\xcc\x81~");
	/* Heaps of marks would reach into other lines. */
	for (unsigned i = 0; i < 20; i++) {
		strcat(marks, "\xcc\x81");
		if (i < 8)
			strcat(kept, "\xcc\x81");
	}
	strcat(marks, "f");
	strcat(kept, "f");
	expect_name(marks, 2, kept);
}

static void test_table(void **state)
{
	const struct top_function *all[4];
	struct top_facts cpu = facts;
	size_t n = list(all), length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	assert_non_null(out);
	cpu.is_time = true;
	cpu.sums.value = 3000000000;
	top_print(&(struct top_table){&cpu, all, n}, 20, 0, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "last 2.0 s: 4 samples, 1.50 CPUs; "));
	assert_non_null(strstr(text, "%  main\n"));
	assert_null(strstr(text, "gone"));
	assert_null(strchr(text, '\x1b'));
	free(text);
}

static void press(struct top_view *view, const char *keys, unsigned rows, size_t n)
{
	for (; *keys; keys++)
		assert_int_equal(top_key(view, *keys, rows, n), TOP_REDRAWS);
}

static void test_wall(void **state)
{
	const struct top_function lock = {.name = (char[]){"lock"},
					  .interval = {25, 50, 40},
					  .all = {1000, 1000, 1000}};
	const struct top_function *all[] = {&lock};
	struct top_facts wall = facts;
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	wall.is_wall = wall.is_time = true;
	wall.interval_ns = 2;
	wall.sums =
		(struct top_sums){.samples = 7, .value = 100, .wait = 90, .idle = 5, .n_idle = 3};
	assert_non_null(out);
	top_print(&(struct top_table){&wall, all, 1}, 20, 0, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text,
			       "7 samples, 5.00 CPUs, 45.00 waiting; idle threads hidden: 3 or "
			       "more, 2.50\n"));
	assert_non_null(strstr(text, "    flat      cum |      CPU     WAIT  function\n"));
	assert_non_null(strstr(text, "  25.00%   50.00% |   10.00%   40.00%  lock\n"));
	free(text);
}

static void test_keys(void **state)
{
	struct top_view v = {.interval_ns = 2000000000};

	(void)state;
	assert_int_equal(top_key(&v, 'q', 24, 100), TOP_QUITS);
	assert_int_equal(top_key(&v, 'x', 24, 100), TOP_GOES_ON);
	press(&v, "c", 24, 100);
	assert_int_equal(v.order, TOP_BY_CUM);
	press(&v, "s ", 24, 100);
	assert_true(v.order == TOP_BY_FLAT && v.is_paused);
	press(&v, " +", 24, 100);
	assert_true(!v.is_paused && v.interval_ns == 5000000000);
	press(&v, "--", 24, 100);
	assert_int_equal(v.interval_ns, 1000000000);
	v.interval_ns = 3000000000;
	press(&v, "-", 24, 100);
	assert_int_equal(v.interval_ns, 2000000000);
	press(&v, "----------", 24, 100);
	assert_int_equal(v.interval_ns, 250000000);
	press(&v, "+++++++++++++", 24, 100);
	assert_int_equal(v.interval_ns, 60000000000);
	press(&v, "h", 24, 100);
	assert_true(v.has_help);
	press(&v, "h", 24, 100);
	assert_false(v.has_help);
}

static void test_scrolling(void **state)
{
	struct top_view v = {0};

	(void)state;
	top_key(&v, KEY_UP, 24, 100);
	assert_int_equal(v.first, 0);
	top_key(&v, KEY_DOWN, 24, 100);
	top_key(&v, KEY_PAGE_DOWN, 24, 100);
	assert_int_equal(v.first, 21);
	top_key(&v, KEY_END, 24, 100);
	assert_int_equal(v.first, 80);
	top_key(&v, KEY_PAGE_DOWN, 24, 100);
	assert_int_equal(v.first, 80);
	top_key(&v, KEY_PAGE_UP, 24, 100);
	assert_int_equal(v.first, 60);
	top_key(&v, KEY_HOME, 24, 100);
	assert_int_equal(v.first, 0);
	top_key(&v, KEY_DOWN, 24, 3);
	assert_int_equal(v.first, 0);
}

/* The table becomes shorter, or the window higher: its end stays at the end. */
static void test_settles(void **state)
{
	struct top_view v = {.first = 80};

	(void)state;
	top_settle(&v, 24, 100);
	assert_int_equal(v.first, 80);
	top_settle(&v, 24, 90);
	assert_int_equal(v.first, 70);
	top_settle(&v, 44, 90);
	assert_int_equal(v.first, 50);
	top_settle(&v, 44, 200);
	assert_int_equal(v.first, 50);
	top_settle(&v, 44, 40);
	assert_int_equal(v.first, 0);
}

static void test_filter(void **state)
{
	struct top_view v = {.first = 7};

	(void)state;
	press(&v, "/mainq", 24, 100);
	assert_string_equal(v.filter, "mainq");
	assert_true(v.is_typing && v.first == 0);
	top_key(&v, KEY_BACKSPACE, 24, 100);
	top_key(&v, KEY_UP, 24, 100);
	press(&v, "\r", 24, 100);
	assert_false(v.is_typing);
	assert_string_equal(v.filter, "main");
	press(&v, "/", 24, 100);
	for (unsigned i = 0; i < 2 * TOP_FILTER_SIZE; i++)
		press(&v, "x", 24, 100);
	assert_int_equal(strlen(v.filter), TOP_FILTER_SIZE - 1);
	top_key(&v, KEY_ESCAPE, 24, 100);
	assert_true(!v.is_typing && !*v.filter);
	press(&v, "/", 24, 100);
	top_key(&v, KEY_BACKSPACE, 24, 100);
	assert_string_equal(v.filter, "");
}

/* What is typed may be any character that can be shown; a key takes back a whole one. */
static void test_filter_of_any_script(void **state)
{
	struct top_view v = {.is_typing = true};

	(void)state;
	top_key(&v, 0xfc, 24, 100);
	top_key(&v, 0x6f22, 24, 100);
	top_key(&v, 0x1f600, 24, 100);
	assert_string_equal(v.filter, "\xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80");
	top_key(&v, 0x9b, 24, 100);
	top_key(&v, 0x202e, 24, 100);
	top_key(&v, '\t', 24, 100);
	top_key(&v, KEY_END, 24, 100);
	assert_string_equal(v.filter, "\xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80");
	top_key(&v, KEY_BACKSPACE, 24, 100);
	top_key(&v, KEY_BACKSPACE, 24, 100);
	assert_string_equal(v.filter, "\xc3\xbc");
	for (unsigned i = 0; i < TOP_FILTER_SIZE; i++)
		top_key(&v, 0x6f22, 24, 100);
	/* 2 + 20 * 3 bytes. */
	assert_int_equal(strlen(v.filter), 62);
	top_key(&v, 'x', 24, 100);
	top_key(&v, 'x', 24, 100);
	assert_int_equal(strlen(v.filter), TOP_FILTER_SIZE - 1);
}

static void test_bytes_of_keys(void **state)
{
	static const struct {
		const char *bytes;
		int key;
		size_t used;
	} cases[] = {
		{"q", 'q', 1},
		{"\x1b", KEY_INCOMPLETE, 1},
		{"\x1bq", KEY_ESCAPE, 1},
		{"\x1b[A", KEY_UP, 3},
		{"\x1bOB", KEY_DOWN, 3},
		{"\x1b[5~x", KEY_PAGE_UP, 4},
		{"\x1b[6~", KEY_PAGE_DOWN, 4},
		{"\x1b[1;5A", KEY_UP, 6},
		{"\x1b[H", KEY_HOME, 3},
		{"\x1b[4~", KEY_END, 4},
		{"\x1b[99999999999~", KEY_NONE, 14},
		{"\x1b[", KEY_INCOMPLETE, 2},
		{"\x1b[1;", KEY_INCOMPLETE, 4},
		{"\x1bO", KEY_INCOMPLETE, 2},
		/* Broken off: what follows is not swallowed. */
		{"\x1b[\x1b[A", KEY_NONE, 2},
		{"\x1b[1\xc3\xbc", KEY_NONE, 3},
		{"\x1b[\x7f", KEY_NONE, 2},
		{"\x1b[~", KEY_NONE, 3},
		{"\x1b\x1b[A", KEY_ESCAPE, 1},
		{"\b", KEY_BACKSPACE, 1},
		{"\x7f", KEY_BACKSPACE, 1},
		{"\x80", KEY_NONE, 1},
		{"\xc3\xbcx", 0xfc, 2},
		{"\xe6\xbc\xa2", 0x6f22, 3},
		{"\xf0\x9f\x98\x80", 0x1f600, 4},
		{"\xc3", KEY_INCOMPLETE, 1},
		{"\xe6\xbc", KEY_INCOMPLETE, 1},
		{"\xf0\x9f\x98", KEY_INCOMPLETE, 1},
		{"\xe6xx", KEY_NONE, 1},
		{"\xc3x", KEY_NONE, 1},
	};
	/* If no more is to come. */
	static const struct {
		const char *bytes;
		int key;
		size_t used;
	} last[] = {
		{"\x1b", KEY_ESCAPE, 1}, {"\x1b[", KEY_NONE, 2},    {"\x1b[1;", KEY_NONE, 4},
		{"\x1b[A", KEY_UP, 3},   {"\xe6\xbc", KEY_NONE, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t used = 0;

		assert_int_equal(key_parse(cases[i].bytes, strlen(cases[i].bytes), false, &used),
				 cases[i].key);
		assert_int_equal(used, cases[i].used);
	}
	for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
		size_t used = 0;

		assert_int_equal(key_parse(last[i].bytes, strlen(last[i].bytes), true, &used),
				 last[i].key);
		assert_int_equal(used, last[i].used);
	}
}

static void send_bytes(struct keys *k, const char *bytes)
{
	memcpy(k->bytes + k->n, bytes, strlen(bytes));
	k->n += strlen(bytes);
}

/* In whatever pieces keys come. */
static void test_pieces_of_keys(void **state)
{
	struct keys k = {0};

	(void)state;
	assert_int_equal(keys_next(&k, true), KEY_INCOMPLETE);
	send_bytes(&k, "x\x1b");
	assert_int_equal(keys_next(&k, false), 'x');
	assert_int_equal(keys_next(&k, false), KEY_INCOMPLETE);
	send_bytes(&k, "[");
	assert_int_equal(keys_next(&k, false), KEY_INCOMPLETE);
	send_bytes(&k, "Ay");
	assert_int_equal(keys_next(&k, false), KEY_UP);
	assert_int_equal(keys_next(&k, false), 'y');
	assert_int_equal(k.n, 0);
	send_bytes(&k, "\x1b");
	assert_int_equal(keys_next(&k, false), KEY_INCOMPLETE);
	assert_int_equal(keys_next(&k, true), KEY_ESCAPE);
	assert_int_equal(k.n, 0);
	/* What is no key is passed over. */
	send_bytes(&k, "\x80\x1b[99~q");
	assert_int_equal(keys_next(&k, false), 'q');
	/* Nothing waits for room. */
	send_bytes(&k, "\x1b[");
	while (k.n < sizeof(k.bytes))
		send_bytes(&k, "1");
	assert_int_equal(keys_next(&k, false), KEY_INCOMPLETE);
	assert_int_equal(k.n, 0);
}

static int parse(const char *line, struct top_arguments *ret, struct usage_message *message)
{
	static struct words words; /* arguments borrow from it */

	message->text[0] = '\0';
	words_split(&words, line);
	return top_parse(words.argc, words.argv, ret, message);
}

static void test_arguments(void **state)
{
	static const char *const refused[] = {
		"top -d 0",      "top -d 0.05",      "top -d 3601",  "top -d x",    "top -d nan",
		"top -d -1",     "top -d 1e9",       "top --rows 0", "top -p 0",    "top -p x",
		"top -p 1 -s a", "top -s",           "top 12",       "top --twice", "top -d inf",
		"top --idle",    "top --url --wall",
	};
	struct usage_message message;
	struct top_arguments a;

	(void)state;
	assert_int_equal(parse("top", &a, &message), 0);
	assert_true(!a.pid && !*a.service && !a.once && !a.json && !a.rows && !a.wall);
	assert_int_equal(parse("top --wall --idle", &a, &message), 0);
	assert_true(a.wall && a.idle);
	assert_int_equal(parse("top", &a, &message), 0);
	assert_int_equal(a.interval_ns, 2000000000);
	assert_int_equal(parse("top -p 12 -d 0.5 --rows 7 --once --json", &a, &message), 0);
	assert_true(!*a.service && a.pid == 12 && a.rows == 7);
	assert_true(a.once && a.json && a.interval_ns == 500000000);
	assert_int_equal(parse("top -s x.service -d 500ms", &a, &message), 0);
	assert_string_equal(a.service, "x.service");
	assert_int_equal(a.interval_ns, 500000000);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (parse(refused[i], &a, &message) != OPTIONS_BAD || !*message.text)
			fail_msg("%s: not refused", refused[i]);
	assert_int_equal(parse("top -h", &a, &message), VERB_HELP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_screen),        cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_narrow),        cmocka_unit_test(test_places),
		cmocka_unit_test(test_wide_names),    cmocka_unit_test(test_table),
		cmocka_unit_test(test_wall),          cmocka_unit_test(test_keys),
		cmocka_unit_test(test_scrolling),     cmocka_unit_test(test_settles),
		cmocka_unit_test(test_filter),        cmocka_unit_test(test_filter_of_any_script),
		cmocka_unit_test(test_bytes_of_keys), cmocka_unit_test(test_pieces_of_keys),
		cmocka_unit_test(test_arguments),
	};

	characters_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
