/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_WINDOW_EVENTS_H
#define PROFD_OUTPUT_WINDOW_EVENTS_H

/*
 * What happened in a window, as the text of an extended attribute: a line for each, "AT lost N OF",
 * "AT started", "AT booted", "AT restarted" or "AT build ID PATH", where AT is seconds after the
 * file's start. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_EVENTS_MAX      2000u /* bytes; ext4 has one block for all attributes */
#define WINDOW_EVENTS_TEXT_MAX 255u

enum window_event_kind {
	WINDOW_EVENT_LOST,      /* n of all ticks of the machine: of */
	WINDOW_EVENT_STARTED,   /* profd */
	WINDOW_EVENT_BOOTED,    /* the machine */
	WINDOW_EVENT_RESTARTED, /* the service */
	WINDOW_EVENT_BUILD,     /* of its main program another one, text: "ID PATH" */
	N_WINDOW_EVENTS,
};

struct window_event {
	enum window_event_kind kind;
	uint32_t at_s;
	uint64_t n, of;
	char text[WINDOW_EVENTS_TEXT_MAX + 1];
};

/*
 * Appends @e to *text, malloc'ed or NULL; what has no room is left out. Losses of an hour are one.
 * 0 or negative errno.
 */
int window_events_add(char **text, const struct window_event *e);
/* The next one of *at, which is moved behind it. False: there are no more, or it is malformed. */
bool window_events_next(const char **at, struct window_event *ret);

#endif
