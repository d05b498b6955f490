/* SPDX-License-Identifier: MIT */
/*
 * Plays a recorded file. Its samples go to samplers by what they recorded: to the one with the same
 * event and rate, else to the first there is; without any they are passed over, which the complaint
 * at the end says. A filter has no say: what was recorded passed it already, and sessions choose
 * their samples themselves.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/ingest/replay_format.h"
#include "daemon/ingest/sources.h"

#define BUFFER_BYTES (256 * 1024)
#define NO_SAMPLER   SAMPLERS_MAX

struct source_replay {
	struct source source; /* its fd is an eventfd that is always readable */
	int fd;               /* the file */
	bool ended, at_eof;
	struct source_message end;                  /* why it ended early */
	uint64_t position;                          /* in the file, of bytes[first] */
	uint64_t unwanted;                          /* samples that met no sampler */
	struct sampler_spec recorded[SAMPLERS_MAX]; /* without a name: none */
	struct replay_record record;
	size_t first, n_bytes;
	uint8_t bytes[BUFFER_BYTES];
};

static void replay_free(struct source *source)
{
	struct source_replay *s = (struct source_replay *)source;

	closep(&s->fd);
	free(s);
}

/* Makes room at the buffer's end, and fills it. */
static int replay_fill_buffer(struct source_replay *s)
{
	ssize_t n;

	memmove(s->bytes, s->bytes + s->first, s->n_bytes - s->first);
	s->n_bytes -= s->first;
	s->first = 0;
	do {
		n = read(s->fd, s->bytes + s->n_bytes, sizeof(s->bytes) - s->n_bytes);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_origin(-errno);
	s->at_eof = n == 0;
	s->n_bytes += (size_t)n;
	return 0;
}

static bool same_sampling(const struct sampler_spec *a, const struct sampler_spec *b)
{
	return a->is_period == b->is_period && a->rate == b->rate &&
	       strcmp(a->event.name, b->event.name) == 0;
}

static unsigned sampler_for(const struct source_replay *s, unsigned recorded)
{
	unsigned first = NO_SAMPLER;

	for (unsigned i = 0; i < SAMPLERS_MAX; i++) {
		if (!s->source.samplers[i].used)
			continue;
		if (same_sampling(&s->source.samplers[i].spec, &s->recorded[recorded]))
			return i;
		if (first == NO_SAMPLER)
			first = i;
	}
	return first;
}

/* Returns whether it was a sample. */
static bool replay_deliver_record(struct source_replay *s)
{
	struct replay_record *record = &s->record;
	const struct source_sink *sink = s->source.options.sink;
	unsigned sampler;

	switch (record->type) {
	case REPLAY_SAMPLER:
		s->recorded[record->sampler] = record->spec;
		return false;
	case REPLAY_EVENT:
		sink->process_event(sink->userdata, &record->event);
		return false;
	case REPLAY_SAMPLE:
		sampler = sampler_for(s, record->sample.sampler);
		if (sampler == NO_SAMPLER) {
			s->unwanted++;
			return true;
		}
		record->sample.sampler = (uint16_t)sampler;
		s->source.samplers[sampler].stats.seen++;
		sink->sample(sink->userdata, &record->sample);
		return true;
	default:
		return false;
	}
}

static int replay_finish(struct source_replay *s, const char *what)
{
	if (what)
		snprintf(s->end.text, sizeof(s->end.text),
			 "the recording %s at byte %" PRIu64
			 ": everything before that was replayed",
			 what, s->position);
	else if (s->unwanted)
		snprintf(s->end.text, sizeof(s->end.text),
			 "%" PRIu64 " recorded samples were skipped: no session was sampling",
			 s->unwanted);
	s->ended = true;
	return SOURCE_E_END;
}

static int replay_drain(struct source *source, unsigned budget)
{
	struct source_replay *s = (struct source_replay *)source;
	unsigned records = 0;
	size_t used;
	int r;

	if (s->ended)
		return SOURCE_E_END;
	/* Events are bounded too: a recording may hold a million between two samples. */
	while (budget && records < 16384) {
		r = replay_decode(s->bytes + s->first, s->n_bytes - s->first, &s->record, &used);
		if (r == REPLAY_E_MALFORMED)
			return replay_finish(s, "is damaged");
		if (r == REPLAY_E_SHORT) {
			if (s->at_eof)
				return replay_finish(s,
						     s->n_bytes > s->first ? "was cut off" : NULL);
			r = replay_fill_buffer(s);
			if (r < 0)
				return r;
			continue;
		}
		s->first += used;
		s->position += used;
		records++;
		if (replay_deliver_record(s))
			budget--;
	}
	return SOURCE_E_MORE;
}

static const struct source_ops replay_ops = {
	.name = "replay",
	.free = replay_free,
	.drain = replay_drain,
};

int source_replay_new(struct source **ret, const struct source_options *options, int fd,
		      struct source_message *message)
{
	cleanup(source_freep) struct source *owner = source_new(sizeof(struct source_replay),
								&replay_ops, options);
	struct source_replay *s = (struct source_replay *)owner;
	int r;

	if (!s) {
		close(fd);
		return error_origin(-ENOMEM);
	}
	s->fd = fd;
	s->source.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->source.fd < 0)
		return error_origin(-errno);
	while (s->n_bytes < REPLAY_HEAD_BYTES && !s->at_eof) {
		r = replay_fill_buffer(s);
		if (r < 0)
			return r;
	}
	if (replay_decode_head(s->bytes, s->n_bytes) != REPLAY_E_OK)
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "not a recording that this profd can read: make one with "
				     "--record-replay");
	s->first = s->position = REPLAY_HEAD_BYTES;
	*ret = steal_ptr(&owner);
	return SOURCE_E_OK;
}

const char *source_replay_warning(struct source *source)
{
	struct source_replay *s = (struct source_replay *)source;

	return source->ops == &replay_ops && s->end.text[0] ? s->end.text : NULL;
}
