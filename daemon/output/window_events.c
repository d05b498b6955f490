/* SPDX-License-Identifier: MIT */
#include "daemon/output/window_events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/digits.h"
#include "common/text_print.h"

#define JOINED_S 3600u
#define LINE_MAX (WINDOW_EVENTS_TEXT_MAX + 80)

static const char *const window_event_names[N_WINDOW_EVENTS] = {
	[WINDOW_EVENT_LOST] = "lost",     [WINDOW_EVENT_STARTED] = "started",
	[WINDOW_EVENT_BOOTED] = "booted", [WINDOW_EVENT_RESTARTED] = "restarted",
	[WINDOW_EVENT_BUILD] = "build",
};

static void window_event_print(const struct window_event *e, char ret[LINE_MAX])
{
	int n = snprintf(ret, LINE_MAX, "%" PRIu32 " %s", e->at_s, window_event_names[e->kind]);

	if (e->kind == WINDOW_EVENT_LOST)
		n += snprintf(ret + n, LINE_MAX - (size_t)n, " %" PRIu64 " %" PRIu64, e->n, e->of);
	if (e->kind == WINDOW_EVENT_BUILD)
		n += snprintf(ret + n, LINE_MAX - (size_t)n, " %.*s", (int)strcspn(e->text, "\n"),
			      e->text);
	snprintf(ret + n, LINE_MAX - (size_t)n, "\n");
}

/* The last loss in @text, if @e is of the same hour: where its line begins; else NULL. */
static char *window_events_find_loss(char *text, const struct window_event *e,
				     struct window_event *ret)
{
	const char *at = text, *line = text;
	struct window_event one;
	char *found = NULL;

	while (at && window_events_next(&at, &one)) {
		if (one.kind == WINDOW_EVENT_LOST && one.at_s / JOINED_S == e->at_s / JOINED_S) {
			found = text + (line - text);
			*ret = one;
		}
		line = at;
	}
	return found;
}

static uint64_t window_events_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

int window_events_add(char **text, const struct window_event *e)
{
	char *old = e->kind == WINDOW_EVENT_LOST ? *text : NULL, *grown;
	struct window_event joined = *e, before;
	char line[LINE_MAX];

	old = window_events_find_loss(old, e, &before);
	if (old) {
		char *end = strchr(old, '\n') + 1;

		joined.at_s = before.at_s;
		joined.n = window_events_sum(before.n, e->n);
		joined.of = window_events_sum(before.of, e->of);
		memmove(old, end, strlen(end) + 1);
	}
	window_event_print(&joined, line);
	if ((*text ? strlen(*text) : 0) + strlen(line) > WINDOW_EVENTS_MAX)
		return 0;
	if (text_print(&grown, "%s%s", *text ? *text : "", line))
		return -ENOMEM;
	free(*text);
	*text = grown;
	return 0;
}

/* The number at *@at, which moves behind it; @after: what must be there. */
static bool window_event_number(const char **at, char after, uint64_t *ret)
{
	if (!digits_read(at, *at + strlen(*at), 10, ret) || **at != after)
		return false;
	*at += after != '\0';
	return true;
}

/* The word of the kind, which *@at moves behind. */
static bool window_event_parse_kind(const char **at, struct window_event *e)
{
	for (unsigned i = 0; i < N_WINDOW_EVENTS; i++) {
		size_t length = strlen(window_event_names[i]);

		if (strncmp(*at, window_event_names[i], length) != 0 ||
		    ((*at)[length] && (*at)[length] != ' '))
			continue;
		e->kind = (enum window_event_kind)i;
		*at += length;
		return true;
	}
	return false;
}

/* @rest: of a line behind the kind, without its end. */
static bool window_event_parse_rest(const char *rest, struct window_event *e)
{
	if (e->kind != WINDOW_EVENT_LOST && e->kind != WINDOW_EVENT_BUILD)
		return !*rest;
	if (*rest++ != ' ')
		return false;
	if (e->kind == WINDOW_EVENT_LOST)
		return window_event_number(&rest, ' ', &e->n) &&
		       window_event_number(&rest, '\0', &e->of);
	snprintf(e->text, sizeof(e->text), "%s", rest);
	return strchr(e->text, ' ') != NULL;
}

bool window_events_next(const char **at, struct window_event *ret)
{
	size_t length = strcspn(*at, "\n");
	char line[LINE_MAX];
	const char *rest = line;
	uint64_t at_s;

	if ((*at)[length] != '\n' || length >= sizeof(line))
		return false;
	memcpy(line, *at, length);
	line[length] = '\0';
	*ret = (struct window_event){0};
	if (!window_event_number(&rest, ' ', &at_s) || at_s > UINT32_MAX ||
	    !window_event_parse_kind(&rest, ret) || !window_event_parse_rest(rest, ret))
		return false;
	ret->at_s = (uint32_t)at_s;
	*at += length + 1;
	return true;
}
