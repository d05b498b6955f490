/* SPDX-License-Identifier: MIT */
/* From profile.proto to the formats that say less: no sample is lost or counted twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/formats/text_formats.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/profile.h"

#define KERNEL UINT64_C(0xffffffff81000000)

static uint32_t map(struct profile *p, uint64_t start, uint64_t limit, const char *path)
{
	struct profile_mapping m = {.start = start, .limit = limit, .offset = 0x1000};
	uint32_t ret;

	assert_int_equal(profile_add_text(p, path, &m.path), 0);
	assert_int_equal(profile_add_mapping(p, &m, &ret), 0);
	return ret;
}

/* Inlined functions are named innermost first, and end with NULL. */
static uint32_t locate(struct profile *p, uint32_t mapping, uint64_t address,
		       const char *const *names)
{
	struct profile_line lines[4] = {{0}};
	uint32_t n = 0, ret;

	for (; names && names[n]; n++) {
		struct profile_function f = {0};

		assert_int_equal(profile_add_text(p, names[n], &f.name), 0);
		assert_int_equal(profile_add_function(p, &f, &lines[n].function), 0);
		lines[n].line = address & 0xff;
	}
	assert_int_equal(profile_add_location(p, mapping, address, lines, n, &ret), 0);
	return ret;
}

static void add_sample(struct profile *p, const uint32_t *chain, uint32_t n, int64_t count,
		       int64_t label)
{
	struct profile_label l = {.num = label};
	const int64_t values[] = {count, count * 1000};

	assert_int_equal(profile_add_text(p, "tid", &l.key), 0);
	assert_int_equal(profile_add_sample(p, chain, n, values, &l, 1), 0);
}

static struct profile *make(void)
{
	static const char *const work[] = {"in;ner", "work", NULL},
				 *const start[] = {"ma\nin", NULL},
				 *const kernel[] = {"do_work", NULL};
	struct profile *p = NULL;
	uint32_t program, library, other, k, chain[4];

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	p->period_type = p->sample_types[1];
	p->period = 10101010;
	assert_int_equal(profile_add_comment(p, "# profd host: h"), 0);
	assert_int_equal(profile_add_comment(p, "something else"), 0);
	program = map(p, 0x400000, 0x500000, "/bin/pro\ngram");
	k = map(p, KERNEL, KERNEL + 0x1000000, "[kernel.kallsyms]");
	library = map(p, 0x7f0000000000, 0x7f0000010000, "/lib/libx.so");
	other = map(p, 0x7f0000008000, 0x7f0000018000, "/lib/liby.so"); /* over the library */

	chain[0] = locate(p, program, 0x400100, work);
	chain[1] = locate(p, program, 0x400200, start);
	add_sample(p, chain, 2, 3, 1);
	add_sample(p, chain, 2, 4, 2); /* another thread */
	chain[0] = locate(p, program, 0x400104, work);
	add_sample(p, chain, 2, 5, 1); /* another line of the same functions */
	chain[2] = chain[1];
	chain[1] = locate(p, library, 0x7f0000009000, NULL);
	chain[0] = locate(p, k, KERNEL + 0x10, kernel);
	add_sample(p, chain, 3, 19, 1);
	chain[1] = locate(p, other, 0x7f0000009000, NULL);
	add_sample(p, chain, 3, 11, 1);
	add_sample(p, chain, 1, 13, 1); /* nothing but the kernel */
	chain[0] = locate(p, PROFILE_NONE, 0x1234, NULL);
	add_sample(p, chain, 1, 17, 1);
	return p;
}

static void test_collapsed(void **state)
{
	cleanup(profile_freep) struct profile *p = make();
	cleanup(freep) char *text = NULL;
	size_t length;

	(void)state;
	assert_int_equal(collapsed_write(p, &text, &length), 0);
	assert_string_equal(text, "#cpu/nanoseconds\n"
				  "0x1234 17000\n"
				  "do_work 13000\n"
				  "ma?in;libx.so+0xa000;do_work 19000\n"
				  "ma?in;liby.so+0x2000;do_work 11000\n"
				  "ma?in;work;in:ner 12000\n");
	assert_int_equal(length, strlen(text));
}

