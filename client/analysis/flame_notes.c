/* SPDX-License-Identifier: MIT */
/*
 * Lines of reports and comments of profd's both have the form "heading: text". The values of one
 * name are looked for in all later comments, so that a heading is there once.
 */
#include "client/analysis/flame.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "client/analysis/json_text.h"
#include "client/analysis/memory_text.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/profile/profile.h"
#include "common/profile/windows.h"

#define PREFIX         "# profd "
#define NAME_MAX_BYTES 24
#define COMMENTS_MAX   1000 /* that are looked at: more are not for people to read */

struct notes {
	FILE *out;
	bool any;
};

static void flame_notes_put(struct notes *n, const char *heading, const char *text)
{
	fputs(n->any ? ",\n[" : "[", n->out);
	json_text_write(n->out, heading);
	fputc(',', n->out);
	json_text_write(n->out, text);
	fputc(']', n->out);
	n->any = true;
}

/* A line of reports, whose heading is what stands before its first colon. */
static void flame_notes_put_line(struct notes *n, const char *line)
{
	char heading[NAME_MAX_BYTES + 1] = "";
	const char *colon = strstr(line, ": ");

	if (colon && colon <= line + NAME_MAX_BYTES)
		memcpy(heading, line, (size_t)(colon - line));
	flame_notes_put(n, heading, *heading ? colon + 2 : line);
}

static void flame_notes_put_program(struct notes *n, const struct profile *p)
{
	if (!p->n_mappings)
		return;
	if (p->mappings[0].path)
		flame_notes_put(n, "Program", profile_string(p, p->mappings[0].path));
	if (p->mappings[0].build_id)
		flame_notes_put(n, "Build id", profile_string(p, p->mappings[0].build_id));
}

static void flame_notes_put_times(struct notes *n, const struct profile *p)
{
	char when[64], duration[48];

	if (p->time_ns > 0 && header_format_time(when, sizeof(when), p->time_ns))
		flame_notes_put(n, "Time", when);
	if (p->duration_ns > 0) {
		snprintf(duration, sizeof(duration), "%.4g s",
			 (double)p->duration_ns / (double)NS_PER_S);
		flame_notes_put(n, "Duration", duration);
	}
}

/* How many windows, where a file lists them, and from when to when. */
static int flame_notes_put_windows(struct notes *n, const struct profile *p)
{
	struct profile_windows windows = {0};
	char from[64], to[64], text[192];
	int r = profile_windows_of(p, &windows);

	if (!r && windows.is_listed && windows.n &&
	    header_format_time(from, sizeof(from), windows.all[0].time_ns) &&
	    header_format_time(to, sizeof(to), windows.all[windows.n - 1].time_ns)) {
		snprintf(text, sizeof(text), "%zu, which began from %s to %s", windows.n, from, to);
		flame_notes_put(n, "Windows", text);
	}
	profile_windows_deinit(&windows);
	return r;
}

/* --- comments --------------------------------------------------------------------------------- */

/* "# profd name: value", of which @ret_length bytes from @ret_name on are the name. */
static const char *flame_notes_parse_comment(const char *comment, const char **ret_name,
					     size_t *ret_length)
{
	const char *name = comment + strlen(PREFIX), *end;

	if (strncmp(comment, PREFIX, strlen(PREFIX)) != 0)
		return NULL;
	/* No further: each comment is held against all others. */
	end = memmem(name, strnlen(name, NAME_MAX_BYTES + 2), ": ", 2);
	if (!end || end == name)
		return NULL;
	*ret_name = name;
	*ret_length = (size_t)(end - name);
	return end + 2;
}

static const char *flame_notes_value_if_named(const char *comment, const char *name, size_t length)
{
	const char *other;
	size_t other_length;
	const char *value = flame_notes_parse_comment(comment, &other, &other_length);

	return value && other_length == length && memcmp(other, name, length) == 0 ? value : NULL;
}

/* All values of the name that the comment at @first has, if it is the first one of it. */
static int flame_notes_put_values(struct notes *n, const struct profile *p, size_t first,
				  const char *name, size_t length)
{
	cleanup(memory_text_deinit) struct memory_text values = {0};
	char heading[NAME_MAX_BYTES + 1] = "";
	int r = memory_text_open(&values);

	if (r)
		return r;
	memcpy(heading, name, length);
	if (strcmp(heading, "version") == 0) /* not the program's */
		strcpy(heading, "profd");
	else
		heading[0] = (char)toupper((unsigned char)heading[0]);
	for (size_t i = 0; i < p->n_comments && i < COMMENTS_MAX; i++) {
		const char *value = flame_notes_value_if_named(profile_string(p, p->comments[i]),
							       name, length);

		if (value && i < first)
			return 0;
		if (value)
			fprintf(values.out, "%s%s", ftell(values.out) > 0 ? ", " : "", value);
	}
	r = memory_text_close(&values);
	if (!r)
		flame_notes_put(n, heading, values.text);
	return r;
}

static int flame_notes_put_comment(struct notes *n, const struct profile *p, size_t i)
{
	const char *comment = profile_string(p, p->comments[i]);
	const char *name;
	size_t length;

	if (profile_windows_is_line(comment))
		return 0; /* told as a whole */
	if (flame_notes_parse_comment(comment, &name, &length))
		return flame_notes_put_values(n, p, i, name, length);
	comment += strspn(comment, "# \t");
	if (*comment)
		flame_notes_put(n, "", comment);
	return 0;
}

static int flame_notes_put_losses(struct notes *n, const struct profile *p)
{
	cleanup(memory_text_deinit) struct memory_text line = {0};
	int r = memory_text_open(&line) ?:
		header_print_losses(line.out, p) ?:
		memory_text_close(&line);

	if (r || !line.length)
		return r;
	line.text[line.length - 1] = '\0'; /* instead of the newline */
	flame_notes_put_line(n, line.text);
	return 0;
}

int flame_notes_write(const struct view_input *input, FILE *out)
{
	const struct profile *p = input->profile;
	struct notes n = {.out = out};
	int r;

	fputs("\"notes\":[", out);
	for (size_t i = 0; i < input->n_notes; i++)
		flame_notes_put_line(&n, input->notes[i]);
	flame_notes_put_program(&n, p);
	flame_notes_put_times(&n, p);
	r = flame_notes_put_windows(&n, p) ?: flame_notes_put_losses(&n, p);
	for (size_t i = 0; i < p->n_comments && i < COMMENTS_MAX && !r; i++)
		r = flame_notes_put_comment(&n, p, i);
	fputc(']', out);
	return r;
}
