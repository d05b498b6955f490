/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/python.h"

#include <string.h>

#include "common/bytes.h"
#include "daemon/worker/elf/elf_symbols.h"

#define VERSION_3_13 0x030d
#define SYMBOLS_MAX  (1u << 20)
#define DYNAMIC_MAX  (1u << 16) /* bytes */
#define LIBRARY      "libpython3."

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

/*
 * The dynamic section: its address, and where a program that needs libpython is told what is
 * loaded.
 */
static void python_read_dynamic(struct elf_image *image, struct worker_runtime *ret)
{
	size_t section = elf_image_find(image, SHT_DYNAMIC, NULL);
	Elf_Data *data = elf_image_data(image, section, DYNAMIC_MAX);
	uint64_t debug = 0;
	bool needs_python = false;
	GElf_Dyn entry;

	if (!data)
		return;
	ret->dynamic = image->sections[section].sh_addr;
	for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		const char *name = entry.d_tag != DT_NEEDED
					   ? NULL
					   : elf_strptr(image->elf,
							image->sections[section].sh_link,
							entry.d_un.d_val);

		if (entry.d_tag == DT_DEBUG)
			debug = ret->dynamic + (uint64_t)i * sizeof(Elf64_Dyn) +
				offsetof(Elf64_Dyn, d_un);
		needs_python |= name && !strncmp(name, LIBRARY, strlen(LIBRARY));
	}
	ret->debug = needs_python ? debug : 0;
}

static void python_read_version(struct elf_image *image, struct worker_runtime *ret)
{
	struct python_symbols symbols;
	uint8_t bytes[8];
	uint32_t version;

	if (!python_find_symbols(image, &symbols)) {
		if (symbols.state && symbols.is_debug)
			ret->refusal = WORKER_RUNTIME_DEBUG;
		return;
	}
	if (elf_image_read(image, symbols.version, bytes, sizeof(bytes)) != sizeof(bytes))
		return;
	/* PY_VERSION_HEX: a byte each for major, minor, micro and level. */
	version = (uint32_t)bytes_number(bytes, sizeof(bytes), false) >> 16;
	if (version >= VERSION_3_13 && !python_has_gil(image, symbols.state)) {
		ret->refusal = WORKER_RUNTIME_FREE_THREADED;
		return;
	}
	ret->version = version;
	ret->state = symbols.state;
	ret->check = symbols.version;
}

void python_recognize(struct elf_image *image, struct worker_runtime *ret)
{
	uint64_t end;

	*ret = (struct worker_runtime){0};
	if (image->summary.machine != EM_X86_64 || image->summary.pointer_bytes != 8 ||
	    !elf_summary_text(&image->summary, &ret->text, &end))
		return;
	python_read_version(image, ret);
	python_read_dynamic(image, ret);
	if (!ret->version && !ret->debug)
		*ret = (struct worker_runtime){.refusal = ret->refusal};
}