/* At half the rate a sample weighs twice as much; the unit is told, and read again. */
static void test_collapsed_weighs(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL, *back = NULL;
	cleanup(freep) char *text = NULL;
	struct profile_message message;
	size_t length;

	(void)state;
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nano seconds"), 0);
	for (int64_t i = 1; i <= 3; i++) {
		uint32_t location = locate(p, PROFILE_NONE, i < 3 ? 0x10 : 0x20, NULL);

		assert_int_equal(
			profile_add_sample(p, &location, 1, (int64_t[]){1, i * 10}, NULL, 0), 0);
	}
	assert_int_equal(collapsed_write(p, &text, &length), 0);
	assert_string_equal(text, "#cpu/nano_seconds\n0x10 30\n0x20 30\n");
	assert_int_equal(collapsed_read((const uint8_t *)text, length, &back, &message), 0);
	assert_int_equal(back->n_sample_types, 1);
	assert_string_equal(profile_string(back, back->sample_types[0].type), "cpu");
	assert_string_equal(profile_string(back, back->sample_types[0].unit), "nano_seconds");
	assert_int_equal(profile_total(back, 0), 60);
}

/* Two threads' samples of one stack, at the ends of what numbers there are. */
static void test_collapsed_sums(void **state)
{
	static const struct {
		int64_t a, b;
		const char *text;
	} all[] = {
		{INT64_MAX, 1, "0x10 9223372036854775807\n"},
		{INT64_MIN, -1, "0x10 -9223372036854775808\n"},
		{INT64_MAX, -INT64_MAX, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cleanup(profile_freep) struct profile *p = NULL;
		cleanup(freep) char *text = NULL;
		uint32_t location;
		size_t length;

		assert_int_equal(profile_new(&p), 0);
		assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
		location = locate(p, PROFILE_NONE, 0x10, NULL);
		for (int64_t thread = 1; thread <= 2; thread++) {
			struct profile_label l = {.num = thread};
			int64_t value = thread == 1 ? all[i].a : all[i].b;

			assert_int_equal(profile_add_text(p, "tid", &l.key), 0);
			assert_int_equal(profile_add_sample(p, &location, 1, &value, &l, 1), 0);
		}
		assert_int_equal(collapsed_write(p, &text, &length), 0);
		assert_string_equal(text, all[i].text);
	}
}

static void test_legacy(void **state)
{
	cleanup(profile_freep) struct profile *p = make(), *read = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	uint64_t moved = 0;
	size_t length;

	(void)state;
	assert_int_equal(cpuprofile_from_profile(p, 8, &data, &length), 0);
	assert_int_equal(cpuprofile_read(data, length, &read, &message), 0);
	assert_int_equal(profile_total(read, 0), 3 + 4 + 5 + 19 + 11 + 17);
	assert_int_equal(read->period, 10101000);
	assert_int_equal(read->n_mappings, 3);
	assert_string_equal(profile_string(read, read->mappings[0].path), "/bin/pro?gram");
	for (size_t i = 0; i < read->n_mappings; i++) {
		const struct profile_mapping *m = &read->mappings[i];

		assert_int_equal(m->offset, 0x1000);
		if (strcmp(profile_string(read, m->path), "/lib/liby.so") != 0)
			continue;
		moved = m->start;
		assert_int_equal(m->limit - m->start, 0x10000);
		assert_true(m->start >= 0x7f0000018000);
	}
	assert_true(moved != 0);
	for (size_t i = 0; i < read->n_samples; i++) {
		const struct profile_sample *s = &read->samples[i];
		const struct profile_location *l =
			&read->locations[read->sample_locations[s->first_location]];

		if (read->sample_values[2 * i] == 11)
			assert_int_equal(l->address, moved + 0x1000);
		if (read->sample_values[2 * i] == 19)
			assert_int_equal(l->address, 0x7f0000009000);
	}
	assert_int_equal(read->n_comments, 2);
	assert_string_equal(profile_string(read, read->comments[1]),
			    "# profd process: samples=59 without_user_frames=13");
}

/* Image profiles have mappings of the whole address space; in a legacy one they lie side by side.
 */
static void test_whole_mappings(void **state)
{
	static const char *const paths[] = {"/bin/a", "/bin/b"};
	cleanup(profile_freep) struct profile *p = NULL, *read = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	size_t length;

	(void)state;
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct profile_mapping all = {.limit = UINT64_MAX};
		const int64_t count = 5 + i;
		uint32_t mapping, location;

		assert_int_equal(profile_add_text(p, paths[i], &all.path), 0);
		assert_int_equal(profile_add_mapping(p, &all, &mapping), 0);
		location = locate(p, mapping, 0x401136, NULL);
		assert_int_equal(profile_add_sample(p, &location, 1, &count, NULL, 0), 0);
		location = locate(p, mapping, 0x403010, NULL);
		assert_int_equal(profile_add_sample(p, &location, 1, &count, NULL, 0), 0);
	}
	assert_int_equal(cpuprofile_from_profile(p, 8, &data, &length), 0);
	assert_int_equal(cpuprofile_read(data, length, &read, &message), 0);
	assert_int_equal(profile_total(read, 0), 2 * (5 + 6));
	assert_int_equal(read->n_mappings, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct profile_mapping *m = &read->mappings[i];

		assert_string_equal(profile_string(read, m->path), paths[i]);
		assert_int_equal(m->limit - m->start, 0x3000);
		assert_int_equal(m->offset, 0x401000);
	}
	assert_int_equal(read->mappings[0].start, 0x401000);
	assert_true(read->mappings[1].start >= 0x404000);
	for (size_t i = 0; i < read->n_samples; i++) {
		const struct profile_sample *s = &read->samples[i];
		const struct profile_location *l =
			&read->locations[read->sample_locations[s->first_location]];

		assert_int_equal(l->mapping, read->sample_values[2 * i] == 6);
	}
}

