/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/v8_lines.h"

uint32_t v8_line(uint32_t version, const uint8_t *table, size_t length, uint32_t first,
		 uint32_t offset)
{
	(void)version, (void)table, (void)length, (void)offset;
	return first <= INT32_MAX ? first : 0;
}
