/* SPDX-License-Identifier: MIT */
/*
 * V8 says of its own objects what debuggers must know (tools/gen-postmortem-metadata.py): a symbol
 * for each constant, of an int. Of those that a walk reads (bpf/v8.bpf.h), a few differ between the
 * majors, which go into the row; the others are checked.
 */
#include "daemon/worker/runtime/v8.h"

#include <string.h>

#include "common/bytes.h"
#include "common/runtime/row.h"
#include "daemon/worker/elf/elf_symbols.h"

#define SYMBOLS_MAX (1u << 20)
/* The majors whose ScopeInfo and Script were looked at: these say nothing of all their fields. */
#define MAJOR_FIRST 10
#define MAJOR_LAST  12
/* Where BytecodeArray has the source positions: before this major, and since. */
#define MAJOR_TRUSTED     12
#define POSITIONS         32
#define POSITIONS_TRUSTED 24

enum v8_constant {
	V8_MAJOR,
	V8_MINOR,
	V8_SHARED,
	V8_SCRIPT,
	V8_SCOPE,
	V8_FUNCTION_SHARED,
	V8_BYTECODES,
	V8_CHECKED, /* the first that is alike in all */
};

#define V8_NAMED(name, expected)                 \
	{                                        \
		name, sizeof(name) - 1, expected \
	}

static const struct {
	const char *name;
	uint32_t length;
	int32_t expected; /* of those that are checked */
} v8_constants[] = {
	[V8_MAJOR] = V8_NAMED("_ZN2v88internal7Version6major_E", 0),
	[V8_MINOR] = V8_NAMED("_ZN2v88internal7Version6minor_E", 0),
	[V8_SHARED] = V8_NAMED("v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 0),
	[V8_SCRIPT] = V8_NAMED("v8dbg_type_Script__SCRIPT_TYPE", 0),
	[V8_SCOPE] = V8_NAMED("v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", 0),
	[V8_FUNCTION_SHARED] = V8_NAMED("v8dbg_class_JSFunction__shared__SharedFunctionInfo", 0),
	[V8_BYTECODES] = V8_NAMED("v8dbg_class_BytecodeArray__data__uintptr_t", 0),
	V8_NAMED("v8dbg_off_fp_context", -8),
	V8_NAMED("v8dbg_off_fp_function", -16),
	V8_NAMED("v8dbg_off_fp_bytecode_array", -32),
	V8_NAMED("v8dbg_off_fp_bytecode_offset", -40),
	V8_NAMED("v8dbg_HeapObjectTag", 1),
	V8_NAMED("v8dbg_HeapObjectTagMask", 3),
	V8_NAMED("v8dbg_SmiShiftSize", 31),
	V8_NAMED("v8dbg_class_Map__instance_type__uint16_t", 12),
	V8_NAMED("v8dbg_class_SharedFunctionInfo__flags__int", 48),
	V8_NAMED("v8dbg_class_Script__source__Object", 8),
	V8_NAMED("v8dbg_class_Script__name__Object", 16),
	V8_NAMED("v8dbg_class_Script__line_ends__Object", 56),
	V8_NAMED("v8dbg_class_String__length__int32_t", 12),
	V8_NAMED("v8dbg_class_SeqOneByteString__chars__char", 16),
	V8_NAMED("v8dbg_class_ConsString__first__String", 16),
	V8_NAMED("v8dbg_class_ConsString__second__String", 24),
	V8_NAMED("v8dbg_class_ThinString__actual__String", 16),
	V8_NAMED("v8dbg_class_SlicedString__offset__SMI", 24),
	V8_NAMED("v8dbg_StringEncodingMask", 8),
	V8_NAMED("v8dbg_StringRepresentationMask", 7),
	V8_NAMED("v8dbg_ConsStringTag", 1),
	V8_NAMED("v8dbg_ExternalStringTag", 2),
	V8_NAMED("v8dbg_SlicedStringTag", 3),
	V8_NAMED("v8dbg_ThinStringTag", 5),
	V8_NAMED("v8dbg_scopeinfo_idx_first_vars", 3),
};

/* What the file does not have is 0, as what is in .bss. */
static void v8_see_symbol(struct elf_image *image, const char *name, uint32_t length,
			  const GElf_Sym *symbol, int32_t *values)
{
	uint8_t bytes[4];

	for (size_t i = 0; i < ARRAY_SIZE(v8_constants); i++)
		if (v8_constants[i].length == length &&
		    !memcmp(name, v8_constants[i].name, length) &&
		    elf_image_read(image, symbol->st_value, bytes, sizeof(bytes)) == sizeof(bytes))
			values[i] = (int32_t)bytes_number(bytes, sizeof(bytes), false);
}

static bool v8_is_known(const int32_t *values)
{
	for (size_t i = V8_CHECKED; i < ARRAY_SIZE(v8_constants); i++)
		if (values[i] != v8_constants[i].expected)
			return false;
	return values[V8_MAJOR] >= MAJOR_FIRST && values[V8_MAJOR] <= MAJOR_LAST;
}

bool v8_recognize(struct elf_image *image, struct worker_runtime *ret)
{
	int32_t values[ARRAY_SIZE(v8_constants)] = {0};
	struct elf_table table;
	uint64_t text, end;

	if (image->summary.machine != EM_X86_64 || image->summary.pointer_bytes != 8 ||
	    !elf_summary_text(&image->summary, &text, &end) ||
	    !elf_table_section(image, SHT_DYNSYM, &table))
		return false;
	for (size_t i = 0; i < table.n && i < SYMBOLS_MAX; i++) {
		const char *name;
		uint32_t length;
		GElf_Sym symbol;

		if (gelf_getsym(table.symbols, (int)i, &symbol) && symbol.st_shndx != SHN_UNDEF &&
		    GELF_ST_TYPE(symbol.st_info) == STT_OBJECT &&
		    elf_table_name(&table, symbol.st_name, &name, &length))
			v8_see_symbol(image, name, length, &symbol, values);
	}
	if (!v8_is_known(values))
		return false;
	*ret = (struct worker_runtime){
		.text = text,
		.version = RUNTIME_V8_VERSION | (uint32_t)values[V8_MAJOR] << 8 |
			   ((uint32_t)values[V8_MINOR] & 0xff),
		.v8 = {.shared = (uint16_t)values[V8_SHARED],
		       .script = (uint16_t)values[V8_SCRIPT],
		       .scope = (uint16_t)values[V8_SCOPE],
		       .function_shared = (uint16_t)values[V8_FUNCTION_SHARED],
		       .positions = values[V8_MAJOR] < MAJOR_TRUSTED ? POSITIONS
								     : POSITIONS_TRUSTED,
		       /* Offsets count from the tagged pointer. */
		       .bytecodes = (uint16_t)(values[V8_BYTECODES] - 1)},
	};
	return true;
}
