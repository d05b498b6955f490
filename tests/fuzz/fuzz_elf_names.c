/* SPDX-License-Identifier: MIT */

/*
 * What begins as an ELF file: as an image, and as its own debug file, inspected and asked for
 * names. Other bytes go to the pure parts, chosen by the first one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/worker/elf/debuglink.h"
#include "daemon/worker/elf/elf_symbols.h"
#include "daemon/worker/go/go_frames.h"
#include "daemon/worker/go/pclntab.h"
#include "daemon/worker/names/elf_names.h"

#define UNPACKED_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_image(const uint8_t *data, size_t size)
{
	struct symtab *names = NULL;
	struct worker_image image;
	int fd, inspected, r;

	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	inspected = elf_inspect(fd, &image);
	r = elf_names_new(&names, &(struct elf_names_files){fd, fd, true});
	/* Names take headers that make sense; nothing else is needed for an inspection. */
	if (r == WORKER_DONE && inspected != WORKER_DONE)
		abort();
	for (uint64_t a = 0; names && a < 0x3000; a += 7) {
		struct symtab_symbol name;
		bool found = symtab_find(names, a, &name);

		if (name.start > a || a - name.start >= name.size || (found && !name.name[0]))
			abort();
	}
	symtab_free(names);
	close(fd);
}

static void fuzz_links(const uint8_t *data, size_t size)
{
	struct worker_image image;

	if (debuglink_parse(data, size, size & 1, &image) &&
	    (!image.debuglink[0] || !memchr(image.debuglink, 0, sizeof(image.debuglink)) ||
	     strchr(image.debuglink, '/')))
		abort();
	if (debugaltlink_parse(data, size, &image) &&
	    (!image.alternate[0] || image.alternate_id_length > sizeof(image.alternate_id)))
		abort();
}

static void fuzz_debugdata(const uint8_t *data, size_t size)
{
	uint8_t *unpacked = NULL;
	size_t length = 0;

	if (debugdata_unpack(data, size, UNPACKED_MAX, &unpacked, &length) == DEBUGDATA_E_OK &&
	    length > UNPACKED_MAX)
		abort();
	free(unpacked);
}

static void fuzz_stubs(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64, EM_386};
	const struct plt_slot slots[] = {{0x2000, "slot", 4}};
	const uint64_t jumps[] = {0x2000, 0x2000, 0x3000};

	for (unsigned i = 0; i < 2 * ARRAY_SIZE(machines); i++) {
		struct symtab_entries list = {0};

		if (plt_scan(&(struct plt_code){.code = data,
						.length = size,
						.address = 0x1000,
						.machine = machines[i / 2],
						.got = 0x1ff0,
						.entry_size = 8 * (i & 1),
						.slots = slots,
						.n_slots = ARRAY_SIZE(slots),
						.jump_slots = jumps,
						.n_jump_slots = ARRAY_SIZE(jumps)},
			     5, &list))
			abort();
		for (size_t k = 0; k < list.n; k++)
			if (list.entries[k].start < 0x1000 ||
			    list.entries[k].start + list.entries[k].size > 0x1000 + size)
				abort();
		symtab_entries_deinit(&list);
	}
}

static void fuzz_pclntab(const uint8_t *data, size_t size)
{
	struct pclntab_function f;
	struct pclntab table;
	struct cfi_own_rule *rules;
	size_t n;

	if (!pclntab_parse(data, size, &table))
		return;
	if (go_frames_make(&table, NULL, &rules, &n) || (n && !rules) ||
	    n > GO_FRAMES_RULES_MAX + 1 + size)
		abort();
	free(rules);
	for (uint64_t i = 0; i < table.n_functions; i++)
		if (pclntab_function(&table, i, &f) &&
		    (f.start >= f.end || !f.name.length || f.name.at < (const char *)data ||
		     f.name.at + f.name.length >= (const char *)data + size ||
		     memchr(f.name.at, 0, f.name.length)))
			abort();
}

/* Four bytes a symbol. */
static void fuzz_merge(const uint8_t *data, size_t size)
{
	struct symtab_entries list = {0};
	struct symtab_symbol symbol;
	struct symtab *table = NULL;

	for (size_t i = 0; i + 4 <= size; i += 4)
		if (symtab_entries_add(&list, &(struct symtab_entry){.start = data[i] * 2u,
								     .size = data[i + 1],
								     .limit = 700,
								     .name = "abcdefgh",
								     .name_length = data[i + 2] % 8,
								     .rank = data[i + 2] >> 6 & 1,
								     .source = data[i + 3] % 8}))
			abort();
	if (symtab_build(&table, &list, SIZE_MAX))
		abort();
	for (uint64_t a = 0; a < 1024; a++) {
		bool found = symtab_find(table, a, &symbol);

		if (symbol.start > a || a - symbol.start >= symbol.size || found != !!symbol.name)
			abort();
	}
	symtab_free(table);
	symtab_entries_deinit(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parts[])(const uint8_t *, size_t) = {
		fuzz_links, fuzz_debugdata, fuzz_stubs, fuzz_merge, fuzz_pclntab,
	};

	if (size > SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0)
		fuzz_image(data, size);
	else if (size > 0)
		parts[data[0] % ARRAY_SIZE(parts)](data + 1, size - 1);
	return 0;
}
