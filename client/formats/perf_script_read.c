/* SPDX-License-Identifier: MIT */
/*
 * Two passes: over the first lines of samples, for the events, which are the sample types and have
 * to be known first; then over all of it. A line belongs to the sample before it when it begins
 * with a blank and then a hexadecimal number and no time; any other line with a time is a sample's
 * first. What is neither (source lines, other records) is passed over.
 */
#include "client/formats/text_formats.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "client/formats/text_lines.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"

#define EVENTS_MAX  (PROFILE_TYPES_MAX - 1)
#define INLINED_MAX 256 /* in one frame; perf knows fewer */
#define COMM_MAX    15

#define REFUSE(message, ...) profile_refuse(message, ANY_E_MALFORMED, __VA_ARGS__)

struct perf_script_head {
	struct text_span comm, event, rest; /* rest: behind the event, a frame or nothing */
	int64_t pid, tid;                   /* -1: not printed */
	int64_t period;
};

struct perf_script_reader {
	struct profile *p;
	struct profile_message *message;
	struct text_span events[EVENTS_MAX]; /* in order of their appearance */
	size_t n_events;
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

/* --- the first line of a sample --------------------------------------------------------------- */

/* "1234.567890:" */
static bool perf_script_is_time(struct text_span word)
{
	const char *at = word.at;

	if (text_length(word) < 4 || word.end[-1] != ':')
		return false;
	while (at < word.end && isdigit((unsigned char)*at))
		at++;
	if (at == word.at || *at != '.' || at + 2 >= word.end)
		return false;
	for (at++; at < word.end - 1; at++)
		if (!isdigit((unsigned char)*at))
			return false;
	return true;
}

/* What stands before the time: comm, which may hold blanks, pid or pid/tid, perhaps [cpu]. */
static void parse_task(struct text_span task, struct perf_script_head *ret)
{
	const char *at;
	const char *slash;

	task = text_trim(task);
	ret->pid = ret->tid = -1;
	if (task.end > task.at && task.end[-1] == ']') {
		at = task.end;
		while (at > task.at && *at != '[')
			at--;
		task = text_trim((struct text_span){task.at, at});
	}
	at = task.end;
	while (at > task.at && (isdigit((unsigned char)at[-1]) || at[-1] == '/' || at[-1] == '-'))
		at--;
	slash = memchr(at, '/', (size_t)(task.end - at));
	/* A word of its own: comm may end in digits. */
	if (at == task.at || text_is_blank(at[-1])) {
		int64_t first, second;

		if (slash && text_number((struct text_span){at, slash}, &first) &&
		    text_number((struct text_span){slash + 1, task.end}, &second)) {
			ret->pid = first;
			ret->tid = second;
			task.end = at;
		} else if (!slash && text_number((struct text_span){at, task.end}, &first)) {
			ret->tid = first;
			task.end = at;
		}
	}
	ret->comm = text_trim(task);
}

/* Whether @line is a sample's first: has a time, and an event that ends in a colon. */
static bool parse_head(struct text_span line, struct perf_script_head *ret)
{
	struct text_span rest = line, word, task = {line.at, line.at};

	do {
		task.end = rest.at;
		word = text_word(&rest);
		if (!text_length(word))
			return false;
	} while (!perf_script_is_time(word));
	parse_task(task, ret);
	ret->period = 1;
	word = text_word(&rest);
	if (text_number(word, &ret->period))
		word = text_word(&rest);
	if (text_length(word) < 2 || word.end[-1] != ':')
		return false;
	while (word.end > word.at && word.end[-1] == ':')
		word.end--;
	ret->event = word;
	ret->rest = text_trim(rest);
	return text_length(word) > 0;
}

bool perf_script_detect(const uint8_t *data, size_t length)
{
	struct text_lines lines = text_lines_of(data, length);
	struct text_line line;
	struct perf_script_head head;

	while (text_next(&lines, &line)) {
		if (line.has_nul)
			return false;
		if (!text_length(text_trim(line.text)) || *line.text.at == '#')
			continue;
		return parse_head(line.text, &head);
	}
	return false;
}

/* --- frames ----------------------------------------------------------------------------------- */

struct frame {
	uint64_t address;
	struct text_span symbol, object; /* without brackets and offset; empty: not known */
	bool is_inlined;
};

/* "symbol+0x12": how long the symbol is. */
static void cut_offset(struct text_span *symbol)
{
	for (const char *at = symbol->end; at > symbol->at; at--) {
		uint64_t offset;

		if (at[-1] != '+')
			continue;
		if (symbol->end - at > 2 && at[0] == '0' && at[1] == 'x' &&
		    text_hex((struct text_span){at, symbol->end}, &offset))
			symbol->end = at - 1;
		return;
	}
}

static bool parse_frame(struct text_span line, struct frame *ret)
{
	static const char deleted[] = " (deleted)";
	struct text_span rest = line;
	const char *at;

	*ret = (struct frame){0};
	if (!text_hex(text_word(&rest), &ret->address))
		return false;
	rest = text_trim(rest);
	ret->symbol = rest;
	if (text_length(rest) && rest.end[-1] == ')') {
		const size_t n = sizeof(deleted) - 1;

		rest.end--;
		if (text_length(rest) > n && memcmp(rest.end - n, deleted, n) == 0)
			rest.end -= n;
		for (at = rest.end; at > rest.at; at--)
			if (at[-1] == '(' && (at - 1 == rest.at || text_is_blank(at[-2])))
				break;
		if (at > rest.at) {
			ret->object = (struct text_span){at, rest.end};
			ret->symbol = text_trim((struct text_span){rest.at, at - 1});
		}
	}
	ret->is_inlined = text_is(ret->object, "inlined");
	cut_offset(&ret->symbol);
	if (text_is(ret->symbol, "[unknown]"))
		ret->symbol.end = ret->symbol.at;
	if (text_is(ret->object, "[unknown]"))
		ret->object.end = ret->object.at;
	return true;
}

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
	return base > object.at && length == text_length(comm) &&
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

static int perf_script_add_frame(struct perf_script_reader *r, const struct frame *frame)
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
		if (text_length(r->events[i]) == text_length(event) &&
		    memcmp(r->events[i].at, event.at, text_length(event)) == 0)
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
	int64_t values[PROFILE_TYPES_MAX] = {1};
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

static int perf_script_read_line(struct perf_script_reader *r, const struct text_line *line)
{
	struct frame frame;
	struct perf_script_head head;
	int e;

	if (!text_length(text_trim(line->text)))
		return end_sample(r);
	if (*line->text.at == '#')
		return 0;
	if (parse_head(line->text, &head)) {
		e = end_sample(r);
		r->head = head;
		r->has_head = true;
		if (!e && parse_frame(head.rest, &frame))
			e = perf_script_add_frame(r, &frame);
		return e;
	}
	if (!text_is_blank(*line->text.at) || !parse_frame(line->text, &frame))
		return 0;
	if (!r->has_head)
		return REFUSE(r->message, "line %zu (byte %zu): a frame without a sample before it",
			      line->number, line->offset);
	return perf_script_add_frame(r, &frame);
}

/* --- the whole -------------------------------------------------------------------------------- */

static int find_events(struct perf_script_reader *r, struct text_lines lines)
{
	struct text_line line;
	struct perf_script_head head;

	while (text_next(&lines, &line)) {
		if (line.has_nul)
			return REFUSE(r->message, "line %zu (byte %zu) holds a NUL byte",
				      line.number, line.offset);
		if (!text_length(line.text) || *line.text.at == '#' ||
		    !parse_head(line.text, &head) || find_event(r, head.event) < r->n_events)
			continue;
		if (r->n_events == EVENTS_MAX)
			return REFUSE(r->message, "line %zu (byte %zu): more than %d events",
				      line.number, line.offset, EVENTS_MAX);
		r->events[r->n_events++] = head.event;
	}
	return r->n_events ? 0 : REFUSE(r->message, "no samples as perf script prints them");
}

static int perf_script_set_types(struct perf_script_reader *r)
{
	int e = profile_add_sample_type(r->p, "samples", "count");
	bool has_cpu = false;

	for (size_t i = 0; i < r->n_events && !e; i++) {
		cleanup(freep) char *event = strndup(r->events[i].at, text_length(r->events[i]));
		const struct value_type *type;

		if (!event)
			return error_origin(-ENOMEM);
		type = value_type_of_event(event);
		e = profile_add_sample_type(r->p, type && !has_cpu ? type->name : event,
					    type ? type->unit : "count");
		has_cpu |= type != NULL;
	}
	if (e)
		return e;
	r->p->period_type = r->p->sample_types[1];
	return profile_add_text(r->p, "pid", &r->key_pid) ?:
		profile_add_text(r->p, "tid", &r->key_tid) ?:
		profile_add_text(r->p, "comm", &r->key_comm);
}

static int perf_script_read_all(struct perf_script_reader *r, struct text_lines lines)
{
	struct text_line line;
	int e = profile_new(&r->p) ?: find_events(r, lines) ?: perf_script_set_types(r);

	while (!e && text_next(&lines, &line))
		e = perf_script_read_line(r, &line);
	if (!e)
		e = end_sample(r);
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
