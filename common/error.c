/* SPDX-License-Identifier: MIT */
/*
 * One origin a thread: a fatal error ends what the thread was doing, so the newest origin is the
 * one that the message at the top is about. Thread-local by nature, like errno.
 */
#include "common/error.h"

#include <stdio.h>
#include <string.h>

static _Thread_local struct {
	int err;
	int line;
	const char *file;
	char text[256];
} origin;

int error_origin_at(int err, const char *file, int line)
{
	origin.err = err;
	origin.file = file;
	origin.line = line;
	return err;
}

const char *error_describe(int err)
{
	const char *message = strerrordesc_np(err < 0 ? -err : err);

	if (!message)
		message = "unknown error";
	if (origin.file && origin.err == err)
		snprintf(origin.text, sizeof(origin.text), "%s (at %s:%d)", message, origin.file,
			 origin.line);
	else
		snprintf(origin.text, sizeof(origin.text), "%s", message);
	return origin.text;
}
