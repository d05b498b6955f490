/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_SYMBOL_ANSWER_H
#define PROFD_REPORT_SYMBOL_ANSWER_H

/*
 * What a server answers that was asked for the names of addresses (gperftools' /pprof/symbol, Go's
 * /debug/pprof/symbol, /symbolz): lines with "0xADDRESS NAME", read as pprof's internal/symbolz
 * reads them. Other lines are passed over, but for "num_symbols: N", which tells whether the
 * program knows any. A stranger's bytes. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_ANSWER_NAME_MAX 8192u /* bytes; longer names are cut */

struct symbol_answer {
	const char *at, *end;
	bool has_none; /* "num_symbols: 0" was seen */
};

struct symbol_line {
	uint64_t address;
	const char *name; /* in the answer; not empty */
	size_t length;
};

void symbol_answer_init(struct symbol_answer *a, const uint8_t *data, size_t length);
/* The next line of an address; false: there is none. */
bool symbol_answer_next(struct symbol_answer *a, struct symbol_line *ret);

#endif
