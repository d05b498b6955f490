/* SPDX-License-Identifier: MIT */
#include "client/symbolize/build_ids.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/error.h"

/* For one answer: somebody is kept waiting who reads rings. */
#define DEADLINE_NS (2 * NS_PER_S)

struct build_ids {
	struct object_source source;
	bool is_lost; /* no worker is to be had */
};

int build_ids_new(struct build_ids **ret, int root_fd, const char *worker_path)
{
	cleanup(build_ids_freep) struct build_ids *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return error_origin(-ENOMEM);
	r = object_source_init(&b->source, root_fd, worker_path, DEADLINE_NS);
	if (r)
		return r;
	*ret = steal_ptr(&b);
	return 0;
}

void build_ids_free(struct build_ids *b)
{
	if (!b)
		return;
	object_source_deinit(&b->source);
	free(b);
}

static bool fd_matches_inode(int fd, uint64_t device, uint64_t inode)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == inode && major(st.st_dev) == device >> 32 &&
	       minor(st.st_dev) == (uint32_t)device;
}

int build_ids_find(struct build_ids *b, const char *path, uint64_t device, uint64_t inode,
		   char ret[ELF_BUILD_ID_TEXT])
{
	enum worker_outcome outcome = WORKER_UNREADABLE;
	cleanup(closep) int fd = -1;
	struct worker_image facts;
	const char *ignored;
	int r;

	*ret = '\0';
	if (b->is_lost || *path != '/')
		return 0;
	fd = files_open(b->source.files, path, &ignored);
	if (fd < 0 || !fd_matches_inode(fd, device, inode))
		return 0;
	r = asker_image(b->source.asker, fd, &facts, &outcome);
	b->is_lost = r == ASKER_E_NONE;
	if (!r && outcome == WORKER_DONE)
		elf_build_id_print(facts.elf.build_id, facts.elf.build_id_length, ret);
	return r < 0 ? r : 0;
}
