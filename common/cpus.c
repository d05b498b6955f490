/* SPDX-License-Identifier: MIT */
#include "common/cpus.h"

#include <errno.h>
#include <fcntl.h>

#include "common/cleanup.h"
#include "common/digits.h"
#include "common/error.h"
#include "common/read_end.h"

static void cpus_add(struct cpus *cpus, unsigned cpu)
{
	if (cpus_has(cpus, cpu))
		return;
	cpus->bits[cpu / 64] |= 1ull << cpu % 64;
	cpus->n++;
}

int cpus_parse(const uint8_t *text, size_t length, struct cpus *ret)
{
	const char *at = (const char *)text, *end = at + length;
	struct cpus cpus = {0};
	uint64_t first, last;

	if (length && end[-1] == '\n')
		end--;
	while (at < end) {
		if (!digits_read(&at, end, 10, &first))
			return CPUS_E_MALFORMED;
		last = first;
		if (at < end && *at == '-') {
			at++;
			if (!digits_read(&at, end, 10, &last))
				return CPUS_E_MALFORMED;
		}
		if (last < first || last >= CPUS_MAX)
			return CPUS_E_MALFORMED;
		for (; first <= last; first++)
			cpus_add(&cpus, (unsigned)first);
		if (at == end)
			break;
		if (*at++ != ',' || at == end)
			return CPUS_E_MALFORMED;
	}
	*ret = cpus;
	return CPUS_E_OK;
}

bool cpus_has(const struct cpus *cpus, unsigned cpu)
{
	return cpu < CPUS_MAX && cpus->bits[cpu / 64] >> cpu % 64 & 1;
}

static int cpus_read_list(const char *path, struct cpus *ret)
{
	cleanup(freep) char *text = NULL;
	size_t length;
	int r = read_end_text(AT_FDCWD, path, 4096, &text, &length); /* sysfs: a page at most */

	if (r)
		return r < 0 ? r : error_origin(-r);
	return cpus_parse((const uint8_t *)text, length, ret) ? error_origin(-EPROTO) : 0;
}

int cpus_read_online(struct cpus *ret)
{
	return cpus_read_list("/sys/devices/system/cpu/online", ret);
}

int cpus_read_possible(struct cpus *ret)
{
	return cpus_read_list("/sys/devices/system/cpu/possible", ret);
}
