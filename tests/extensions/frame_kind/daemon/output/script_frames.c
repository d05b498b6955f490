/* SPDX-License-Identifier: MIT */
/* Frames of a kind that tells the number of a function of some interpreter, which has a name. */
#include "daemon/output/script_frames.h"

static const char *const names[] = {"script_main", "script_work"};

int script_frames_place(struct places *p, const struct view_entry *e, uint64_t frame,
			struct symbols *symbols, struct place *ret)
{
	uint32_t number = (uint32_t)frame;

	(void)p, (void)e, (void)symbols;
	if (number < ARRAY_SIZE(names))
		*ret = (struct place){.kind = PLACE_NAMED, .name = names[number]};
	return 0;
}
