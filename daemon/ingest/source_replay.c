/* SPDX-License-Identifier: MIT */
/*
 * Records what passes between a source and its sink, and plays such a file. Its samples go to
 * samplers by what they recorded: to the one with the same event and rate, else to the first there
 * is; without any they are passed over, which the complaint at the end says. A filter has no say:
 * what was recorded passed it already, and sessions choose their samples themselves.
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

/* --- recording -------------------------------------------------------------------------------- */

struct recorder {
	struct source_sink sink; /* ours, given to the source */
	const struct source_sink *next;
	FILE *file;
	int error; /* first failure, negative errno: the recording ends there */
	uint8_t record[REPLAY_RECORD_MAX];
	char buffer[BUFFER_BYTES];
};

/* The first @length bytes of r->record. */
static void recorder_put(struct recorder *r, size_t length)
{
	if (!r->error && fwrite(r->record, 1, length, r->file) != length)
		r->error = error_origin(-errno);
}

static void recorder_on_sample(void *userdata, const struct sample *sample)
{
	struct recorder *r = userdata;

	recorder_put(r, replay_encode_sample(sample, r->record));
	r->next->sample(r->next->userdata, sample);
}

static void recorder_on_process_event(void *userdata, const struct process_event *event)
{
	struct recorder *r = userdata;

	recorder_put(r, replay_encode_event(event, r->record));
	r->next->process_event(r->next->userdata, event);
}

int recorder_new(struct recorder **ret, int fd, const struct source_sink *next)
{
	cleanup(freep) struct recorder *r = calloc(1, sizeof(*r));
	FILE *file = r ? fdopen(fd, "we") : NULL;

	if (!file) {
		close(fd);
		return error_origin(-ENOMEM);
	}
	setvbuf(file, r->buffer, _IOFBF, sizeof(r->buffer));
	r->sink = (struct source_sink){recorder_on_sample, recorder_on_process_event, r};
	r->next = next;
	r->file = file;
	replay_encode_head(r->record);
	recorder_put(r, REPLAY_HEAD_BYTES);
	*ret = steal_ptr(&r);
	return 0;
}

const struct source_sink *recorder_sink(struct recorder *recorder)
{
	return &recorder->sink;
}

void recorder_sampler(struct recorder *recorder, unsigned sampler, const struct sampler_spec *spec)
{
	recorder_put(recorder, replay_encode_sampler(sampler, spec, recorder->record));
}

int recorder_close(struct recorder *recorder)
{
	int r = recorder->error;

	if (fclose(recorder->file) && !r)
		r = error_origin(-errno);
	free(recorder);
	return r;
}

/* --- replaying -------------------------------------------------------------------------------- */

struct source_replay {
	struct source source; /* its fd is an eventfd that is always readable */
	FILE *file;
	bool ended;
	struct source_message end;                  /* why it ended early */
	uint64_t position;                          /* in the file, of the next record */
	uint64_t unwanted;                          /* samples that met no sampler */
	struct sampler_spec recorded[SAMPLERS_MAX]; /* without a name: none */
	struct replay_record record;
	uint8_t bytes[REPLAY_RECORD_MAX]; /* the same as it is in the file */
};

static void replay_free(struct source *source)
{
	struct source_replay *s = (struct source_replay *)source;

	fclosep(&s->file);
	free(s);
}

/*
 * Reads the next record, and decodes it. Returns REPLAY_E_*, with _SHORT how much of it there is in
 * *ret_length, or negative errno.
 */
static int replay_read(struct source_replay *s, size_t *ret_length)
{
	size_t n = fread(s->bytes, 1, REPLAY_RECORD_HEAD, s->file);

	if (n == REPLAY_RECORD_HEAD)
		n += fread(s->bytes + n, 1, replay_body_length(s->bytes), s->file);
	if (ferror(s->file))
		return error_origin(-errno);
	*ret_length = n;
	return replay_decode(s->bytes, n, &s->record, ret_length);
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
	size_t length;
	int r;

	if (s->ended)
		return SOURCE_E_END;
	/* Events are bounded too: a recording may hold a million between two samples. */
	for (unsigned records = 0; budget && records < 16384; records++) {
		r = replay_read(s, &length);
		if (r < 0)
			return r;
		if (r == REPLAY_E_MALFORMED)
			return replay_finish(s, "is damaged");
		if (r == REPLAY_E_SHORT)
			return replay_finish(s, length ? "was cut off" : NULL);
		s->position += length;
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
	FILE *file = s ? fdopen(fd, "re") : NULL;

	if (!file) {
		close(fd);
		return error_origin(-ENOMEM);
	}
	s->file = file;
	s->source.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->source.fd < 0)
		return error_origin(-errno);
	s->position = fread(s->bytes, 1, REPLAY_HEAD_BYTES, s->file);
	if (replay_decode_head(s->bytes, s->position) != REPLAY_E_OK)
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "not a recording that this profd can read: make one with "
				     "--record-replay");
	*ret = steal_ptr(&owner);
	return SOURCE_E_OK;
}

const char *source_replay_warning(struct source *source)
{
	struct source_replay *s = (struct source_replay *)source;

	return source->ops == &replay_ops && s->end.text[0] ? s->end.text : NULL;
}
