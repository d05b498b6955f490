/* SPDX-License-Identifier: MIT */
#include "daemon/output/counts_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

size_t counts_text_print(const struct index_counts *counts, size_t n, char *ret)
{
	size_t length = 0;

	*ret = '\0';
	for (size_t i = 0; i < n; i++) {
		const struct index_counts *c = &counts[i];

		length += (size_t)snprintf(ret + length, COUNTS_TEXT_MAX, "%s%" PRIu64 ":%" PRIu64,
					   i ? " " : "", c->samples, c->cpu_ns);
		if (c->peak.cpu_ms)
			length += (size_t)snprintf(ret + length, COUNTS_TEXT_MAX,
						   ":%" PRIu32 "@%" PRIu32, c->peak.cpu_ms,
						   c->peak.at);
		if (c->off_ns)
			length += (size_t)snprintf(ret + length, COUNTS_TEXT_MAX, "~%" PRIu64,
						   c->off_ns);
		if (c->has_events)
			length += (size_t)snprintf(ret + length, COUNTS_TEXT_MAX, "!");
	}
	return length;
}

static bool counts_text_number(const char **at, uint64_t max, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return !errno && *ret <= max;
}

static bool counts_text_sign(const char **at, char sign)
{
	if (**at != sign)
		return false;
	++*at;
	return true;
}

static bool counts_text_peak(const char **at, struct index_peak *ret)
{
	uint64_t cpu_ms, after;

	if (!counts_text_number(at, UINT32_MAX, &cpu_ms) || !counts_text_sign(at, '@') ||
	    !counts_text_number(at, INDEX_PEAK_AT_MAX, &after))
		return false;
	*ret = (struct index_peak){(uint32_t)cpu_ms, (uint32_t)after};
	return true;
}

bool counts_text_parse(const char *text, struct index_counts *ret, size_t n)
{
	const char *at = text;

	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct index_counts){0};
		if ((i && !counts_text_sign(&at, ' ')) ||
		    !counts_text_number(&at, INDEX_SAMPLES_UNKNOWN - 1, &ret[i].samples) ||
		    !counts_text_sign(&at, ':') ||
		    !counts_text_number(&at, UINT64_MAX, &ret[i].cpu_ns) ||
		    (counts_text_sign(&at, ':') && !counts_text_peak(&at, &ret[i].peak)) ||
		    (counts_text_sign(&at, '~') &&
		     !counts_text_number(&at, UINT64_MAX, &ret[i].off_ns)))
			return false;
		ret[i].has_events = counts_text_sign(&at, '!');
	}
	(void)counts_text_sign(&at, ' ');
	return !*at;
}
