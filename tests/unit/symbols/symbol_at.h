/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_SYMBOLS_SYMBOL_AT_H
#define PROFD_TESTS_UNIT_SYMBOLS_SYMBOL_AT_H

/* What a table of symbols says of an address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/symbols/symtab.h"

/* The function that begins at @start, by that of its names that is preferred; NULL: none. */
static inline void check_at(const struct symtab *s, uint64_t address, const char *name,
			    uint64_t start)
{
	struct symtab_symbol symbol;

	if (!symtab_find(s, address, &symbol)) {
		assert_null(name);
		return;
	}
	assert_non_null(name);
	assert_string_equal(symbol.name, name);
	assert_int_equal(symbol.start, start);
}

#endif
