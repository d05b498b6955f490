/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_SUPPORT_LEDGER_CLOSES_H
#define PROFD_TESTS_SUPPORT_LEDGER_CLOSES_H

#include "daemon/ledger/ledger.h"

/* Whether both equations of ledger.h hold. */
static inline bool ledger_closes(const struct ledger *l)
{
	uint64_t settled = stack_counts_total(&l->stacks);

	for (unsigned i = 0; i < N_LOST; i++)
		settled += i == LOST_SKIPPED ? 0 : l->lost[i];
	return l->expected == l->seen + l->lost[LOST_SKIPPED] && l->seen == settled + l->in_flight;
}

#endif
