/* SPDX-License-Identifier: MIT */
#include "daemon/watch.h"

#include <string.h>

enum watch watch_judge(uint64_t busy_ns, uint64_t own_ns, uint64_t patience_ns)
{
	if (busy_ns < patience_ns)
		return WATCH_WELL;
	return own_ns / WATCH_HUNG_TIMES < patience_ns ? WATCH_SLOW : WATCH_HUNG;
}

char watch_parse_state(const char *stat)
{
	/* A name may hold parentheses and blanks. */
	const char *end = strrchr(stat, ')');

	return end && end[1] == ' ' && end[2] ? end[2] : '?';
}
