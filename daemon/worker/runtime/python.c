/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/python.h"

#include <string.h>

#include "common/bytes.h"
#include "daemon/worker/elf/elf_symbols.h"

#define VERSION_3_13 0x030d
#define SYMBOLS_MAX  (1u << 20)

/*
 * The beginning of _PyRuntime since 3.13, struct _Py_DebugOffsets: a mark, the version, and whether
 * the build has no GIL.
 */
#define OFFSETS_BYTES         24
#define OFFSETS_MARK          "xdebugpy"
#define OFFSETS_FREE_THREADED 16

struct python_symbols {
	uint64_t state, version; /* addresses */
	bool is_debug;
};

static void python_see_symbol(struct python_symbols *s, const char *name, uint32_t length,
			      const GElf_Sym *symbol)
{
	static const struct {
		const char *name;
		size_t offset;
	} wanted[] = {
		{"_PyRuntime", offsetof(struct python_symbols, state)},
		{"Py_Version", offsetof(struct python_symbols, version)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (strlen(wanted[i].name) == length && !memcmp(name, wanted[i].name, length))
			memcpy((char *)s + wanted[i].offset, &symbol->st_value,
			       sizeof(symbol->st_value));
	/* Counts all references: of builds with Py_DEBUG. 3.11; since 3.12. */
	s->is_debug |= (length == 12 && !memcmp(name, "_Py_RefTotal", 12)) ||
		       (length == 22 && !memcmp(name, "_Py_GetGlobalRefTotal", 22));
}

static bool python_find_symbols(struct elf_image *image, struct python_symbols *ret)
{
	struct elf_table table;

	*ret = (struct python_symbols){0};
	if (!elf_table_section(image, SHT_DYNSYM, &table))
		return false;
	for (size_t i = 0; i < table.n && i < SYMBOLS_MAX; i++) {
		const char *name;
		uint32_t length;
		GElf_Sym symbol;

		if (!gelf_getsym(table.symbols, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    !elf_table_name(&table, symbol.st_name, &name, &length))
			continue;
		python_see_symbol(ret, name, length, &symbol);
	}
	return ret->state && ret->version && !ret->is_debug;
}

static bool python_has_gil(struct elf_image *image, uint64_t state)
{
	uint8_t offsets[OFFSETS_BYTES];

	return elf_image_read(image, state, offsets, sizeof(offsets)) == sizeof(offsets) &&
	       !memcmp(offsets, OFFSETS_MARK, strlen(OFFSETS_MARK)) &&
	       !bytes_number(offsets + OFFSETS_FREE_THREADED, 8, false);
}

void python_recognize(struct elf_image *image, struct worker_runtime *ret)
{
	struct python_symbols symbols;
	uint64_t start, end;
	uint8_t bytes[8];
	uint32_t version;

	*ret = (struct worker_runtime){0};
	if (image->summary.machine != EM_X86_64 || image->summary.pointer_bytes != 8 ||
	    !python_find_symbols(image, &symbols) ||
	    !elf_summary_text(&image->summary, &start, &end) ||
	    elf_image_read(image, symbols.version, bytes, sizeof(bytes)) != sizeof(bytes))
		return;
	/* PY_VERSION_HEX: a byte each for major, minor, micro and level. */
	version = (uint32_t)bytes_number(bytes, sizeof(bytes), false) >> 16;
	if (version >= VERSION_3_13 && !python_has_gil(image, symbols.state))
		return;
	*ret = (struct worker_runtime){.version = version,
				       .state = (int64_t)(symbols.state - start)};
}
