/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/replay_format.h"

#include <string.h>

#define VERSION 1

/* SAMPLER's flags. */
enum {
	FLAG_IS_PERIOD = 1 << 0,
	FLAG_KERNEL_STACKS = 1 << 1,
	FLAG_ALL = 1 << 2,
	FLAG_IS_CLOCK = 1 << 3,
	FLAG_EXCLUDE_USER = 1 << 4,
	FLAG_EXCLUDE_KERNEL = 1 << 5,
};

static const char magic[8] = "profdrpl"; /* without its NUL */

struct writer {
	uint8_t *at;
};

static void replay_put_uint(struct writer *w, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*w->at++ = (uint8_t)(value >> 8 * i);
}

static void replay_put_bytes(struct writer *w, const void *data, size_t length)
{
	memcpy(w->at, data, length);
	w->at += length;
}

struct reader {
	const uint8_t *at;
	size_t left;
	bool failed;
};

static uint64_t replay_get_uint(struct reader *r, unsigned bytes)
{
	uint64_t value = 0;

	if (r->left < bytes) {
		r->failed = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)r->at[i] << 8 * i;
	r->at += bytes;
	r->left -= bytes;
	return value;
}

static void replay_get_bytes(struct reader *r, void *ret, size_t length)
{
	if (r->left < length) {
		r->failed = true;
		return;
	}
	memcpy(ret, r->at, length);
	r->at += length;
	r->left -= length;
}

void replay_encode_head(uint8_t ret[REPLAY_HEAD_BYTES])
{
	struct writer w = {ret};

	replay_put_bytes(&w, magic, sizeof(magic));
	replay_put_uint(&w, VERSION, 4);
}

int replay_decode_head(const uint8_t *data, size_t length)
{
	struct reader r = {data, length, false};
	char found[sizeof(magic)] = "";

	if (length < REPLAY_HEAD_BYTES)
		return REPLAY_E_SHORT;
	replay_get_bytes(&r, found, sizeof(found));
	if (memcmp(found, magic, sizeof(magic)) != 0 || replay_get_uint(&r, 4) != VERSION)
		return REPLAY_E_MALFORMED;
	return REPLAY_E_OK;
}

/* Leaves room for type and length, which replay_end_record() fills in. */
static struct writer replay_begin_record(uint8_t *record)
{
	return (struct writer){record + 8};
}

static size_t replay_end_record(const struct writer *w, uint8_t *record, enum replay_type type)
{
	size_t length = (size_t)(w->at - record);
	struct writer head = {record};

	replay_put_uint(&head, type, 4);
	replay_put_uint(&head, length - 8, 4);
	return length;
}

size_t replay_encode_sampler(unsigned sampler, const struct sampler_spec *spec,
			     uint8_t ret[REPLAY_RECORD_MAX])
{
	struct writer w = replay_begin_record(ret);
	uint32_t flags = 0;

	flags |= spec->is_period ? FLAG_IS_PERIOD : 0;
	flags |= spec->kernel_stacks ? FLAG_KERNEL_STACKS : 0;
	flags |= spec->all ? FLAG_ALL : 0;
	flags |= spec->event.is_clock ? FLAG_IS_CLOCK : 0;
	flags |= spec->event.exclude_user ? FLAG_EXCLUDE_USER : 0;
	flags |= spec->event.exclude_kernel ? FLAG_EXCLUDE_KERNEL : 0;
	replay_put_uint(&w, sampler, 4);
	replay_put_uint(&w, flags, 4);
	replay_put_uint(&w, spec->rate, 8);
	replay_put_uint(&w, spec->max_depth, 4);
	replay_put_uint(&w, spec->event.type, 4);
	replay_put_uint(&w, spec->event.config, 8);
	replay_put_bytes(&w, spec->event.name, sizeof(spec->event.name));
	return replay_end_record(&w, ret, REPLAY_SAMPLER);
}

