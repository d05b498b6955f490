/* SPDX-License-Identifier: MIT */
/*
 * view_tool VIEW <STACKS >OUT: a view of stacks that are made by hand, so that a test knows them
 * without a profile. Lines, numbers decimal, texts in hex:
 *
 *	type TYPE UNIT
 *	frame NAME FILE LINE MODULE
 *	comment TEXT
 *	stack VALUE,... IS_BASE THREAD FRAME...    a value a type; the root first; FRAMEi: inlined
 *
 * "-" is an empty text. THREAD: the text of a label `thread`. The last type is the chosen one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/frame.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/profile.h"

#define FRAMES_MAX 4096 /* of a stack */
#define TYPES_MAX  8

struct tool {
	struct profile *profile;
	struct view *view;
	struct view_input input;
	struct frame *frames;
	size_t n_frames, n_allocated;
	uint32_t stack[FRAMES_MAX];
	uint8_t is_inlined[FRAMES_MAX];
	int64_t totals[TYPES_MAX];
};

static uint32_t text(struct tool *t, const char *hex)
{
	size_t n = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
	cleanup(freep) char *bytes = calloc(n + 1, 1);
	uint32_t string = 0;

	for (size_t i = 0; bytes && i < n; i++)
		bytes[i] = (char)strtol((char[]){hex[2 * i], hex[2 * i + 1], 0}, NULL, 16);
	if (!bytes || profile_add_string(t->profile, bytes, n, &string) != 0)
		abort();
	return string;
}

static const char *word(char **rest)
{
	const char *w = strsep(rest, " \n");

	return w && *w ? w : "-";
}

static void add_frame(struct tool *t, char *rest)
{
	struct frame *f;

	if (t->n_frames == t->n_allocated) {
		t->n_allocated = t->n_allocated * 2 + 64;
		t->frames = reallocarray(t->frames, t->n_allocated, sizeof(*t->frames));
		if (!t->frames)
			abort();
	}
	f = &t->frames[t->n_frames++];
	*f = (struct frame){.name = text(t, word(&rest))};
	f->filename = text(t, word(&rest));
	f->line = strtol(word(&rest), NULL, 10);
	f->object = text(t, word(&rest));
	t->input.frames = t->frames;
	t->input.n_frames = t->n_frames;
}

/* A value for each type. */
static void read_values(struct tool *t, const char *w, int64_t *ret)
{
	for (unsigned i = 0; i < TYPES_MAX && *w; i++) {
		char *end;

		ret[i] = strtoll(w, &end, 10);
		if (__builtin_add_overflow(t->totals[i], llabs(ret[i]), &t->totals[i]))
			abort();
		w = end + (*end == ',');
	}
	t->input.total = t->totals[t->input.type];
}

static int add_stack(struct tool *t, char *rest)
{
	int64_t values[TYPES_MAX] = {0};
	struct profile_label labels[2] = {0};
	struct stack stack = {.values = values, .labels = labels};
	uint32_t n = 0;

	read_values(t, word(&rest), values);
	if (*word(&rest) == '1') {
		if (profile_add_text(t->profile, "pprof::base", &labels[0].key) != 0 ||
		    profile_add_text(t->profile, "true", &labels[0].str) != 0)
			abort();
		stack.n_labels = 1;
	}
	labels[stack.n_labels].str = text(t, word(&rest));
	if (labels[stack.n_labels].str) {
		if (profile_add_text(t->profile, "thread", &labels[stack.n_labels].key) != 0)
			abort();
		stack.n_labels++;
	}
	for (const char *w = word(&rest); *w != '-' && n < FRAMES_MAX; w = word(&rest)) {
		size_t at = FRAMES_MAX - ++n;

		t->stack[at] = (uint32_t)strtoul(w, NULL, 10);
		t->is_inlined[at] = w[strlen(w) - 1] == 'i';
	}
	stack.frames = &t->stack[FRAMES_MAX - n];
	stack.is_inlined = &t->is_inlined[FRAMES_MAX - n];
	stack.n_frames = n;
	return report_view_add(t->view, &t->input, &stack);
}

static int read_all(struct tool *t)
{
	cleanup(freep) char *line = NULL;
	size_t size = 0;
	int r = 0;

	while (!r && getline(&line, &size, stdin) > 0) {
		char *rest = line;
		const char *what = word(&rest);

		if (strcmp(what, "type") == 0) {
			const char *type = word(&rest);

			r = profile_add_sample_type(t->profile, type, word(&rest));
			t->input.type = t->profile->n_sample_types - 1;
		} else if (strcmp(what, "comment") == 0) {
			const char *comment = profile_string(t->profile, text(t, word(&rest)));

			r = profile_add_comment(t->profile, comment);
		} else if (strcmp(what, "frame") == 0) {
			add_frame(t, rest);
		} else if (strcmp(what, "stack") == 0) {
			r = add_stack(t, rest);
		}
	}
	return r;
}

int main(int argc, char **argv)
{
	static const struct view_class *const classes[] = {&view_flame, &view_speedscope};
	struct tool t = {0};
	struct view_options options;
	int r = -EINVAL;

	view_options_init(&options);
	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(classes); i++)
		if (strcmp(classes[i]->name, argv[1]) == 0)
			r = report_view_new(&t.view, classes[i], &options, NULL);
	if (!r)
		r = profile_new(&t.profile);
	t.input.profile = t.profile;
	t.input.totals = t.totals;
	if (!r)
		r = read_all(&t);
	if (!r)
		r = report_view_end(t.view, &t.input, stdout);
	if (r)
		fprintf(stderr, "view_tool: %s\n", error_describe(r));
	report_view_free(t.view);
	profile_free(t.profile);
	free(t.frames);
	return r || fflush(stdout) != 0;
}
