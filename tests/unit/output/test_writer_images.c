/* SPDX-License-Identifier: MIT */
/* Image profiles: counts by image and offset, epochs, and files that cannot be merged. */
#include "tests/unit/output/fixture.h"

static const char build_id_1[] = "1111111111111111111111111111111111111111";
static const char build_id_2[] = "2222222222222222222222222222222222222222";
static const char build_id_3[] = "3333333333333333333333333333333333333333";

static int64_t image_total(const struct fixture *f, const char *name)
{
	struct image_profile *p = read_image(path_of(f, name));
	int64_t total = (int64_t)p->total;

	image_profile_free(p);
	return total;
}

static void test_images(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(image_profile_freep) struct image_profile *p = NULL;
	char name[200];

	write_quietly(w, everything_at(f, T0), T0 + 60);
	/* An address without a mapping, no headers, BPF code, no frames. */
	assert_int_equal(image_total(f, IMAGES_1 "unknown@host%2F1.cpu-clock"), 2 + 2 + 1 + 1);
	assert_int_equal(image_total(f, IMAGES_1 "anon@host%2F1.cpu-clock"), 3);
	assert_int_equal(image_total(f, IMAGES_1 "ext4.ko."
						 "5555555555555555555555555555555555555555"
						 ".cpu-clock"),
			 8);
	/* Generation 0 has the library there, generation 1 the other program. */
	snprintf(name, sizeof(name), "%slibx.so.1.%s.cpu-clock", IMAGES_1, build_id_3);
	assert_int_equal(image_total(f, name), 4);
	snprintf(name, sizeof(name), "%sot%%20her.%s.cpu-clock", IMAGES_1, build_id_2);
	assert_int_equal(image_total(f, name), 6 + 9);
	p = read_image(path_of(f, IMAGES_1 "vmlinux."
					   "7777777777777777777777777777777777777777.cpu-clock"));
	assert_int_equal(p->total, 17);
	assert_int_equal(p->n_counts, 2);
	assert_int_equal(p->counts[0].offset, 0x1010);
	assert_int_equal(p->counts[0].count, 7);
	assert_int_equal(p->counts[1].offset, 0x2010);
	assert_int_equal(p->tstart, 0);
	assert_int_equal(p->tsize, ETEXT - STEXT);
	image_profile_free(p);

	snprintf(name, sizeof(name), "%sworker.%s.cpu-clock", IMAGES_1, build_id_1);
	p = read_image(path_of(f, name));
	/* Two layouts, one offset; tstart is the vaddr 0x1040, the address 0x1100. */
	assert_int_equal(p->n_counts, 1);
	assert_int_equal(p->counts[0].offset, 0x1100 - 0x1040);
	assert_int_equal(p->counts[0].count, 20 + 5 + 11);
	assert_int_equal(p->tstart, 0x1040);
	assert_int_equal(p->tsize, 0x2f00);
	assert_int_equal(p->period, 10000000);
	assert_int_equal(p->cpuspeed_mhz, 2400);
	assert_string_equal(p->image, build_id_1);
	assert_string_equal(p->epoch, "2611210900");
	assert_string_equal(p->platform, "host/1");
	assert_string_equal(p->event, "cpu-clock");
	assert_string_equal(p->path, "/usr/bin/worker");
	assert_string_equal(p->ledger, "expected=10 seen=9 source=bpf");

	image_profile_free(steal_ptr(&p));
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	p = read_image(path_of(f, name));
	assert_int_equal(p->total, 2 * 36);
	assert_string_equal(p->ledger, "expected=20 seen=18 source=bpf");
	assert_int_equal(take_census(f).images, 2 * EVERYTHING);
	assert_int_equal(take_census(f).pprof, 2 * EVERYTHING);
}

static void test_vdso(void **state)
{
	static const struct script script[] = {{1, 0, NULL, {0}, {VDSO_AT + 0x10}, 0, 0, 3}};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	write_quietly(w, make_snapshot(f, T0, script, 1), T0 + 60);
	assert_int_equal(take_census(f).images, 3);
}

static void test_epoch_rules(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct output_result *r = calloc(1, sizeof(*r));
	struct snapshot *s;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	assert_false(exists(f, "images/2611210901"));

	/* Asked for: the same name within one minute. */
	writer_epoch(w, (T0 + 185) * NS, r);
	assert_string_equal(r->paths.all[0], "2611210903");
	output_result_free(r);
	r = calloc(1, sizeof(*r));
	writer_epoch(w, (T0 + 230) * NS, r);
	assert_string_equal(r->paths.all[0], "2611210903");
	output_result_free(r);
	write_quietly(w, everything_at(f, T0 + 180), T0 + 240);
	assert_true(exists(f, "images/2611210903"));

	/* Another period, within the minute: the next minute's name. */
	s = everything_at(f, T0 + 180);
	s->period = 5000000;
	write_quietly(w, s, T0 + 240);
	assert_true(exists(f, "images/2611210904"));
	/* Another event. */
	s = everything_at(f, T0 + 600);
	s->period = 5000000;
	snprintf(s->event, sizeof(s->event), "task-clock");
	write_quietly(w, s, T0 + 660);
	assert_true(exists(f, "images/2611210910"));

	/* A restart goes on with it, and knows event and period. */
	writer_free(w);
	w = open_writer(f, NULL, NULL, T0 + 700);
	s = everything_at(f, T0 + 720);
	s->period = 5000000;
	snprintf(s->event, sizeof(s->event), "task-clock");
	write_quietly(w, s, T0 + 780);
	assert_false(exists(f, "images/2611210912"));
	write_quietly(w, everything_at(f, T0 + 780), T0 + 840);
	assert_true(exists(f, "images/2611210913"));

	/* Midnight. */
	write_quietly(w, everything_at(f, T0 + 15 * 3600), T0 + 15 * 3600 + 60);
	assert_true(exists(f, "images/2611220000"));
	writer_free(w);

	/* Another boot. */
	write_text(f->proc_fd, "stat", "cpu 1\nbtime 1795310000\n"); /* 2026-11-22T01:13:20Z */
	w = open_writer(f, NULL, NULL, T0 + 17 * 3600);
	write_quietly(w, everything_at(f, T0 + 17 * 3600), T0 + 17 * 3600 + 60);
	assert_true(exists(f, "images/2611220200"));
	writer_free(w);
	assert_int_equal(take_census(f).images, take_census(f).pprof);
}

