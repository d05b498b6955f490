/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/worker/serve.h"

#define IMAGE      (1u << WORKER_FILE_IMAGE)
#define DEBUG      (1u << WORKER_FILE_DEBUG)
#define ALTERNATE  (1u << WORKER_FILE_ALTERNATE)
#define PERF_MAP   (1u << WORKER_FILE_PERF_MAP)
#define CONTAINERS (1u << WORKER_FILE_CONTAINERS)
#define PACKAGES   (1u << WORKER_FILE_PACKAGES)
#define JITDUMP    (1u << WORKER_FILE_JITDUMP)

struct message {
	struct worker_request_header header;
	uint64_t payload[8];
};

static bool parse(const struct message *m, size_t n_fds, struct request *ret)
{
	static const int fds[] = {10, 11, 12, 13, 14, 15, 16, 17};

	return request_parse((const uint8_t *)m, sizeof(m->header) + m->header.payload_length, fds,
			     n_fds, ret);
}

static struct message make(enum worker_kind kind, uint32_t files)
{
	struct message m = {
		.header = {.magic = WORKER_MAGIC, .kind = kind, .id = 99, .files = files}};

	if (kind == WORKER_SYMBOLS || kind == WORKER_JIT || kind == WORKER_DEMANGLE)
		m.header.payload_length = 3 * sizeof(m.payload[0]);
	if (kind == WORKER_INSTRUCTIONS) {
		m.payload[0] = 1;
		m.payload[1] = 2;
		m.header.payload_length = sizeof(struct worker_range);
	}
	if (kind == WORKER_FUNCTIONS)
		m.header.payload_length = sizeof(struct worker_code_object);
	if (kind == WORKER_CONTAINER) {
		memset(m.payload, 'a', WORKER_CONTAINER_ID);
		m.header.payload_length = WORKER_CONTAINER_ID;
	}
	if (kind == WORKER_PACKAGE) {
		memcpy(m.payload, "bash", 5);
		m.header.payload_length = 5;
	}
	return m;
}

/* Each kind with each set of files: those that protocol.h describes, and no others. */
static void test_files(void **state)
{
	static const uint32_t allowed[N_WORKER_KINDS][4] = {
		[WORKER_INSPECT] = {IMAGE, IMAGE, IMAGE, IMAGE},
		[WORKER_TABLE] = {IMAGE, IMAGE, IMAGE, IMAGE},
		[WORKER_SYMBOLS] = {IMAGE, IMAGE | DEBUG, IMAGE | ALTERNATE,
				    IMAGE | DEBUG | ALTERNATE},
		[WORKER_JIT] = {PERF_MAP, JITDUMP, PERF_MAP, JITDUMP},
		[WORKER_INSTRUCTIONS] = {IMAGE, IMAGE | DEBUG, IMAGE | ALTERNATE,
					 IMAGE | DEBUG | ALTERNATE},
		[WORKER_CONTAINER] = {CONTAINERS, CONTAINERS, CONTAINERS, CONTAINERS},
		[WORKER_PACKAGE] = {PACKAGES, PACKAGES, PACKAGES, PACKAGES},
	};
	struct request request;

	(void)state;
	for (unsigned kind = 0; kind < N_WORKER_KINDS; kind++)
		for (uint32_t files = 0; files < 1u << (N_WORKER_FILES + 1); files++) {
			struct message m = make(kind, files);
			size_t n = (size_t)__builtin_popcount(files);
			bool expected = false;

			for (size_t i = 0; i < 4; i++)
				expected |= allowed[kind][i] == files;
			assert_int_equal(parse(&m, n, &request), expected);
			assert_false(parse(&m, n + 1, &request));
			if (n > 0)
				assert_false(parse(&m, n - 1, &request));
		}
}

static void test_order(void **state)
{
	struct message m = make(WORKER_SYMBOLS, IMAGE | ALTERNATE);
	struct request request;

	(void)state;
	assert_true(parse(&m, 2, &request));
	assert_int_equal(request.header.id, 99);
	assert_int_equal(request.files[WORKER_FILE_IMAGE], 10);
	assert_int_equal(request.files[WORKER_FILE_DEBUG], -1);
	assert_int_equal(request.files[WORKER_FILE_ALTERNATE], 11);
	assert_int_equal(request.files[WORKER_FILE_PERF_MAP], -1);
	assert_ptr_equal(request.payload, m.payload);
}

/* What ends nowhere would be read on. */
static void test_file_name(void **state)
{
	struct message m = make(WORKER_SYMBOLS, IMAGE);
	struct request request;

	(void)state;
	memset(m.header.file_name, 'x', WORKER_FILE_NAME - 1);
	assert_true(parse(&m, 1, &request));
	m.header.file_name[WORKER_FILE_NAME - 1] = 'x';
	assert_false(parse(&m, 1, &request));
}

