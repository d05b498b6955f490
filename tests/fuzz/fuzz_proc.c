/* SPDX-License-Identifier: MIT */
/* Any text as /proc/PID/stat and /proc/PID/status. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/resolve/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct proc_status status;
	struct proc_stat stat;

	if (!text)
		return 0;
	proc_parse_status(text, &status);
	if (proc_parse_stat(text, &stat) == PROC_E_OK &&
	    !memchr(stat.comm, '\0', sizeof(stat.comm)))
		abort();
	free(text);
	return 0;
}
