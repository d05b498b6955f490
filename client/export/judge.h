/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_EXPORT_JUDGE_H
#define PROFD_CLIENT_EXPORT_JUDGE_H

/*
 * Verdicts by rules: those of a kind, the first of which that applies counts, then those that all
 * servers have in common.
 */
#include <stdbool.h>
#include <stddef.h>

#include "client/export/target.h"

struct export_rule {
	unsigned status;
	const char *text; /* that the body contains; "": any */
	enum export_verdict verdict;
};

enum export_verdict export_judge(const struct export_rule *rules, size_t n, unsigned status,
				 const char *body, size_t length);
/* Where @text is in the @length bytes at @body, or NULL; the rest of them is *ret_rest. */
const char *export_find_text(const char *body, size_t length, const char *text, size_t *ret_rest);

#endif
