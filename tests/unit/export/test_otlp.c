/* SPDX-License-Identifier: MIT */
/*
 * What an OTLP receiver has of a window, and what its answers mean. integration/otlp has the rules
 * of messages.
 */
#include "common/profile/value_types.h"
#include "tests/unit/export/window_fixture.h"

#include "tests/support/otlp_seen.h"

#define PART_MAX ((size_t)2 << 20)

static const struct export_scope plain = {.service = "a.service", .host = "machine"};

/* @p is used up and freed. */
static void encode(struct profile *p, const struct export_scope *scope, struct export_bodies *ret)
{
	assert_int_equal(export_find_target("otlp")->encode(p, scope, ret), 0);
	profile_free(p);
}

static bool has(const uint8_t *message, size_t length, const char *text)
{
	return memmem(message, length, text, strlen(text));
}

static uint8_t *unpack_one(struct profile *p, const struct export_scope *scope, size_t *ret_length)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};

	encode(p, scope, &bodies);
	assert_int_equal(bodies.n, 1);
	return sent_unpack(bodies.all[0].data, bodies.all[0].length, ret_length);
}

static const struct use uses[] = {
	{{"leaf", "main"}, "a", 1, 3},
	{{"leaf", "main"}, "b", 2, 4},
	{{"other", "main"}, NULL, 2, 5},
	{{"none", "main"}, NULL, 2, 0},
};

/* Without a list all labels of samples are attributes. */
static void test_labels(void **state)
{
	static const struct {
		const char *keep;
		size_t n_samples;
		bool pid, thread;
	} rows[] = {
		{NULL, 3, true, true},
		{" , ", 3, true, true},
		{" pid,nothing", 3, true, false},
		{"thread", 3, false, true},
		{"nothing", 2, false, false},
	};
	struct export_scope scope = plain;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(freep) uint8_t *message = NULL;
		struct otlp_seen seen;
		size_t length;

		scope.keep = rows[i].keep;
		message = unpack_one(window_of(uses, ARRAY_SIZE(uses)), &scope, &length);
		seen = otlp_see(message, length);
		assert_int_equal(seen.n_samples, rows[i].n_samples);
		assert_int_equal(seen.n_profiles, 1);
		assert_int_equal(seen.sum, 12);
		assert_int_equal(has(message, length, "process.pid"), rows[i].pid);
		assert_int_equal(has(message, length, "thread.name"), rows[i].thread);
	}
}

/* Waits are a profile, whose values they are, beside one of CPU time. */
static void test_waits(void **state)
{
	struct profile *p = window_of(uses, ARRAY_SIZE(uses));
	const uint32_t place = window_place(p, "read", 0x400500);
	const int64_t wait[] = {1, 0, 700};
	cleanup(freep) uint8_t *message = NULL;
	struct otlp_seen seen;
	size_t length;

	(void)state;
	assert_int_equal(value_types_add_waits(p), 0);
	assert_int_equal(profile_add_sample(p, &place, 1, wait, NULL, 0), 0);
	message = unpack_one(p, &plain, &length);
	seen = otlp_see(message, length);
	assert_int_equal(seen.n_profiles, 2);
	assert_int_equal(seen.sum, 12 * 10101010 + 700);
	assert_true(has(message, length, "off_cpu"));
}

static void test_resource(void **state)
{
	const struct export_scope scope = {
		.service = "a.service",
		.host = "machine",
		.labels = "zone = north ,service.name=shop,empty=,=nameless,alone,zone=south",
	};
	cleanup(freep) uint8_t *message = NULL, *other = NULL;
	size_t length, n_other;

	(void)state;
	message = unpack_one(window_of(uses, ARRAY_SIZE(uses)), &scope, &length);
	assert_true(has(message, length, "\x0a\x09host.name\x12\x09\x0a\x07machine"));
	assert_true(has(message, length, "\x0a\x0cservice.name\x12\x06\x0a\x04shop"));
	assert_true(has(message, length, "\x0a\x04zone\x12\x07\x0a\x05south"));
	assert_false(has(message, length, "north"));
	assert_false(has(message, length, "empty"));
	assert_false(has(message, length, "nameless"));
	assert_false(has(message, length, "alone"));
	/* A frame without a name vanishes in some receivers. */
	other = unpack_one(window_random(1, 1, 0, 1), &plain, &n_other);
	assert_true(has(other, n_other, "program+0x"));
}

