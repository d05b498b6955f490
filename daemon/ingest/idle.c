/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/idle.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/cpus.h"

#define COLUMN_IDLE   3 /* user, nice, system, idle, iowait */
#define COLUMN_IOWAIT 4
#define NUMBER_MAX    (UINT64_MAX / 16)

struct text {
	const uint8_t *at, *end;
};

static bool idle_parse_number(struct text *t, uint64_t *ret)
{
	const uint8_t *start = t->at;
	uint64_t value = 0;

	for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
		if (value > NUMBER_MAX)
			return false;
		value = value * 10 + (uint64_t)(*t->at - '0');
	}
	*ret = value;
	return t->at > start;
}

int idle_parse_line(const uint8_t *line, size_t length, uint64_t unit_ns, unsigned *ret_cpu,
		    uint64_t *ret_ns)
{
	struct text t = {line, line + length};
	uint64_t cpu, value, sum = 0;

	if (length < 3 || memcmp(line, "cpu", 3) != 0)
		return IDLE_E_OTHER;
	t.at += 3;
	if (!idle_parse_number(&t, &cpu) || cpu >= CPUS_MAX)
		return IDLE_E_OTHER; /* "cpu " is the sum of all */
	for (unsigned column = 0; column <= COLUMN_IOWAIT; column++) {
		if (t.at == t.end || *t.at++ != ' ' || !idle_parse_number(&t, &value))
			return IDLE_E_OTHER;
		if (column < COLUMN_IDLE)
			continue;
		if (value > NUMBER_MAX / unit_ns)
			return IDLE_E_OTHER;
		sum += value * unit_ns;
	}
	*ret_cpu = (unsigned)cpu;
	*ret_ns = sum;
	return IDLE_E_OK;
}

uint64_t idle_unit_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);

	return NS_PER_S / (uint64_t)(hz > 0 ? hz : 100);
}

/* The CPUs' lines come first; the one of the interrupts behind them can be very long. */
void idle_read(void (*each)(void *userdata, unsigned cpu, uint64_t idle_ns), void *userdata)
{
	cleanup(fclosep) FILE *f = fopen("/proc/stat", "re");
	uint64_t unit_ns = idle_unit_ns(), ns;
	char line[512];
	unsigned cpu;

	while (f && fgets(line, sizeof(line), f) && strncmp(line, "cpu", 3) == 0)
		if (idle_parse_line((const uint8_t *)line, strlen(line), unit_ns, &cpu, &ns) ==
		    IDLE_E_OK)
			each(userdata, cpu, ns);
}
