/* SPDX-License-Identifier: MIT */
/*
 * Mappings come last in these files and are read first, so that addresses can be put into them. A
 * kind is a row below: how its first line begins, and the function that reads what follows it.
 *
 * Values are what go tool pprof makes of them (google/pprof, profile/legacy_profile.go): where the
 * allocator or the lock counted one of many, each count is an estimate of all.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "client/formats/text_formats.h"
#include "client/formats/text_lines.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/legacy_frames.h"
#include "common/profile/legacy_maps.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"

#define ADDRESSES_MAX ((size_t)1 << 20) /* of a chain */

struct legacy_text_reader {
	struct profile *p;
	struct profile_message *message;
	struct text_lines lines;
	struct text_line line;
	struct legacy_maps maps;
	struct frame_list chain;
	uint32_t key_bytes;
	double rate; /* bytes between two allocations that are counted; 0: all are */
};

static void legacy_text_reader_deinit(struct legacy_text_reader *r)
{
	profile_free(r->p);
	legacy_maps_deinit(&r->maps);
	frame_list_deinit(&r->chain);
}

static int refuse_line(const struct legacy_text_reader *r, const char *what)
{
	return profile_refuse(r->message, ANY_E_MALFORMED, "line %zu (byte %zu): %s",
			      r->line.number, r->line.offset, what);
}

/* --- words ------------------------------------------------------------------------------------ */

static bool legacy_begins(struct text_span text, const char *prefix)
{
	return text_length(text) >= strlen(prefix) && !memcmp(text.at, prefix, strlen(prefix));
}

static bool legacy_holds(struct text_span text, const char *part)
{
	return memmem(text.at, text_length(text), part, strlen(part)) != NULL;
}

static bool is_memory_map(struct text_span line)
{
	return legacy_holds(line, "MAPPED_LIBRARIES:") || legacy_holds(line, "--- Memory map: ---");
}

/* The next line that has something, and is no comment. */
static bool next_text(struct legacy_text_reader *r)
{
	while (text_next(&r->lines, &r->line)) {
		r->line.text = text_trim(r->line.text);
		if (text_length(r->line.text) && *r->line.text.at != '#')
			return true;
	}
	return false;
}

/* Cuts @c off, and blanks before it. */
static bool cut_character(struct text_span *text, char c)
{
	*text = text_trim(*text);
	if (text->at == text->end || *text->at != c)
		return false;
	text->at++;
	return true;
}

/* Cuts a number off, and blanks before it. */
static bool cut_number(struct text_span *text, int64_t *ret)
{
	struct text_span number;

	*text = text_trim(*text);
	number = (struct text_span){text->at, text->at};
	while (number.end < text->end && ((*number.end >= '0' && *number.end <= '9') ||
					  (number.end == number.at && *number.end == '-')))
		number.end++;
	text->at = number.end;
	return text_number(number, ret);
}

/* "n: bytes [n: bytes] @": objects in use, and all that were allocated. */
static bool cut_heap(struct text_span *text, int64_t ret[4])
{
	return cut_number(text, &ret[0]) && cut_character(text, ':') && cut_number(text, &ret[1]) &&
	       cut_character(text, '[') && cut_number(text, &ret[2]) && cut_character(text, ':') &&
	       cut_number(text, &ret[3]) && cut_character(text, ']') && cut_character(text, '@');
}

/* --- chains ----------------------------------------------------------------------------------- */

/* @is_call: a return address. */
static int legacy_text_add_address(struct legacy_text_reader *r, uint64_t address, bool is_call)
{
	uint32_t location;
	int e;

	if (is_call && address)
		address--;
	e = profile_add_location(r->p, legacy_maps_find(&r->maps, r->p, address), address, NULL, 0,
				 &location);
	return e ?: frame_list_add(&r->chain, location);
}

/* All of @text that begins with 0x. @leaf_is_call: the leaf is such a one as its callers. */
static int add_addresses(struct legacy_text_reader *r, struct text_span text, bool leaf_is_call)
{
	uint64_t address;
	int e = 0;

	while (!e && (text.at = memmem(text.at, text_length(text), "0x", 2))) {
		text.at += 2;
		if (!digits_read(&text.at, text.end, 16, &address))
			return refuse_line(r, "an address that is none");
		if (r->chain.n == ADDRESSES_MAX)
			return refuse_line(r, "too many addresses");
		e = legacy_text_add_address(r, address, leaf_is_call || r->chain.n);
	}
	return e;
}

