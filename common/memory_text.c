/* SPDX-License-Identifier: MIT */
#include "common/memory_text.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"

static ssize_t memory_text_write(void *cookie, const char *bytes, size_t n)
{
	struct memory_text *t = cookie;

	if (!t->text || room_make(&t->text, &t->max, t->length + n + 1, 1)) {
		free(steal_ptr(&t->text));
		return 0;
	}
	memcpy(t->text + t->length, bytes, n);
	t->length += n;
	t->text[t->length] = '\0';
	return (ssize_t)n;
}

static int memory_text_seek(void *cookie, off64_t *offset, int whence)
{
	const struct memory_text *t = cookie;

	if (*offset != 0 || whence == SEEK_SET)
		return -1;
	*offset = (off64_t)t->length;
	return 0;
}

int memory_text_open(struct memory_text *t)
{
	*t = (struct memory_text){.text = calloc(1, 1), .max = 1};
	if (t->text)
		t->out = fopencookie(t, "w",
				     (cookie_io_functions_t){.write = memory_text_write,
							     .seek = memory_text_seek});
	return t->out ? 0 : error_origin(-ENOMEM);
}

int memory_text_close(struct memory_text *t)
{
	return fclose(steal_ptr(&t->out)) == 0 && t->text ? 0 : error_origin(-ENOMEM);
}
