/* SPDX-License-Identifier: MIT */
/* Records of code objects, and the groups of frames in a sample's record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/abi.h"
#include "common/cleanup.h"
#include "daemon/ingest/source_bpf_record.h"

static void test_code(void **state)
{
	struct abi_code record = {.id = 7,
				  .version = 0x030b,
				  .first_line = 9,
				  .name_bytes = 4,
				  .file_bytes = 5,
				  .table_bytes = 3,
				  .name_width = 2,
				  .file_width = 1,
				  .name = {'f', 0, 0x2d, 0x4e},
				  .file = "/a.py",
				  .table = {1, 2, 3}};
	const uint8_t *data = (const uint8_t *)&record;
	static struct source_bpf_code code;

	(void)state;
	assert_true(source_bpf_decode_code(data, ABI_CODE_HEAD + 3, &code));
	assert_int_equal(code.id, 7);
	assert_int_equal(code.code.version, 0x030b);
	assert_int_equal(code.code.first_line, 9);
	assert_int_equal(code.code.name.n_bytes, 4);
	assert_int_equal(code.code.name.width, 2);
	assert_ptr_equal(code.code.name.bytes, record.name);
	assert_int_equal(code.code.file.n_bytes, 5);
	assert_int_equal(code.code.file.width, 1);
	assert_ptr_equal(code.code.file.bytes, record.file);
	assert_int_equal(code.code.table_bytes, 3);
	assert_ptr_equal(code.code.table, record.table);
	assert_false(source_bpf_decode_code(data, ABI_CODE_HEAD + 2, &code));
	assert_false(source_bpf_decode_code(data, ABI_CODE_HEAD - 1, &code));
	assert_false(source_bpf_decode_code(data, 0, &code));
	record.name_bytes = ABI_CODE_NAME + 1;
	assert_false(source_bpf_decode_code(data, ABI_CODE_HEAD + 3, &code));
	record.name_bytes = 4;
	record.file_bytes = ABI_CODE_FILE + 1;
	assert_false(source_bpf_decode_code(data, ABI_CODE_HEAD + 3, &code));
}

static bool find_code(void *userdata, uint64_t id, uint32_t *ret)
{
	(void)userdata;
	*ret = (uint32_t)id + 100;
	return id != 3;
}

/* Functions with native frames of their own, whose offset is above the kind. */
static void test_own(void **state)
{
	struct {
		struct abi_sample head;
		uint64_t frames[2];
		struct abi_runtime_entry entries[2];
	} record = {
		.head = {.n_user = 2, .n_runtime = 2},
		.frames = {0x1000, 0x2000},
		.entries = {{1, 0, ABI_RUNTIME_OWN | 60 << ABI_RUNTIME_KIND_BITS},
			    {2, 2,
			     ABI_RUNTIME_BEHIND | RUNTIME_AT_UNKNOWN << ABI_RUNTIME_KIND_BITS}},
	};
	static uint64_t frames[SAMPLE_FRAMES_MAX];
	static struct source_bpf_parts parts = {.frames = frames, .find_code = find_code};
	const struct sample_runtime *runtime = &parts.runtime;
	struct sample sample;

	(void)state;
	assert_true(source_bpf_decode((uint8_t *)&record, sizeof(record), &parts, &sample));
	assert_int_equal(runtime->n_groups, 2);
	assert_int_equal(runtime->n_frames, 2);
	assert_int_equal(runtime->frames[0], frame_in_runtime(101, 60));
	assert_int_equal(runtime->frames[1], frame_in_runtime(102, FRAME_RUNTIME_OFFSET_MAX));
	assert_true(runtime->anchors[0].is_loop && runtime->anchors[0].at == 0);
	assert_true(!runtime->anchors[1].is_loop && runtime->anchors[1].at == 2);
	assert_false(runtime->is_cut);
	record.head.rest = ABI_CUT;
	assert_true(source_bpf_decode((uint8_t *)&record, sizeof(record), &parts, &sample));
	assert_true(runtime->is_cut);
}

/* What is known has its number; groups without frames, and frames without an end, are none. */
static void test_groups(void **state)
{
	struct {
		struct abi_sample head;
		uint64_t frame;
		struct abi_runtime_entry entries[9];
	} record = {
		.head = {.n_user = 1, .n_runtime = 9},
		.frame = 0x1000,
		.entries = {{1, 20, ABI_RUNTIME_CODE},
			    {3, 1u << 30, ABI_RUNTIME_CODE},
			    {0x7000, 0, ABI_RUNTIME_LOOP},
			    {0x7100, 0, ABI_RUNTIME_LOOP},
			    {2, 4, ABI_RUNTIME_CODE},
			    {0x8000, ABI_UNPLACED, ABI_RUNTIME_GROUP},
			    {2, 4, ABI_RUNTIME_CODE},
			    {0x9000, 0x100, ABI_RUNTIME_COUNTED},
			    {2, 4, ABI_RUNTIME_CODE}},
	};
	static uint64_t frames[SAMPLE_FRAMES_MAX];
	static struct source_bpf_parts parts = {.frames = frames, .find_code = find_code};
	const struct sample_runtime *runtime;
	struct sample sample;

	(void)state;
	assert_true(source_bpf_decode((uint8_t *)&record, sizeof(record), &parts, &sample));
	runtime = sample.runtime;
	assert_non_null(runtime);
	assert_int_equal(runtime->n_groups, 3);
	assert_int_equal(runtime->n_frames, 4);
	assert_int_equal(runtime->frames[0], frame_in_runtime(101, 20));
	assert_int_equal(runtime->frames[1],
			 frame_in_runtime(UINT32_MAX, FRAME_RUNTIME_OFFSET_MAX));
	assert_int_equal(runtime->lengths[0], 2);
	assert_true(runtime->anchors[0].is_loop && runtime->anchors[0].at == 0);
	assert_int_equal(runtime->anchors[1].at, WALK_UNPLACED);
	assert_int_equal(runtime->anchors[1].n_bytes, 0);
	assert_int_equal(runtime->anchors[2].at, WALK_UNPLACED);
	assert_int_equal(runtime->anchors[2].n_bytes, 0x100);
	record.head.n_runtime = 8;
	assert_false(source_bpf_decode((uint8_t *)&record, sizeof(record), &parts, &sample));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
