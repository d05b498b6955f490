/* SPDX-License-Identifier: MIT */

/* Any text as a time: what is read is printed so that it is read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW (UINT64_C(1795262400) * NS_PER_S)

static void check_duration(int (*parse)(const char *, uint64_t *), const char *text)
{
	char printed[UNITS_TEXT_MAX];
	uint64_t ns, again;

	if (parse(text, &ns))
		return;
	units_print_duration(printed, sizeof(printed), ns);
	if (parse(printed, &again) || again != ns - ns % NS_PER_MS)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256], printed[UNITS_TEXT_MAX], *blank;
	uint64_t ns, again;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_duration(units_parse_duration, text);
	check_duration(units_parse_seconds, text);
	if (!units_parse_moment(text, NOW, &ns)) {
		units_print_moment(printed, sizeof(printed), ns, true);
		if (units_parse_moment(printed, NOW, &again) || again != ns - ns % NS_PER_S)
			abort();
	}
	blank = strchr(text, ' ');
	if (!blank)
		return 0;
	*blank = '\0';
	if (units_moment_continues(text, blank + 1) &&
	    strlen(text) + strlen(blank + 1) + 2 > UNITS_TEXT_MAX)
		abort();
	return 0;
}
