/* SPDX-License-Identifier: MIT */
#include "client/analysis/frames.h"

#include <stdlib.h>

void frames_deinit(struct frames *f)
{
	intern_deinit(&f->in);
	free(f->all);
}

int frames_intern(struct frames *f, const struct frame *key, uint32_t *ret)
{
	_Static_assert(sizeof(*key) == 6 * sizeof(uint32_t) + 3 * sizeof(uint64_t), "no padding");

	return intern_add(&f->in, &f->all, key, sizeof(*key), sizeof(*key), ret);
}
