/* SPDX-License-Identifier: MIT */
#include "client/shim/core/image_table.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/unwind/cfi.h"
#include "common/unwind/eh_frame.h"
#include "common/unwind/table.h"

#define ROWS_MAX (16u << 20)

/*
 * The file at the mapping's path, if it is the one that is mapped: device numbers of the two differ
 * on some filesystems, so the inode's must do.
 */
static int open_mapped_image(const struct maps_line *line)
{
	cleanup(closep) int fd = -1;
	char path[PATH_MAX];
	struct stat st;

	if (line->path_length >= sizeof(path))
		return -1;
	memcpy(path, line->path, line->path_length);
	path[line->path_length] = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != line->inode)
		return -1;
	return steal_fd(&fd);
}

static int read_frame(const struct maps_line *line, const void *vdso, struct eh_frame *ret)
{
	cleanup(closep) int fd = -1;

	if (vdso)
		return eh_frame_parse(vdso, line->end - line->start, ret);
	fd = open_mapped_image(line);
	return fd < 0 ? EH_FRAME_E_UNREADABLE : eh_frame_read(fd, ret);
}

/* Returns the slot's state. */
static unsigned image_table_compile(const struct eh_frame *frame, uint64_t *words, size_t max_words,
				    size_t *n_words, struct table_slot *ret)
{
	const struct cfi_limits limits = {.max_rows = ROWS_MAX, .max_rules = TABLE_RULES_MAX};
	cleanup(cfi_rows_freep) struct cfi_rows *rows = NULL;
	cleanup(freep) uint64_t *packed = NULL;
	struct table_slot slot;
	size_t n;
	int r = cfi_compile(&rows, &frame->input, &limits);

	if (r)
		return r == CFI_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
	if (table_pack(rows, max_words - *n_words, &slot, &packed, &n))
		return TABLE_REFUSED;
	memcpy(words + *n_words, packed, n * sizeof(*words));
	slot.first = (uint32_t)*n_words;
	*n_words += n;
	*ret = slot;
	return TABLE_LOADED;
}

void image_table_make(const struct maps_line *line, const void *vdso, uint64_t *words,
		      size_t max_words, size_t *n_words, struct table_slot *ret)
{
	cleanup(eh_frame_deinit) struct eh_frame frame = {0};
	int r = read_frame(line, vdso, &frame);

	memset(ret, 0, sizeof(*ret));
	if (r)
		ret->state = r == EH_FRAME_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
	else
		ret->state = image_table_compile(&frame, words, max_words, n_words, ret);
}
