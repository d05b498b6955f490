/* SPDX-License-Identifier: MIT */
/*
 * Two passes: over the first lines of samples, for the events, which are the sample types and have
 * to be known first; then over all of it.
 */
#include "client/formats/text_formats.h"

#include <errno.h>
#include <string.h>

#include "client/formats/perf_script_lines.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"

#define EVENTS_MAX  (PROFILE_TYPES_MAX - 1)
#define INLINED_MAX 256 /* in one frame; perf knows fewer */
#define COMM_MAX    15

#define REFUSE(message, ...) profile_refuse(message, ANY_E_MALFORMED, __VA_ARGS__)

struct perf_script_event {
	struct text_span name;
	bool has_period;
};

struct perf_script_reader {
	struct profile *p;
	struct profile_message *message;
	struct perf_script_event events[EVENTS_MAX]; /* in order of their appearance */
	size_t n_events, n_heads;
	struct frame_list chain;
	struct profile_line inlined[INLINED_MAX]; /* of the frame that follows, innermost first */
	uint32_t n_inlined;
	struct perf_script_head head; /* of the sample that is being read */
	bool has_head;
	uint32_t key_pid, key_tid, key_comm;
	uint32_t program; /* mapping of the first program that a process is named after */
};

static void perf_script_reader_deinit(struct perf_script_reader *r)
{
	profile_free(r->p);
	frame_list_deinit(&r->chain);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The kernel names a process after the file that it executes, by 15 bytes at most (proc(5)). */
static bool is_program(struct text_span object, struct text_span comm)
{
	const char *base = object.end;
	size_t length;

	while (base > object.at && base[-1] != '/')
		base--;
	length = (size_t)(object.end - base);
	if (length > COMM_MAX)
		length = COMM_MAX;
	return base > object.at && length && length == text_length(comm) &&
	       memcmp(base, comm.at, length) == 0;
}

static int perf_script_add_mapping(struct perf_script_reader *r, struct text_span object,
				   uint32_t *ret)
{
	struct profile_mapping mapping = {.has_functions = true};
	int e;

	*ret = PROFILE_NONE;
	if (!text_length(object))
		return 0;
	e = profile_add_string(r->p, object.at, text_length(object), &mapping.path)
		    ?: profile_add_mapping(r->p, &mapping, ret);
	if (!e && r->program == PROFILE_NONE && is_program(object, r->head.comm))
		r->program = *ret;
	return e;
}

static int perf_script_add_frame(struct perf_script_reader *r,
				 const struct perf_script_frame *frame)
{
	uint32_t mapping, location;
	int e;

	if (r->n_inlined == INLINED_MAX)
		r->n_inlined--;
	if (text_length(frame->symbol)) {
		struct profile_line *line = &r->inlined[r->n_inlined++];

		*line = (struct profile_line){0};
		e = text_add_function(r->p, frame->symbol, &line->function);
		if (e)
			return e;
	}
	if (frame->is_inlined)
		return 0;
	e = perf_script_add_mapping(r, frame->object, &mapping)
		    ?: profile_add_location(r->p, mapping, frame->address, r->inlined, r->n_inlined,
					    &location);
	r->n_inlined = 0;
	return e ?: frame_list_add(&r->chain, location);
}

/* --- samples ---------------------------------------------------------------------------------- */

static size_t find_event(const struct perf_script_reader *r, struct text_span event)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (text_length(r->events[i].name) == text_length(event) &&
		    memcmp(r->events[i].name.at, event.at, text_length(event)) == 0)
			return i;
	return r->n_events;
}

static int add_labels(struct perf_script_reader *r, struct profile_label labels[3], uint32_t *ret_n)
{
	const struct perf_script_head *head = &r->head;
	uint32_t n = 0;
	int e = 0;

	if (text_length(head->comm)) {
		labels[n] = (struct profile_label){.key = r->key_comm};
		e = profile_add_string(r->p, head->comm.at, text_length(head->comm),
				       &labels[n++].str);
	}
	if (head->pid >= 0)
		labels[n++] = (struct profile_label){.key = r->key_pid, .num = head->pid};
	if (head->tid >= 0)
		labels[n++] = (struct profile_label){.key = r->key_tid, .num = head->tid};
	*ret_n = n;
	return e;
}

