/* SPDX-License-Identifier: MIT */
#include "daemon/output/vacuum.h"

#include "common/cleanup.h"

static int unlink_nothing(int dir, const char *name, int flags)
{
	(void)dir, (void)name, (void)flags;
	return 0;
}

/* The same store with an index of its own, for which @ops is filled: of it nothing is deleted. */
static int open_dry_store(const struct store *store, struct file_ops *ops, struct store **ret)
{
	cleanup(store_freep) struct store *dry = NULL;
	int r;

	*ops = *store->ops;
	ops->unlink = unlink_nothing;
	r = store_new(&dry, store->fd, store->path, ops) ?: store_scan(dry);
	if (!r)
		*ret = steal_ptr(&dry);
	return r;
}

static int vacuum_store(struct store *store, const struct retention_limits *limits, uint64_t now_s,
			struct vacuum *ret)
{
	const struct index *index = &store->index;
	uint64_t blocks = index->blocks, n_files = index->n_files;
	int r = retention_run(store, limits, now_s, 0, NULL);

	ret->bytes = (blocks - index->blocks) * INDEX_BLOCK;
	ret->files = n_files - index->n_files;
	return r;
}

int store_vacuum(struct store *store, const struct retention_limits *limits, uint64_t now_s,
		 struct vacuum *ret)
{
	cleanup(store_freep) struct store *dry = NULL;
	struct file_ops ops;
	int r = limits->is_dry_run ? open_dry_store(store, &ops, &dry) : 0;

	return r ?: vacuum_store(dry ? dry : store, limits, now_s, ret);
}
