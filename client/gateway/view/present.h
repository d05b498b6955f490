/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_PRESENT_H
#define PROFD_CLIENT_GATEWAY_VIEW_PRESENT_H

/*
 * What clients mean by now, as in `-1h`: the clock's time, but of a store that nothing is added to,
 * its end.
 */
#include <stdint.h>

#include "common/clock.h"

/* @end_ns: of that store, Unix time; 0: there is none such. */
static inline uint64_t present_ns(uint64_t end_ns)
{
	return end_ns ? end_ns : clock_ns(CLOCK_REALTIME);
}

#endif