static bool decode_sampler(struct reader *r, struct replay_record *ret)
{
	struct sampler_spec *spec = &ret->spec;
	uint32_t flags;

	*spec = (struct sampler_spec){0};
	ret->sampler = (unsigned)replay_get_uint(r, 4);
	flags = (uint32_t)replay_get_uint(r, 4);
	spec->rate = replay_get_uint(r, 8);
	spec->max_depth = (uint32_t)replay_get_uint(r, 4);
	spec->event.type = (uint32_t)replay_get_uint(r, 4);
	spec->event.config = replay_get_uint(r, 8);
	replay_get_bytes(r, spec->event.name, sizeof(spec->event.name));
	spec->is_period = flags & FLAG_IS_PERIOD;
	spec->kernel_stacks = flags & FLAG_KERNEL_STACKS;
	spec->all = flags & FLAG_ALL;
	spec->event.is_clock = flags & FLAG_IS_CLOCK;
	spec->event.exclude_user = flags & FLAG_EXCLUDE_USER;
	spec->event.exclude_kernel = flags & FLAG_EXCLUDE_KERNEL;
	return ret->sampler < SAMPLERS_MAX && memchr(spec->event.name, 0, sizeof(spec->event.name));
}

size_t replay_encode_sample(const struct sample *sample, uint8_t ret[REPLAY_RECORD_MAX])
{
	struct writer w = replay_begin_record(ret);
	uint32_t n = sample->n_frames < SAMPLE_FRAMES_MAX ? sample->n_frames : SAMPLE_FRAMES_MAX;

	replay_put_uint(&w, sample->time_ns, 8);
	replay_put_uint(&w, sample->weight, 8);
	replay_put_uint(&w, sample->start_ns, 8);
	replay_put_uint(&w, sample->cgroup_id, 8);
	replay_put_uint(&w, (uint32_t)sample->pid, 4);
	replay_put_uint(&w, (uint32_t)sample->tid, 4);
	replay_put_uint(&w, sample->cpu, 4);
	replay_put_uint(&w, sample->sampler, 2);
	replay_put_uint(&w, sample->quality, 2);
	replay_put_uint(&w, sample->reason, 2);
	replay_put_uint(&w, sample->kernel_thread, 2);
	replay_put_bytes(&w, sample->comm, sizeof(sample->comm));
	replay_put_uint(&w, sample->n_kernel, 4);
	replay_put_uint(&w, n, 4);
	for (uint32_t i = 0; i < n; i++)
		replay_put_uint(&w, sample->frames[i], 8);
	return replay_end_record(&w, ret, REPLAY_SAMPLE);
}

static uint16_t quality_reason_count(uint16_t quality)
{
	switch (quality) {
	case STACK_TRUNCATED:
		return N_TRUNCATED;
	case STACK_BROKEN:
		return N_BROKEN;
	default:
		return 1;
	}
}

/* What only a later profd knows is still a sample whose stack ended somehow. */
static void normalize_reason(struct sample *s)
{
	if (s->quality < N_STACK_QUALITY && s->reason < quality_reason_count(s->quality))
		return;
	s->quality = STACK_BROKEN;
	s->reason = BROKEN_UNKNOWN;
}

static bool decode_sample(struct reader *r, struct replay_record *ret)
{
	struct sample *s = &ret->sample;

	*s = (struct sample){.frames = ret->frames};
	s->time_ns = replay_get_uint(r, 8);
	s->weight = replay_get_uint(r, 8);
	s->start_ns = replay_get_uint(r, 8);
	s->cgroup_id = replay_get_uint(r, 8);
	s->pid = (pid_t)replay_get_uint(r, 4);
	s->tid = (pid_t)replay_get_uint(r, 4);
	s->cpu = (uint32_t)replay_get_uint(r, 4);
	s->sampler = (uint16_t)replay_get_uint(r, 2);
	s->quality = (uint16_t)replay_get_uint(r, 2);
	s->reason = (uint16_t)replay_get_uint(r, 2);
	s->kernel_thread = replay_get_uint(r, 2);
	replay_get_bytes(r, s->comm, sizeof(s->comm));
	s->n_kernel = (uint32_t)replay_get_uint(r, 4);
	s->n_frames = (uint32_t)replay_get_uint(r, 4);
	if (s->n_frames > SAMPLE_FRAMES_MAX || s->n_kernel > s->n_frames ||
	    s->sampler >= SAMPLERS_MAX || !memchr(s->comm, 0, sizeof(s->comm)))
		return false;
	normalize_reason(s);
	for (uint32_t i = 0; i < s->n_frames; i++)
		ret->frames[i] = replay_get_uint(r, 8);
	return true;
}

