/* SPDX-License-Identifier: MIT */
/* What the output thread does between snapshots. */
#include <errno.h>

#include "common/error.h"
#include "daemon/output/writer_private.h"

#define NS       UINT64_C(1000000000)
#define RETRY_NS (600 * NS) /* after an hour that could not be written */

bool writer_rollup(struct writer *w, uint64_t now_ns)
{
	uint64_t now_s = now_ns / NS;
	int r;

	w->conditions &= ~(unsigned)WRITER_DAMAGED;
	if (!w->is_read || !w->rollup_after_s || now_s < w->rollup_after_s ||
	    now_ns < w->rollup_retry_ns)
		return false;
	r = rollup_step(w->rollup, now_s - w->rollup_after_s);
	if (r < 0) {
		w->rollup_retry_ns = now_ns + RETRY_NS;
		w->rollup_error = r;
		w->conditions |= WRITER_NOT_ROLLED_UP;
		return false;
	}
	w->rollup_retry_ns = 0;
	w->conditions &= ~(unsigned)WRITER_NOT_ROLLED_UP;
	if (r == ROLLUP_E_DAMAGED)
		w->conditions |= WRITER_DAMAGED;
	return r != ROLLUP_E_IDLE;
}
