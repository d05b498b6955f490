/* SPDX-License-Identifier: MIT */
/*
 * Random profiles as profd writes them: a few programs at a base of their own in each, so that
 * merging must move addresses. A sample's content, in words, tells it apart whatever the numbers.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/profile/merge.h"
#include "common/profile/pprof.h"
#include "common/profile/windows.h"

#define NS      INT64_C(1000000000)
#define T0      INT64_C(1795251600)
#define KERNEL  UINT64_C(0xffffffff81000000)
#define N_PARTS 6

static uint32_t text(struct profile *p, const char *t)
{
	uint32_t ret;

	assert_int_equal(profile_add_text(p, t, &ret), 0);
	return ret;
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static struct profile *empty_profile(int64_t start_s, int64_t seconds, const char *ledger)
{
	struct profile *p = NULL;
	char line[200];

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	p->period_type = p->sample_types[1];
	p->period = 10000000;
	p->time_ns = start_s * NS;
	p->duration_ns = seconds * NS;
	assert_int_equal(profile_add_comment(p, "# profd host: h"), 0);
	if (ledger) {
		snprintf(line, sizeof(line), "# profd ledger: %s", ledger);
		assert_int_equal(profile_add_comment(p, line), 0);
	}
	return p;
}

/* @image's mapping in a profile where everything lies @slide further. */
static uint32_t map_image(struct profile *p, unsigned image, uint64_t slide)
{
	char path[32], id[16];
	struct profile_mapping m = {.start = 0x400000 + image * 0x100000 + slide, .offset = 0x1000};
	uint32_t ret;

	snprintf(path, sizeof(path), "/usr/bin/p%u", image);
	snprintf(id, sizeof(id), "b1d%u", image);
	m.limit = m.start + 0x8000;
	m.path = text(p, image == 9 ? "[kernel.kallsyms]" : path);
	m.build_id = image % 2 ? text(p, id) : 0;
	if (image == 9)
		m.start = KERNEL + slide, m.limit = m.start + 0x8000;
	assert_int_equal(profile_add_mapping(p, &m, &ret), 0);
	return ret;
}

static uint32_t locate(struct profile *p, uint32_t mapping, unsigned offset)
{
	struct profile_function f = {0};
	struct profile_line line = {.line = offset};
	char name[64];
	uint32_t ret;

	snprintf(name, sizeof(name), "f%u", offset / 16);
	f.name = f.system_name = text(p, name);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, mapping, p->mappings[mapping].start + offset,
					      &line, offset % 3 != 0, &ret),
			 0);
	return ret;
}

static void add_sample(struct profile *p, const uint32_t *chain, uint32_t n, int64_t count,
		       int64_t pid, const char *comm)
{
	const struct profile_label labels[] = {
		{.key = text(p, "pid"), .num = pid},
		{.key = text(p, "comm"), .str = text(p, comm)},
	};
	const int64_t values[] = {count, count * 10000000};

	assert_int_equal(profile_add_sample(p, chain, n, values, labels, 2), 0);
}

/* One minute; what @whole is given, too, is the same but for the places of things. */
static struct profile *make_minute(unsigned minute, struct profile *whole)
{
	char ledger[64];
	struct profile *p, *targets[2];
	uint32_t seed = minute + 1;

	snprintf(ledger, sizeof(ledger), "expected=%u seen=%u source=x", 100 + minute, 90 + minute);
	p = empty_profile(T0 + minute * 60, 60, ledger);
	targets[0] = p;
	targets[1] = whole;
	for (unsigned i = 0; i < 200; i++) {
		unsigned n = 1 + next_random(&seed) % 6, image[6], offset[6];
		unsigned count = 1 + next_random(&seed) % 5, pid = 7 + next_random(&seed) % 3;

		for (unsigned j = 0; j < n; j++) {
			image[j] = j ? next_random(&seed) % 4 : next_random(&seed) % 10;
			offset[j] = next_random(&seed) % 40;
		}
		for (unsigned t = 0; t < 2 && targets[t]; t++) {
			uint64_t slide = t ? 0 : (uint64_t)minute * 0x10000000;
			uint32_t chain[6];

			for (unsigned j = 0; j < n; j++)
				chain[j] = locate(targets[t],
						  map_image(targets[t], image[j], slide),
						  offset[j]);
			add_sample(targets[t], chain, n, count, pid, pid % 2 ? "odd" : "even");
		}
	}
	return p;
}

/* --- what a profile says, in words ------------------------------------------------------------ */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_label(const struct profile *p, const struct profile_label *l, FILE *out)
{
	fprintf(out, " %s=%s%" PRId64, profile_string(p, l->key), profile_string(p, l->str),
		l->num);
}

