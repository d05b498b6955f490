/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/python.h"

#include <string.h>

#include "common/bytes.h"
#include "daemon/worker/elf/elf_symbols.h"
#include "daemon/worker/runtime/python_count.h"
#include "daemon/worker/runtime/python_thread.h"

#define VERSION_3_12 0x030c
#define VERSION_3_13 0x030d
#define SYMBOLS_MAX  (1u << 20)
#define DYNAMIC_MAX  (1u << 16) /* bytes */
#define LIBRARY      "libpython3."
#define SECTION      ".PyRuntime" /* of _PyRuntime, since 3.10 */
#define MUSL         "libc.so"    /* as it is called by itself */
#define MUSL_ALPINE  "libc.musl-"
#define GETTER_BYTES 48
#define MAKER_BYTES  4096

/*
 * The beginning of _PyRuntime since 3.13, struct _Py_DebugOffsets: a mark, the version, and whether
 * the build has no GIL.
 */
#define OFFSETS_BYTES         24
#define OFFSETS_MARK          "xdebugpy"
#define OFFSETS_FREE_THREADED 16

/* Of a type object: the size of its instances, which is in the file. */
#define TYPE_SIZE 32

/* What every build exports, stripped or not; some since a version, which then is no later. */
enum {
	PYTHON_STATE,
	PYTHON_CODE, /* the type */
	PYTHON_LOOP,
	PYTHON_GETTER, /* of the thread state, in machine code that has been looked at */
	PYTHON_GETTER_3_13,
	PYTHON_MAKER, /* of code objects, in 3.12 */
	PYTHON_3_8,
	PYTHON_3_9,
	PYTHON_3_10,
	PYTHON_VERSION, /* since 3.11 */
	PYTHON_GLIBC,   /* of a static program */
	N_PYTHON_SYMBOLS,
};

static const char *const python_names[N_PYTHON_SYMBOLS] = {
	[PYTHON_STATE] = "_PyRuntime",
	[PYTHON_CODE] = "PyCode_Type",
	[PYTHON_LOOP] = "_PyEval_EvalFrameDefault",
	[PYTHON_GETTER] = "_PyThreadState_UncheckedGet",
	[PYTHON_GETTER_3_13] = "PyThreadState_GetUnchecked",
	[PYTHON_MAKER] = "_PyCode_New",
	[PYTHON_3_8] = "PyCode_NewWithPosOnlyArgs",
	[PYTHON_3_9] = "PyFrame_GetBack",
	[PYTHON_3_10] = "PyIter_Send",
	[PYTHON_VERSION] = "Py_Version",
	[PYTHON_GLIBC] = "_IO_2_1_stderr_",
};

struct python_symbols {
	GElf_Sym found[N_PYTHON_SYMBOLS]; /* st_value 0: there is none */
	bool is_debug;
};

static void python_see_symbol(struct python_symbols *s, const char *name, uint32_t length,
			      const GElf_Sym *symbol)
{
	for (size_t i = 0; i < N_PYTHON_SYMBOLS; i++)
		if (strlen(python_names[i]) == length && !memcmp(name, python_names[i], length))
			s->found[i] = *symbol;
	/* Counts all references: of builds with Py_DEBUG. Up to 3.11; since 3.12. */
	s->is_debug |= (length == 12 && !memcmp(name, "_Py_RefTotal", 12)) ||
		       (length == 22 && !memcmp(name, "_Py_GetGlobalRefTotal", 22));
}

static void python_see_table(struct python_symbols *s, struct elf_image *image, uint32_t type)
{
	struct elf_table table;

	if (!elf_table_section(image, type, &table))
		return;
	for (size_t i = 0; i < table.n && i < SYMBOLS_MAX; i++) {
		const char *name;
		uint32_t length;
		GElf_Sym symbol;

		if (!gelf_getsym(table.symbols, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    !elf_table_name(&table, symbol.st_name, &name, &length))
			continue;
		python_see_symbol(s, name, length, &symbol);
	}
}

/* A static program exports none. Its other table is seen only where there is an interpreter. */
static bool python_find_symbols(struct elf_image *image, struct python_symbols *ret)
{
	*ret = (struct python_symbols){0};
	python_see_table(ret, image, SHT_DYNSYM);
	if (!ret->found[PYTHON_STATE].st_value && elf_image_find(image, SHT_NULL, SECTION))
		python_see_table(ret, image, SHT_SYMTAB);
	return ret->found[PYTHON_STATE].st_value && !ret->is_debug;
}

static bool python_has_gil(struct elf_image *image, uint64_t state)
{
	uint8_t offsets[OFFSETS_BYTES];

	return elf_image_read(image, state, offsets, sizeof(offsets)) == sizeof(offsets) &&
	       !memcmp(offsets, OFFSETS_MARK, strlen(OFFSETS_MARK)) &&
	       !bytes_number(offsets + OFFSETS_FREE_THREADED, 8, false);
}

static bool python_is_musl(const char *library)
{
	return !strcmp(library, MUSL) || !strncmp(library, MUSL_ALPINE, strlen(MUSL_ALPINE));
}

/*
 * The dynamic section: its address, where the loader notes what it has loaded if libpython is
 * needed, and the C library that is needed.
 */
static void python_read_dynamic(struct elf_image *image, struct worker_runtime *ret)
{
	size_t section = elf_image_find(image, SHT_DYNAMIC, NULL);
	Elf_Data *data = elf_image_data(image, section, DYNAMIC_MAX);
	uint64_t debug = 0;
	bool needs_python = false, needs_musl = false, needs_any = false;
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
		needs_musl |= name && python_is_musl(name);
		needs_any |= !!name;
	}
	if (needs_any)
		ret->libc = needs_musl ? RUNTIME_MUSL : RUNTIME_GLIBC;
	ret->debug = needs_python ? debug : 0;
}

