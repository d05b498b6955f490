/* SPDX-License-Identifier: MIT */
/*
 * The writer knows how deep it is and whether the innermost object or array has items: so commas,
 * line breaks and indentation come by themselves before each value.
 */
#include "client/profctl/json.h"

#include <inttypes.h>
#include <math.h>

#include "client/analysis/json_text.h"
#include "common/units.h"

static void put_break(struct json *j)
{
	if (j->compact)
		return;
	fputc('\n', j->out);
	for (unsigned i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

/* What stands before a value: comma, line break, key. */
static void begin_value(struct json *j, const char *key)
{
	if (j->has_items)
		fputc(',', j->out);
	if (j->depth)
		put_break(j);
	if (key) {
		json_text_write(j->out, key);
		fputs(j->compact ? ":" : ": ", j->out);
	}
	j->has_items = true;
}

static void json_open(struct json *j, const char *key, char opening, char closing)
{
	begin_value(j, key);
	fputc(opening, j->out);
	j->closing[j->depth++] = closing;
	j->has_items = false;
}

void json_begin_object(struct json *j, const char *key)
{
	json_open(j, key, '{', '}');
}

void json_begin_array(struct json *j, const char *key)
{
	json_open(j, key, '[', ']');
}

void json_close(struct json *j)
{
	j->depth--;
	if (j->has_items)
		put_break(j);
	fputc(j->closing[j->depth], j->out);
	j->has_items = true;
}

void json_text(struct json *j, const char *key, const char *text)
{
	begin_value(j, key);
	if (text)
		json_text_write(j->out, text);
	else
		fputs("null", j->out);
}

void json_number(struct json *j, const char *key, uint64_t number)
{
	begin_value(j, key);
	fprintf(j->out, "%" PRIu64, number);
}

void json_real(struct json *j, const char *key, double number)
{
	if (!isfinite(number)) {
		json_text(j, key, NULL);
		return;
	}
	begin_value(j, key);
	fprintf(j->out, "%.12g", number);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin_value(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_moment(struct json *j, const char *key, uint64_t ns)
{
	char text[UNITS_TEXT_MAX];

	json_text(j, key, ns ? units_print_moment(text, sizeof(text), ns, true) : NULL);
}

void json_end(struct json *j)
{
	while (j->depth)
		json_close(j);
	fputc('\n', j->out);
	j->has_items = false;
}
