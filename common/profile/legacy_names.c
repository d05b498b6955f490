/* SPDX-License-Identifier: MIT */
/*
 * A line is an address and what runs there: a method of Java's with its place, or functions that
 * were inlined into each other. Both become lines of functions in the profile, innermost first, in
 * one array; a name is an address and its piece of that. Sorted at the end, since files are not.
 * What has no address is passed over: these texts are for people, too.
 */
#include "common/profile/legacy_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/digits.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/profile/profile.h"
#include "common/room.h"
#include "common/span.h"

#define INLINED_MAX    256 /* functions at one address */
#define ADDRESS_DIGITS 8   /* at least */

void legacy_names_deinit(struct legacy_names *names)
{
	free(names->all);
	free(names->lines);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The line at *@text, trimmed; *@text is moved to the next one. False: there is none. */
static bool legacy_names_line(const char **text, const char *end, struct span *ret)
{
	struct span rest = {*text, (size_t)(end - *text)};
	bool has_line = span_cut(&rest, '\n', ret);

	*text = rest.at;
	*ret = span_trim(*ret);
	return has_line;
}

static struct span span_from(const char *at, const char *end)
{
	return (struct span){at, (size_t)(end - at)};
}

/* "0xADDRESS name": cuts the address off. */
static bool cut_address(struct span *line, uint64_t *ret)
{
	const char *at = line->at + 2, *end = line->at + line->length;

	if (!span_starts(*line, "0x") || !digits_read(&at, end, 16, ret) || at == end ||
	    !span_is_blank(*at))
		return false;
	*line = span_trim(span_from(at, end));
	return line->length;
}

/* --- names ------------------------------------------------------------------------------------ */

static int add_name(struct legacy_names *names, uint64_t address, size_t first_line)
{
	const struct legacy_name name = {.address = address,
					 .first_line = first_line,
					 .order = names->n,
					 .n_lines = (uint32_t)(names->n_lines - first_line)};

	return room_append(&names->all, &names->max, &names->n, name);
}

static int legacy_names_add_line(struct legacy_names *names, struct profile *p, struct span name,
				 struct span file, int64_t number)
{
	struct profile_function function = {0};
	struct profile_line line = {.line = number};
	int r = profile_add_string(p, name.at, name.length, &function.name)
			?: profile_add_string(p, file.at, file.length, &function.filename);

	function.system_name = function.name;
	r = r ?: profile_add_function(p, &function, &line.function);
	return r ?: room_append(&names->lines, &names->max_lines, &names->n_lines, line);
}

DEFINE_ORDER(compare_names, struct legacy_name,
	     order_of(x->address, y->address) ?: order_of(x->order, y->order))

static void sort_names(struct legacy_names *names)
{
	if (names->n)
		qsort(names->all, names->n, sizeof(*names->all), compare_names);
}

const struct legacy_name *legacy_names_find(const struct legacy_names *names, uint64_t address)
{
	size_t n = partition_point(names->n, i, names->all[i].address <= address);

	return n && names->all[n - 1].address == address ? &names->all[n - 1] : NULL;
}

/* --- Java's ----------------------------------------------------------------------------------- */

/* "name (file:line)", "name (library)": cuts off what is in the brackets. */
static bool cut_place(struct span *name, struct span *ret_file, int64_t *ret_number)
{
	const char *bracket, *colon, *at, *end = name->at + name->length - 1;
	uint64_t number;

	if (*end != ')')
		return false;
	bracket = memrchr(name->at, '(', name->length);
	if (!bracket || bracket == name->at || !span_is_blank(bracket[-1]))
		return false;
	*ret_file = span_from(bracket + 1, end);
	*name = span_trim(span_from(name->at, bracket));
	colon = memrchr(ret_file->at, ':', ret_file->length);
	at = colon ? colon + 1 : NULL;
	if (at && *at == '-') /* not known */
		at++;
	if (at && digits_read(&at, end, 10, &number) && at == end) {
		if (colon[1] != '-' && number <= INT64_MAX)
			*ret_number = (int64_t)number;
		*ret_file = span_from(ret_file->at, colon);
		return true;
	}
	at = memrchr(ret_file->at, '/', ret_file->length);
	if (at)
		*ret_file = span_from(at + 1, end);
	return true;
}

static int read_java_line(struct legacy_names *names, struct profile *p, struct span line)
{
	static const char stub[] = "STUB", generated[] = "generated stub/JIT";
	const size_t first = names->n_lines;
	struct span file = {"", 0};
	int64_t number = 0;
	uint64_t address;

	if (!cut_address(&line, &address))
		return 0;
	if (!cut_place(&line, &file, &number) &&
	    memmem(line.at, line.length, generated, strlen(generated)))
		line = (struct span){stub, strlen(stub)};
	return legacy_names_add_line(names, p, line, file, number)
		       ?: add_name(names, address, first);
}

int legacy_names_read_java(struct legacy_names *names, struct profile *p, const char *text,
			   const char *end)
{
	struct span line;
	int r = 0;

	while (!r && legacy_names_line(&text, end, &line))
		r = read_java_line(names, p, line);
	sort_names(names);
	return r;
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* google-pprof's own names have the function's address behind them: "main<0000000000401106>". */
static struct span without_address(struct span name)
{
	const char *open = memrchr(name.at, '<', name.length), *end = name.at + name.length, *at;
	uint64_t address;

	if (!open || end[-1] != '>')
		return name;
	at = open + 1;
	if (end - at < ADDRESS_DIGITS || !digits_read(&at, end, 16, &address) || at != end - 1)
		return name;
	return span_from(name.at, open);
}

/* Names are apart by "--", the innermost last. */
static int read_symbol_line(struct legacy_names *names, struct profile *p, uint64_t address,
			    struct span line)
{
	const struct span no_file = {"", 0};
	const size_t first = names->n_lines;
	const char *at = line.at + line.length;
	int r = 0;

	while (!r && at > line.at && names->n_lines - first < INLINED_MAX) {
		const char *end = at;

		while (at > line.at && !(end - at >= 2 && at[0] == '-' && at[1] == '-'))
			at--;
		r = legacy_names_add_line(
			names, p, without_address(span_from(at > line.at ? at + 2 : at, end)),
			no_file, 0);
	}
	return r ?: add_name(names, address, first);
}

int legacy_names_read_symbols(struct legacy_names *names, struct profile *p, const char *text,
			      const char *end, const char **ret, uint32_t *ret_binary)
{
	static const char binary[] = "binary=";
	struct span line;
	uint64_t address;
	int r = 0;

	*ret_binary = 0;
	while (!r && legacy_names_line(&text, end, &line) && !span_starts(line, "---")) {
		if (span_starts(line, binary))
			r = profile_add_string(p, line.at + strlen(binary),
					       line.length - strlen(binary), ret_binary);
		else if (cut_address(&line, &address))
			r = read_symbol_line(names, p, address, line);
	}
	*ret = text;
	sort_names(names);
	return r;
}