static char *sample_text(const struct profile *p, size_t index, bool with_window)
{
	const struct profile_sample *s = &p->samples[index];
	char *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);

	for (uint32_t i = 0; i < s->n_locations; i++) {
		const struct profile_location *l =
			&p->locations[p->sample_locations[s->first_location + i]];
		const struct profile_mapping *m = l->mapping == PROFILE_NONE
							  ? NULL
							  : &p->mappings[l->mapping];

		fprintf(out, "%s+%" PRIx64, m ? profile_string(p, m->path) : "?",
			l->address - (m ? m->start : 0));
		for (uint32_t j = 0; j < l->n_lines; j++)
			fprintf(out, ":%s",
				profile_string(
					p,
					p->functions[p->lines[l->first_line + j].function].name));
		fputc(';', out);
	}
	for (unsigned pass = 0; pass < 3; pass++) {
		static const char *const keys[] = {"pid", "comm", "window"};

		for (uint32_t i = 0; i < s->n_labels; i++) {
			const struct profile_label *l = &p->sample_labels[s->first_label + i];

			if (strcmp(profile_string(p, l->key), keys[pass]) == 0 &&
			    (pass < 2 || with_window))
				print_label(p, l, out);
		}
	}
	fprintf(out, " %" PRId64 " %" PRId64, p->sample_values[index * 2],
		p->sample_values[index * 2 + 1]);
	fclose(out);
	return ret;
}

