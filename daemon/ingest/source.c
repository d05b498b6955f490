/* SPDX-License-Identifier: MIT */
/*
 * What all sources have in common: which samplers are used, with which spec, their totals, and
 * whom an implementation need not be asked.
 */
#include "daemon/ingest/source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"

#define MEMORY_DEFAULT (32u << 20)
#define CODES_DEFAULT  (8u << 20)
#define DRAIN_MS       100

int source_refuse(struct source_message *message, int outcome, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message->text, sizeof(message->text), format, arguments);
	va_end(arguments);
	return outcome;
}

struct source *source_new(size_t size, const struct source_ops *ops,
			  const struct source_options *options)
{
	struct source *source = calloc(1, size);

	if (!source)
		return NULL;
	source->ops = ops;
	source->options = *options;
	if (!source->options.memory_bytes)
		source->options.memory_bytes = MEMORY_DEFAULT;
	if (!source->options.code_bytes)
		source->options.code_bytes = CODES_DEFAULT;
	if (!source->options.drain_ms)
		source->options.drain_ms = DRAIN_MS;
	source->fd = -1;
	return source;
}

void source_free(struct source *source)
{
	if (!source)
		return;
	closep(&source->fd);
	source->ops->free(source);
}

int source_drain(struct source *source, unsigned budget)
{
	/* It is events that wake us up by the thousand, until there is a sample (unwinder.c). */
	enum cpu_cause before = cpu_causes_switch(source->options.cpu_causes, CPU_EVENTS);
	int r = source->ops->drain(source, budget);

	cpu_causes_switch(source->options.cpu_causes, before);
	return r;
}

int source_add_sampler(struct source *source, const struct sampler_spec *spec, unsigned *ret,
		       struct source_message *message)
{
	if (spec->event.cause != CAUSE_PERF_EVENT && !source->ops->has_all_causes)
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "the %s source cannot sample %s: it needs BPF",
				     source->ops->name, spec->event.name);
	for (unsigned i = 0; i < SAMPLERS_MAX; i++) {
		unsigned index = (source->next_index + i) % SAMPLERS_MAX;
		struct source_sampler *sampler = &source->samplers[index];
		int r = SOURCE_E_OK;

		if (sampler->used)
			continue;
		/* Records of a replay that match no sampler are the lowest one's. */
		if (source->ops->add_sampler)
			source->next_index = index + 1;
		*sampler = (struct source_sampler){.spec = *spec};
		if (source->ops->add_sampler)
			r = source->ops->add_sampler(source, index, message);
		sampler->used = r == SOURCE_E_OK;
		if (sampler->used)
			*ret = index;
		return r;
	}
	return source_refuse(message, SOURCE_E_FULL,
			     "all %d samplers are in use: use an event and rate of another session",
			     SAMPLERS_MAX);
}

int source_account(struct source *source, unsigned sampler)
{
	enum cpu_cause before = cpu_causes_switch(source->options.cpu_causes, CPU_SAMPLING);
	int r = source->ops->account ? source->ops->account(source, sampler) : 0;

	cpu_causes_switch(source->options.cpu_causes, before);
	return r;
}

int source_remove_sampler(struct source *source, unsigned sampler)
{
	enum cpu_cause before;
	int r = SOURCE_E_OK;

	if (!source->samplers[sampler].used)
		return error_origin(-EINVAL);
	before = cpu_causes_switch(source->options.cpu_causes, CPU_SAMPLING);
	if (source->ops->remove_sampler)
		r = source->ops->remove_sampler(source, sampler);
	cpu_causes_switch(source->options.cpu_causes, before);
	source->samplers[sampler].used = false;
	return r;
}

int source_set_all(struct source *source, unsigned sampler, bool all)
{
	source->samplers[sampler].spec.all = all;
	if (source->ops->set_all)
		source->ops->set_all(source, sampler);
	return SOURCE_E_OK;
}

int source_add_pid(struct source *source, unsigned sampler, pid_t pid, bool children)
{
	return source->ops->filter_pid
		       ? source->ops->filter_pid(source, sampler, pid, true, children)
		       : SOURCE_E_OK;
}

int source_remove_pid(struct source *source, unsigned sampler, pid_t pid)
{
	return source->ops->filter_pid ? source->ops->filter_pid(source, sampler, pid, false, false)
				       : SOURCE_E_OK;
}

int source_follow_cpus(struct source *source)
{
	return source->ops->follow_cpus ? source->ops->follow_cpus(source) : SOURCE_E_OK;
}

int source_get_stats(struct source *source, unsigned sampler, struct source_stats *ret)
{
	int r = source->ops->update_stats ? source->ops->update_stats(source, sampler)
					  : SOURCE_E_OK;

	if (r != SOURCE_E_OK)
		return r;
	*ret = source->samplers[sampler].stats;
	ret->expected = ret->seen + ret->lost[LOST_SKIPPED];
	return SOURCE_E_OK;
}

uint64_t source_memory_bytes(struct source *source)
{
	return source->ops->memory_bytes ? source->ops->memory_bytes(source) : 0;
}

bool source_tells_lives(const struct source *source)
{
	return source->tells_lives;
}

const struct unwind_host *source_unwind_host(struct source *source)
{
	return source->ops->unwind_host ? source->ops->unwind_host(source) : NULL;
}
