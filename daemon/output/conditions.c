/* SPDX-License-Identifier: MIT */
/* Each condition is a row: a line of fixed texts, with what the facts say of it in between. */
#include "daemon/output/conditions.h"

#include <stdio.h>

#define FACT(name) offsetof(struct condition_facts, name)

enum { OF_NOTHING, OF_STORE, OF_ROLLUP };

/* What is said of a condition: what it is of, text, detail and more text. */
static const struct condition {
	unsigned bit, of;
	const char *text;
	size_t detail; /* offset of a text in struct condition_facts; 0: none */
	const char *more;
} conditions[] = {
	{WRITER_FULL, OF_STORE, .text = ": ", .detail = FACT(error),
	 .more = "; the window stays open: make room or lower max_size"},
	{WRITER_FAILED, OF_STORE,
	 .text = ": cannot write profiles, the window stays open: ", .detail = FACT(error)},
	{WRITER_INCOMPLETE, OF_STORE,
	 .text = ": some image profiles lack a window: ", .detail = FACT(error)},
	{WRITER_NEW_EPOCH, OF_STORE,
	 .text = ": an image profile could not be updated (damaged, or a count at its limit): "
		 "began image "
		 "epoch ",
	 .detail = FACT(epoch)},
	{WRITER_NO_ACL, OF_STORE,
	 .text = ": no ACLs on this file system: only root and profd can read the files of "
		 "sessions"},
	{WRITER_NOT_COLLECTED, OF_STORE,
	 .text = ": cannot delete old profiles: check its permissions"},
	{WRITER_NO_KALLSYMS, OF_NOTHING,
	 .text = "kernel addresses have no names: /proc/kallsyms has no addresses; grant profd "
		 "CAP_SYSLOG "
		 "or "
		 "lower kernel.kptr_restrict"},
	{WRITER_NO_WORKER, OF_NOTHING,
	 .text = "new addresses have no names: the image worker for symbols cannot be run: ",
	 .detail = FACT(worker), .more = "; check that profd-image-worker is installed"},
	{WRITER_GONE, OF_STORE, .text = " was removed and cannot be created again: ",
	 .detail = FACT(error), .more = "; the window stays open until it is there"},
	{WRITER_REVIVED, OF_STORE, .text = " was removed; profiles are written to a new directory"},
	{WRITER_DAMAGED, OF_ROLLUP, .text = ": cannot be read; it is kept, but not rolled up"},
	{WRITER_NOT_ROLLED_UP, OF_ROLLUP,
	 .text = ": windows cannot be rolled up, retrying later: ", .detail = FACT(error)},
};

void condition_describe(unsigned condition, const struct condition_facts *facts, char *ret,
			size_t size)
{
	const struct condition *c = conditions;

	while (c->bit != condition)
		c++;
	snprintf(ret, size, "%s%s%s%s%s%s", c->of ? facts->store : "",
		 c->of == OF_ROLLUP ? "/" : "", c->of == OF_ROLLUP ? facts->rollup : "", c->text,
		 c->detail ? *(const char *const *)((const char *)facts + c->detail) : "",
		 c->more ? c->more : "");
}
