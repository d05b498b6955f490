/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_LEGACY_NAMES_H
#define PROFD_COMMON_PROFILE_LEGACY_NAMES_H

/*
 * The names that a legacy profile has of its addresses, a line each:
 *
 *	0xADDRESS name (file:line)             behind the samples, where a Java agent wrote them
 *	0xADDRESS outermost--...--innermost    before them, between "--- symbol" and "---", where
 *	                                       google-pprof --raw did
 *
 * Internal to common/profile; pure. Functions return 0 or negative errno.
 */
#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_line;

struct legacy_name {
	uint64_t address;
	size_t first_line, order; /* into lines[]; in the text */
	uint32_t n_lines;
};

struct legacy_names {
	struct legacy_name *all;
	size_t n, max;
	struct profile_line *lines; /* innermost first; of functions of the profile */
	size_t n_lines, max_lines;
};

int legacy_names_read_java(struct legacy_names *names, struct profile *p, const char *text,
			   const char *end);
/*
 * From behind CPUPROFILE_SYMBOLS on. *ret: behind the line that ends the names. @ret_binary:
 * the string that is the program's path, 0 unknown.
 */
int legacy_names_read_symbols(struct legacy_names *names, struct profile *p, const char *text,
			      const char *end, const char **ret, uint32_t *ret_binary);
/* NULL: @address has none. Of several the last one in the text. */
const struct legacy_name *legacy_names_find(const struct legacy_names *names, uint64_t address);
void legacy_names_deinit(struct legacy_names *names);

#endif
