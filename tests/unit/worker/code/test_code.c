/* SPDX-License-Identifier: MIT */

/*
 * The real worker over this very program: its functions' instructions, where they lie, and the
 * lines of this file that they were made of.
 */
#include <dlfcn.h>

#include "common/worker/answer.h"
#include "tests/support/own_text.h"
#include "tests/unit/worker/worker_fixture.h"

#define HERE "unit/worker/code/test_code.c"

static const unsigned first_line = __LINE__;

__attribute__((noinline)) static unsigned collatz(unsigned n, unsigned steps)
{
	while (n > 1 && steps < 1000) {
		n = n & 1 ? 3 * n + 1 : n / 2;
		steps++;
	}
	return steps;
}

static const unsigned last_line = __LINE__;

static uint64_t link_time(const void *function)
{
	return (uint64_t)(uintptr_t)function - own_text_find().bias;
}

static void query_code(struct worker *w, const char *path, struct worker_range range,
		       uint32_t flags, struct worker_reply *ret)
{
	int fd = open_file(path);
	struct worker_request request = worker_request_of(WORKER_INSTRUCTIONS, fd);

	request.key = 1;
	request.flags = flags;
	request.payload = &range;
	request.payload_length = sizeof(range);
	assert_int_equal(worker_query(w, &request, ret), WORKER_E_OK);
	close(fd);
}

static struct answer_code code_of(struct worker *w, struct worker_range range, uint32_t flags)
{
	struct worker_reply reply;
	struct answer_code code;

	query_code(w, "/proc/self/exe", range, flags, &reply);
	assert_int_equal(reply.outcome, WORKER_DONE);
	assert_true(answer_code(reply.data, reply.length, &range, &code));
	return code;
}

static bool is_here(const char *file)
{
	size_t length = strlen(file), n = strlen(HERE);

	return length >= n && strcmp(file + length - n, HERE) == 0;
}

static void test_function(void **state)
{
	uint64_t start = link_time((const void *)(uintptr_t)collatz);
	const struct worker_range range = {start, start + 16};
	struct worker *w = new_worker();
	struct answer_code code = code_of(w, range, WORKER_WANT_LINES);
	uint64_t next = start;

	(void)state;
	assert_int_equal(collatz(27, 0), 111);
	assert_true(code.n_instructions >= 3);
	for (size_t i = 0; i < code.n_instructions; i++) {
		const struct worker_instruction *c = &code.instructions[i];

		/* Without gaps. */
		assert_int_equal(c->address, next);
		next += c->size;
		assert_string_not_equal(code.text + c->text, "(bad)");
		assert_true(is_here(code.text + c->file));
		assert_in_range(c->line, first_line, last_line);
	}
	assert_true(next >= range.end);
	code = code_of(w, range, 0);
	assert_int_equal(code.instructions[0].line, 0);
	assert_int_equal(code.instructions[0].file, 0);
	worker_free(w);
}

/* Whichever instruction it is: one of the many calls in a test is of a function with a name. */
static void test_targets(void **state)
{
	uint64_t start = link_time((const void *)(uintptr_t)test_function);
	const struct worker_range range = {start, start + 8192};
	struct worker *w = new_worker();
	struct answer_code code = code_of(w, range, 0);
	bool is_named = false;

	(void)state;
	for (size_t i = 0; i < code.n_instructions; i++)
		is_named |= !!strstr(code.text + code.instructions[i].text, " <link_time>") ||
			    !!strstr(code.text + code.instructions[i].text, " <new_worker>") ||
			    !!strstr(code.text + code.instructions[i].text, "@plt>");
	assert_true(is_named);
	worker_free(w);
}

static void test_syntax(void **state)
{
#if defined(__x86_64__)
	uint64_t start = link_time((const void *)(uintptr_t)collatz);
	const struct worker_range range = {start, start + 16};
	struct worker *w = new_worker();
	struct answer_code code = code_of(w, range, 0);
	bool is_att = false;

	(void)state;
	for (size_t i = 0; i < code.n_instructions; i++)
		is_att |= !!strchr(code.text + code.instructions[i].text, '%');
	assert_true(is_att);
	code = code_of(w, range, WORKER_INTEL);
	for (size_t i = 0; i < code.n_instructions; i++)
		assert_null(strchr(code.text + code.instructions[i].text, '%'));
	worker_free(w);
#else
	(void)state;
#endif
}

static void test_nothing(void **state)
{
	const struct worker_range nowhere = {UINT64_MAX - 4096, UINT64_MAX - 4000};
	struct worker *w = new_worker();
	struct worker_reply reply;

	(void)state;
	assert_int_equal(code_of(w, nowhere, WORKER_WANT_LINES).n_instructions, 0);
	query_code(w, "/etc/passwd", nowhere, 0, &reply);
	assert_int_equal(reply.outcome, WORKER_NOT_ELF);
	worker_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEFTOVERS_TEST(test_function),
		LEFTOVERS_TEST(test_targets),
		LEFTOVERS_TEST(test_syntax),
		LEFTOVERS_TEST(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
