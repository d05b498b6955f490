/* SPDX-License-Identifier: MIT */
#include "common/runtime/python_row.h"

#include <stddef.h>

#include "common/cleanup.h"

static const struct runtime_row python_rows[] = {
	{
		.version = 0x030b,
		.kind = RUNTIME_PYTHON_CFRAME,
		.key = 596,
		.thread_at = 56,
		.thread_id = 152,
		.cframe_frame = 8,
		.cframe_previous = 16,
		.frame_bytes = 72,
		.frame_code = 32,
		.frame_previous = 48,
		.frame_instruction = 56,
		.frame_mark = 68,
		.frame_owner = 69,
		.code_line = 72,
		.code_file = 112,
		.code_name = 128,
		.code_table = 136,
		.code_traceable = 168,
		.code_instructions = 184,
		.text_ascii = 48,
		.text_compact = 72,
	},
	{
		.version = 0x030c,
		.kind = RUNTIME_PYTHON_SHIM,
		.key = 1548,
		.thread_at = 56,
		.thread_id = 136,
		.cframe_frame = 0,
		.cframe_previous = 8,
		.frame_bytes = 72,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_mark = 70,
		.frame_owner = 70,
		.shim_owner = 3,
		.code_line = 68,
		.code_file = 112,
		.code_name = 128,
		.code_table = 136,
		.code_traceable = 176,
		.code_instructions = 192,
		.text_ascii = 40,
		.text_compact = 56,
	},
	{
		.version = 0x030d,
		.kind = RUNTIME_PYTHON_SHIM,
		.code_next = 17000,
		.interpreter_size = 194968, /* 3.13.0 */
		.interpreter_size_at = 48,
		.key = 2164,
		.thread_at = 72,
		.thread_id = 152,
		.thread_interpreter = 16,
		.cframe_frame = RUNTIME_NO_CFRAME,
		.cframe_previous = RUNTIME_NO_CFRAME,
		.frame_bytes = 72,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_mark = 70,
		.frame_owner = 70,
		.shim_owner = 3,
		.code_line = 68,
		.code_file = 112,
		.code_name = 128,
		.code_table = 136,
		.code_traceable = 184,
		.code_instructions = 200,
		.text_ascii = 40,
		.text_compact = 56,
	},
	{
		.version = 0x030e,
		.kind = RUNTIME_PYTHON_SHIM,
		.key = 2340,
		.thread_at = 72,
		.thread_id = 152,
		.cframe_frame = RUNTIME_NO_CFRAME,
		.cframe_previous = RUNTIME_NO_CFRAME,
		.frame_bytes = 80,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_mark = 74,
		.frame_owner = 74,
		.shim_owner = 3,
		.code_line = 68,
		.code_file = 112,
		.code_name = 128,
		.code_table = 136,
		.code_traceable = 192,
		.code_instructions = 208,
		.text_ascii = 40,
		.text_compact = 56,
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
