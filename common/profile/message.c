/* SPDX-License-Identifier: MIT */
#include "common/profile/message.h"

#include <stdarg.h>
#include <stdio.h>

int profile_refuse(struct profile_message *message, int outcome, const char *format, ...)
{
	va_list arguments;

	if (message) {
		va_start(arguments, format);
		vsnprintf(message->text, sizeof(message->text), format, arguments);
		va_end(arguments);
	}
	return outcome;
}
