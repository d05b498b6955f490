/* SPDX-License-Identifier: MIT */
/* Locations and frames are collected in arrays, texts in a pool; all are joined at the end. */
#include "daemon/worker/answer_builder.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/room.h"
#include "daemon/worker/text_pool.h"

struct array {
	void *data;
	size_t n, n_allocated;
};

struct answer_builder {
	struct array locations, frames;
	struct text_pool *texts;
};

int answer_builder_new(struct answer_builder **ret)
{
	cleanup(answer_builder_freep) struct answer_builder *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return error_origin(-ENOMEM);
	r = text_pool_new(&b->texts);
	if (r)
		return r;
	*ret = steal_ptr(&b);
	return 0;
}

void answer_builder_free(struct answer_builder *b)
{
	if (!b)
		return;
	text_pool_free(b->texts);
	free(b->locations.data);
	free(b->frames.data);
	free(b);
}

static int array_add(struct array *array, const void *element, size_t size)
{
	if (room_make(&array->data, &array->n_allocated, array->n + 1, size))
		return -ENOMEM;
	memcpy((char *)array->data + array->n++ * size, element, size);
	return 0;
}

static uint64_t answer_builder_length(const struct answer_builder *b)
{
	return sizeof(struct worker_names) + b->locations.n * sizeof(struct worker_location) +
	       b->frames.n * sizeof(struct worker_frame) + text_pool_length(b->texts);
}

int answer_builder_add(struct answer_builder *b, uint64_t start, uint64_t size,
		       enum worker_source source, const struct frame_name *frames, size_t n)
{
	struct worker_location location = {
		.start = start,
		.size = size,
		.first_frame = (uint32_t)b->frames.n,
		.n_frames = (uint32_t)(n < WORKER_FRAMES_MAX ? n : WORKER_FRAMES_MAX),
		.source = source,
	};
	int r = 0;

	for (size_t i = 0; !r && i < location.n_frames; i++) {
		struct worker_frame frame = {
			.line = frames[i].line,
			.start_line = frames[i].start_line,
		};

		r = text_pool_add_name(b->texts, frames[i].system_name, &frame.system_name,
				       &frame.name);
		if (!r)
			r = text_pool_add(b->texts, frames[i].file, &frame.file);
		if (!r)
			r = array_add(&b->frames, &frame, sizeof(frame));
	}
	if (!r)
		r = array_add(&b->locations, &location, sizeof(location));
	if (r)
		return r;
	/* An outcome, no error: too much was asked for at once. */
	return answer_builder_length(b) > WORKER_ANSWER_MAX ? -E2BIG : 0;
}

int answer_builder_finish(struct answer_builder *b, uint8_t **ret, size_t *ret_length)
{
	struct worker_names header = {
		.n_locations = (uint32_t)b->locations.n,
		.n_frames = (uint32_t)b->frames.n,
		.text_length = (uint32_t)text_pool_length(b->texts),
	};
	const struct iovec parts[] = {
		{&header, sizeof(header)},
		{b->locations.data, b->locations.n * sizeof(struct worker_location)},
		{b->frames.data, b->frames.n * sizeof(struct worker_frame)},
	};

	return text_pool_finish(b->texts, parts, ARRAY_SIZE(parts), ret, ret_length);
}
