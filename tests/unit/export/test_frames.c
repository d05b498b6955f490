/* SPDX-License-Identifier: MIT */
/* Frames without a name, and those that are longer or deeper than servers take. */
#include "tests/unit/export/window_fixture.h"

static const struct export_scope plain = {.service = "s"};

static const char *frame_name(const struct profile *p, size_t sample, uint32_t frame)
{
	uint32_t at = p->sample_locations[p->samples[sample].first_location + frame];
	const struct profile_line *line = &p->lines[p->locations[at].first_line];

	return profile_string(p, p->functions[line->function].name);
}

static void add_nameless(struct profile *p, const char *path, uint64_t address, int64_t samples)
{
	struct profile_mapping m = {.start = 0x7000, .limit = 0x9000, .offset = 0x2000};
	const struct use use = {.pid = 1, .samples = samples};
	uint32_t mapping = PROFILE_NONE, place;

	m.path = text(p, path ? path : "");
	if (path)
		assert_int_equal(profile_append_mapping(p, &m, &mapping), 0);
	assert_int_equal(profile_add_location(p, mapping, address, NULL, 0, &place), 0);
	window_add(p, &place, 1, &use);
}

static void test_nameless(void **state)
{
	static const struct {
		const char *path;
		uint64_t address;
		const char *name;
	} rows[] = {
		{"/usr/lib/libc.so.6", 0x7010, "libc.so.6+0x2010"},
		{"/usr/lib/libc.so.6", 0, "[libc.so.6]"},
		{"[vdso]", 0x7010, "[vdso]+0x2010"},
		{"[vdso]", 0, "[vdso]"},
		{"/odd/", 0x7010, "/odd/+0x2010"},
		{"", 0x7010, "0x7010"},
		{NULL, 0x7020, "0x7020"},
		{NULL, 0, "[unknown]"},
	};
	struct profile *p = window_new("cpu", "nanoseconds");
	cleanup(sent_deinit) struct sent s = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add_nameless(p, rows[i].path, rows[i].address, 1 + (int64_t)i);
	window_send("pyroscope", p, &plain, &s);
	assert_int_equal(s.all[0].p->n_samples, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_string_equal(frame_name(s.all[0].p, i, 0), rows[i].name);
		assert_int_equal(sent_flat(&s, rows[i].name), 1 + (int64_t)i);
	}
}

/* A function whose name is empty, and a stack that is. */
static void test_empty(void **state)
{
	static const struct use uses[] = {{{"", "main"}, NULL, 1, 3}, {{NULL}, "t", 1, 4}};
	struct export_scope scope = plain;
	cleanup(sent_deinit) struct sent s = {0};

	(void)state;
	scope.keep = "thread";
	window_send("pyroscope", window_of(uses, ARRAY_SIZE(uses)), &scope, &s);
	assert_int_equal(s.n, 2);
	assert_string_equal(frame_name(s.all[0].p, 0, 0), "[unknown]");
	assert_label(&s.all[1], "thread", "t");
	assert_int_equal(sent_flat(&s, "[unknown]"), 7);
}

/* Servers would leave out the leaf. */
static void test_deep(void **state)
{
	struct profile *p = window_new("cpu", "nanoseconds");
	const struct use use = {.pid = 1, .samples = 3};
	cleanup(sent_deinit) struct sent s = {0};
	uint32_t stack[1500];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stack); i++)
		stack[i] = window_place(p, i ? "caller" : "leaf", 0x400000);
	window_add(p, stack, ARRAY_SIZE(stack), &use);
	window_send("pyroscope", p, &plain, &s);
	assert_int_equal(s.all[0].p->samples[0].n_locations, 1000);
	assert_int_equal(sent_flat(&s, "leaf"), 3);
}

/* One stack that takes more than a part: as many of its inner frames as fit. */
static void test_large_stack(void **state)
{
	struct profile *p = window_new("cpu", "nanoseconds");
	const struct use use = {.pid = 1, .samples = 3}, small = {{"small"}, NULL, 1, 5};
	cleanup(sent_deinit) struct sent s = {0};
	char name[5000];
	uint32_t stack[900];

	(void)state;
	window_add_use(p, &small);
	for (size_t i = 0; i < ARRAY_SIZE(stack); i++) {
		memset(name, 'x', sizeof(name));
		name[snprintf(name, sizeof(name), "%zu", i)] = 'x';
		name[sizeof(name) - 1] = '\0';
		stack[i] = window_place(p, name, 0x400000 + i);
	}
	window_add(p, stack, ARRAY_SIZE(stack), &use);
	window_add_use(p, &small);
	window_send("pyroscope", p, &plain, &s);
	assert_int_equal(sent_total(&s, 0), 3 + 2 * 5);
	assert_int_equal(s.n, 2);
	assert_true(s.all[1].p->samples[0].n_locations > 400);
	assert_true(s.all[1].p->samples[0].n_locations < 900);
	assert_int_equal(strlen(frame_name(s.all[1].p, 0, 0)), 4096);
	assert_memory_equal(frame_name(s.all[1].p, 0, 1), "1xx", 3);
}

/* Bytes of any kind, cut between characters. */
static void test_texts(void **state)
{
	struct profile *p = window_new("cpu", "nanoseconds");
	const struct use use = {.pid = 1, .samples = 3};
	cleanup(sent_deinit) struct sent s = {0};
	char name[5000];
	uint32_t place;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[0] = '\xff';
	memcpy(name + 4092, "\xc3\xa4\xc3\xa4", 4);
	name[sizeof(name) - 1] = '\0';
	place = window_place(p, name, 0x400000);
	window_add(p, &place, 1, &use);
	window_send("parca", p, &plain, &s);
	assert_memory_equal(frame_name(s.all[0].p, 0, 0), "\xef\xbf\xbdx", 4);
	assert_int_equal(strlen(frame_name(s.all[0].p, 0, 0)), 4096);
}

static void test_inlined(void **state)
{
	struct profile *p = window_new("cpu", "nanoseconds");
	const struct use use = {.pid = 1, .samples = 3};
	cleanup(sent_deinit) struct sent s = {0};
	struct profile_line lines[200];
	uint32_t place = window_place(p, "inner", 0x400000);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		lines[i] = (struct profile_line){.line = 1 + (int64_t)i};
	assert_int_equal(profile_set_lines(p, place, lines, ARRAY_SIZE(lines)), 0);
	window_add(p, &place, 1, &use);
	window_send("parca", p, &plain, &s);
	assert_int_equal(s.all[0].p->locations[0].n_lines, 64);
	assert_int_equal(s.all[0].p->lines[s.all[0].p->locations[0].first_line].line, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nameless), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_deep),     cmocka_unit_test(test_large_stack),
		cmocka_unit_test(test_texts),    cmocka_unit_test(test_inlined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
