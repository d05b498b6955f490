/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_SOURCE_SCRIPTED_H
#define PROFD_TESTS_SOURCE_SCRIPTED_H

/*
 * A source of what tests say, delivered in that order; all that it points to is copied. Samplers
 * and filters are accepted as they come; every sample that is delivered counts as seen by the
 * sampler that it names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/ingest/source.h"

struct scripted_item {
	bool is_sample;
	struct sample sample;
	struct process_event event;
	void *owned; /* what it points to: frames, the rest and its stack; or a path */
};

struct source_scripted {
	struct source source; /* its fd is an eventfd that is always readable */
	struct scripted_item *items;
	size_t first, n_items;
};

static inline struct source_scripted *scripted_from(struct source *source)
{
	return (struct source_scripted *)source;
}

static inline void scripted_free(struct source *source)
{
	struct source_scripted *s = scripted_from(source);

	for (size_t i = s->first; i < s->n_items; i++)
		free(s->items[i].owned);
	free(s->items);
	free(s);
}

static inline void scripted_deliver(struct source_scripted *s, const struct scripted_item *item)
{
	const struct source_sink *sink = s->source.options.sink;

	if (!item->is_sample) {
		sink->process_event(sink->userdata, &item->event);
		return;
	}
	s->source.samplers[item->sample.sampler].stats.seen++;
	sink->sample(sink->userdata, &item->sample);
}

static inline int scripted_drain(struct source *source, unsigned budget)
{
	struct source_scripted *s = scripted_from(source);

	for (; s->first < s->n_items; s->first++) {
		struct scripted_item item = s->items[s->first];

		if (item.is_sample && budget-- == 0)
			return SOURCE_E_MORE;
		scripted_deliver(s, &item);
		free(item.owned);
	}
	s->first = s->n_items = 0;
	return SOURCE_E_END;
}

static const struct source_ops scripted_ops = {
	.name = "scripted",
	.has_all_causes = true,
	.free = scripted_free,
	.drain = scripted_drain,
};

static inline int source_scripted_new(struct source **ret, const struct source_options *options)
{
	cleanup(source_freep) struct source *s = source_new(sizeof(struct source_scripted),
							    &scripted_ops, options);

	if (!s)
		return error_origin(-ENOMEM);
	s->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0)
		return error_origin(-errno);
	*ret = steal_ptr(&s);
	return SOURCE_E_OK;
}

/* Takes over @item->owned. */
static inline int scripted_append(struct source_scripted *s, const struct scripted_item *item)
{
	struct scripted_item *items = s->items;

	/* Room for a power of two: sanitizers copy what grows each time. */
	if ((s->n_items & (s->n_items - 1)) == 0)
		items = reallocarray(items, s->n_items ? 2 * s->n_items : 1, sizeof(*items));
	if (!items) {
		free(item->owned);
		return error_origin(-ENOMEM);
	}
	s->items = items;
	s->items[s->n_items++] = *item;
	return 0;
}

static inline int source_scripted_add_sample(struct source *source, const struct sample *sample)
{
	struct scripted_item item = {.is_sample = true, .sample = *sample};
	size_t n_frames = sample->n_frames, n_stack = sample->rest ? sample->rest->stack_length : 0;
	struct {
		struct sample_rest rest;
		uint64_t frames[];
	} * copy;
	uint8_t *stack;

	if (sample->sampler >= SAMPLERS_MAX)
		return error_origin(-EINVAL);
	copy = malloc(sizeof(*copy) + n_frames * sizeof(*copy->frames) + n_stack);
	if (!copy)
		return error_origin(-ENOMEM);
	if (n_frames)
		memcpy(copy->frames, sample->frames, n_frames * sizeof(*copy->frames));
	item.sample.frames = copy->frames;
	if (sample->rest) {
		stack = (uint8_t *)(copy->frames + n_frames);
		copy->rest = *sample->rest;
		if (n_stack)
			memcpy(stack, sample->rest->stack, n_stack);
		copy->rest.stack = stack;
		item.sample.rest = &copy->rest;
	}
	item.owned = copy;
	return scripted_append(scripted_from(source), &item);
}

static inline int source_scripted_add_event(struct source *source,
					    const struct process_event *event)
{
	struct scripted_item item = {.event = *event};

	if (event->kind == PROCESS_EVENT_MMAP) {
		item.owned = strdup(event->map.path ? event->map.path : "");
		if (!item.owned)
			return error_origin(-ENOMEM);
		item.event.map.path = item.owned;
	}
	return scripted_append(scripted_from(source), &item);
}

#endif
