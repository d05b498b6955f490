/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/idle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/cpus.h"

#define COLUMN_IDLE   3 /* user, nice, system, idle, iowait */
#define COLUMN_IOWAIT 4
#define NUMBER_MAX    (UINT64_MAX / 16)

/* The number at *at, which moves behind it. */
static bool idle_parse_number(const char **at, uint64_t *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return *ret <= NUMBER_MAX;
}

bool idle_parse_line(const char *line, uint64_t unit_ns, unsigned *ret_cpu, uint64_t *ret_ns)
{
	uint64_t cpu, value, sum = 0;
	const char *at;

	if (strncmp(line, "cpu", strlen("cpu")) != 0)
		return false;
	at = line + strlen("cpu");
	if (!idle_parse_number(&at, &cpu) || cpu >= CPUS_MAX)
		return false; /* "cpu " is the sum of all */
	for (unsigned column = 0; column <= COLUMN_IOWAIT; column++) {
		if (*at++ != ' ' || !idle_parse_number(&at, &value))
			return false;
		if (column < COLUMN_IDLE)
			continue;
		if (value > NUMBER_MAX / unit_ns)
			return false;
		sum += value * unit_ns;
	}
	*ret_cpu = (unsigned)cpu;
	*ret_ns = sum;
	return true;
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
		if (idle_parse_line(line, unit_ns, &cpu, &ns))
			each(userdata, cpu, ns);
}