/* All samples, a line each, sorted. */
static char *all_text(const struct profile *p, bool with_window)
{
	char **lines = calloc(p->n_samples + 1, sizeof(*lines)), *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);

	for (size_t i = 0; i < p->n_samples; i++)
		lines[i] = sample_text(p, i, with_window);
	qsort(lines, p->n_samples, sizeof(*lines), by_text);
	for (size_t i = 0; i < p->n_samples; i++) {
		fprintf(out, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
	fclose(out);
	return ret;
}

static void assert_same(const struct profile *a, const struct profile *b, bool with_window)
{
	cleanup(freep) char *x = all_text(a, with_window), *y = all_text(b, with_window);

	assert_string_equal(x, y);
	assert_true(strlen(x) > 100);
}

static bool has_comment(const struct profile *p, const char *comment)
{
	for (size_t i = 0; i < p->n_comments; i++)
		if (strcmp(profile_string(p, p->comments[i]), comment) == 0)
			return true;
	return false;
}

/* --- tests ------------------------------------------------------------------------------------ */

struct parts {
	struct profile *minutes[N_PARTS], *whole;
};

static int setup(void **state)
{
	struct parts *parts = calloc(1, sizeof(*parts));

	assert_non_null(parts);
	parts->whole = empty_profile(T0, N_PARTS * 60, NULL);
	for (unsigned i = 0; i < N_PARTS; i++)
		parts->minutes[i] = make_minute(i, parts->whole);
	*state = parts;
	return 0;
}

static int teardown(void **state)
{
	struct parts *parts = *state;

	for (unsigned i = 0; i < N_PARTS; i++)
		profile_free(parts->minutes[i]);
	profile_free(parts->whole);
	free(parts);
	return 0;
}

static struct profile *merge_in_order(struct parts *parts, const unsigned *order, unsigned n,
				      enum merge_windows mode, const struct merge_select *select)
{
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;
	int64_t total = 0;

	assert_int_equal(merge_new(&m, mode), 0);
	for (unsigned i = 0; i < n; i++) {
		int64_t samples = 0;

		assert_int_equal(merge_add(m, parts->minutes[order[i]], select, &samples, &message),
				 0);
		total += samples;
	}
	assert_int_equal(merge_finish(m), 0);
	assert_int_equal(total, profile_total(merge_profile(m), 0));
	return merge_take(m);
}

static const unsigned forward[] = {0, 1, 2, 3, 4, 5}, backward[] = {5, 4, 3, 2, 1, 0};

static void test_parts_are_the_whole(void **state)
{
	struct parts *parts = *state;
	cleanup(profile_freep) struct profile *a = merge_in_order(parts, forward, N_PARTS,
								  MERGE_WINDOWS_DROPPED, NULL);
	cleanup(profile_freep) struct profile *b = merge_in_order(parts, backward, N_PARTS,
								  MERGE_WINDOWS_KEPT, NULL);

	assert_same(a, parts->whole, false);
	assert_same(b, parts->whole, false);
	assert_int_equal(a->n_mappings, parts->whole->n_mappings);
	assert_int_equal(a->time_ns, T0 * NS);
	assert_int_equal(a->duration_ns, N_PARTS * 60 * NS);
	assert_int_equal(b->time_ns, T0 * NS);
	assert_int_equal(b->duration_ns, N_PARTS * 60 * NS);
	assert_int_equal(a->period, 10000000);
	assert_true(has_comment(a, "# profd host: h"));
	assert_true(has_comment(a, "# profd ledger: expected=615 seen=555 source=x"));
	assert_int_equal(a->n_comments, 2);
}

/* Merged by the hour and then cut: what the minutes give that lie there. */
static void test_hours_can_be_cut(void **state)
{
	struct parts *parts = *state;
	cleanup(profile_freep) struct profile *hour = merge_in_order(parts, forward, N_PARTS,
								     MERGE_WINDOWS_SET, NULL);
	struct profile *minutes[N_PARTS];
	size_t n_labels = 0;

	assert_int_equal(profile_total(hour, 0), profile_total(parts->whole, 0));
	for (size_t i = 0; i < hour->n_sample_labels; i++)
		n_labels += strcmp(profile_string(hour, hour->sample_labels[i].key), "window") == 0;
	assert_int_equal(n_labels, hour->n_samples);
	memcpy(minutes, parts->minutes, sizeof(minutes));
	for (unsigned first = 0; first < N_PARTS; first++) {
		for (unsigned n = 1; first + n <= N_PARTS; n++) {
			const struct merge_select select = {
				.since_ns = (uint64_t)((T0 + first * 60) * NS + 1),
				.until_ns = (uint64_t)((T0 + (first + n) * 60) * NS),
			};
			cleanup(profile_freep) struct profile *expected = merge_in_order(
				parts, forward + first, n, MERGE_WINDOWS_DROPPED, NULL);
			cleanup(profile_freep) struct profile *cut = NULL;

			parts->minutes[0] = hour;
			cut = merge_in_order(parts, forward, 1, MERGE_WINDOWS_DROPPED, &select);
			parts->minutes[0] = minutes[0];
			assert_same(cut, expected, true);
			assert_int_equal(cut->time_ns, expected->time_ns);
			assert_int_equal(cut->duration_ns, expected->duration_ns);
			assert_int_equal(cut->n_comments, expected->n_comments);
			assert_string_equal(profile_string(cut, cut->comments[1]),
					    profile_string(expected, expected->comments[1]));
		}
	}
}

static void test_a_window_counts_once(void **state)
{
	struct parts *parts = *state;
	static const unsigned twice[] = {2, 2};
	cleanup(profile_freep) struct profile *a = merge_in_order(parts, twice, 2,
								  MERGE_WINDOWS_DROPPED, NULL);

	/* As two services of one window: the samples add up, time and ledger do not. */
	assert_int_equal(profile_total(a, 0), 2 * profile_total(parts->minutes[2], 0));
	assert_int_equal(a->duration_ns, 60 * NS);
	assert_true(has_comment(a, "# profd ledger: expected=102 seen=92 source=x"));
}

static void test_what_others_wrote(void **state)
{
	cleanup(merge_freep) struct merge *m = NULL;
	cleanup(profile_freep) struct profile *p = empty_profile(0, 5, NULL);
	struct profile_message message;
	uint32_t chain = locate(p, map_image(p, 1, 0), 5);

	(void)state;
	add_sample(p, &chain, 1, 3, 1, "x");
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(merge_add(m, p, NULL, NULL, &message), 0);
	assert_int_equal(merge_finish(m), 0);
	assert_int_equal(merge_profile(m)->duration_ns, 15 * NS);
	assert_int_equal(merge_profile(m)->time_ns, 0);
	assert_int_equal(merge_profile(m)->n_samples, 1);
	assert_int_equal(profile_total(merge_profile(m), 0), 9);
}

static void test_one_pid_without_the_kernel(void **state)
{
	struct parts *parts = *state;
	int64_t sum = 0;

	for (int64_t pid = 6; pid < 11; pid++) {
		const struct merge_select select = {.has_pid = true, .pid = pid, .no_kernel = true};
		cleanup(profile_freep) struct profile *p =
			merge_in_order(parts, forward, N_PARTS, MERGE_WINDOWS_DROPPED, &select);

		sum += profile_total(p, 0);
		assert_int_equal(p->n_samples > 0, pid >= 7 && pid < 10);
		for (size_t i = 0; i < p->n_mappings; i++)
			assert_true(p->mappings[i].start < KERNEL);
		for (size_t i = 0; i < p->n_locations; i++)
			assert_true(p->locations[i].address < KERNEL);
		for (size_t i = 0; i < p->n_samples; i++)
			assert_true(p->samples[i].n_locations > 0);
	}
	assert_int_equal(sum, profile_total(parts->whole, 0));
}

/* What makes two mappings one: build id, else path; offset; size but for the last page. */
static void test_equal_mappings(void **state)
{
	static const struct {
		const char *path, *build_id;
		uint64_t start, size, offset;
		bool same;
	} others[] = {
		{"/a", "id", 0x5000, 0x2000, 0, true},
		{"/elsewhere", "id", 0x5000, 0x2000, 0, true},
		{"/a", "other", 0x5000, 0x2000, 0, false},
		{"/a", "", 0x5000, 0x2000, 0, false},
		{"/a", "id", 0x5000, 0x1001, 0, true},
		{"/a", "id", 0x5000, 0x1000, 0, false},
		{"/a", "id", 0x5000, 0x2001, 0, false},
		{"/a", "id", 0x5000, 0x2000, 0x1000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		cleanup(profile_freep) struct profile *a = empty_profile(T0, 60, NULL),
						      *b = empty_profile(T0, 60, NULL);
		const struct profile_mapping of_a = {.start = 0x1000,
						     .limit = 0x3000,
						     .path = text(a, "/a"),
						     .build_id = text(a, "id")},
					     of_b = {.start = others[i].start,
						     .limit = others[i].start + others[i].size,
						     .offset = others[i].offset,
						     .path = text(b, others[i].path),
						     .build_id = text(b, others[i].build_id)};
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile_message message;
		uint32_t mapping, chain[2];

		assert_int_equal(profile_add_mapping(a, &of_a, &mapping), 0);
		chain[0] = locate(a, mapping, 0x10);
		add_sample(a, chain, 1, 1, 1, "x");
		assert_int_equal(profile_add_mapping(b, &of_b, &mapping), 0);
		chain[0] = locate(b, mapping, 0x10);
		b->locations[chain[0]].is_folded = true;
		/* No address is none wherever the mapping lies. */
		assert_int_equal(profile_add_location(b, mapping, 0, NULL, 0, &chain[1]), 0);
		add_sample(b, chain, 2, 1, 1, "x");
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, b, NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, a, NULL, NULL, &message), 0);
		assert_int_equal(merge_profile(m)->n_mappings, others[i].same ? 1 : 2);
		assert_int_equal(merge_profile(m)->n_locations, others[i].same ? 2 : 3);
		assert_int_equal(merge_profile(m)->locations[0].address, others[i].start + 0x10);
		assert_true(merge_profile(m)->locations[0].is_folded);
		merge_free(m);
		m = NULL;
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, a, NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, b, NULL, NULL, &message), 0);
		assert_int_equal(
			merge_profile(m)->locations[merge_profile(m)->n_locations - 1].address, 0);
	}
}

