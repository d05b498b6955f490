/* SPDX-License-Identifier: MIT */
/*
 * The first byte chooses machine and syntax; the rest is code. Instructions follow each other to
 * its end.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/worker/protocol.h"
#include "daemon/worker/code/disassembler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct disassembler *disassemblers[8];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = {EM_X86_64, EM_386, EM_AARCH64, EM_ARM};
	struct disassembler **d;
	unsigned which;

	if (size < 1)
		return 0;
	which = data[0] % 8;
	d = &disassemblers[which];
	if (!*d && disassembler_new(d, machines[which / 2], which & 1))
		abort();
	for (size_t at = 1; at < size;) {
		struct instruction i;

		disassembler_get(*d, data + at, size - at, UINT64_MAX - 64 + at, &i);
		if (!i.size || i.size > size - at || i.size > WORKER_INSTRUCTION_BYTES ||
		    !memchr(i.text, '\0', sizeof(i.text)) || !i.text[0])
			abort();
		at += i.size;
	}
	return 0;
}
