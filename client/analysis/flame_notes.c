/* SPDX-License-Identifier: MIT */
/*
 * Notes: what a profile says of itself, for people: which program, when, on which host, what was
 * lost. They are made of the profile's own fields and of the comments that profd writes, "# profd
 * name: value", whose names become headings, once for each value that files have. What others wrote
 * stands as it is, but for a '#' in front.
 */
#include "client/analysis/flame_notes.h"

#include <ctype.h>
#include <string.h>

#include "client/analysis/json_text.h"
#include "client/analysis/title.h"
#include "client/analysis/values.h"
#include "client/analysis/view.h"
#include "common/clock.h"
#include "common/memory_text.h"
#include "common/profile/coverage.h"
#include "common/profile/profile.h"
#include "common/profile/windows.h"

#define PREFIX         "# profd "
#define NAME_MAX_BYTES 24
#define COMMENTS_MAX   1000 /* that are told: more are not for people to read */

struct flame_notes {
	FILE *out;
	bool any;
};

static void flame_notes_put(struct flame_notes *n, const char *heading, const char *text)
{
	fputs(n->any ? ",\n[" : "[", n->out);
	json_text_write(n->out, heading);
	fputc(',', n->out);
	json_text_write(n->out, text);
	fputc(']', n->out);
	n->any = true;
}

/* "name: value": the name, with a capital, is the heading. Without one, @otherwise has none. */
static void flame_notes_put_line(struct flame_notes *n, const char *line, const char *otherwise)
{
	char heading[NAME_MAX_BYTES + 1] = "";
	const char *colon = strstr(line, ": ");

	if (colon && colon > line && colon <= line + NAME_MAX_BYTES) {
		memcpy(heading, line, (size_t)(colon - line));
		heading[0] = (char)toupper((unsigned char)heading[0]);
		otherwise = colon + 2;
	}
	/* The version is not the program's. */
	if (*otherwise)
		flame_notes_put(n, strcmp(heading, "Version") == 0 ? "profd" : heading, otherwise);
}

static void flame_notes_put_program(struct flame_notes *n, const struct profile *p)
{
	if (!p->n_mappings)
		return;
	if (p->mappings[0].path)
		flame_notes_put(n, "Program", profile_string(p, p->mappings[0].path));
	if (p->mappings[0].build_id)
		flame_notes_put(n, "Build id", profile_string(p, p->mappings[0].build_id));
}

static void flame_notes_put_times(struct flame_notes *n, const struct profile *p)
{
	char range[TITLE_RANGE_MAX], duration[48];

	if (report_title_range(p, range))
		flame_notes_put(n, "Time", range);
	if (p->duration_ns > 0) {
		snprintf(duration, sizeof(duration), "%.4g s",
			 (double)p->duration_ns / (double)NS_PER_S);
		flame_notes_put(n, "Duration", duration);
	}
}

/* How many windows, where a file lists them, and from when to when. */
static int flame_notes_put_windows(struct flame_notes *n, const struct profile *p)
{
	struct profile_windows windows = {0};
	char from[64], to[64], text[192];
	int r = profile_windows_of(p, &windows);

	if (!r && windows.is_listed && windows.n &&
	    report_title_time(from, sizeof(from), windows.all[0].time_ns) &&
	    report_title_time(to, sizeof(to), windows.all[windows.n - 1].time_ns)) {
		snprintf(text, sizeof(text), "%zu, which began from %s to %s", windows.n, from, to);
		flame_notes_put(n, "Windows", text);
	}
	profile_windows_deinit(&windows);
	return r;
}

static void flame_notes_put_comment(struct flame_notes *n, const char *comment)
{
	const char *text = comment + strspn(comment, "# \t");

	if (profile_windows_is_line(comment) || profile_coverage_is_line(comment))
		return; /* told as a whole */
	if (strncmp(comment, PREFIX, strlen(PREFIX)) == 0)
		flame_notes_put_line(n, comment + strlen(PREFIX), text);
	else if (*text)
		flame_notes_put(n, "", text);
}

static int flame_notes_put_losses(struct flame_notes *n, const struct view_input *input)
{
	cleanup(memory_text_deinit) struct memory_text line = {0};
	char *at, *rest;
	int r = memory_text_open(&line);

	if (r)
		return r;
	header_print_few(line.out, input);
	r = header_print_losses(line.out, input) ?: memory_text_close(&line);
	if (r)
		return r;
	for (at = strtok_r(line.text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest))
		flame_notes_put_line(n, at, at);
	return 0;
}

int flame_notes_write(const struct view_input *input, FILE *out)
{
	const struct profile *p = input->profile;
	struct flame_notes n = {.out = out};
	int r;

	fputc('[', out);
	for (size_t i = 0; i < input->n_notes; i++)
		flame_notes_put_line(&n, input->notes[i], input->notes[i]);
	if (!input->n_services)
		flame_notes_put_program(&n, p);
	flame_notes_put_times(&n, p);
	r = flame_notes_put_windows(&n, p) ?: flame_notes_put_losses(&n, input);
	for (size_t i = 0; i < p->n_comments && i < COMMENTS_MAX; i++)
		flame_notes_put_comment(&n, profile_string(p, p->comments[i]));
	fputc(']', out);
	return r;
}
