/* SPDX-License-Identifier: MIT */
/* Locations and frames are collected in arrays, texts in a pool; all are joined at the end. */
#include "daemon/worker/answer_builder.h"

#include <errno.h>

#include "common/error.h"
#include "common/room.h"
#include "daemon/worker/text_pool.h"

struct answer_builder {
	struct worker_location *locations;
	size_t n_locations, max_locations;
	struct worker_frame *frames;
	size_t n_frames, max_frames;
	struct text_pool *texts;
};

int answer_builder_new(struct answer_builder **ret)
{
	cleanup(answer_builder_freep) struct answer_builder *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return error_origin(-ENOMEM);
	r = text_pool_new(&b->texts);
	if (!r)
		*ret = steal_ptr(&b);
	return r;
}

void answer_builder_free(struct answer_builder *b)
{
	if (!b)
		return;
	text_pool_free(b->texts);
	free(b->locations);
	free(b->frames);
	free(b);
}

int answer_builder_add(struct answer_builder *b, uint64_t start, uint64_t size,
		       enum worker_source source, const struct frame_name *frames, size_t n)
{
	struct worker_location location = {
		.start = start,
		.size = size,
		.first_frame = (uint32_t)b->n_frames,
		.n_frames = (uint32_t)(n < WORKER_FRAMES_MAX ? n : WORKER_FRAMES_MAX),
		.source = source,
	};
	uint64_t length;
	int r = 0;

	for (size_t i = 0; !r && i < location.n_frames; i++) {
		struct worker_frame frame = {
			.line = frames[i].line,
			.start_line = frames[i].start_line,
		};

		r = text_pool_add_name(b->texts, frames[i].system_name, &frame.system_name,
				       &frame.name) ?:
		    text_pool_add(b->texts, frames[i].file, &frame.file) ?:
		    room_append(&b->frames, &b->max_frames, &b->n_frames, frame);
	}
	if (!r)
		r = room_append(&b->locations, &b->max_locations, &b->n_locations, location);
	if (r)
		return r;
	/* An outcome, no error: too much was asked for at once. */
	length = sizeof(struct worker_names) + b->n_locations * sizeof(*b->locations) +
		 b->n_frames * sizeof(*b->frames) + text_pool_length(b->texts);
	return length > WORKER_ANSWER_MAX ? -E2BIG : 0;
}

int answer_builder_finish(struct answer_builder *b, uint8_t **ret, size_t *ret_length)
{
	struct worker_names header = {
		.n_locations = (uint32_t)b->n_locations,
		.n_frames = (uint32_t)b->n_frames,
		.text_length = (uint32_t)text_pool_length(b->texts),
	};
	const struct iovec parts[] = {
		{&header, sizeof(header)},
		{b->locations, b->n_locations * sizeof(*b->locations)},
		{b->frames, b->n_frames * sizeof(*b->frames)},
	};

	return text_pool_finish(b->texts, parts, ARRAY_SIZE(parts), ret, ret_length);
}
