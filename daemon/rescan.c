/* SPDX-License-Identifier: MIT */
#include "daemon/rescan.h"

#include "common/clock.h"
#include "daemon/daemon_private.h"

#define RESCAN_GAP_NS  (2u * NS_PER_S)
#define RESCAN_PART_NS (5 * NS_PER_MS)

bool rescan_begin(struct daemon_rescan *r, uint64_t now_ns)
{
	if (r->is_on || now_ns < r->next_ns)
		return false;
	r->is_on = true;
	r->took_ns = 0;
	return true;
}

/*
 * While a storm of processes goes on, records may be lost again and again: of all time, at most a
 * fifth is spent on looking after them.
 */
bool rescan_part_done(struct daemon_rescan *r, uint64_t began_ns, uint64_t now_ns, bool is_more)
{
	r->took_ns += now_ns - began_ns;
	if (is_more)
		return true;
	r->is_on = false;
	r->next_ns = now_ns + RESCAN_GAP_NS + 4 * r->took_ns;
	return false;
}

/* A part, and all others have a turn before the next one. */
int daemon_on_rescan_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;
	enum cpu_cause before = cpu_causes_switch(&d->cpu_causes, CPU_EVENTS);
	uint64_t began = clock_ns(CLOCK_MONOTONIC), now;
	int r = process_table_scan_part(d->processes, unwinder_sink(d->unwinder),
					began + RESCAN_PART_NS);

	(void)usec;
	cpu_causes_switch(&d->cpu_causes, before);
	now = clock_ns(CLOCK_MONOTONIC);
	return rescan_part_done(&d->rescan, began, now, r == PROCESS_E_MORE)
		       ? daemon_rearm(source, now / 1000)
		       : r;
}

int daemon_rescan(struct daemon *d, uint64_t now)
{
	if (!process_table_wants_scan(d->processes) || !rescan_begin(&d->rescan, now))
		return 0;
	return daemon_rearm(d->rescan_timer, now / 1000);
}
