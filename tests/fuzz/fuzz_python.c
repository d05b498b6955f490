/* SPDX-License-Identifier: MIT */

/*
 * Any bytes as what a process says of its Python or JavaScript code, and as an interpreter's
 * machine code. The first four are version, width of characters, and the instruction; the rest is a
 * table of lines, and a name: which is UTF-8 and harmless.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/runtime/row.h"
#include "common/utf8.h"
#include "daemon/worker/runtime/python_count.h"
#include "daemon/worker/runtime/python_lines.h"
#include "daemon/worker/runtime/python_text.h"
#include "daemon/worker/runtime/python_thread.h"
#include "daemon/worker/runtime/v8_lines.h"
#include "daemon/worker/runtime/v8_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[100], file[100];
	uint64_t index;
	int32_t at;

	python_find_thread(data, size, 0, &index, &at);
	python_find_count(data, size, 0);
	if (size < 4)
		return 0;
	if (python_line(0x0300u | data[0], data + 4, size - 4, data[1], data[2] * 256u + data[3]) >
	    INT32_MAX)
		abort();
	/* No more lines than the map has bits. */
	if (v8_line(RUNTIME_V8_VERSION, data + 4, size - 4, 1, data[2] * 256u + data[3]) > 8 * size)
		abort();
	if (python_text(data + 4, size - 4, data[1], text, sizeof(text)) >= sizeof(text) ||
	    !utf8_is_valid(text))
		abort();
	memcpy(file, text, sizeof(file));
	v8_text_fit(text, file);
	if (!*text || !utf8_is_valid(text) || !utf8_is_valid(file) || strlen(file) >= sizeof(file))
		abort();
	return 0;
}
