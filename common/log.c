/* SPDX-License-Identifier: MIT */
#include "common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* systemd.exec(5), $JOURNAL_STREAM: device and inode of the stream that was handed to us. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	if (!stream || sscanf(stream, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) != 2)
		return false;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_line(int priority, const char *format, ...)
{
	char line[1024];
	int saved = errno;
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* What a file or a server says may be in it. */
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	/*
	 * Through the stream that the service manager made, not by a message of our own: the
	 * journal looks up its sender, and a process that has ended by then has no unit any more.
	 */
	if (stderr_is_journal())
		dprintf(STDERR_FILENO, "<%d>%s\n", LOG_PRI(priority), line);
	else
		dprintf(STDERR_FILENO, "%s: %s\n", program_invocation_short_name, line);
	errno = saved;
}
