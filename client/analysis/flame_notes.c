/* SPDX-License-Identifier: MIT */
/* Lines of reports and comments of profd's both have the form "heading: text". */
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
#define COMMENTS_MAX   1000 /* that are told: more are not for people to read */

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

/* "# profd name: value": the name, with a capital, is the heading. */
static void flame_notes_put_comment(struct notes *n, const char *comment)
{
	char heading[NAME_MAX_BYTES + 1] = "";
	bool is_ours = strncmp(comment, PREFIX, strlen(PREFIX)) == 0;
	const char *name = is_ours ? comment + strlen(PREFIX) : NULL;
	const char *colon = is_ours ? strstr(name, ": ") : NULL;

	if (profile_windows_is_line(comment))
		return; /* told as a whole */
	if (colon && colon > name && colon <= name + NAME_MAX_BYTES) {
		memcpy(heading, name, (size_t)(colon - name));
		if (strcmp(heading, "version") == 0) /* not the program's */
			strcpy(heading, "profd");
		else
			heading[0] = (char)toupper((unsigned char)heading[0]);
		comment = colon + 2;
	} else {
		comment += strspn(comment, "# \t");
	}
	if (*comment)
		flame_notes_put(n, heading, comment);
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
	for (size_t i = 0; i < p->n_comments && i < COMMENTS_MAX; i++)
		flame_notes_put_comment(&n, profile_string(p, p->comments[i]));
	fputc(']', out);
	return r;
}
