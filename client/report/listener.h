/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_LISTENER_H
#define PROFD_REPORT_LISTENER_H

/* What hears of a report while it is made. */
struct listener {
	/* Something for the user to know, a line; may be NULL. */
	void (*note)(void *context, const char *text);
	/*
	 * How far reading and naming are: @done is 0 to 1. @text NULL: that is over, and something
	 * else may be written. May be NULL.
	 */
	void (*progress)(void *context, double done, const char *text);
	void *context;
};

void listener_note(const struct listener *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
