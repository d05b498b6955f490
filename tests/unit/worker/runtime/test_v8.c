/* SPDX-License-Identifier: MIT */
/* Which files have V8, and in which of its layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/worker/runtime/v8.h"
#include "tests/support/hostile_elf_builder.h"

/* As Node 20 has it. */
static const struct {
	const char *name;
	int32_t value;
} constants[] = {
	{"_ZN2v88internal7Version6major_E", 11},
	{"_ZN2v88internal7Version6minor_E", 3},
	{"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 262},
	{"v8dbg_type_Script__SCRIPT_TYPE", 167},
	{"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", 261},
	{"v8dbg_class_JSFunction__shared__SharedFunctionInfo", 24},
	{"v8dbg_class_BytecodeArray__data__uintptr_t", 54},
	{"v8dbg_off_fp_context", -8},
	{"v8dbg_off_fp_function", -16},
	{"v8dbg_off_fp_bytecode_array", -32},
	{"v8dbg_off_fp_bytecode_offset", -40},
	{"v8dbg_HeapObjectTag", 1},
	{"v8dbg_HeapObjectTagMask", 3},
	{"v8dbg_SmiShiftSize", 31},
	{"v8dbg_class_Map__instance_type__uint16_t", 12},
	{"v8dbg_class_SharedFunctionInfo__flags__int", 48},
	{"v8dbg_class_Script__source__Object", 8},
	{"v8dbg_class_Script__name__Object", 16},
	{"v8dbg_class_Script__line_ends__Object", 56},
	{"v8dbg_class_String__length__int32_t", 12},
	{"v8dbg_class_SeqOneByteString__chars__char", 16},
	{"v8dbg_class_ConsString__first__String", 16},
	{"v8dbg_class_ConsString__second__String", 24},
	{"v8dbg_class_ThinString__actual__String", 16},
	{"v8dbg_class_SlicedString__offset__SMI", 24},
	{"v8dbg_StringEncodingMask", 8},
	{"v8dbg_StringRepresentationMask", 7},
	{"v8dbg_ConsStringTag", 1},
	{"v8dbg_ExternalStringTag", 2},
	{"v8dbg_SlicedStringTag", 3},
	{"v8dbg_ThinStringTag", 5},
	{"v8dbg_scopeinfo_idx_first_vars", 3},
};

/* But for one that is @changed. */
static bool recognize(unsigned changed, int32_t value, struct worker_runtime *ret)
{
	struct builder_symbol symbols[ARRAY_SIZE(constants)] = {0};
	cleanup(elf_image_deinit) struct elf_image image = {0};
	int32_t data[ARRAY_SIZE(constants)];
	cleanup(builder_deinit) struct builder b;
	unsigned i;
	bool is_v8;

	for (size_t k = 0; k < ARRAY_SIZE(constants); k++)
		data[k] = k == changed ? value : constants[k].value;
	builder_init(&b);
	builder_text(&b, 64);
	i = builder_section(&b, ".rodata",
			    &(Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, data,
			    sizeof(data));
	builder_segment(&b, PT_LOAD, PF_R, b.sections[i].sh_offset, sizeof(data));
	for (size_t k = 0; k < ARRAY_SIZE(constants); k++)
		symbols[k] = (struct builder_symbol){.name = constants[k].name,
						     .value = b.sections[i].sh_addr + 4 * k,
						     .section = (uint16_t)i,
						     .info = STT_OBJECT};
	builder_symbols(&b, ".dynsym", SHT_DYNSYM, symbols, ARRAY_SIZE(constants));
	builder_finish(&b);
	assert_int_equal(elf_image_open_memory(&image, b.data, b.n, 0), WORKER_DONE);
	is_v8 = v8_recognize(&image, ret);
	if (is_v8)
		assert_int_equal(ret->text, b.sections[1].sh_addr);
	return is_v8;
}

static void test_recognize(void **state)
{
	struct worker_runtime runtime;

	(void)state;
	assert_true(recognize(UINT32_MAX, 0, &runtime));
	assert_int_equal(runtime.version, RUNTIME_V8_VERSION | 0x0b03);
	assert_int_equal(runtime.v8.shared, 262);
	assert_int_equal(runtime.v8.script, 167);
	assert_int_equal(runtime.v8.scope, 261);
	assert_int_equal(runtime.v8.function_shared, 24);
	assert_int_equal(runtime.v8.positions, 32);
	assert_int_equal(runtime.v8.bytecodes, 53);
	assert_true(recognize(0, 12, &runtime));
	assert_int_equal(runtime.v8.positions, 24);
	assert_false(recognize(0, 9, &runtime));
	assert_false(recognize(0, 13, &runtime));
	/* Whatever differs besides is another layout. */
	for (unsigned k = 7; k < ARRAY_SIZE(constants); k++)
		assert_false(recognize(k, constants[k].value + 1, &runtime));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_recognize)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
