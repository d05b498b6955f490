/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/source.h"

void source_free(struct source *source)
{
	if (source)
		source->ops->free(source);
}

int source_fd(struct source *source)
{
	return source->ops->fd(source);
}

int source_drain(struct source *source, unsigned budget)
{
	return source->ops->drain(source, budget);
}

int source_add_sampler(struct source *source, const struct sampler_spec *spec, unsigned *ret,
		       struct source_message *message)
{
	return source->ops->add_sampler(source, spec, ret, message);
}

int source_remove_sampler(struct source *source, unsigned sampler)
{
	return source->ops->remove_sampler(source, sampler);
}

int source_set_all(struct source *source, unsigned sampler, bool all)
{
	return source->ops->set_all(source, sampler, all);
}

int source_add_pid(struct source *source, unsigned sampler, pid_t pid, bool children)
{
	return source->ops->add_pid(source, sampler, pid, children);
}

int source_remove_pid(struct source *source, unsigned sampler, pid_t pid)
{
	return source->ops->remove_pid(source, sampler, pid);
}

int source_follow_cpus(struct source *source)
{
	return source->ops->follow_cpus(source);
}

int source_get_stats(struct source *source, unsigned sampler, struct source_stats *ret)
{
	return source->ops->get_stats(source, sampler, ret);
}

uint64_t source_memory_bytes(struct source *source)
{
	return source->ops->memory_bytes(source);
}

const struct unwind_host *source_unwind_host(struct source *source)
{
	return source->ops->unwind_host ? source->ops->unwind_host(source) : NULL;
}
