/* SPDX-License-Identifier: MIT */
#include "client/analysis/memory_text.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/error.h"

int memory_text_open(struct memory_text *t)
{
	t->out = open_memstream(&t->text, &t->length);
	return t->out ? 0 : error_origin(-ENOMEM);
}

int memory_text_close(struct memory_text *t)
{
	return fclose(steal_ptr(&t->out)) == 0 ? 0 : error_origin(-ENOMEM);
}

void memory_text_deinit(struct memory_text *t)
{
	fclosep(&t->out);
	free(t->text);
}
