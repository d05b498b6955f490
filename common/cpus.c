/* SPDX-License-Identifier: MIT */
#include "common/cpus.h"

#include <errno.h>
#include <fcntl.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/read_end.h"

static bool cpus_parse_number(const uint8_t *text, size_t length, size_t *at, unsigned *ret)
{
	unsigned value = 0;
	size_t start = *at;

	while (*at < length && text[*at] >= '0' && text[*at] <= '9') {
		value = value * 10 + (text[*at] - '0');
		if (value >= CPUS_MAX)
			return false;
		(*at)++;
	}
	*ret = value;
	return *at > start;
}

static void cpus_add(struct cpus *cpus, unsigned cpu)
{
	if (cpus_has(cpus, cpu))
		return;
	cpus->bits[cpu / 64] |= 1ull << cpu % 64;
	cpus->n++;
}

int cpus_parse(const uint8_t *text, size_t length, struct cpus *ret)
{
	struct cpus cpus = {0};
	unsigned first, last;
	size_t at = 0;

	if (length && text[length - 1] == '\n')
		length--;
	while (at < length) {
		if (!cpus_parse_number(text, length, &at, &first))
			return CPUS_E_MALFORMED;
		last = first;
		if (at < length && text[at] == '-') {
			at++;
			if (!cpus_parse_number(text, length, &at, &last) || last < first)
				return CPUS_E_MALFORMED;
		}
		for (unsigned cpu = first; cpu <= last; cpu++)
			cpus_add(&cpus, cpu);
		if (at == length)
			break;
		if (text[at++] != ',' || at == length)
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
		return error_origin(r);
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
