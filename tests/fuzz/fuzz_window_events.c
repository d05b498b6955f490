/* SPDX-License-Identifier: MIT */
/* Any text as what happened in a window: what is accepted is printed and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/output/window_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct window_event *e)
{
	struct window_event again;
	char *text = NULL;
	const char *at;

	if (window_events_add(&text, e) || !text)
		abort();
	at = text;
	if (!window_events_next(&at, &again) || *at || again.kind != e->kind ||
	    again.at_s != e->at_s || again.n != e->n || strcmp(again.text, e->text) != 0)
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *given = strndup((const char *)data, size), *all = NULL;
	const char *at = given;
	struct window_event e;

	while (at && window_events_next(&at, &e)) {
		check(&e);
		if (window_events_add(&all, &e) || (all && strlen(all) > WINDOW_EVENTS_MAX))
			abort();
	}
	free(all);
	free(given);
	return 0;
}