/* What the first profile says stands, and its program is the first mapping though nothing ran. */
static void test_first_says(void **state)
{
	cleanup(profile_freep) struct profile *a = empty_profile(T0, 60, NULL),
					      *b = empty_profile(T0 + 60, 60, NULL);
	const struct merge_select of_pid = {.has_pid = true, .pid = 1};
	struct profile_message message;
	uint32_t main_mapping = map_image(a, 1, 0), chain;

	(void)state;
	chain = locate(a, map_image(a, 3, 0), 0x10);
	add_sample(a, &chain, 1, 1, 1, "x");
	assert_int_equal(profile_add_sample(a, NULL, 0, (const int64_t[]){5, 5}, NULL, 0), 0);
	a->default_sample_type = text(a, "cpu");
	b->default_sample_type = text(b, "samples");
	b->doc_url = text(b, "http://b");
	for (unsigned by_pid = 0; by_pid < 2; by_pid++) {
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile *p;

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, a, by_pid ? &of_pid : NULL, NULL, &message), 0);
		assert_int_equal(merge_add(m, b, by_pid ? &of_pid : NULL, NULL, &message), 0);
		p = merge_profile(m);
		assert_string_equal(profile_string(p, p->default_sample_type), "cpu");
		assert_string_equal(profile_string(p, p->doc_url), "http://b");
		assert_int_equal(p->n_mappings, by_pid ? 1 : 2);
		assert_string_equal(profile_string(p, p->mappings[0].path),
				    profile_string(a, a->mappings[by_pid ? 1 : main_mapping].path));
		/* A sample of no stack stays one. */
		assert_int_equal(p->n_samples, by_pid ? 1 : 2);
		assert_int_equal(p->samples[p->n_samples - 1].n_locations, by_pid ? 1 : 0);
	}
}

