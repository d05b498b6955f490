/* SPDX-License-Identifier: MIT */
#include "common/system_calls.h"

#include <stdio.h>

void system_call_name(unsigned number, char ret[SYSTEM_CALL_NAME_SIZE])
{
	const char *name = number < n_system_call_names ? system_call_names[number] : NULL;

	if (name)
		snprintf(ret, SYSTEM_CALL_NAME_SIZE, "%s", name);
	else
		snprintf(ret, SYSTEM_CALL_NAME_SIZE, "syscall %u", number);
}
