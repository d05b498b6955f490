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
#define VERSION      1

/* --- the format ------------------------------------------------------------------------------- */

static const char magic[8] = "profdrpl"; /* without its NUL */

/*
 * What goes through the fields of a record in their order: copies them to @to or, if that is NULL,
 * from @from. So each record is described once, for both.
 */
struct codec {
	uint8_t *to;
	const uint8_t *from;
	size_t left; /* at @from */
	bool failed; /* there was not enough; fields are as they were */
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields are copied as they are");

static void replay_code(struct codec *c, void *field, size_t length)
{
	if (c->to) {
		memcpy(c->to, field, length);
		c->to += length;
	} else if (c->left < length) {
		c->failed = true;
	} else {
		memcpy(field, c->from, length);
		c->from += length;
		c->left -= length;
	}
}

#define CODE(c, field) replay_code(c, &(field), sizeof(field))

void replay_encode_head(uint8_t ret[REPLAY_HEAD_BYTES])
{
	static const uint32_t version = VERSION;

	memcpy(ret, magic, sizeof(magic));
	memcpy(ret + sizeof(magic), &version, sizeof(version));
}

int replay_decode_head(const uint8_t *data, size_t length)
{
	uint8_t head[REPLAY_HEAD_BYTES];

	if (length < REPLAY_HEAD_BYTES)
		return REPLAY_E_SHORT;
	replay_encode_head(head);
	return memcmp(data, head, sizeof(head)) == 0 ? REPLAY_E_OK : REPLAY_E_MALFORMED;
}

/* Leaves room for type and length, which replay_end_record() fills in. */
static struct codec replay_begin_record(uint8_t *record)
{
	return (struct codec){.to = record + REPLAY_RECORD_HEAD};
}

static size_t replay_end_record(const struct codec *c, uint8_t *record, uint32_t type)
{
	uint32_t length = (uint32_t)(c->to - record) - REPLAY_RECORD_HEAD;
	struct codec head = {.to = record};

	CODE(&head, type);
	CODE(&head, length);
	return length + REPLAY_RECORD_HEAD;
}

static void code_sampler(struct codec *c, unsigned *sampler, struct sampler_spec *spec)
{
	/* From bit 0 on. */
	bool of_scheduler = spec->event.cause == CAUSE_SCHEDULER;
	bool *const flags[] = {
		&spec->is_period,      &spec->kernel_stacks,      &spec->all,
		&spec->event.is_clock, &spec->event.exclude_user, &spec->event.exclude_kernel,
		&of_scheduler};
	uint32_t bits = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(flags); i++)
		bits |= (uint32_t)*flags[i] << i;
	CODE(c, *sampler);
	CODE(c, bits);
	for (unsigned i = 0; i < ARRAY_SIZE(flags); i++)
		*flags[i] = bits >> i & 1;
	spec->event.cause = of_scheduler ? CAUSE_SCHEDULER : CAUSE_PERF_EVENT;
	CODE(c, spec->rate);
	CODE(c, spec->max_depth);
	CODE(c, spec->event.type);
	CODE(c, spec->event.config);
	CODE(c, spec->event.name);
}

size_t replay_encode_sampler(unsigned sampler, const struct sampler_spec *spec,
			     uint8_t ret[REPLAY_RECORD_MAX])
{
	struct codec c = replay_begin_record(ret);
	struct sampler_spec copy = *spec;

	code_sampler(&c, &sampler, &copy);
	return replay_end_record(&c, ret, REPLAY_SAMPLER);
}

static bool decode_sampler(struct codec *c, struct replay_record *ret)
{
	ret->sampler = 0;
	ret->spec = (struct sampler_spec){0};
	code_sampler(c, &ret->sampler, &ret->spec);
	return ret->sampler < SAMPLERS_MAX &&
	       memchr(ret->spec.event.name, 0, sizeof(ret->spec.event.name));
}

/* All but the frames. */
static void code_sample(struct codec *c, struct sample *s)
{
	uint16_t kind = (uint16_t)(s->kernel_thread | s->wait << 1 | (s->call + 1) << 4);

	CODE(c, s->time_ns);
	CODE(c, s->weight);
	CODE(c, s->start_ns);
	CODE(c, s->cgroup_id);
	CODE(c, s->pid);
	CODE(c, s->tid);
	CODE(c, s->cpu);
	CODE(c, s->sampler);
	CODE(c, s->quality);
	CODE(c, s->reason);
	CODE(c, kind);
	s->kernel_thread = kind & 1;
	s->wait = kind >> 1 & 7;
	s->call = (int16_t)((kind >> 4) - 1);
	CODE(c, s->comm);
	CODE(c, s->n_kernel);
	CODE(c, s->n_frames);
}

