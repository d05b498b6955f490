/* SPDX-License-Identifier: MIT */
/* Profiles that arrive in parts, merged by the real viewer. */
#include "client/gateway/gathered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/gateway/api/viewer.h"
#include "client/gateway/view/pieces.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"

struct fixture {
	sd_event *loop;
	struct viewers *viewers;
	struct gathered *gathered;
	bool is_done;
	unsigned status;
	char *body;
	size_t length;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	assert_int_equal(sd_event_new(&f.loop), 0);
	assert_int_equal(viewers_new(&f.viewers,
				     &(struct viewers_options){
					     .loop = f.loop,
					     .program = TEST_PROGRAMS "/../bin/profd-gateway",
					     .timeout_ms = 60000,
					     .max = 1,
				     }),
			 0);
	assert_int_equal(gathered_new(&f.gathered, f.viewers), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	gathered_free(f->gathered);
	viewers_free(f->viewers);
	sd_event_unref(f->loop);
	free(f->body);
	return 0;
}

static void note(void *userdata, struct viewer_result *result)
{
	struct fixture *f = userdata;

	f->is_done = true;
	f->status = result->status;
	f->length = result->length;
	if (result->status == 200) {
		f->body = result->body;
		result->body = NULL;
	}
}

static void finish(struct fixture *f, const struct view_merge *merge)
{
	gathered_finish(f->gathered, merge, note, f);
	while (!f->is_done)
		assert_true(sd_event_run(f->loop, UINT64_MAX) >= 0);
}

/* @n samples of one function, and a comment of so many random letters. */
static const char *add_piece(struct fixture *f, int64_t n, size_t comment)
{
	const int64_t values[2] = {n, n * 10};
	cleanup(freep) char *text = malloc(comment + 1);
	cleanup(freep) uint8_t *data = NULL;
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_function function = {0};
	struct profile_line line = {0};
	uint64_t seed = 7 + (uint64_t)n;
	uint32_t location;
	size_t length;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	p->period = 10000000;
	assert_int_equal(profile_add_text(p, "work", &function.name), 0);
	assert_int_equal(profile_add_function(p, &function, &line.function), 0);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 0x1000, &line, 1, &location), 0);
	assert_int_equal(profile_add_sample(p, &location, 1, values, NULL, 0), 0);
	for (size_t i = 0; i < comment; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1;
		text[i] = (char)('!' + (seed >> 33) % 90);
	}
	text[comment] = '\0';
	if (comment)
		assert_int_equal(profile_add_comment(p, text), 0);
	assert_int_equal(pprof_write(p, 1, &data, &length), 0);
	return gathered_add(f->gathered, data, length);
}

static void expect_total(const struct fixture *f, int64_t samples)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;

	assert_int_equal(f->status, 200);
	assert_int_equal(pprof_read((uint8_t *)f->body, f->length, (size_t)256 << 20, &p, &message),
			 0);
	assert_int_equal(profile_total(p, 0), samples);
}

static void test_merged(void **state)
{
	static const struct view_merge plain;
	struct fixture *f = *state;

	for (int64_t i = 1; i <= 5; i++)
		assert_null(add_piece(f, i, 0));
	finish(f, &plain);
	expect_total(f, 15);
}

static void test_none(void **state)
{
	static const struct view_merge merge = {.time_ns = 1000, .duration_ns = 30};
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;
	struct fixture *f = *state;

	finish(f, &merge);
	assert_int_equal(f->status, 200);
	assert_int_equal(pprof_read((uint8_t *)f->body, f->length, 1 << 20, &p, &message), 0);
	assert_int_equal(p->n_samples, 0);
	assert_int_equal(p->n_sample_types, 2);
	assert_int_equal(p->time_ns, 1000);
	assert_int_equal(p->duration_ns, 30);
}

/* The time that was sampled, which pieces need not span. */
static void test_time(void **state)
{
	static const struct view_merge merge = {.time_ns = 1000, .duration_ns = 30};
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;
	struct fixture *f = *state;

	assert_null(add_piece(f, 7, 0));
	finish(f, &merge);
	assert_int_equal(f->status, 200);
	assert_int_equal(pprof_read((uint8_t *)f->body, f->length, 1 << 20, &p, &message), 0);
	assert_int_equal(profile_total(p, 0), 7);
	assert_int_equal(p->time_ns, 1000);
	assert_int_equal(p->duration_ns, 30);
}

/* gperftools' format, and the names of its addresses. */
static void test_legacy(void **state)
{
	static const struct view_merge merge = {.is_legacy = true, .number = 3};
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;
	struct fixture *f = *state;
	const uint8_t *piece;
	size_t at = 0, length;

	assert_null(add_piece(f, 4, 0));
	finish(f, &merge);
	assert_int_equal(f->status, 200);
	assert_true(pieces_next((uint8_t *)f->body, f->length, &at, &piece, &length));
	assert_int_equal(cpuprofile_read(piece, length, &p, &message), 0);
	assert_int_equal(profile_total(p, 0), 4);
	assert_int_equal(p->locations[0].address >> 32, 3);
	assert_true(pieces_next((uint8_t *)f->body, f->length, &at, &piece, &length));
	assert_int_equal(length, sizeof("work"));
	assert_memory_equal(piece, "work", length);
	assert_false(pieces_next((uint8_t *)f->body, f->length, &at, &piece, &length));
}

static void test_malformed(void **state)
{
	static const struct view_merge plain;
	struct fixture *f = *state;

	assert_null(add_piece(f, 1, 0));
	assert_null(gathered_add(f->gathered, "nothing", 7));
	finish(f, &plain);
	assert_int_equal(f->status, 503);
}

/* More than waits: parts are merged before the end, and one that is malformed spoils all. */
static void test_many(void **state)
{
	static const struct view_merge plain;
	struct fixture *f = *state;

	for (int64_t i = 1; i <= 6; i++) {
		assert_null(add_piece(f, i, (size_t)4 << 20));
		assert_true(sd_event_run(f->loop, 0) >= 0);
	}
	finish(f, &plain);
	expect_total(f, 21);
}

static void test_many_malformed(void **state)
{
	static const struct view_merge plain;
	struct fixture *f = *state;

	assert_null(gathered_add(f->gathered, "nothing", 7));
	for (int64_t i = 1; i <= 3; i++)
		assert_null(add_piece(f, i, (size_t)4 << 20));
	finish(f, &plain);
	assert_int_equal(f->status, 503);
}

/* And no more than that. */
static void test_bound(void **state)
{
	struct fixture *f = *state;
	char *data = calloc(1, (size_t)65 << 20);

	assert_non_null(gathered_add(f->gathered, data, (size_t)65 << 20));
	free(data);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_merged),    T(test_none), T(test_time),           T(test_legacy),
		T(test_malformed), T(test_many), T(test_many_malformed), T(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
