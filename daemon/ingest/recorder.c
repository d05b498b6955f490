/* SPDX-License-Identifier: MIT */
/*
 * Sits between a source and its sink: appends everything that passes to a file, through a buffer.
 * A failed write ends the recording at the last whole buffer and is reported at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/ingest/replay_format.h"
#include "daemon/ingest/sources.h"

#define BUFFER_BYTES (256 * 1024)

struct recorder {
	struct source_sink sink; /* ours, given to the source */
	const struct source_sink *next;
	int fd;
	int error; /* first failure, negative errno */
	size_t n_bytes;
	uint8_t bytes[BUFFER_BYTES];
};

static void recorder_flush(struct recorder *r)
{
	size_t done = 0;

	while (!r->error && done < r->n_bytes) {
		ssize_t n = write(r->fd, r->bytes + done, r->n_bytes - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			r->error = error_origin(-errno);
	}
	r->n_bytes = 0;
}

/* Where the next record goes. */
static uint8_t *recorder_reserve(struct recorder *r)
{
	if (r->n_bytes + REPLAY_RECORD_MAX > BUFFER_BYTES)
		recorder_flush(r);
	return r->bytes + r->n_bytes;
}

static void recorder_on_sample(void *userdata, const struct sample *sample)
{
	struct recorder *r = userdata;

	r->n_bytes += replay_encode_sample(sample, recorder_reserve(r));
	r->next->sample(r->next->userdata, sample);
}

static void recorder_on_process_event(void *userdata, const struct process_event *event)
{
	struct recorder *r = userdata;

	r->n_bytes += replay_encode_event(event, recorder_reserve(r));
	r->next->process_event(r->next->userdata, event);
}

int recorder_new(struct recorder **ret, int fd, const struct source_sink *next)
{
	struct recorder *r = calloc(1, sizeof(*r));

	if (!r) {
		close(fd);
		return error_origin(-ENOMEM);
	}
	r->sink = (struct source_sink){recorder_on_sample, recorder_on_process_event, r};
	r->next = next;
	r->fd = fd;
	replay_encode_head(r->bytes);
	r->n_bytes = REPLAY_HEAD_BYTES;
	*ret = r;
	return 0;
}

const struct source_sink *recorder_sink(struct recorder *recorder)
{
	return &recorder->sink;
}

void recorder_sampler(struct recorder *recorder, unsigned sampler, const struct sampler_spec *spec)
{
	recorder->n_bytes += replay_encode_sampler(sampler, spec, recorder_reserve(recorder));
}

int recorder_close(struct recorder *recorder)
{
	int r;

	recorder_flush(recorder);
	r = recorder->error;
	if (close(recorder->fd) < 0 && !r)
		r = error_origin(-errno);
	free(recorder);
	return r;
}