/* That of a service whose samples have one; theirs are attributes of samples in any case. */
static void test_versions(void **state)
{
	static const char resource[] = "\x0a\x0fservice.version\x12\x05\x0a\x03"
				       "1.4";
	static const struct {
		const char *versions[4];
		bool is_resources, is_any;
	} rows[] = {
		{{"1.4"}, true, true},         {{"1.4", "1.4"}, true, true},
		{{"1.4", "1.5"}, false, true}, {{"1.4", ""}, false, true},
		{{""}, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(freep) uint8_t *message = NULL;
		size_t length;

		message = unpack_one(window_of_releases(rows[i].versions), &plain, &length);
		assert_int_equal(has(message, length, resource), rows[i].is_resources);
		assert_int_equal(has(message, length, "service.version"), rows[i].is_any);
	}
}

static void test_none(void **state)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};

	(void)state;
	encode(window_of(&uses[3], 1), &plain, &bodies);
	assert_int_equal(bodies.n, 0);
}

/* In bounded parts, which are the same each time. */
static void test_parts(void **state)
{
	static const struct {
		size_t n_samples, least, most;
		uint64_t max_part;
		unsigned length; /* of names */
	} rows[] = {
		{200, 1, 1, 0, 10},
		{16001, 2, 4, 0, 10},
		{100, 2, 4, 0, 2000},
		{100, 4, 8, 1, 2000},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(export_bodies_deinit) struct export_bodies bodies = {0}, again = {0};
		struct export_scope scope = plain;
		int64_t sum = 0, wanted = 0;

		scope.max_part = rows[i].max_part;
		encode(window_random(rows[i].n_samples, 3000, rows[i].length, 5), &scope, &bodies);
		encode(window_random(rows[i].n_samples, 3000, rows[i].length, 5), &scope, &again);
		assert_in_range(bodies.n, rows[i].least, rows[i].most);
		assert_int_equal(again.n, bodies.n);
		for (size_t j = 0; j < bodies.n; j++) {
			const struct export_body *b = &bodies.all[j];
			cleanup(freep) uint8_t *message = NULL;
			size_t length;

			assert_int_equal(b->length, again.all[j].length);
			assert_memory_equal(b->data, again.all[j].data, b->length);
			message = sent_unpack(b->data, b->length, &length);
			assert_true(length <= (rows[i].max_part ? PART_MAX / 2 : PART_MAX));
			sum = clamped_add(sum, otlp_see(message, length).sum);
		}
		for (size_t j = 0; j < rows[i].n_samples; j++)
			wanted += 1 + (int64_t)j % 5;
		assert_int_equal(sum, wanted);
	}
}

static void test_answers(void **state)
{
	static const struct {
		unsigned status;
		const char *body;
		size_t length;
		enum export_verdict verdict;
	} rows[] = {
		{200, "", 0, EXPORT_STORED},
		{200, "\x0a\x00", 2, EXPORT_STORED},
		{200, "\x0a\x06\x12\x04help", 8, EXPORT_STORED},
		{200, "\x0a\x02\x08\x01", 4, EXPORT_REFUSED},
		{200, "\x0a\x02\x08", 3, EXPORT_STORED},
		{200, "\x08\x01", 2, EXPORT_STORED},
		{400,
		 "\x08\x03\x12\x03"
		 "bad",
		 7, EXPORT_REFUSED},
		{400, "is outside of ingestion window", 30, EXPORT_TOO_OLD},
		{415, "", 0, EXPORT_REFUSED},
		{429, "", 0, EXPORT_LATER},
		{500, "", 0, EXPORT_UNKNOWN},
		{503, "", 0, EXPORT_LATER},
	};
	const struct export_target *target = export_find_target("otlp");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (target->judge(rows[i].status, rows[i].body, rows[i].length) != rows[i].verdict)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),  cmocka_unit_test(test_resource),
		cmocka_unit_test(test_waits),   cmocka_unit_test(test_versions),
		cmocka_unit_test(test_none),    cmocka_unit_test(test_parts),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