/* Labels of the keys that tell windows and processes, but with texts, tell neither. */
static void test_labels_of_texts(void **state)
{
	cleanup(profile_freep) struct profile *p = empty_profile(T0, 60, "x=1");
	const struct profile_label texts[] = {{.key = text(p, "pid"), .str = text(p, "x")},
					      {.key = text(p, "window"), .str = text(p, "y")}};
	const struct profile_label number = {.key = text(p, "window"), .num = T0};
	const struct merge_select pid_0 = {.has_pid = true};
	const int64_t values[] = {1, 1};
	struct profile_message message;
	uint32_t chain = locate(p, map_image(p, 1, 0), 5);
	char line[80];

	(void)state;
	snprintf(line, sizeof(line), "# profd window: %" PRId64 "+60000000000 x=1", T0 * NS);
	assert_int_equal(profile_add_comment(p, line), 0);
	/* Another one of this second. */
	snprintf(line, sizeof(line), "# profd window: %" PRId64 "+70000000000 x=1", T0 * NS);
	assert_int_equal(profile_add_comment(p, line), 0);
	assert_int_equal(profile_add_sample(p, &chain, 1, values, texts, 2), 0);
	assert_int_equal(profile_add_sample(p, &chain, 1, values, &number, 1), 0);
	for (unsigned by_pid = 0; by_pid < 2; by_pid++) {
		cleanup(merge_freep) struct merge *m = NULL;

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_SET), 0);
		assert_int_equal(merge_add(m, p, by_pid ? &pid_0 : NULL, NULL, &message), 0);
		assert_int_equal(merge_n_windows(m), 2);
		assert_int_equal(merge_profile(m)->n_samples, by_pid ? 0 : 2);
		/* What has such a label gets no other one. */
		assert_int_equal(merge_profile(m)->n_sample_labels, by_pid ? 0 : 3);
	}
}

/* An address of 0 is none; its mapping tells that it is the kernel's. */
static void test_kernel_without_addresses(void **state)
{
	const struct merge_select select = {.no_kernel = true};
	cleanup(profile_freep) struct profile *p = empty_profile(T0, 60, NULL);
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;
	uint32_t chain[2];

	(void)state;
	assert_int_equal(profile_add_location(p, map_image(p, 9, 0), 0, NULL, 0, &chain[0]), 0);
	chain[1] = locate(p, map_image(p, 1, 0), 5);
	add_sample(p, chain, 2, 1, 1, "x");
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_add(m, p, &select, NULL, &message), 0);
	assert_int_equal(merge_profile(m)->samples[0].n_locations, 1);
}

