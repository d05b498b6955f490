/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_REPORT_PICTURE_H
#define PROFD_CLIENT_REPORT_PICTURE_H

/*
 * What other programs make of a report: pictures that graphviz's `dot` draws of view_dot's text,
 * and windows that show them. Programs are looked for in $PATH, and what they complain of goes to
 * standard error.
 */
#include <stddef.h>
#include <stdio.h>

#include "client/report/outcome.h"

struct profile_message;

/*
 * Draws @length bytes of graphviz's language to @out, whose errors are the caller's to look for.
 * @format: "svg", "png", "pdf", "gif" or "ps". Blocks until it is drawn, which may take long for
 * graphs of thousands of boxes. REPORT_E_* or negative errno.
 */
int picture_draw(const char *format, const char *graph, size_t length, FILE *out,
		 struct profile_message *message);

enum picture_window {
	PICTURE_BROWSER,     /* $BROWSER, or what the desktop opens pages with */
	PICTURE_GV,          /* gv: PostScript */
	PICTURE_KCACHEGRIND, /* kcachegrind, or qcachegrind: callgrind's format */
};

/*
 * Shows @length bytes in a window. They are written to a file in $TMPDIR or /tmp that the user
 * alone may read, whose path ends in @suffix (".svg"), and that stays: nobody knows when the window
 * has read it. *ret_path: malloc'ed, the caller's. Does not wait for the window. REPORT_E_* or
 * negative errno.
 */
int picture_show(enum picture_window window, const char *suffix, const void *data, size_t length,
		 char **ret_path, struct profile_message *message);

#endif