size_t replay_encode_sample(const struct sample *sample, uint8_t ret[REPLAY_RECORD_MAX])
{
	struct codec c = replay_begin_record(ret);
	struct sample copy = *sample;

	if (copy.n_frames > SAMPLE_FRAMES_MAX)
		copy.n_frames = SAMPLE_FRAMES_MAX;
	code_sample(&c, &copy);
	replay_code(&c, (void *)(uintptr_t)copy.frames, copy.n_frames * sizeof(*copy.frames));
	return replay_end_record(&c, ret, REPLAY_SAMPLE);
}

/* What only a later profd knows is still a sample whose stack ended somehow. */
static void normalize_reason(struct sample *s)
{
	if (s->reason < N_STACK_REASONS(s->quality))
		return;
	s->quality = STACK_BROKEN;
	s->reason = BROKEN_UNKNOWN;
}

static bool decode_sample(struct codec *c, struct replay_record *ret)
{
	struct sample *s = &ret->sample;

	*s = (struct sample){.frames = ret->frames, .call = WAIT_NO_CALL};
	code_sample(c, s);
	if (s->n_frames > SAMPLE_FRAMES_MAX || s->n_kernel > s->n_frames ||
	    s->sampler >= SAMPLERS_MAX || s->wait >= N_WAIT_STATES ||
	    !memchr(s->comm, 0, sizeof(s->comm)))
		return false;
	normalize_reason(s);
	replay_code(c, ret->frames, s->n_frames * sizeof(*ret->frames));
	return true;
}

/* All but the path. */
static void code_event(struct codec *c, struct process_event *e, uint32_t *path_length)
{
	CODE(c, e->kind);
	CODE(c, e->time_ns);
	CODE(c, e->pid);
	CODE(c, e->tid);
	CODE(c, e->parent);
	CODE(c, e->comm);
	CODE(c, e->lost);
	CODE(c, e->map.start);
	CODE(c, e->map.length);
	CODE(c, e->map.offset);
	CODE(c, e->map.device_major);
	CODE(c, e->map.device_minor);
	CODE(c, e->map.inode);
	CODE(c, e->map.inode_generation);
	CODE(c, e->map.prot);
	CODE(c, e->map.flags);
	CODE(c, *path_length);
}

size_t replay_encode_event(const struct process_event *event, uint8_t ret[REPLAY_RECORD_MAX])
{
	struct process_event copy = *event;
	bool has_path = event->kind == PROCESS_EVENT_MMAP && event->map.path;
	uint32_t length = has_path ? (uint32_t)strnlen(event->map.path, REPLAY_PATH_MAX) : 0;
	struct codec c = replay_begin_record(ret);

	code_event(&c, &copy, &length);
	if (length)
		memcpy(c.to, event->map.path, length);
	c.to += length;
	return replay_end_record(&c, ret, REPLAY_EVENT);
}

static bool decode_event(struct codec *c, struct replay_record *ret)
{
	struct process_event *e = &ret->event;
	uint32_t length = 0;

	*e = (struct process_event){0};
	code_event(c, e, &length);
	if (e->kind >= N_PROCESS_EVENTS || length > REPLAY_PATH_MAX ||
	    !memchr(e->comm, 0, sizeof(e->comm)))
		return false;
	replay_code(c, ret->path, length);
	ret->path[length] = '\0';
	if (e->kind == PROCESS_EVENT_MMAP)
		e->map.path = ret->path;
	return true;
}

/* How long the record is behind its head, as far as records can be. */
static size_t replay_body_length(const uint8_t head[REPLAY_RECORD_HEAD])
{
	const uint32_t most = REPLAY_RECORD_MAX - REPLAY_RECORD_HEAD;
	uint32_t length;

	memcpy(&length, head + REPLAY_RECORD_HEAD - sizeof(length), sizeof(length));
	return length < most ? length : most;
}

int replay_decode(const uint8_t *data, size_t length, struct replay_record *ret, size_t *ret_used)
{
	struct codec c = {.from = data, .left = length};
	uint32_t used = 0;
	bool ok;

	CODE(&c, ret->type);
	CODE(&c, used);
	if (c.failed)
		return REPLAY_E_SHORT;
	if (used > REPLAY_RECORD_MAX - REPLAY_RECORD_HEAD)
		return REPLAY_E_MALFORMED;
	if (used > c.left)
		return REPLAY_E_SHORT;
	c.left = used;
	switch (ret->type) {
	case REPLAY_SAMPLER:
		ok = decode_sampler(&c, ret);
		break;
	case REPLAY_SAMPLE:
		ok = decode_sample(&c, ret);
		break;
	case REPLAY_EVENT:
		ok = decode_event(&c, ret);
		break;
	default:
		ok = ret->type != 0;
		c.left = 0;
		break;
	}
	if (!ok || c.failed || c.left)
		return REPLAY_E_MALFORMED;
	*ret_used = used + REPLAY_RECORD_HEAD;
	return REPLAY_E_OK;
}

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

	/* A recording has no wakers. */
	if (!sample->is_waker)
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
	.has_all_causes = true,
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