/* A sample of the chain, which is empty then. */
static int add_sample(struct legacy_text_reader *r, const int64_t *values,
		      const struct profile_label *labels, uint32_t n_labels)
{
	int e = profile_append_sample(r->p, r->chain.locations, (uint32_t)r->chain.n, values,
				      labels, n_labels);

	r->chain.n = 0;
	return e;
}

static int add_types(struct legacy_text_reader *r, const char *const *names, const char *drop,
		     const char *keep)
{
	int e = 0;

	for (; *names && !e; names += 2)
		e = profile_add_sample_type(r->p, names[0], names[1]);
	r->p->period = 1;
	r->p->period_type = r->p->sample_types[0];
	return e ?: profile_add_text(r->p, drop, &r->p->drop_frames) ?:
		    profile_add_text(r->p, keep, &r->p->keep_frames);
}

static int64_t legacy_estimate(double value)
{
	return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

static int64_t legacy_times(int64_t a, int64_t b)
{
	int64_t product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product;
	return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

/* --- heap, growth, fragmentation -------------------------------------------------------------- */

/* An allocation of so many bytes on average is counted with a probability of 1 - e^(-bytes/rate).
 */
static bool heap_values(const struct legacy_text_reader *r, const int64_t pair[2], int64_t ret[2],
			int64_t *ret_bytes)
{
	double scale = 1;

	ret[0] = ret[1] = 0;
	if (!pair[0])
		return !pair[1];
	*ret_bytes = pair[0] == -1 ? legacy_times(pair[1], -1) : pair[1] / pair[0];
	if (r->rate > 1 && !pair[1])
		return true;
	if (r->rate > 1)
		scale = 1 / (1 - exp(-((double)pair[1] / (double)pair[0]) / r->rate));
	ret[0] = scale == 1 ? pair[0] : legacy_estimate((double)pair[0] * scale);
	ret[1] = scale == 1 ? pair[1] : legacy_estimate((double)pair[1] * scale);
	return true;
}

static int read_heap_line(struct legacy_text_reader *r, bool has_all)
{
	struct profile_label label = {.key = r->key_bytes};
	struct text_span rest = r->line.text;
	int64_t counts[4], values[4];
	int e;

	if (!cut_heap(&rest, counts))
		return refuse_line(r, "not a sample, n: bytes [n: bytes] @ addresses");
	/* What was allocated comes first, so that what is in use is the default. */
	if ((has_all && !heap_values(r, counts + 2, values, &label.num)) ||
	    !heap_values(r, counts, values + (has_all ? 2 : 0), &label.num))
		return refuse_line(r, "no objects, but bytes of them");
	e = add_addresses(r, rest, true);
	return e ?: add_sample(r, values, &label, 1);
}

/* The rate, and whether each line has numbers of its own of all that was allocated. */
static int read_heap_head(struct legacy_text_reader *r, struct text_span rest, bool *ret_has_all)
{
	struct text_span kind;
	int64_t n[4], rate = 0;

	if (!cut_heap(&rest, n))
		return refuse_line(r, "a heap profile whose totals are not n: bytes [n: bytes] @");
	rest = text_trim(rest);
	kind = (struct text_span){rest.at, rest.at};
	while (kind.end < rest.end && *kind.end != '/' && !text_is_blank(*kind.end))
		kind.end++;
	rest.at = kind.end;
	if (text_is(kind, "growth") || text_is(kind, "growthz") || text_is(kind, "fragmentation") ||
	    text_is(kind, "fragmentationz"))
		return 0;
	if (cut_character(&rest, '/') && !cut_number(&rest, &rate))
		return refuse_line(r, "a heap profile without a sampling rate");
	*ret_has_all = (n[2] && n[2] != n[0]) || (n[3] && n[3] != n[1]);
	if (text_is(kind, "heap_v2") || text_is(kind, "heapz_v2"))
		r->rate = (double)(r->p->period = rate);
	else if (text_is(kind, "heap"))
		r->rate = (double)(r->p->period = rate / 2);
	else if (!text_is(kind, "heapprofile"))
		return refuse_line(r, "a heap profile of a kind that is not known");
	return 0;
}

static int read_heap(struct legacy_text_reader *r, struct text_span rest)
{
	static const char *const all[] = {"alloc_objects", "count",         "alloc_space",
					  "bytes",         "inuse_objects", "count",
					  "inuse_space",   "bytes",         NULL},
				 *const held[] = {"objects", "count", "space", "bytes", NULL};
	int64_t period;
	bool has_all = false;
	int e;

	r->p->period = 1;
	e = read_heap_head(r, rest, &has_all);
	period = r->p->period;
	if (!e)
		e = add_types(r, has_all ? all : held, LEGACY_DROP_ALLOCATOR,
			      LEGACY_KEEP_ALLOCATOR)
			    ?: profile_add_text(r->p, "space", &r->p->period_type.type)
			    ?: profile_add_text(r->p, "bytes", &r->p->period_type.unit)
			    ?: profile_add_text(r->p, "bytes", &r->key_bytes);
	r->p->period = period;
	while (!e && next_text(r) && !is_memory_map(r->line.text))
		e = read_heap_line(r, has_all);
	return e;
}

/* --- contention ------------------------------------------------------------------------------- */

struct contention_clock {
	int64_t hz; /* of what delays are counted in; 0: nanoseconds */
};

/* "name = value"; *ret: the line is none, but the first sample. */
static int read_contention_line(struct legacy_text_reader *r, struct contention_clock *clock,
				bool *ret)
{
	const char *equals = memchr(r->line.text.at, '=', text_length(r->line.text));
	struct text_span name, value;
	int64_t n = 0;
	bool is_number;

	*ret = !equals || legacy_begins(r->line.text, "---");
	if (*ret)
		return 0;
	name = text_trim((struct text_span){r->line.text.at, equals});
	value = text_trim((struct text_span){equals + 1, r->line.text.end});
	is_number = text_number(value, &n);
	if (text_is(name, "format") || text_is(name, "resolution"))
		return refuse_line(r, "a contention profile of a Java agent, which is not read");
	if (!is_number)
		return refuse_line(r, "not a number");
	if (text_is(name, "cycles/second"))
		clock->hz = n;
	else if (text_is(name, "sampling period"))
		r->p->period = n;
	else if (text_is(name, "ms since reset"))
		r->p->duration_ns = legacy_times(n, 1000 * 1000);
	else if (!text_is(name, "discarded samples"))
		return refuse_line(r, "an attribute that is not known");
	return 0;
}

static int read_contention_sample(struct legacy_text_reader *r,
				  const struct contention_clock *clock)
{
	struct text_span rest = r->line.text;
	const int64_t period = r->p->period;
	int64_t delay, values[2];

	if (!cut_number(&rest, &delay) || !cut_number(&rest, &values[0]) ||
	    !cut_character(&rest, '@'))
		return refuse_line(r, "not a sample, delay n @ addresses");
	values[1] = delay;
	if (period > 0)
		values[0] = legacy_times(values[0], period);
	if (period > 0 && clock->hz > 0)
		values[1] = legacy_estimate((double)delay * (double)period /
					    ((double)clock->hz / 1e9));
	return add_addresses(r, rest, true) ?: add_sample(r, values, NULL, 0);
}

static int read_contention(struct legacy_text_reader *r, struct text_span rest)
{
	static const char *const types[] = {"contentions", "count", "delay", "nanoseconds", NULL};
	struct contention_clock clock = {0};
	bool is_sample = false;
	int e = add_types(r, types, LEGACY_DROP_LOCK, "");

	(void)rest;
	while (!e && next_text(r)) {
		if (!is_sample)
			e = read_contention_line(r, &clock, &is_sample);
		if (e || legacy_begins(r->line.text, "---") || is_memory_map(r->line.text))
			break;
		if (is_sample)
			e = read_contention_sample(r, &clock);
	}
	return e;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* The addresses on the lines up to the next thread; none: it is where the thread before it is. */
static int read_thread(struct legacy_text_reader *r, bool *ret_any_line)
{
	static const int64_t one = 1;
	const struct profile *p = r->p;
	uint32_t *chain;
	int e = 0;

	while (!e && (*ret_any_line = next_text(r)) && !legacy_begins(r->line.text, "---") &&
	       !is_memory_map(r->line.text))
		if (!legacy_holds(r->line.text, "same as previous thread"))
			e = add_addresses(r, r->line.text, false);
	chain = r->chain.locations;
	if (!e && !r->chain.n && p->n_samples)
		p->sample_values[p->n_samples - 1]++;
	if (e || !r->chain.n)
		return e;
	/* The leaf may come twice, the second time as a call. */
	if (r->chain.n > 1 && p->locations[chain[0]].address == p->locations[chain[1]].address + 1)
		memmove(chain + 1, chain + 2, (--r->chain.n - 1) * sizeof(*chain));
	return add_sample(r, &one, NULL, 0);
}

/* @rest is of the first line, a thread's or the whole file's. */
static int read_threads(struct legacy_text_reader *r, struct text_span rest)
{
	static const char *const types[] = {"thread", "count", NULL};
	bool any = true;
	int e = add_types(r, types, LEGACY_DROP_HANDLER, "");

	while (!e && any && !legacy_holds(rest, "stack:") && (any = next_text(r)))
		rest = r->line.text;
	while (!e && any && legacy_begins(r->line.text, "--- Thread "))
		e = read_thread(r, &any);
	return e;
}

/* --- counts, as of goroutines ----------------------------------------------------------------- */

static int read_counts(struct legacy_text_reader *r, struct text_span name)
{
	cleanup(freep) char *type = strndup(name.at, text_length(name));
	const char *types[] = {type, "count", NULL};
	int e = type ? add_types(r, types, LEGACY_DROP_HANDLER, "") : error_origin(-ENOMEM);

	while (!e && next_text(r) && !legacy_begins(r->line.text, "---")) {
		struct text_span rest = r->line.text;
		int64_t n;

		if (!cut_number(&rest, &n) || !cut_character(&rest, '@'))
			return refuse_line(r, "not a sample, n @ addresses");
		e = add_addresses(r, rest, true) ?: add_sample(r, &n, NULL, 0);
	}
	return e;
}

/* --- any -------------------------------------------------------------------------------------- */

typedef int legacy_text_kind(struct legacy_text_reader *r, struct text_span rest);

/* The function that reads what @line begins, or NULL. *ret: what it is given of it. */
static legacy_text_kind *legacy_text_kind_of(struct text_span line, struct text_span *ret)
{
	static const char total[] = " profile: total ";
	static const struct {
		const char *prefix;
		legacy_text_kind *read;
	} kinds[] = {
		{"heap profile:", read_heap},         {"--- contentionz ", read_contention},
		{"--- contention:", read_contention}, {"--- mutex:", read_contention},
		{"--- threadz ", read_threads},       {"--- Thread ", read_threads},
	};
	const char *at;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (legacy_begins(line, kinds[i].prefix)) {
			*ret = (struct text_span){line.at + strlen(kinds[i].prefix), line.end};
			return kinds[i].read;
		}
	at = memmem(line.at, text_length(line), total, strlen(total));
	*ret = (struct text_span){line.at, at};
	if (!at || at == line.at || memchr(line.at, ' ', text_length(*ret)))
		return NULL;
	return read_counts;
}

/* Before anything else, what is behind the line that says so. */
static int read_memory_map(struct legacy_text_reader *r)
{
	struct text_lines lines = r->lines;
	struct text_line line;

	while (text_next(&lines, &line))
		if (is_memory_map(line.text))
			break;
	return legacy_maps_read(&r->maps, r->p, lines.at, lines.end, r->message);
}

static int legacy_text_read_all(struct legacy_text_reader *r)
{
	legacy_text_kind *read = NULL;
	struct text_span rest;
	int e = profile_new(&r->p) ?: read_memory_map(r);

	if (e)
		return e;
	if (next_text(r))
		read = legacy_text_kind_of(r->line.text, &rest);
	return read ? read(r, rest)
		    : profile_refuse(r->message, ANY_E_MALFORMED, "no profile of gperftools");
}

int legacy_text_read(const uint8_t *data, size_t length, struct profile **ret,
		     struct profile_message *message)
{
	cleanup(legacy_text_reader_deinit) struct legacy_text_reader r = {
		.message = message, .lines = text_lines_of(data, length)};
	int e = legacy_text_read_all(&r);

	if (e == -E2BIG)
		return profile_refuse(message, ANY_E_MALFORMED,
				      "more addresses than can be numbered");
	if (e)
		return e < 0 ? e : ANY_E_MALFORMED;
	*ret = steal_ptr(&r.p);
	return ANY_E_OK;
}

bool legacy_text_detect(const uint8_t *data, size_t length)
{
	struct legacy_text_reader r = {.lines = text_lines_of(data, length)};
	struct text_span rest;

	return next_text(&r) && legacy_text_kind_of(r.line.text, &rest);
}