static int end_sample(struct perf_script_reader *r)
{
	int64_t values[1 + PROFILE_TYPES_MAX] = {1};
	struct profile_label labels[3];
	uint32_t n;
	int e;

	if (!r->has_head)
		return 0;
	r->has_head = false;
	r->n_inlined = 0;
	values[1 + find_event(r, r->head.event)] = r->head.period;
	e = add_labels(r, labels, &n)
		    ?: profile_add_sample(r->p, r->chain.locations, (uint32_t)r->chain.n, values,
					  labels, n);
	r->chain.n = 0;
	return e;
}

static int begin_sample(struct perf_script_reader *r, const struct perf_script_head *head)
{
	struct perf_script_frame frame;
	int e = end_sample(r);

	r->head = *head;
	r->has_head = true;
	return !e && perf_script_frame(head->rest, &frame) ? perf_script_add_frame(r, &frame) : e;
}

static int perf_script_read_samples(struct perf_script_reader *r, struct perf_script_lines l)
{
	enum perf_script_kind kind;
	struct text_line line;
	int e = 0;

	while (!e && perf_script_next(&l, &line, &kind)) {
		if (kind == PERF_SCRIPT_HEAD)
			e = begin_sample(r, &l.head);
		else if (kind == PERF_SCRIPT_FRAME)
			e = perf_script_add_frame(r, &l.frame);
		else if (kind == PERF_SCRIPT_END)
			e = end_sample(r);
	}
	return e ?: end_sample(r);
}

/* --- the whole -------------------------------------------------------------------------------- */

static int find_events(struct perf_script_reader *r, struct perf_script_lines l)
{
	enum perf_script_kind kind;
	struct text_line line;

	while (perf_script_next(&l, &line, &kind)) {
		size_t i;

		if (kind != PERF_SCRIPT_HEAD)
			continue;
		r->n_heads++;
		i = find_event(r, l.head.event);
		if (i == r->n_events && !text_length(l.head.event))
			continue;
		if (i == EVENTS_MAX)
			return REFUSE(r->message, "line %zu (byte %zu): more than %d events",
				      line.number, line.offset, EVENTS_MAX);
		if (i == r->n_events)
			r->events[r->n_events++].name = l.head.event;
		r->events[i].has_period |= l.head.has_period;
	}
	return r->n_heads ? 0 : REFUSE(r->message, "no samples as perf script prints them");
}

/* Of a time without periods only the samples are known. */
static int perf_script_set_types(struct perf_script_reader *r)
{
	int e = profile_add_sample_type(r->p, "samples", "count");
	bool has_cpu = false;

	for (size_t i = 0; i < r->n_events && !e; i++) {
		const struct text_span name = r->events[i].name;
		cleanup(freep) char *event = strndup(name.at, text_length(name));
		const struct value_type *type;

		if (!event)
			return error_origin(-ENOMEM);
		type = r->events[i].has_period ? value_type_of_event(event) : NULL;
		e = profile_add_sample_type(r->p, type && !has_cpu ? type->name : event,
					    type ? type->unit : "count");
		has_cpu |= type != NULL;
	}
	if (e)
		return e;
	r->p->period_type = r->p->sample_types[r->n_events ? 1 : 0];
	return profile_add_text(r->p, "pid", &r->key_pid) ?:
		profile_add_text(r->p, "tid", &r->key_tid) ?:
		profile_add_text(r->p, "comm", &r->key_comm);
}

static int perf_script_read_all(struct perf_script_reader *r, struct text_lines lines)
{
	const struct perf_script_lines l = {.lines = lines};
	int e = profile_new(&r->p) ?:
		find_events(r, l) ?:
		perf_script_set_types(r) ?:
		perf_script_read_samples(r, l);

	if (!e && r->program != PROFILE_NONE)
		profile_set_main_mapping(r->p, r->program);
	return e;
}

int perf_script_read(const uint8_t *data, size_t length, struct profile **ret,
		     struct profile_message *message)
{
	cleanup(perf_script_reader_deinit) struct perf_script_reader r = {.message = message,
									  .program = PROFILE_NONE};
	int e = perf_script_read_all(&r, text_lines_of(data, length));

	if (e == -E2BIG)
		return REFUSE(message, "more names or addresses than can be numbered");
	if (e)
		return e;
	*ret = steal_ptr(&r.p);
	return ANY_E_OK;
}