static void test_mismatch(void **state)
{
	cleanup(merge_freep) struct merge *m = NULL;
	cleanup(profile_freep) struct profile *a = empty_profile(T0, 60, "x=1"), *b = NULL;
	struct profile_message message;
	uint32_t chain = locate(a, map_image(a, 1, 0), 5);

	(void)state;
	add_sample(a, &chain, 1, 3, 1, "x");
	assert_int_equal(profile_new(&b), 0);
	assert_int_equal(profile_add_sample_type(b, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(b, "cache-misses", "count"), 0);
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_add(m, a, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, b, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_string_equal(message.text, "sample types differ: samples/count cpu/nanoseconds and "
					  "samples/count cache-misses/count");
	b->sample_types[1] = b->sample_types[0];
	b->sample_types[1].type = text(b, "cpu");
	b->sample_types[1].unit = text(b, "nanoseconds");
	b->sample_types[0].unit = text(b, "bytes");
	assert_int_equal(merge_add(m, b, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_non_null(strstr(message.text, "sample types differ"));
	b->n_sample_types = 0;
	assert_int_equal(merge_add(m, b, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_string_equal(message.text,
			    "sample types differ: samples/count cpu/nanoseconds and none");
	b->n_sample_types = 2;
	a->period_type.unit = 0;
	assert_int_equal(merge_add(m, a, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_non_null(strstr(message.text, "period types differ"));
	assert_int_equal(profile_total(merge_profile(m), 0), 3);
}

/* A profile of one sample, whose time and period are in @unit. */
static struct profile *in_unit(const char *unit, int64_t time, int64_t period)
{
	const int64_t values[] = {1, time};
	struct profile *p = NULL;
	uint32_t chain;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", unit), 0);
	p->period_type = p->sample_types[1];
	p->period = period;
	chain = locate(p, map_image(p, 1, 0), 5);
	assert_int_equal(profile_add_sample(p, &chain, 1, values, NULL, 0), 0);
	return p;
}

/* Values of one kind add up in the finest unit, whichever comes first. */
static void test_units(void **state)
{
	static const struct {
		const char *units[3], *unit;
		int64_t times[3], total, period;
	} cases[] = {
		{{"milliseconds", "nanoseconds", "seconds"},
		 "nanoseconds",
		 {3, 500, 2},
		 2003000500,
		 INT64_C(7000000000)},
		{{"nanoseconds", "seconds", "ms"},
		 "nanoseconds",
		 {500, 2, 3},
		 2003000500,
		 INT64_C(7000000000)},
		{{"seconds", "ms", "us"}, "us", {2, 3, -5}, 2002995, 7000000},
		/* What has no place is as much as has. */
		{{"nanoseconds", "hours", "ns"},
		 "nanoseconds",
		 {0, INT64_MAX / 2, 0},
		 INT64_MAX,
		 INT64_C(25200000000000)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile_message message;
		const struct profile *p;

		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		for (size_t j = 0; j < 3; j++) {
			cleanup(profile_freep) struct profile *from = in_unit(cases[i].units[j],
									      cases[i].times[j], 7);

			assert_int_equal(merge_add(m, from, NULL, NULL, &message), 0);
		}
		p = merge_profile(m);
		assert_int_equal(p->n_samples, 1);
		assert_int_equal(p->sample_values[0], 3);
		assert_int_equal(p->sample_values[1], cases[i].total);
		assert_string_equal(profile_string(p, p->sample_types[1].unit), cases[i].unit);
		assert_string_equal(profile_string(p, p->period_type.unit), cases[i].unit);
		assert_int_equal(p->period, cases[i].period);
	}
}

/* Times and bytes do not; nothing has changed then. */
static void test_units_of_other_kinds(void **state)
{
	cleanup(profile_freep) struct profile *a = in_unit("ms", 3, 7), *b = in_unit("kb", 3, 7);
	cleanup(profile_freep) struct profile *c = in_unit("ns", 3, 7);
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;

	(void)state;
	c->period_type.unit = text(c, "kb");
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_add(m, a, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, b, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_string_equal(message.text,
			    "sample types differ: samples/count cpu/ms and samples/count cpu/kb");
	assert_int_equal(merge_add(m, c, NULL, NULL, &message), MERGE_E_MISMATCH);
	assert_string_equal(message.text, "period types differ: cpu/ms and cpu/kb");
	assert_int_equal(profile_total(merge_profile(m), 1), 3);
}

/* Samples can be written and forgotten in between: the file is the same profile. */
static void test_spilt_samples(void **state)
{
	struct parts *parts = *state;
	cleanup(profile_freep) struct profile *expected =
		merge_in_order(parts, forward, N_PARTS, MERGE_WINDOWS_DROPPED, NULL);
	cleanup(merge_freep) struct merge *m = NULL;
	cleanup(pprof_writer_freep) struct pprof_writer *w = NULL;
	cleanup(profile_freep) struct profile *read = NULL;
	cleanup(freep) uint8_t *file = NULL;
	struct profile_message message;
	size_t length = 0;

	assert_int_equal(merge_new(&m, MERGE_WINDOWS_DROPPED), 0);
	assert_int_equal(pprof_writer_new(&w, 6), 0);
	for (unsigned i = 0; i < N_PARTS; i++) {
		cleanup(freep) uint8_t *piece = NULL;
		size_t n, before = merge_bytes(m);

		assert_int_equal(merge_add(m, parts->minutes[i], NULL, NULL, &message), 0);
		assert_true(merge_bytes(m) > before);
		if (i == N_PARTS - 1)
			assert_int_equal(merge_finish(m), 0);
		assert_int_equal(pprof_writer_samples(w, merge_profile(m), 0, SIZE_MAX), 0);
		profile_clear_samples(merge_profile(m));
		if (i == N_PARTS - 1)
			assert_int_equal(pprof_writer_finish(w, merge_profile(m)), 0);
		assert_int_equal(pprof_writer_take(w, &piece, &n), 0);
		file = realloc(file, length + n + 1);
		memcpy(file + length, piece, n);
		length += n;
	}
	assert_int_equal(pprof_read(file, length, 64 << 20, &read, &message), 0);
	assert_same(read, expected, true);
	assert_int_equal(read->duration_ns, expected->duration_ns);
}

/* A profile whose samples come three by three. */
static void test_in_pieces(void **state)
{
	struct parts *parts = *state;
	cleanup(profile_freep) struct profile *expected = merge_in_order(parts, forward, N_PARTS,
									 MERGE_WINDOWS_SET, NULL);
	const struct merge_select late = {.since_ns = UINT64_MAX / 2};
	cleanup(merge_freep) struct merge *m = NULL;
	struct profile_message message;
	int64_t samples, sum = 0;

	assert_int_equal(merge_new(&m, MERGE_WINDOWS_SET), 0);
	for (unsigned i = 0; i < N_PARTS; i++) {
		const struct profile *part = parts->minutes[i];

		assert_int_equal(merge_begin(m, part, &late, &message), MERGE_E_NOTHING);
		assert_int_equal(merge_begin(m, part, NULL, &message), 0);
		for (size_t j = 0; j < part->n_samples; j += 3) {
			assert_int_equal(merge_samples(m, j, 3, &samples), 0);
			sum += samples;
		}
		assert_int_equal(merge_end(m), 0);
		assert_int_equal(merge_n_windows(m), i + 1);
	}
	assert_int_equal(merge_finish(m), 0);
	assert_int_equal(sum, profile_total(expected, 0));
	assert_same(merge_profile(m), expected, true);
}

static void assert_same_rest(const struct profile *a, const struct profile *b)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->duration_ns, b->duration_ns);
	assert_int_equal(a->period, b->period);
	assert_int_equal(a->n_comments, b->n_comments);
	for (size_t i = 0; i < a->n_comments; i++)
		assert_string_equal(profile_string(a, a->comments[i]),
				    profile_string(b, b->comments[i]));
}

/* What stands for the merge of one profile says what the merge says. */
static void test_alone(void **state)
{
	(void)state;
	for (unsigned listed = 0; listed < 2; listed++) {
		cleanup(profile_freep) struct profile *p = make_minute(3, NULL);
		cleanup(merge_freep) struct merge *m = NULL;
		struct profile_message message;
		bool done = false;

		if (listed) {
			assert_int_equal(profile_add_comment(p, "# profd window: 5+3 b=2"), 0);
			assert_int_equal(profile_add_comment(p, "# profd window: 2+9 b=3"), 0);
			p->period = -4;
		}
		assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(m, p, NULL, NULL, &message), 0);
		assert_int_equal(merge_finish(m), 0);
		assert_int_equal(merge_alone(p, &done), 0);
		assert_true(done);
		assert_same(p, merge_profile(m), true);
		assert_same_rest(p, merge_profile(m));
	}
}

/* A merge that goes on with what it has made is one that begins with that. */
static void test_again(void **state)
{
	struct parts *parts = *state;

	for (enum merge_windows mode = MERGE_WINDOWS_KEPT; mode <= MERGE_WINDOWS_DROPPED; mode++) {
		cleanup(merge_freep) struct merge *on = NULL, *anew = NULL;
		cleanup(profile_freep) struct profile *first = NULL;
		struct profile_message message;

		first = merge_in_order(parts, forward, 2, mode, NULL);
		assert_int_equal(merge_new(&on, mode), 0);
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(
				merge_add(on, parts->minutes[forward[i]], NULL, NULL, &message), 0);
		assert_int_equal(merge_finish(on), 0);
		for (unsigned i = 0; i < 2; i++)
			first->sample_values[i] = merge_profile(on)->sample_values[i] = 0;
		assert_int_equal(merge_again(on), 0);
		assert_int_equal(merge_profile(on)->n_samples, first->n_samples - 1);
		assert_int_equal(merge_new(&anew, MERGE_WINDOWS_KEPT), 0);
		assert_int_equal(merge_add(anew, first, NULL, NULL, &message), 0);
		for (unsigned i = 1; i < 3; i++) {
			const struct profile *next = parts->minutes[forward[i]];

			assert_int_equal(merge_add(on, next, NULL, NULL, &message), 0);
			assert_int_equal(merge_add(anew, next, NULL, NULL, &message), 0);
		}
		assert_int_equal(merge_finish(on), 0);
		assert_int_equal(merge_finish(anew), 0);
		assert_same(merge_profile(on), merge_profile(anew), true);
		assert_same_rest(merge_profile(on), merge_profile(anew));
	}
}

/* One program at two places is one program: nothing can stand for that. */
static void test_not_alone(void **state)
{
	cleanup(profile_freep) struct profile *p = make_minute(3, NULL);
	size_t n_comments = p->n_comments;
	bool done = true;

	(void)state;
	map_image(p, 1, 0x7000000);
	assert_int_equal(merge_alone(p, &done), 0);
	assert_false(done);
	assert_int_equal(p->n_comments, n_comments);
	assert_int_equal(p->time_ns, (T0 + 3 * 60) * NS);
}

/* Whatever the order in the file: by key, and equal keys in theirs. */
static void test_order_of_labels(void **state)
{
	enum { N = 101 };
	cleanup(merge_freep) struct merge *m = NULL;
	cleanup(profile_freep) struct profile *up = empty_profile(T0, 60, NULL);
	cleanup(profile_freep) struct profile *down = empty_profile(T0, 60, NULL);
	struct profile_label labels[N], reversed[N];
	const int64_t values[] = {1, 2};
	struct profile_message message;
	const struct profile *p;
	char key[16];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		snprintf(key, sizeof(key), "k%u", i / 2);
		labels[i] = (struct profile_label){.key = text(up, key), .num = i};
	}
	for (unsigned i = 0; i < N; i++) {
		reversed[i] = labels[N - 1 - i];
		reversed[i].num ^= i > 0; /* the two of a key in the same order as there */
		snprintf(key, sizeof(key), "k%u", (N - 1 - i) / 2);
		reversed[i].key = text(down, key);
	}
	assert_int_equal(profile_add_sample(up, NULL, 0, values, labels, N), 0);
	assert_int_equal(profile_add_sample(down, NULL, 0, values, reversed, N), 0);
	assert_int_equal(merge_new(&m, MERGE_WINDOWS_KEPT), 0);
	assert_int_equal(merge_add(m, up, NULL, NULL, &message), 0);
	assert_int_equal(merge_add(m, down, NULL, NULL, &message), 0);
	p = merge_profile(m);
	assert_int_equal(p->n_samples, 1);
	assert_int_equal(p->samples[0].n_labels, N);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(p->sample_labels[i].num, i);
	assert_int_equal(profile_total(p, 1), 4);
}

static void test_window_lines(void **state)
{
	cleanup(profile_windows_deinit) struct profile_windows w = {0};
	cleanup(profile_freep) struct profile *p = empty_profile(T0, 60, "a=1");
	struct profile_window listed[] = {{2, 9, (char *)""},
					  {4, 1, (char *)"c=3"},
					  {5, 3, (char *)"b=2"}};
	const struct profile_windows others = {.all = listed, .n = 3};
	struct profile_window alone = {3, 1, NULL};
	const struct profile_windows strange = {.all = &alone, .n = 1};

	(void)state;
	assert_int_equal(profile_windows_of(p, &w), 0);
	assert_int_equal(w.n, 1);
	assert_false(w.is_listed);
	assert_string_equal(w.all[0].ledger, "a=1");
	profile_windows_deinit(&w);
	for (unsigned i = 0; i < 2; i++) {
		bool which[] = {true, false, true};

		assert_int_equal(profile_windows_merge(&w, &others, which), 0);
		assert_int_equal(which[0], !i);
		assert_int_equal(which[2], !i);
	}
	assert_int_equal(w.n, 2);
	/* Without a ledger, each is a window of its own. */
	assert_int_equal(profile_windows_merge(&w, &strange, &(bool){true}), 0);
	assert_int_equal(profile_windows_merge(&w, &strange, &(bool){true}), 0);
	assert_int_equal(w.n, 4);
	assert_int_equal(w.all[0].time_ns, 2);
	assert_int_equal(w.all[1].time_ns, 3);
	assert_int_equal(w.all[2].time_ns, 3);
	assert_int_equal(w.all[3].time_ns, 5);
	profile_windows_deinit(&w);
	assert_int_equal(profile_windows_merge(&w, &others, (bool[]){true, false, true}), 0);
	assert_int_equal(profile_windows_list(&w, p), 0);
	assert_true(has_comment(p, "# profd window: 2+9"));
	assert_true(has_comment(p, "# profd window: 5+3 b=2"));
	/* What is damaged is no window. */
	assert_int_equal(profile_add_comment(p, "# profd window: x"), 0);
	assert_int_equal(profile_add_comment(p, "# profd window: 1+"), 0);
	assert_int_equal(profile_add_comment(p, "# profd window: 99999999999999999999+1 a=1"), 0);
	assert_int_equal(profile_windows_of(p, &w), 0);
	assert_true(w.is_listed);
	assert_int_equal(w.n, 2);
	assert_int_equal(w.all[0].time_ns, 2);
	assert_string_equal(w.all[1].ledger, "b=2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parts_are_the_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hours_can_be_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_window_counts_once, setup, teardown),
		cmocka_unit_test(test_what_others_wrote),
		cmocka_unit_test_setup_teardown(test_one_pid_without_the_kernel, setup, teardown),
		cmocka_unit_test(test_equal_mappings),
		cmocka_unit_test(test_first_says),
		cmocka_unit_test(test_labels_of_texts),
		cmocka_unit_test(test_kernel_without_addresses),
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_units_of_other_kinds),
		cmocka_unit_test_setup_teardown(test_spilt_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_pieces, setup, teardown),
		cmocka_unit_test(test_alone),
		cmocka_unit_test_setup_teardown(test_again, setup, teardown),
		cmocka_unit_test(test_not_alone),
		cmocka_unit_test(test_order_of_labels),
		cmocka_unit_test(test_window_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
