/* SPDX-License-Identifier: MIT */

/* Any text as /proc/kallsyms; what is found covers the address that was asked for. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/symbols/symtab.h"
#include "daemon/ingest/wait_places.h"

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

static void check_places(const uint8_t *data, size_t size)
{
	cleanup(freep) char *text = malloc(size + 1);
	struct wait_places places;

	if (!text)
		return;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	wait_places_parse(text, size, &places);
	if (places.n > WAIT_PLACES_MAX)
		abort();
	for (unsigned i = 0; i < places.n; i++)
		if (!places.all[i].start || places.all[i].end <= places.all[i].start)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_places(data, size);
	check(data, size, NULL);
	check(data, size, "ext4");
	return 0;
}
