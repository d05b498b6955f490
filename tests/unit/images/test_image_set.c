/* SPDX-License-Identifier: MIT */
/* Profiles added up, and images found by what people call them. */
#include "client/images/image_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID_A "aaaaaaaa00000000000000000000000000000001"
#define ID_B "aaaaaaaa00000000000000000000000000000002"

/* A profile as a test wants it: borrowed texts. */
struct given {
	const char *file, *image, *event, *path, *platform;
	uint64_t period;
	struct image_profile_count counts[3];
	size_t n;
};

static void add_given(struct image_set *set, const struct given *given)
{
	struct image_profile p = {
		.image = (char *)given->image,
		.event = (char *)given->event,
		.platform = (char *)given->platform,
		.path = (char *)given->path,
		.period = given->period,
		.tstart = 0x1000,
		.tsize = 0x100 * given->n,
		.counts = (struct image_profile_count *)given->counts,
		.n_counts = given->n,
	};

	for (size_t i = 0; i < given->n; i++)
		p.total += given->counts[i].count;
	assert_int_equal(image_set_add(set, given->file, &p), 0);
}

static const struct given all[] = {
	{"a." ID_A ".ev", ID_A, "ev", "/bin/a", "h1", 5, {{4, 10}, {8, 1}}, 2},
	{"a." ID_A ".ev", ID_A, "ev", "/bin/a\n/usr/bin/a", "h2", 5, {{0, 2}, {8, UINT32_MAX}}, 2},
	{"a." ID_B ".ev", ID_B, "ev", "/opt/a", "h1", 5, {{4, 3}}, 1},
	{"b.%." ID_A ".ev", ID_A, "ev", "/bin/b", "h1", 5, {{4, 7}}, 1},
	{"anon@h1.ev", "0", "ev", NULL, "h1", 5, {{0, 4}}, 1},
};

static struct image_set gather(const struct given *given, size_t n, const char *event, bool keep)
{
	struct image_set set = {.wanted_event = event, .keeps_counts = keep};

	for (size_t i = 0; i < n; i++)
		add_given(&set, &given[i]);
	assert_int_equal(image_set_finish(&set, NULL), IMAGE_SET_E_OK);
	return set;
}

static void test_sums(void **state)
{
	struct image_set set = gather(all, 5, NULL, true);
	const struct image *a = &set.images[0];

	(void)state;
	assert_int_equal(set.n, 4);
	assert_int_equal(set.total, 10 + 1 + 2 + (uint64_t)UINT32_MAX + 3 + 7 + 4);
	assert_string_equal(set.event, "ev");
	assert_string_equal(set.platforms, "h1 h2");
	assert_false(set.has_other_periods);
	assert_string_equal(a->name, "a");
	assert_string_equal(a->id, ID_A);
	assert_string_equal(a->paths, "/bin/a\n/usr/bin/a");
	assert_int_equal(a->total, 13 + (uint64_t)UINT32_MAX);
	/* Past 32 bits, in order, each offset once. */
	assert_int_equal(a->n_counts, 3);
	assert_int_equal(a->counts[0].offset, 0);
	assert_int_equal(a->counts[1].count, 10);
	assert_int_equal(a->counts[2].count, 1 + (uint64_t)UINT32_MAX);
	assert_string_equal(set.images[1].name, "b.%");
	assert_string_equal(set.images[2].name, "anon@h1");
	assert_null(set.images[2].paths);
	assert_string_equal(set.images[3].id, ID_B);
	image_set_deinit(&set);
	set = gather(all, 5, NULL, false);
	assert_null(set.images[0].counts);
	assert_int_equal(set.images[0].total, 13 + (uint64_t)UINT32_MAX);
	image_set_deinit(&set);
}

/* Words of a platform's name are no platforms, and a header of endless paths is not kept. */
static void test_lists(void **state)
{
	struct given three[] = {all[0], all[0], all[0]};
	char *paths = NULL;
	struct image_set set;
	size_t length, n = 0;
	FILE *out = open_memstream(&paths, &length);

	(void)state;
	assert_non_null(out);
	for (unsigned i = 0; i < 200000; i++)
		fprintf(out, "%s/%u", i ? "\n" : "", i);
	fclose(out);
	three[0].platform = "a b";
	three[1].platform = "b";
	three[2].platform = "a b";
	three[2].path = paths;
	set = gather(three, 3, NULL, false);
	assert_string_equal(set.platforms, "a b b");
	for (const char *at = set.images[0].paths; at; at = strchr(at + 1, '\n'))
		n++;
	assert_int_equal(n, 64);
	assert_int_equal(strncmp(set.images[0].paths, "/bin/a\n/0\n/1\n", 13), 0);
	image_set_deinit(&set);
	free(paths);
}

static void test_events(void **state)
{
	struct given two[] = {all[0], all[2]};
	struct profile_message message = {.text = ""};
	struct image_set set = {0};

	(void)state;
	two[1].event = "other";
	two[1].period = 6;
	add_given(&set, &two[0]);
	add_given(&set, &two[1]);
	assert_int_equal(image_set_finish(&set, &message), IMAGE_SET_E_EVENTS);
	assert_non_null(strstr(message.text, "ev"));
	assert_non_null(strstr(message.text, "other"));
	image_set_deinit(&set);
	set = gather(two, 2, "other", false);
	assert_int_equal(set.total, 3);
	assert_int_equal(set.period, 6);
	image_set_deinit(&set);
	two[1].event = "ev";
	set = gather(two, 2, NULL, false);
	assert_true(set.has_other_periods);
	image_set_deinit(&set);
	set = gather(two, 2, "none", false);
	assert_int_equal(set.n, 0);
	image_set_deinit(&set);
}

static void find(const struct image_set *set, const char *what, const char *path)
{
	struct profile_message message = {.text = ""};
	const struct image *image = NULL;
	int r = image_set_find(set, what, &image, &message);

	if (!path) {
		assert_int_equal(r, IMAGE_SET_E_NONE);
		assert_non_null(strstr(message.text, what));
		return;
	}
	if (r)
		fail_msg("%s: %s", what, message.text);
	assert_string_equal(image->title, path);
}

static void test_find(void **state)
{
	struct image_set set = gather(all, 5, NULL, false);

	(void)state;
	find(&set, "/bin/a", "/bin/a");
	find(&set, "/usr/bin/a", "/bin/a");
	find(&set, "opt/a", "/opt/a");
	find(&set, "b", "/bin/b");
	find(&set, ID_B, "/opt/a");
	find(&set, "anon@h1", "anon@h1");
	/* Of several, and none. */
	find(&set, "a", NULL);
	find(&set, ID_A, NULL);
	find(&set, "aaaaaaaa", NULL);
	find(&set, "aaaaaaa", NULL);
	find(&set, "in/a", NULL);
	find(&set, "/a", NULL);
	find(&set, "c", NULL);
	image_set_deinit(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