static uint32_t python_read_half(struct elf_image *image, uint64_t address)
{
	uint8_t bytes[4];

	if (elf_image_read(image, address, bytes, sizeof(bytes)) != sizeof(bytes))
		return 0;
	return (uint32_t)bytes_number(bytes, sizeof(bytes), false);
}

/* The version, and by what a process that has it as a library is told from others. */
static uint32_t python_read_version(struct elf_image *image, const struct python_symbols *symbols,
				    struct worker_runtime *ret)
{
	const GElf_Sym *found = symbols->found;

	if (found[PYTHON_VERSION].st_value) {
		/* PY_VERSION_HEX: a byte each for major, minor, micro and level. */
		ret->check = found[PYTHON_VERSION].st_value;
		ret->check_value = python_read_half(image, ret->check);
		return ret->check_value >> 16;
	}
	if (!found[PYTHON_CODE].st_value)
		return 0;
	ret->check = found[PYTHON_CODE].st_value + TYPE_SIZE;
	ret->check_value = python_read_half(image, ret->check);
	if (found[PYTHON_3_10].st_value)
		return 0x030a;
	if (found[PYTHON_3_9].st_value)
		return 0x0309;
	return found[PYTHON_3_8].st_value ? 0x0308 : 0;
}

/*
 * The counter of 3.12 has no symbol. It is in the file with what it begins with, which is more than
 * 0: code objects that are in the file have numbers, too.
 */
static uint64_t python_read_count(struct elf_image *image, const GElf_Sym *maker)
{
	uint8_t code[MAKER_BYTES];
	uint64_t count;
	size_t n;

	if (!maker->st_value)
		return 0;
	n = elf_image_read(image, maker->st_value, code,
			   maker->st_size < sizeof(code) ? maker->st_size : sizeof(code));
	count = python_find_count(code, n, maker->st_value);
	return count && python_read_half(image, count) ? count : 0;
}

static void python_read_build(struct elf_image *image, struct worker_runtime *ret)
{
	struct python_symbols symbols;
	const GElf_Sym *found = symbols.found, *getter = &found[PYTHON_GETTER];
	uint8_t code[GETTER_BYTES];
	uint32_t version;
	size_t n;

	if (!python_find_symbols(image, &symbols)) {
		if (found[PYTHON_STATE].st_value && symbols.is_debug)
			ret->refusal = WORKER_RUNTIME_DEBUG;
		return;
	}
	version = python_read_version(image, &symbols, ret);
	if (version >= VERSION_3_13 && !python_has_gil(image, found[PYTHON_STATE].st_value)) {
		ret->refusal = WORKER_RUNTIME_FREE_THREADED;
		return;
	}
	ret->version = version;
	ret->libc = found[PYTHON_GLIBC].st_value ? RUNTIME_GLIBC : RUNTIME_MUSL;
	ret->state = found[PYTHON_STATE].st_value;
	if (found[PYTHON_STATE].st_size <= UINT32_MAX)
		ret->state_bytes = (uint32_t)found[PYTHON_STATE].st_size;
	ret->loop = found[PYTHON_LOOP].st_value;
	if (found[PYTHON_LOOP].st_size <= INT32_MAX)
		ret->loop_bytes = (uint32_t)found[PYTHON_LOOP].st_size;
	if (version == VERSION_3_12)
		ret->count = python_read_count(image, &found[PYTHON_MAKER]);
	if (found[PYTHON_GETTER_3_13].st_value)
		getter = &found[PYTHON_GETTER_3_13];
	if (version < VERSION_3_12 || !getter->st_value)
		return;
	n = elf_image_read(image, getter->st_value, code,
			   getter->st_size < sizeof(code) ? getter->st_size : sizeof(code));
	python_find_thread(code, n, getter->st_value, &ret->tls_index, &ret->tls_at);
}

bool python_recognize(struct elf_image *image, struct worker_runtime *ret)
{
	uint64_t end;

	*ret = (struct worker_runtime){0};
	if (image->summary.machine != EM_X86_64 || image->summary.pointer_bytes != 8 ||
	    !elf_summary_text(&image->summary, &ret->text, &end))
		return false;
	python_read_build(image, ret);
	python_read_dynamic(image, ret);
	if (ret->version || ret->debug)
		return true;
	*ret = (struct worker_runtime){.refusal = ret->refusal};
	return false;
}
