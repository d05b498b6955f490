/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_REGEX_H
#define PROFD_CLIENT_ANALYSIS_REGEX_H

/*
 * Regular expressions of filters and of profiles, which strangers write. PCRE2's syntax, of which
 * RE2's (github.com/google/re2/wiki/Syntax), go tool pprof's, is nearly a part; texts are UTF-8
 * as far as they can be.
 *
 * PCRE2 goes back where RE2 does not, which can take for ever. It is stopped after as many steps as
 * take some ten milliseconds, and in texts of more than 16 KiB a match may begin near the start
 * only. A text that needs more does not match, is counted, and after REGEX_GIVE_UP_MAX of them
 * nothing matches any more: the caller has a warning to print.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

#define REGEX_GIVE_UP_MAX 50

struct profile_message;
struct regex;

enum {
	REGEX_E_OK,
	REGEX_E_INVALID, /* not a regular expression: see the message */
};

/* @what names the option in the message. REGEX_E_* or negative errno. */
int regex_new(struct regex **ret, const char *what, const char *pattern,
	      struct profile_message *message);
void regex_free(struct regex *r);
DEFINE_CLEANUP(struct regex *, regex_free)

/* Whether it matches a part of @text. */
bool regex_matches(struct regex *r, const char *text);
/* Texts that it was given up for. */
uint64_t regex_n_given_up(const struct regex *r);

#endif
