/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/flat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/gateway/view/answer.h"
#include "common/memory_text.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"

struct use {
	const char *service, *function; /* NULL: a leaf without a name, of /bin/stripped */
	int64_t ns;
	bool is_nowhere; /* of no file */
};

static uint32_t add_text(struct profile *p, const char *text)
{
	uint32_t string;

	assert_int_equal(profile_add_text(p, text, &string), 0);
	return string;
}

static void add_use(struct profile *p, const struct use *u)
{
	struct profile_label label = {.key = add_text(p, "service"),
				      .str = add_text(p, u->service)};
	struct profile_function function = {.name = add_text(p, u->function ? u->function : "")};
	struct profile_mapping mapping = {.start = 0x1000, .limit = 0x2000};
	struct profile_line line = {0};
	uint32_t at, where = PROFILE_NONE;

	mapping.path = add_text(p, "/bin/stripped");
	if (!u->is_nowhere)
		assert_int_equal(profile_add_mapping(p, &mapping, &where), 0);
	if (u->function)
		assert_int_equal(profile_add_function(p, &function, &line.function), 0);
	assert_int_equal(profile_add_location(p, where, 0x1000 + p->n_locations, &line,
					      u->function != NULL, &at),
			 0);
	assert_int_equal(profile_add_sample(p, &at, 1, (const int64_t[]){1, u->ns}, &label, 1), 0);
}

static int profile_file(const struct use *uses, size_t n)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL;
	int fd = memfd_create("profile", MFD_CLOEXEC);
	size_t length;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	for (size_t i = 0; i < n; i++)
		add_use(p, &uses[i]);
	assert_int_equal(pprof_write(p, 1, &data, &length), 0);
	assert_int_equal(write(fd, data, length), (ssize_t)length);
	return fd;
}

static void assert_lines(const struct use *uses, size_t n, const char *lines)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct answer_message message;
	int fd = profile_file(uses, n);

	assert_int_equal(memory_text_open(&text), 0);
	assert_int_equal(flat_write(fd, text.out, &message), 0);
	assert_int_equal(memory_text_close(&text), 0);
	assert_non_null(strchr(text.text, '\n'));
	assert_string_equal(strchr(text.text, '\n') + 1, lines);
	close(fd);
}

static void test_sums(void **state)
{
	const struct use uses[] = {{"a", "run", 5, false}, {"b", "run", 9, false},
				   {"a", "run", 2, false}, {"a", NULL, 3, false},
				   {"a", NULL, 1, true},   {"a", "none", 0, false}};

	(void)state;
	assert_lines(uses, ARRAY_SIZE(uses),
		     "9 b\trun\n7 a\trun\n3 a\t[stripped]\n1 a\t<unknown>\n");
	assert_lines(NULL, 0, "");
}

/* Names without end, and what would end a line or a field. */
static void test_names(void **state)
{
	char name[FLAT_NAME_MAX + 50], wanted[FLAT_NAME_MAX + 50];
	const struct use uses[] = {{"s\ts", "a\n\"", 9, false}, {"s", name, 5, false}};

	(void)state;
	memset(name, 'x', sizeof(name));
	memcpy(name + FLAT_NAME_MAX - 1, "\xc3\xa4", 2);
	name[sizeof(name) - 1] = '\0';
	snprintf(wanted, sizeof(wanted), "9 s?s\ta?\"\n5 s\t%.*s\n", (int)FLAT_NAME_MAX - 1, name);
	assert_lines(uses, ARRAY_SIZE(uses), wanted);
}

static void test_no_profile(void **state)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int fd = memfd_create("profile", MFD_CLOEXEC);
	struct answer_message message;

	(void)state;
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(memory_text_open(&text), 0);
	assert_int_equal(flat_write(fd, text.out, &message), 503);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