static void test_nothing(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL, *read = NULL;
	cleanup(freep) uint8_t *data = NULL;
	cleanup(freep) char *text = NULL;
	struct profile_message message;
	size_t length;

	(void)state;
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(collapsed_write(p, &text, &length), 0);
	assert_int_equal(length, 0);
	assert_int_equal(cpuprofile_from_profile(p, 8, &data, &length), 0);
	assert_int_equal(cpuprofile_read(data, length, &read, &message), 0);
	assert_int_equal(read->n_samples, 0);
}

/* What no process has: sums that no number holds, paths and comments that no line does. */
static void test_extremes(void **state)
{
	static char big[70000];
	cleanup(profile_freep) struct profile *p = make(), *back = NULL, *empty = NULL;
	cleanup(freep) uint8_t *data = NULL, *nothing = NULL;
	struct profile_message message;
	uint32_t location;
	size_t length;

	(void)state;
	memset(big, '/', sizeof(big) - 1);
	location = locate(p, map(p, 0x10000, 0x20000, big), 0x10004, NULL);
	memcpy(big, "# profd ", 8);
	assert_int_equal(profile_add_comment(p, big), 0);
	for (int64_t label = 1; label < 4; label++)
		add_sample(p, &location, 1, INT64_MAX / 1000, label);
	p->sample_values[2 * (p->n_samples - 1)] = INT64_MAX;
	p->sample_values[2 * (p->n_samples - 2)] = INT64_MAX;
	map(p, (UINT64_C(1) << 63) - 0x1000, UINT64_C(1) << 63, "/last");
	map(p, (UINT64_C(1) << 63) - 0x1000, UINT64_C(1) << 63, "/over it");
	assert_int_equal(cpuprofile_from_profile(p, 8, &data, &length), 0);
	assert_int_equal(cpuprofile_read(data, length, &back, &message), 0);
	assert_true(profile_total(back, 0) == INT64_MAX);

	assert_int_equal(profile_new(&empty), 0);
	assert_int_equal(profile_add_sample(empty, NULL, 0, NULL, NULL, 0), 0);
	assert_int_equal(cpuprofile_from_profile(empty, 8, &nothing, &length), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_collapsed),      cmocka_unit_test(test_collapsed_weighs),
		cmocka_unit_test(test_collapsed_sums), cmocka_unit_test(test_legacy),
		cmocka_unit_test(test_whole_mappings), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