/* Epochs of a clock that was wrong are left as they are; no name is used twice. */
static void test_epochs_and_clocks(void **state)
{
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);

	write_quietly(w, everything_at(f, T0), T0 + 60);
	write_quietly(w, everything_at(f, T0 + 400 * DAY), T0 + 400 * DAY + 60);
	assert_true(exists(f, "images/2712260900"));
	/* Set right again: not the future's, and not the one before, which is complete. */
	write_quietly(w, everything_at(f, T0 + 30), T0 + 90);
	assert_true(exists(f, "images/2611210901"));
	write_quietly(w, everything_at(f, T0 + 120), T0 + 180);
	assert_false(exists(f, "images/2611210902"));
	/* An hour back, as at a change of zones gone wrong, is none of an epoch's business. */
	write_quietly(w, everything_at(f, T0 - 3600), T0 - 3540);
	assert_false(exists(f, "images/2611210800"));
	assert_int_equal(take_census(f).images, 5 * EVERYTHING);

	/* A restart goes on with the newest that is not in the future. */
	writer_free(w);
	w = open_writer(f, NULL, NULL, T0 + 240);
	write_quietly(w, everything_at(f, T0 + 240), T0 + 300);
	assert_false(exists(f, "images/2611210904"));
	assert_int_equal(image_total(f, "images/2611210901/host%2F1/unknown@host%2F1.cpu-clock"),
			 4 * 6);
	write_quietly(w, everything_at(f, 0), 60); /* 1970, which names without centuries are not */
	write_quietly(w, everything_at(f, T0 + 360), T0 + 420);
	assert_true(exists(f, "images/2611210906"));
	assert_int_equal(take_census(f).images, 8 * EVERYTHING);
	assert_int_equal(take_census(f).pprof, 8 * EVERYTHING);
	writer_free(w);
}

/* A file that cannot be merged stays as it is; a new epoch takes the window, all of it. */
/* A new epoch does without it. */
static void test_image_that_cannot_be_read(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	const char *victim = IMAGES_1 "unknown@host%2F1.cpu-clock";

	write_quietly(w, everything_at(f, T0), T0 + 60);
	assert_int_equal(unlinkat(f->store_fd, victim, 0), 0);
	assert_int_equal(mknodat(f->store_fd, victim, S_IFSOCK | 0600, 0), 0);
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	assert_true(writer_conditions(w) & WRITER_NEW_EPOCH);
	assert_int_equal(image_total(f, "images/2611210901/host%2F1/unknown@host%2F1.cpu-clock"),
			 6);
	write_quietly(w, everything_at(f, T0 + 120), T0 + 180);
	assert_false(writer_conditions(w) & WRITER_NEW_EPOCH);
}

static void test_damaged_image(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	const char *victim = IMAGES_1 "unknown@host%2F1.cpu-clock";

	write_quietly(w, everything_at(f, T0), T0 + 60);
	write_text(f->store_fd, victim, "version pdb-0.07\nnonsense");
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	assert_true(writer_conditions(w) & WRITER_NEW_EPOCH);
	assert_non_null(strstr(writer_describe(w, WRITER_NEW_EPOCH), "2611210901"));
	assert_int_equal(image_total(f, "images/2611210901/host%2F1/unknown@host%2F1.cpu-clock"),
			 6);
	assert_int_equal(unlinkat(f->store_fd, victim, 0), 0);
	assert_int_equal(take_census(f).images, 2 * EVERYTHING - 6);

	write_quietly(w, everything_at(f, T0 + 120), T0 + 180);
	assert_false(writer_conditions(w) & WRITER_NEW_EPOCH);
	assert_false(exists(f, "images/2611210902"));
}

static void test_overflow(void **state)
{
	struct image_profile_count full = {.offset = 0, .count = UINT32_MAX - 3};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(image_profile_freep) struct image_profile *p = NULL;
	const char *victim = IMAGES_1 "unknown@host%2F1.cpu-clock";
	cleanup(freep) uint8_t *data = NULL;
	size_t length;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	p = read_image(path_of(f, victim));
	p->counts[0] = full;
	p->n_counts = 1;
	p->total = full.count;
	assert_int_equal(image_profile_write(p, &data, &length), 0);
	write_file(f->store_fd, victim, data, length);
	write_quietly(w, everything_at(f, T0 + 60), T0 + 120);
	assert_int_equal(image_total(f, victim), UINT32_MAX - 3);
	assert_int_equal(image_total(f, "images/2611210901/host%2F1/unknown@host%2F1.cpu-clock"),
			 6);
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_images),
		T(test_vdso),
		T(test_epoch_rules),
		T(test_damaged_image),
		T(test_image_that_cannot_be_read),
		T(test_overflow),
		T(test_epochs_and_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
