/* SPDX-License-Identifier: MIT */
/* Profiles of many processes as gperftools' format has them; names afterwards. */
#include "client/gateway/name_book.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/gateway/view/made_up.h"
#include "common/memory_text.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/profile.h"

static uint32_t add_function(struct profile *p, const char *name)
{
	struct profile_function f = {0};
	uint32_t function;

	assert_int_equal(profile_add_text(p, name, &f.name), 0);
	assert_int_equal(profile_add_function(p, &f, &function), 0);
	return function;
}

/* A leaf in which a function is inlined, and its caller; and both without names. */
static struct profile *make_profile(int64_t count)
{
	struct profile_line lines[2] = {{0}};
	const int64_t values[] = {count, count * 10000000};
	struct profile *p;
	uint32_t at[3];

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	p->period = 10000000;
	lines[0].function = add_function(p, "inlined");
	lines[1].function = add_function(p, "leaf\n<b>");
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 0x1000, lines, 2, &at[0]), 0);
	lines[0].function = add_function(p, "main");
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 0x1000, lines, 1, &at[1]), 0);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 0x2000, NULL, 0, &at[2]), 0);
	assert_int_equal(profile_add_sample(p, at, 3, values, NULL, 0), 0);
	assert_int_equal(profile_add_sample(p, at + 1, 1, values, NULL, 0), 0);
	return p;
}

/* As a viewer makes it, and the gateway keeps its names. */
static void write_profile(struct name_book *b, const struct profile *p, char **ret,
			  size_t *ret_length)
{
	struct memory_text names = {0};
	uint64_t number = name_book_number(b);

	assert_int_equal(made_up_encode(p, number, (uint8_t **)ret, ret_length), 0);
	assert_int_equal(memory_text_open(&names), 0);
	made_up_write_names(p, names.out);
	assert_int_equal(memory_text_close(&names), 0);
	assert_int_equal(name_book_add(b, number, names.text, names.length), 0);
	memory_text_deinit(&names);
}

/* What a reader of the format finds, and what the book answers to its addresses. */
static char *write_and_ask(struct name_book *b, const struct profile *p, int64_t *ret_samples)
{
	struct profile_message message;
	struct profile *read;
	char asked[512], *data, *answer;
	size_t length, n = 0;

	write_profile(b, p, &data, &length);
	assert_int_equal(cpuprofile_read((uint8_t *)data, length, &read, &message), 0);
	*ret_samples = profile_total(read, 0);
	for (size_t i = 0; i < read->n_locations; i++)
		n += (size_t)sprintf(asked + n, "%s0x%016" PRIx64, i ? "+" : "",
				     read->locations[i].address);
	profile_free(read);
	free(data);
	assert_int_equal(name_book_answer(b, asked, &answer, &length), 0);
	assert_int_equal(length, strlen(answer));
	return answer;
}

static void test_names(void **state)
{
	cleanup(name_book_freep) struct name_book *b = NULL;
	cleanup(profile_freep) struct profile *p = make_profile(7);
	int64_t samples;
	char *answer;

	(void)state;
	assert_int_equal(name_book_new(&b), 0);
	answer = write_and_ask(b, p, &samples);
	assert_int_equal(samples, 14);
	assert_non_null(strstr(answer, "\tinlined--leaf?<b>\n"));
	assert_non_null(strstr(answer, "\tmain\n"));
	assert_non_null(strstr(answer, "\t0x2000\n"));
	free(answer);
}

/* Names of a profile are there until eight more have been served. */
static void test_last_profiles(void **state)
{
	cleanup(name_book_freep) struct name_book *b = NULL;
	cleanup(profile_freep) struct profile *p = make_profile(1);
	char *first, *again, *data;
	size_t length;
	int64_t samples;

	(void)state;
	assert_int_equal(name_book_new(&b), 0);
	first = write_and_ask(b, p, &samples);
	for (unsigned i = 0; i < NAME_BOOK_PROFILES; i++) {
		char asked[64];

		snprintf(asked, sizeof(asked), "%.*s", (int)strcspn(first, "\t"), first);
		assert_int_equal(name_book_answer(b, asked, &again, &length), 0);
		assert_int_equal(strncmp(again, first, strlen(again)), 0);
		assert_true(length > 0);
		free(again);
		write_profile(b, p, &data, &length);
		free(data);
	}
	assert_int_equal(name_book_answer(b, first, &again, &length), 0);
	assert_int_equal(length, 0);
	free(again);
	free(first);
}

static void test_strange_addresses(void **state)
{
	static const char *const strange[] = {"",
					      "+",
					      "++++",
					      "x",
					      "0x",
					      "0x0",
					      "-1",
					      "0xffffffffffffffff",
					      "0x1ffffffffffffffffffff",
					      "0x100000000",
					      "0x1ffffffff",
					      "main\n0x10"};
	cleanup(name_book_freep) struct name_book *b = NULL;
	cleanup(profile_freep) struct profile *p = make_profile(1);
	int64_t samples;
	char *answer;
	size_t length;

	(void)state;
	assert_int_equal(name_book_new(&b), 0);
	free(write_and_ask(b, p, &samples));
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		assert_int_equal(name_book_answer(b, strange[i], &answer, &length), 0);
		if (length)
			fail_msg("\"%s\": \"%s\"", strange[i], answer);
		free(answer);
	}
}

/* A long name is cut between two characters, and an answer stops. */
static void test_long_names(void **state)
{
	cleanup(name_book_freep) struct name_book *b = NULL;
	cleanup(profile_freep) struct profile *p = make_profile(1);
	static char long_name[3 * NAME_BOOK_NAME + 1], asked[1000 * 20 + 1];
	struct profile_line line = {0};
	const int64_t values[] = {1, 10000000};
	char *answer, *first;
	size_t length, n;
	int64_t samples;
	uint32_t at;

	(void)state;
	for (size_t i = 0; i < NAME_BOOK_NAME; i++)
		memcpy(long_name + 3 * i, "\u20ac", 3);
	line.function = add_function(p, long_name);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 0x3000, &line, 1, &at), 0);
	assert_int_equal(profile_add_sample(p, &at, 1, values, NULL, 0), 0);
	assert_int_equal(name_book_new(&b), 0);
	answer = write_and_ask(b, p, &samples);
	first = strstr(answer, "\t\u20ac");
	assert_non_null(first);
	assert_int_equal(strcspn(first + 1, "\n"), NAME_BOOK_NAME - NAME_BOOK_NAME % 3);
	while (first > answer && first[-1] != '\n')
		first--;
	n = strcspn(first, "\t");
	for (size_t i = 0; i < 1000; i++)
		sprintf(asked + i * (n + 1), "%.*s+", (int)n, first);
	free(answer);
	assert_int_equal(name_book_answer(b, asked, &answer, &length), 0);
	assert_true(length > NAME_BOOK_ANSWER / 2 && length <= NAME_BOOK_ANSWER);
	assert_int_equal(answer[length - 1], '\n');
	free(answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_last_profiles),
		cmocka_unit_test(test_strange_addresses),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
