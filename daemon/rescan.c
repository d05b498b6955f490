/* SPDX-License-Identifier: MIT */
#include "daemon/rescan.h"

#include "common/clock.h"
#include "daemon/daemon_private.h"

#define RESCAN_GAP_NS  (2u * NS_PER_S)
#define RESCAN_PART_NS (5 * NS_PER_MS)

/*
 * A part, and all others have a turn before the next one. While a storm of processes goes on,
 * records may be lost again and again: of all time, at most a fifth is spent on looking after them.
 */
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
	d->rescan.took_ns += now - began;
	if (r == PROCESS_E_MORE)
		return daemon_rearm(source, now / 1000);
	d->rescan.is_on = false;
	d->rescan.next_ns = now + RESCAN_GAP_NS + 4 * d->rescan.took_ns;
	return r;
}

int daemon_rescan(struct daemon *d, uint64_t now)
{
	if (d->rescan.is_on || now < d->rescan.next_ns || !process_table_wants_scan(d->processes))
		return 0;
	d->rescan.is_on = true;
	d->rescan.took_ns = 0;
	return daemon_rearm(d->rescan_timer, now / 1000);
}
