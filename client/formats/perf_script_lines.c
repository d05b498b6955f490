/* SPDX-License-Identifier: MIT */
/*
 * Which fields perf prints is up to its user (-F), and nothing in the text names them. A sample's
 * first line has a time; or an event, a word with a colon behind a thread's number or alone; or,
 * where nothing more than the task is printed, frames on it or below it. Frames begin with a
 * hexadecimal number. What is neither (source lines, records of mappings and tasks) is passed over.
 *
 * Fields before the event are cut from their end on: comm, the first, may hold anything. A line
 * costs its length at most WORDS_MAX times, however it is made.
 */
#include "client/formats/perf_script_lines.h"

#include <ctype.h>
#include <string.h>

#include "client/formats/text_formats.h"

#define WORDS_MAX       32                 /* before the event; comm has 8 at most */
#define TID_MAX         ((int64_t)1 << 22) /* PID_MAX_LIMIT of the kernel */
#define RECORD          "PERF_RECORD_" /* what is no sample begins so, where the event would be */
#define ADDRESS_COLUMNS 16
#define NO_TASK         .pid = -1, .tid = -1, .period = 1

/* --- frames ----------------------------------------------------------------------------------- */

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

bool perf_script_frame(struct text_span line, struct perf_script_frame *ret)
{
	static const char deleted[] = " (deleted)";
	struct text_span rest = line;
	const char *at;

	*ret = (struct perf_script_frame){0};
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

/* Whether a number is behind the hexadecimal one: that is a comm, as "dd", with a task's. */
static bool is_task(const struct perf_script_frame *frame)
{
	const char *at = frame->symbol.at;
	uint64_t number;

	return digits_read(&at, frame->symbol.end, 10, &number) &&
	       (at == frame->symbol.end || *at == '/' || text_is_blank(*at));
}

/*
 * Whether @line is a frame, whatever is above it: ends in an object, or has as many columns before
 * the address's end as perf prints.
 */
static bool is_frame_alone(struct text_span line, struct perf_script_frame *ret)
{
	struct text_span rest = line, address = text_word(&rest);

	return perf_script_frame(line, ret) && !is_task(ret) &&
	       (text_trim(line).end[-1] == ')' || address.end - line.at >= ADDRESS_COLUMNS);
}

/* Whether @line, of a sample, is a frame. */
static bool is_frame_below(struct text_span line, struct perf_script_frame *ret)
{
	return is_frame_alone(line, ret) ||
	       (text_is_blank(*line.at) && perf_script_frame(line, ret) && !is_task(ret));
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

/* Of mappings, tasks and the like. */
static bool is_record(struct text_span word)
{
	return text_length(word) > strlen(RECORD) && !memcmp(word.at, RECORD, strlen(RECORD));
}

static bool has_record(struct text_span line)
{
	return memmem(line.at, text_length(line), RECORD, strlen(RECORD)) != NULL;
}

/* "[003]" at the end of @task, and perhaps the modes behind it, as "U". */
static bool cut_cpu(struct text_span *task)
{
	struct text_span before = *task;

	while (before.end > before.at && isupper((unsigned char)before.end[-1]))
		before.end--;
	if (before.end > before.at && text_is_blank(before.end[-1])) {
		before = text_trim(before);
		if (before.end > before.at &&
		    (before.end[-1] == ']' || isdigit((unsigned char)before.end[-1])))
			*task = before;
	}
	if (task->end == task->at || task->end[-1] != ']')
		return false;
	while (task->end > task->at && *--task->end != '[')
		;
	*task = text_trim(*task);
	return true;
}

/* The last word of @task, if it is a number, or two with a slash; else *ret_tid stays. */
static bool cut_ids(struct text_span *task, int64_t *ret_pid, int64_t *ret_tid)
{
	const char *at = task->end, *slash;
	int64_t pid = -1, tid;

	while (at > task->at && (isdigit((unsigned char)at[-1]) || at[-1] == '/' || at[-1] == '-'))
		at--;
	/* A word of its own: comm may end in digits. */
	if (at != task->at && !text_is_blank(at[-1]))
		return false;
	slash = memchr(at, '/', (size_t)(task->end - at));
	if (slash && !text_number((struct text_span){at, slash}, &pid))
		return false;
	if (!text_number((struct text_span){slash ? slash + 1 : at, task->end}, &tid))
		return false;
	*task = text_trim((struct text_span){task->at, at});
	*ret_pid = pid;
	*ret_tid = tid;
	return true;
}

/* A number behind pid/tid or [cpu], or one that no thread has. */
static void cut_period(struct text_span *task, struct perf_script_head *ret)
{
	struct text_span before = *task, ids;
	int64_t pid, tid, period;

	if (!cut_ids(&before, &pid, &period) || pid >= 0)
		return;
	ids = before;
	if (period <= TID_MAX && !cut_cpu(&ids) && !(cut_ids(&ids, &pid, &tid) && pid >= 0))
		return;
	*task = before;
	ret->period = period;
	ret->has_period = true;
}

/* Comm, which may hold blanks, pid or tid or pid/tid, perhaps [cpu]. */
static void parse_task(struct text_span task, struct perf_script_head *ret)
{
	task = text_trim(task);
	cut_cpu(&task);
	cut_ids(&task, &ret->pid, &ret->tid);
	ret->comm = task;
}

/* False: @word is no event, but perhaps what a record of another kind has in its place. */
static bool parse_event(struct text_span word, struct perf_script_head *ret)
{
	if (text_length(word) < 2 || word.end[-1] != ':' || is_record(word))
		return false;
	while (word.end > word.at && word.end[-1] == ':')
		word.end--;
	ret->event = word;
	return text_length(word) > 0;
}

/* A time, and behind it perhaps a period, an event, a frame; without these, @is_chain. */
static bool parse_timed_head(struct text_span line, bool is_chain, struct perf_script_head *ret)
{
	struct text_span rest = line, word, task;
	struct perf_script_frame frame;

	*ret = (struct perf_script_head){NO_TASK};
	do {
		task = (struct text_span){line.at, rest.at};
		word = text_word(&rest);
		if (!text_length(word))
			return false;
	} while (!perf_script_is_time(word));
	parse_task(task, ret);
	ret->has_time = true;
	word = text_word(&rest);
	ret->has_period = text_number(word, &ret->period);
	if (ret->has_period)
		word = text_word(&rest);
	ret->rest = text_trim(rest);
	if (parse_event(word, ret))
		return true;
	ret->rest = (struct text_span){word.at, rest.end};
	return text_length(word) ? is_frame_alone(ret->rest, &frame) : is_chain;
}

/* A task, and behind it @word, an event, or an address where no event is printed, and @rest. */
static bool parse_untimed_words(struct text_span task, struct text_span word, struct text_span rest,
				struct perf_script_head *ret)
{
	struct perf_script_frame frame;

	*ret = (struct perf_script_head){NO_TASK};
	task = text_trim(task);
	if (!parse_event(word, ret)) {
		ret->rest = (struct text_span){word.at, rest.end};
		parse_task(task, ret);
		return ret->tid >= 0 && is_frame_alone(ret->rest, &frame);
	}
	ret->rest = text_trim(rest);
	cut_period(&task, ret);
	parse_task(task, ret);
	return ret->tid >= 0 || (!text_length(task) && !text_length(ret->rest));
}

/* @is_chain: a frame is below the line, and no sample is being read: it may be a task alone. */
static bool parse_untimed_head(struct text_span line, bool is_chain, struct perf_script_head *ret)
{
	struct text_span rest = line, word, task;

	if (*line.at == '\t')
		return false;
	for (unsigned i = 0; i < WORDS_MAX; i++) {
		task = (struct text_span){line.at, rest.at};
		word = text_word(&rest);
		if (!text_length(word) || is_record(word) || perf_script_is_time(word))
			break;
		if (parse_untimed_words(task, word, rest, ret))
			return true;
	}
	*ret = (struct perf_script_head){NO_TASK, .rest = {line.end, line.end}};
	parse_task(line, ret);
	return is_chain && !text_length(word);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* @is_chain: the line below is a frame. */
static enum perf_script_kind line_kind(struct perf_script_lines *l, struct text_span line,
				       bool is_chain)
{
	if (!text_length(text_trim(line)))
		return PERF_SCRIPT_END;
	if (*line.at == '#')
		return PERF_SCRIPT_OTHER;
	if (parse_timed_head(line, is_chain, &l->head))
		return PERF_SCRIPT_HEAD;
	if (l->in_sample ? is_frame_below(line, &l->frame) : is_frame_alone(line, &l->frame))
		return PERF_SCRIPT_FRAME;
	return parse_untimed_head(line, is_chain && !l->in_sample, &l->head) ? PERF_SCRIPT_HEAD
									     : PERF_SCRIPT_OTHER;
}

bool perf_script_next(struct perf_script_lines *l, struct text_line *ret_line,
		      enum perf_script_kind *ret)
{
	struct text_lines ahead;
	struct text_line below;
	struct perf_script_frame frame;
	struct text_span line;
	bool is_chain;

	if (!text_next(&l->lines, ret_line))
		return false;
	line = ret_line->text;
	ahead = l->lines;
	is_chain = text_next(&ahead, &below) && is_frame_alone(below.text, &frame);
	*ret = line_kind(l, line, is_chain);
	if (*ret == PERF_SCRIPT_HEAD)
		l->is_headless = false;
	/* Where no head is printed, samples are apart by empty lines; without chains they are
	 * lines.
	 */
	if (*ret == PERF_SCRIPT_FRAME && (!l->in_sample || (l->is_headless && *line.at != '\t'))) {
		l->head = (struct perf_script_head){NO_TASK, .rest = line};
		l->is_headless = true;
		*ret = PERF_SCRIPT_HEAD;
	}
	if (*ret == PERF_SCRIPT_HEAD || *ret == PERF_SCRIPT_END)
		l->in_sample = *ret == PERF_SCRIPT_HEAD;
	return true;
}

/* Whether @line, if it has no time, could as well be of collapsed stacks. */
static bool ends_in_count(struct text_span line)
{
	const char *at;
	int64_t count;

	line = text_trim(line);
	for (at = line.end; at > line.at && !text_is_blank(at[-1]); at--)
		;
	return at > line.at && text_number((struct text_span){at, line.end}, &count);
}

bool perf_script_detect(const uint8_t *data, size_t length)
{
	struct perf_script_lines l = {.lines = text_lines_of(data, length)};
	enum perf_script_kind kind;
	struct text_line line, below;
	struct perf_script_frame frame;

	while (perf_script_next(&l, &line, &kind)) {
		if (kind == PERF_SCRIPT_HEAD && (l.head.has_time || !ends_in_count(line.text)))
			return true;
		if (kind == PERF_SCRIPT_HEAD)
			return text_next(&l.lines, &below) && is_frame_alone(below.text, &frame);
		/* Some records have more lines, behind a tab. */
		if (kind != PERF_SCRIPT_END && !strchr("#\t", *line.text.at) &&
		    !has_record(line.text))
			return false;
	}
	return false;
}
