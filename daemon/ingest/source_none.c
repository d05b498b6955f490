/* SPDX-License-Identifier: MIT */
/* Samples nothing, for a profd that only reads its store. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "common/error.h"
#include "daemon/ingest/sources.h"

static int none_drain(struct source *source, unsigned budget)
{
	(void)source, (void)budget;
	return SOURCE_E_OK;
}

static int none_add_sampler(struct source *source, unsigned sampler, struct source_message *message)
{
	(void)source, (void)sampler;
	return source_refuse(message, SOURCE_E_UNSUPPORTED, "this profd only reads a store");
}

static void none_free(struct source *source)
{
	free(source);
}

static const struct source_ops none_ops = {
	.name = "none",
	.free = none_free,
	.drain = none_drain,
	.add_sampler = none_add_sampler,
};

int source_none_new(struct source **ret, const struct source_options *options)
{
	cleanup(source_freep) struct source *source = source_new(sizeof(*source), &none_ops,
								 options);

	if (!source)
		return error_origin(-ENOMEM);
	source->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (source->fd < 0)
		return error_origin(-errno);
	*ret = steal_ptr(&source);
	return SOURCE_E_OK;
}
