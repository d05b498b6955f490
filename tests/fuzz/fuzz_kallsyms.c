/* SPDX-License-Identifier: MIT */

/* Any text as /proc/kallsyms; what is found covers the address that was asked for. */
#include <stdint.h>
#include <stdlib.h>

#include "common/symbols/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *data, size_t size, const char *module)
{
	struct symtab *s = NULL;
	struct symtab_symbol symbol;
	uint64_t address, end;

	if (symtab_from_kallsyms(&s, (const char *)data, size, module) != SYMTAB_E_OK)
		return;
	for (unsigned shift = 0; shift < 64; shift++) {
		address = UINT64_MAX << shift;
		if (symtab_find(s, address, &symbol) &&
		    (symbol.start > address || address - symbol.start >= symbol.size))
			abort();
	}
	symtab_kernel_text(s, &address, &end);
	symtab_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(data, size, NULL);
	check(data, size, "ext4");
	return 0;
}
