/* SPDX-License-Identifier: MIT */
#include "common/runtime/python_row.h"

#include <stddef.h>

#include "common/cleanup.h"

/* Frames are objects. */
#define PYTHON_FRAME_OBJECTS                                                      \
	.thread_id = 176, .cframe_frame = RUNTIME_NO_CFRAME, .frame_code = 32,    \
	.frame_previous = 24, .code_from = 40, .code_bytes = 88, .code_line = 40, \
	.code_file = 104, .code_name = 112, .code_table = 120, .text_ascii = 48,  \
	.text_compact = 72, .attributes = RUNTIME_ATTRIBUTES_DICT

/* Frames are in memory of the thread, an entry of the loop has one of its own. */
#define PYTHON_SHIMS                                                                              \
	.kind = RUNTIME_PYTHON_SHIM, .thread_interpreter = 16, .frame_code = 0,                   \
	.frame_previous = 8, .frame_instruction = 56, .end_mark = 3, .code_from = 64,             \
	.code_bytes = 80, .code_line = 68, .code_file = 112, .code_name = 128, .code_table = 136, \
	.code_version = 92, .text_ascii = 40, .text_compact = 56

static const struct runtime_row python_rows[] = {
	{
		PYTHON_FRAME_OBJECTS,
		.version = 0x0308,
		.kind = RUNTIME_PYTHON_COUNTED,
		.key = 1396,
		.current = 1368,
		.thread_at = 24,
		.frame_bytes = 112,
		.frame_instruction = 104,
		.instruction_unit = 1,
		.frame_locals = 360,
	},
	{
		PYTHON_FRAME_OBJECTS,
		.version = 0x0309,
		.kind = RUNTIME_PYTHON_COUNTED,
		.key = 588,
		.current = 568,
		.thread_at = 24,
		.frame_bytes = 112,
		.frame_instruction = 104,
		.instruction_unit = 1,
		.frame_locals = 360,
	},
	{
		PYTHON_FRAME_OBJECTS,
		.version = 0x030a,
		.kind = RUNTIME_PYTHON_CFRAME,
		.key = 588,
		.current = 568,
		.thread_at = 48,
		.thread_frame = 24,
		.cframe_previous = 8,
		.frame_bytes = 112,
		.frame_instruction = 96,
		.instruction_unit = 2,
		.frame_depth = 80,
		.frame_generator = 88,
		.frame_state = 108,
		.frame_locals = 352,
	},
	{
		.version = 0x030b,
		.kind = RUNTIME_PYTHON_CFRAME,
		.key = 596,
		.current = 576,
		.thread_at = 56,
		.thread_id = 152,
		.cframe_frame = 8,
		.cframe_previous = 16,
		.frame_bytes = 72,
		.frame_code = 32,
		.frame_previous = 48,
		.frame_instruction = 56,
		.frame_mark = 68,
		.end_mark = 1,
		.frame_owner = 69,
		.code_from = 72,
		.code_bytes = 72,
		.code_line = 72,
		.code_file = 112,
		.code_name = 128,
		.code_table = 136,
		.code_traceable = 168,
		.code_instructions = 184,
		.text_ascii = 48,
		.text_compact = 72,
		.attributes = RUNTIME_ATTRIBUTES_BEFORE,
		.frame_locals = 72,
		.type_keys = 872,
	},
	{
		PYTHON_SHIMS,
		.version = 0x030c,
		.count_kind = RUNTIME_COUNT_STATIC, /* the file says where */
		.interpreters = 40,
		.key = 1548,
		.thread_at = 56,
		.thread_id = 136,
		.cframe_frame = 0,
		.frame_bytes = 72,
		.frame_mark = 70,
		.frame_owner = 70,
		.code_traceable = 176,
		.code_instructions = 192,
		.attributes = RUNTIME_ATTRIBUTES_TAGGED,
		.frame_locals = 72,
		.type_keys = 880,
	},
	{
		PYTHON_SHIMS,
		.version = 0x030d,
		.count = 17000,
		.count_kind = RUNTIME_COUNT_NEXT,
		.count_check = 194968, /* of the interpreter's state, in 3.13.0 */
		.count_check_at = 48,
		.key = 2164,
		.thread_at = 72,
		.thread_id = 152,
		.cframe_frame = RUNTIME_NO_CFRAME,
		.frame_bytes = 72,
		.frame_mark = 70,
		.frame_owner = 70,
		.code_traceable = 184,
		.code_instructions = 200,
		.attributes = RUNTIME_ATTRIBUTES_INLINE,
		.frame_locals = 72,
		.type_keys = 880,
	},
	{
		PYTHON_SHIMS,
		.version = 0x030e,
		.count = 7992,
		.count_kind = RUNTIME_COUNT_ENDED,
		.count_check = 7992,
		.count_check_at = 160, /* the count's place */
		.key = 2340,
		.thread_at = 72,
		.thread_id = 152,
		.cframe_frame = RUNTIME_NO_CFRAME,
		.frame_bytes = 80,
		.frame_mark = 74,
		.frame_owner = 74,
		.code_traceable = 192,
		.code_instructions = 208,
	},
};

bool python_row(uint32_t version, struct runtime_row *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(python_rows); i++) {
		if (python_rows[i].version != version)
			continue;
		*ret = python_rows[i];
		return true;
	}
	return false;
}
