/* SPDX-License-Identifier: MIT */
#include "daemon/watch.h"

#include <string.h>

enum watch watch_judge(uint64_t busy_ns, char state)
{
	if (busy_ns < WATCH_SLOW_NS)
		return WATCH_WELL;
	return busy_ns < WATCH_HUNG_NS || state == 'D' ? WATCH_SLOW : WATCH_HUNG;
}

char watch_parse_state(const char *stat)
{
	/* A name may hold parentheses and blanks. */
	const char *end = strrchr(stat, ')');

	return end && end[1] == ' ' && end[2] ? end[2] : '?';
}
