/* SPDX-License-Identifier: MIT */
/*
 * A table of functions by service and name: those that are kept, and candidates, a few times as
 * many. What a text has is added to the entries that exist; of others, the first ones, which are
 * the largest, become candidates. Then all are ordered by what they have used lately, which fades,
 * those that are kept by twice as much: the first ones are kept, the last ones forgotten.
 */
#include "client/gateway/function_cpu.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM      1
#define uthash_nonfatal_oom(e) ((e)->is_lost = true)
#include <uthash.h>

#include "client/gateway/view/flat.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/units.h"
#include "common/utf8.h"

#define CANDIDATES(max) (3 * (size_t)(max) + 64)

struct function_cpu_entry {
	UT_hash_handle hh;
	bool is_lost, is_kept;
	uint64_t shown_ns;
	uint64_t added_ns;  /* of the last profile */
	uint64_t recent_ns; /* an eighth fades with each profile */
	size_t service_length;
	char text[]; /* the service and the name, each ended by NUL */
};

struct function_cpu {
	struct function_cpu_entry *entries;
	uint32_t max;
};

int function_cpu_new(struct function_cpu **ret, uint32_t max)
{
	struct function_cpu *f = calloc(1, sizeof(*f));

	if (!f)
		return error_origin(-ENOMEM);
	f->max = max;
	*ret = f;
	return 0;
}

static void function_cpu_drop(struct function_cpu *f, struct function_cpu_entry *e)
{
	HASH_DEL(f->entries, e);
	free(e);
}

void function_cpu_reset(struct function_cpu *f)
{
	struct function_cpu_entry *e, *next;

	HASH_ITER (hh, f->entries, e, next)
		function_cpu_drop(f, e);
}

void function_cpu_free(struct function_cpu *f)
{
	if (f)
		function_cpu_reset(f);
	free(f);
}

/* *ret: NULL if there is no room for another one. */
static int function_cpu_find(struct function_cpu *f, const char *service, const char *name,
			     struct function_cpu_entry **ret)
{
	size_t service_length = strlen(service), name_length = strlen(name);
	size_t length = service_length + name_length + 2;
	char key[2 * (FLAT_NAME_MAX + 1)];
	struct function_cpu_entry *e;

	memcpy(key, service, service_length + 1);
	memcpy(key + service_length + 1, name, name_length + 1);
	HASH_FIND(hh, f->entries, key, length, e);
	if (!e && HASH_COUNT(f->entries) < f->max + 2 * CANDIDATES(f->max)) {
		e = calloc(1, sizeof(*e) + length);
		if (!e)
			return error_origin(-ENOMEM);
		e->service_length = service_length;
		memcpy(e->text, key, length);
		HASH_ADD_KEYPTR(hh, f->entries, e->text, length, e);
		if (e->is_lost) {
			free(e);
			return error_origin(-ENOMEM);
		}
	}
	*ret = e;
	return 0;
}

/* --- which are kept ------------------------------------------------------------------------------
 */

static uint64_t function_cpu_weight(const struct function_cpu_entry *e)
{
	return e->is_kept ? clamped_add_unsigned(e->recent_ns, e->recent_ns) : e->recent_ns;
}

static int function_cpu_compare(const struct function_cpu_entry *a,
				const struct function_cpu_entry *b)
{
	uint64_t wa = function_cpu_weight(a), wb = function_cpu_weight(b);

	return wa < wb ? 1 : wa > wb ? -1 : strcmp(a->text, b->text);
}

static void function_cpu_choose(struct function_cpu *f)
{
	struct function_cpu_entry *e, *next;
	size_t n = 0;

	HASH_SORT(f->entries, function_cpu_compare);
	HASH_ITER (hh, f->entries, e, next) {
		bool is_kept = n++ < f->max && e->recent_ns;

		if (!is_kept && n > f->max + CANDIDATES(f->max)) {
			function_cpu_drop(f, e);
			continue;
		}
		if (!is_kept)
			e->shown_ns = 0;
		else
			e->shown_ns = clamped_add_unsigned(e->shown_ns, e->added_ns);
		e->is_kept = is_kept;
	}
}

static void function_cpu_fade(struct function_cpu *f)
{
	for (struct function_cpu_entry *e = f->entries; e; e = e->hh.next) {
		e->recent_ns -= e->recent_ns / 8 + (e->recent_ns < 8 && e->recent_ns);
		e->added_ns = 0;
	}
}

static bool function_name_is_valid(const char *name)
{
	return name && *name && strnlen(name, FLAT_NAME_MAX + 1) <= FLAT_NAME_MAX &&
	       utf8_is_valid(name);
}

static int function_cpu_add_line(struct function_cpu *f, char *line)
{
	const char *number = strsep(&line, " "), *service = line ? strsep(&line, "\t") : NULL;
	struct function_cpu_entry *e = NULL;
	uint64_t ns;
	int r;

	if (units_parse_number(number, &ns) || !function_name_is_valid(service) ||
	    !function_name_is_valid(line))
		return FUNCTION_CPU_E_MALFORMED;
	r = function_cpu_find(f, service, line, &e);
	if (r || !e)
		return r;
	e->added_ns = clamped_add_unsigned(e->added_ns, ns);
	e->recent_ns = clamped_add_unsigned(e->recent_ns, ns);
	return 0;
}

int function_cpu_add(struct function_cpu *f, char *text)
{
	char *line;
	int r = 0;

	function_cpu_fade(f);
	while (!r && (line = strsep(&text, "\n")) && *line)
		r = function_cpu_add_line(f, line);
	function_cpu_choose(f);
	return r;
}

/* --- what is shown -------------------------------------------------------------------------------
 */

const struct function_cpu_entry *function_cpu_next(const struct function_cpu *f,
						   const struct function_cpu_entry *e)
{
	e = e ? e->hh.next : f->entries;
	while (e && !e->is_kept)
		e = e->hh.next;
	return e;
}

const char *function_cpu_service(const struct function_cpu_entry *e)
{
	return e->text;
}

const char *function_cpu_name(const struct function_cpu_entry *e)
{
	return e->text + e->service_length + 1;
}

uint64_t function_cpu_ns(const struct function_cpu_entry *e)
{
	return e->shown_ns;
}
