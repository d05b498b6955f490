/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_REMOTE_NAMES_H
#define PROFD_REPORT_REMOTE_NAMES_H

/*
 * Names for what has none, from the server that a profile was fetched from, as pprof's
 * internal/symbolz asks for them. A server knows the addresses of its own process, so it is asked
 * before anything is merged. What is answered is a stranger's, and can do no more than to give
 * wrong names to what was asked for.
 */
#include <stdint.h>

#include "client/formats/text_lines.h"
#include "client/report/load.h"
#include "client/report/sources.h"

/*
 * Asks the server of @source for what @p, which came from there, has no names for; of a legacy
 * profile without a program's name for that as well. Blocks on the server. What does not work is a
 * note. Nothing if @source is no URL. Returns 0 or negative errno.
 */
int remote_names_fetch(struct profile *p, bool is_legacy, const struct source *source,
		       const struct load_options *options);

#define SYMBOL_ANSWER_NAME_MAX 8192u /* bytes; longer names are cut */

/*
 * What a server answers (gperftools' /pprof/symbol, Go's /debug/pprof/symbol, /symbolz): lines with
 * "0xADDRESS NAME". Others are passed over, but for "num_symbols: N", which tells whether the
 * program knows any.
 */
struct symbol_answer {
	struct text_lines lines;
	bool has_none; /* "num_symbols: 0" was seen */
};

struct symbol_line {
	uint64_t address;
	const char *name; /* in the answer; not empty */
	size_t length;
};

/* The next line of an address; false: there is none. Pure. */
bool symbol_answer_next(struct symbol_answer *a, struct symbol_line *ret);

#endif
