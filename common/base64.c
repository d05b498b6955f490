/* SPDX-License-Identifier: MIT */
#include "common/base64.h"

#include <stdint.h>

void base64_encode(const void *data, size_t length, char *ret)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *bytes = data;

	for (size_t i = 0; i < length; i += 3) {
		size_t n = length - i;
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < n ? bytes[i + k] : 0);
		*ret++ = digits[bits >> 18];
		*ret++ = digits[bits >> 12 & 63];
		*ret++ = n > 1 ? digits[bits >> 6 & 63] : '=';
		*ret++ = n > 2 ? digits[bits & 63] : '=';
	}
	*ret = '\0';
}