static void test_header(void **state)
{
	struct message m = make(WORKER_INSPECT, IMAGE);
	static const int fd = 10;
	struct request request;

	(void)state;
	assert_true(parse(&m, 1, &request));
	for (size_t length = 0; length < sizeof(m); length++)
		assert_int_equal(request_parse((const uint8_t *)&m, length, &fd, 1, &request),
				 length == sizeof(m.header));
	m.header.magic++;
	assert_false(parse(&m, 1, &request));
	m = make(N_WORKER_KINDS, IMAGE);
	assert_false(parse(&m, 1, &request));
	/* Its id is known all the same. */
	assert_int_equal(request.header.id, 99);
	m = make(WORKER_INSPECT, IMAGE);
	m.header.flags = WORKER_WANT_LINES;
	assert_false(parse(&m, 1, &request));
	m = make(WORKER_SYMBOLS, IMAGE);
	m.header.flags = WORKER_WANT_LINES | WORKER_CHECK_CRC;
	assert_true(parse(&m, 1, &request));
	m.header.flags = 4;
	assert_false(parse(&m, 1, &request));
	m = make(WORKER_TABLE, IMAGE);
	m.header.payload_length = 8;
	assert_false(parse(&m, 1, &request));
}

static void test_payload(void **state)
{
	struct message m = make(WORKER_SYMBOLS, IMAGE);
	struct request request;

	(void)state;
	memcpy(m.payload, (const uint64_t[]){1, 1, 2}, 3 * sizeof(m.payload[0]));
	assert_true(parse(&m, 1, &request));
	m.payload[1] = 3;
	assert_false(parse(&m, 1, &request));
	m.header.payload_length = 4;
	assert_false(parse(&m, 1, &request));
	m.header.payload_length = 0;
	assert_false(parse(&m, 1, &request));
	m = make(WORKER_DEMANGLE, 0);
	memcpy(m.payload, "abc", 4);
	m.header.payload_length = 4;
	assert_true(parse(&m, 0, &request));
	m.header.flags = WORKER_NO_CLONES | WORKER_NO_PARAMETERS;
	assert_true(parse(&m, 0, &request));
	m.header.flags = WORKER_INTEL;
	assert_false(parse(&m, 0, &request));
	m.header.flags = 0;
	m.header.payload_length = 3;
	assert_false(parse(&m, 0, &request));
	m.header.payload_length = 0;
	assert_false(parse(&m, 0, &request));
}

static void test_range(void **state)
{
	struct message m = make(WORKER_INSTRUCTIONS, IMAGE);
	struct request request;

	(void)state;
	m.header.flags = WORKER_WANT_LINES | WORKER_CHECK_CRC | WORKER_INTEL;
	assert_true(parse(&m, 1, &request));
	m.header.flags = WORKER_NO_CLONES;
	assert_false(parse(&m, 1, &request));
	m.header.flags = 0;
	m.payload[1] = 1 + WORKER_CODE_MAX;
	assert_true(parse(&m, 1, &request));
	m.payload[1]++;
	assert_false(parse(&m, 1, &request));
	m.payload[1] = m.payload[0];
	assert_false(parse(&m, 1, &request));
	m.payload[1] = 0;
	assert_false(parse(&m, 1, &request));
	m.payload[0] = UINT64_MAX - 1;
	m.payload[1] = UINT64_MAX;
	assert_true(parse(&m, 1, &request));
	m.header.payload_length = 8;
	assert_false(parse(&m, 1, &request));
	m.header.payload_length = 24;
	assert_false(parse(&m, 1, &request));
}

/* Code objects, one behind the other, each whole. */
static void test_code_objects(void **state)
{
	struct message m = make(WORKER_FUNCTIONS, 0);
	struct worker_code_object *object = (void *)m.payload;
	struct request request;

	(void)state;
	assert_true(parse(&m, 0, &request));
	object->name_bytes = 1;
	assert_false(parse(&m, 0, &request));
	object->name_bytes = 0;
	object->n_offsets = 1;
	assert_false(parse(&m, 0, &request));
	object->n_offsets = UINT32_MAX;
	assert_false(parse(&m, 0, &request));
	object->n_offsets = 0;
	object->table_bytes = UINT32_MAX;
	assert_false(parse(&m, 0, &request));
	object->table_bytes = 0;
	m.header.payload_length = 0;
	assert_false(parse(&m, 0, &request));
	m.header.payload_length = sizeof(*object) - 1;
	assert_false(parse(&m, 0, &request));
	m.header.payload_length = sizeof(*object);
	m.header.flags = WORKER_WANT_LINES;
	assert_false(parse(&m, 0, &request));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),        cmocka_unit_test(test_order),
		cmocka_unit_test(test_header),       cmocka_unit_test(test_payload),
		cmocka_unit_test(test_range),        cmocka_unit_test(test_file_name),
		cmocka_unit_test(test_code_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
