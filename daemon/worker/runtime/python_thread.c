/* SPDX-License-Identifier: MIT */
#include "daemon/worker/runtime/python_thread.h"

#include <stdbool.h>
#include <string.h>

#include "common/bytes.h"

struct thread_code {
	const uint8_t *at, *end;
};

/* Goes behind the next @n bytes that are @wanted, and the number of @length bytes after them. */
static bool thread_seek(struct thread_code *code, const char *wanted, size_t n, size_t length,
			int32_t *ret)
{
	for (; (size_t)(code->end - code->at) >= n + length; code->at++) {
		if (memcmp(code->at, wanted, n) != 0)
			continue;
		if (length == 1)
			*ret = (int8_t)code->at[n];
		else if (length)
			*ret = (int32_t)bytes_number(code->at + n, length, false);
		code->at += n + length;
		return true;
	}
	return false;
}

void python_find_thread(const uint8_t *code, size_t n, uint64_t address, uint64_t *ret_index,
			int32_t *ret_at)
{
	struct thread_code c = {.at = code, .end = code + n}, load;
	int32_t index, called, at = 0;

	*ret_index = 0;
	*ret_at = 0;
	/* mov %fs:at, %rax */
	if (thread_seek(&c, "\x64\x48\x8b\x04\x25", 5, 4, &at)) {
		*ret_at = at;
		return;
	}
	/* lea index(%rip), %rdi; call __tls_get_addr; mov at(%rax), %rax */
	c.at = code;
	if (!thread_seek(&c, "\x48\x8d\x3d", 3, 4, &index))
		return;
	address += (uint64_t)(c.at - code) + (uint64_t)(int64_t)index;
	if (!thread_seek(&c, "\xe8", 1, 4, &called))
		return;
	load = c;
	if (!thread_seek(&load, "\x48\x8b\x80", 3, 4, &at)) {
		load = c;
		if (!thread_seek(&load, "\x48\x8b\x40", 3, 1, &at)) {
			load = c;
			if (!thread_seek(&load, "\x48\x8b\x00", 3, 0, &at))
				return;
		}
	}
	*ret_index = address;
	*ret_at = at;
}
