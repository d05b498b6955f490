/* SPDX-License-Identifier: MIT */
#include "daemon/worker/names/frame_functions.h"

#include <errno.h>

#include "common/error.h"
#include "common/partition_point.h"
#include "common/unwind/cfi.h"
#include "common/unwind/eh_frame.h"

struct frame_functions {
	struct cfi_function *all;
	size_t n;
};

int frame_functions_new(struct frame_functions **ret, int fd)
{
	struct frame_functions *f = calloc(1, sizeof(*f));
	struct eh_frame frame;

	if (!f)
		return error_origin(-ENOMEM);
	if (!eh_frame_read(fd, &frame)) {
		(void)cfi_list_functions(&f->all, &f->n, &frame.input);
		eh_frame_deinit(&frame);
	}
	*ret = f;
	return 0;
}

void frame_functions_free(struct frame_functions *f)
{
	if (!f)
		return;
	free(f->all);
	free(f);
}

bool frame_functions_find(const struct frame_functions *f, uint64_t address, uint64_t *ret_start,
			  uint64_t *ret_end)
{
	size_t before = partition_point(f->n, i, f->all[i].start <= address);
	bool is_found = before && address < f->all[before - 1].end;

	*ret_start = is_found ? f->all[before - 1].start : before ? f->all[before - 1].end : 0;
	*ret_end = is_found        ? f->all[before - 1].end
		   : before < f->n ? f->all[before].start
				   : UINT64_MAX;
	return is_found;
}

size_t frame_functions_bytes(const struct frame_functions *f)
{
	return sizeof(*f) + f->n * sizeof(*f->all);
}
