/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_RULE_UNPACK_H
#define TESTS_SUPPORT_RULE_UNPACK_H

/* The reverse of rule_pack(). */
#include "common/unwind/rule.h"

static inline struct rule rule_unpack(unwind_u64 word)
{
	struct rule rule = {
		.kind = RULE_KIND(word),
		.base = RULE_BASE(word),
		.fp_kind = RULE_FP(word),
		.ra_kind = RULE_RA(word),
		.cfa_offset = (int)RULE_CFA_OFFSET(word),
		.fp_offset = (int)RULE_FP_OFFSET(word),
		.ra_offset = (int)RULE_RA_OFFSET(word),
	};

	rule.extra = rule.kind == RULE_DEREF ? (int)RULE_ADDED(word) : (int)RULE_EXTRA(word);
	return rule;
}

#endif