size_t replay_encode_event(const struct process_event *event, uint8_t ret[REPLAY_RECORD_MAX])
{
	const char *path = event->kind == PROCESS_EVENT_MMAP && event->map.path ? event->map.path
										: "";
	size_t length = strnlen(path, REPLAY_PATH_MAX);
	struct writer w = replay_begin_record(ret);

	replay_put_uint(&w, event->kind, 4);
	replay_put_uint(&w, event->time_ns, 8);
	replay_put_uint(&w, (uint32_t)event->pid, 4);
	replay_put_uint(&w, (uint32_t)event->tid, 4);
	replay_put_uint(&w, (uint32_t)event->parent, 4);
	replay_put_bytes(&w, event->comm, sizeof(event->comm));
	replay_put_uint(&w, event->lost, 8);
	replay_put_uint(&w, event->map.start, 8);
	replay_put_uint(&w, event->map.length, 8);
	replay_put_uint(&w, event->map.offset, 8);
	replay_put_uint(&w, event->map.device_major, 4);
	replay_put_uint(&w, event->map.device_minor, 4);
	replay_put_uint(&w, event->map.inode, 8);
	replay_put_uint(&w, event->map.inode_generation, 8);
	replay_put_uint(&w, event->map.prot, 4);
	replay_put_uint(&w, event->map.flags, 4);
	replay_put_uint(&w, length, 4);
	replay_put_bytes(&w, path, length);
	return replay_end_record(&w, ret, REPLAY_EVENT);
}

static bool decode_event(struct reader *r, struct replay_record *ret)
{
	struct process_event *e = &ret->event;
	size_t length;

	*e = (struct process_event){0};
	e->kind = (enum process_event_kind)replay_get_uint(r, 4);
	e->time_ns = replay_get_uint(r, 8);
	e->pid = (pid_t)replay_get_uint(r, 4);
	e->tid = (pid_t)replay_get_uint(r, 4);
	e->parent = (pid_t)replay_get_uint(r, 4);
	replay_get_bytes(r, e->comm, sizeof(e->comm));
	e->lost = replay_get_uint(r, 8);
	e->map.start = replay_get_uint(r, 8);
	e->map.length = replay_get_uint(r, 8);
	e->map.offset = replay_get_uint(r, 8);
	e->map.device_major = (uint32_t)replay_get_uint(r, 4);
	e->map.device_minor = (uint32_t)replay_get_uint(r, 4);
	e->map.inode = replay_get_uint(r, 8);
	e->map.inode_generation = replay_get_uint(r, 8);
	e->map.prot = (uint32_t)replay_get_uint(r, 4);
	e->map.flags = (uint32_t)replay_get_uint(r, 4);
	length = replay_get_uint(r, 4);
	if (e->kind >= N_PROCESS_EVENTS || length > REPLAY_PATH_MAX ||
	    !memchr(e->comm, 0, sizeof(e->comm)))
		return false;
	replay_get_bytes(r, ret->path, length);
	ret->path[length] = '\0';
	if (e->kind == PROCESS_EVENT_MMAP)
		e->map.path = ret->path;
	return true;
}

int replay_decode(const uint8_t *data, size_t length, struct replay_record *ret, size_t *ret_used)
{
	struct reader r = {data, length, false};
	size_t used;
	bool ok;

	ret->type = (uint32_t)replay_get_uint(&r, 4);
	used = replay_get_uint(&r, 4);
	if (r.failed)
		return REPLAY_E_SHORT;
	if (used > REPLAY_RECORD_MAX - 8)
		return REPLAY_E_MALFORMED;
	if (used > r.left)
		return REPLAY_E_SHORT;
	r.left = used;
	switch (ret->type) {
	case REPLAY_SAMPLER:
		ok = decode_sampler(&r, ret);
		break;
	case REPLAY_SAMPLE:
		ok = decode_sample(&r, ret);
		break;
	case REPLAY_EVENT:
		ok = decode_event(&r, ret);
		break;
	default:
		ok = ret->type != 0;
		r.left = 0;
		break;
	}
	if (!ok || r.failed || r.left)
		return REPLAY_E_MALFORMED;
	*ret_used = used + 8;
	return REPLAY_E_OK;
}
