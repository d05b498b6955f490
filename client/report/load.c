/* SPDX-License-Identifier: MIT */
/*
 * Several files are merged: that drops what no sample refers to, and makes equal samples one. One
 * file alone stays what it is, and so does the only base, until the two are merged. All this is as
 * pprof has it. Of a stream, the samples of each batch are told and forgotten; what they refer to
 * stays, so that indices hold from one time through the file to the next.
 */
#include "client/report/load.h"

#include <errno.h>
#include <stdlib.h>

#include "client/analysis/wall.h"
#include "client/report/binaries.h"
#include "client/report/function_names.h"
#include "client/report/input.h"
#include "client/report/remote.h"
#include "client/report/remote_names.h"
#include "client/report/sources.h"
#include "common/error.h"
#include "common/profile/compare.h"
#include "common/profile/merge.h"
#include "common/profile/pprof.h"

#define PASSED_SHOWN 3 /* files in directories that are no profiles */

struct load {
	struct load_options options;
	struct reading reading;
	struct sources sources, bases;
	size_t n_files;
	bool is_legacy;

	/* A stream. */
	struct input *input;
	bool is_begun, is_known; /* in the middle of the samples; its end was seen once */

	/* Held. */
	struct profile *profile;
	bool is_told;

	bool has_wall; /* the profile by now */
};

void load_free(struct load *l)
{
	if (!l)
		return;
	input_free(l->input);
	profile_free(l->profile);
	sources_deinit(&l->sources);
	sources_deinit(&l->bases);
	free(l);
}

static int open_input(struct load *l, struct source *source, struct input **ret,
		      struct profile_message *message)
{
	return source->fd >= 0 ? input_open_fd(ret, steal_fd(&source->fd), &l->reading, message)
			       : input_open(ret, source->path, &l->reading, message);
}

/* --- merging ---------------------------------------------------------------------------------- */

/* All samples of @in; MERGE_E_NOTHING is none of its outcomes. */
static int merge_input(struct merge *m, struct input *in, const struct merge_select *select,
		       struct profile_message *message)
{
	int r = merge_begin(m, input_profile(in), select, message);
	bool any = true;

	if (r == MERGE_E_NOTHING)
		return REPORT_E_OK;
	if (r)
		return r < 0 ? r : REPORT_E_BAD;
	while (!r && any) {
		r = input_next(in, &any, message);
		if (!r && any)
			r = merge_samples(m, 0, SIZE_MAX, NULL);
	}
	if (!r)
		return merge_end(m);
	merge_abort(m);
	return r;
}

struct gathering {
	struct load *l;
	struct merge *merge;
	struct merge_select range; /* of files that are not in it as a whole */
	size_t n, n_legacy, n_passed;
	struct input *opened; /* the only one, if it is open */
	struct profile_message *message;
};

/*
 * Opens the file, if it is not open yet. What was fetched gets its names before anything is merged:
 * then it is known whose they are. REPORT_E_* or negative errno.
 */
static int gather_open(struct gathering *g, struct source *source, struct input **ret)
{
	const struct load_options *o = &g->l->options;
	int r;

	*ret = steal_ptr(&g->opened);
	r = *ret ? REPORT_E_OK : open_input(g->l, source, ret, g->message);
	if (r || !source->url)
		return r;
	return binaries_name(input_profile(*ret), o)
		       ?: remote_names_fetch(input_profile(*ret),
					     input_format(*ret) == ANY_CPUPROFILE ||
						     input_format(*ret) == ANY_LEGACY_TEXT,
					     source, o);
}

static int gather_file(struct gathering *g, struct source *source)
{
	cleanup(input_freep) struct input *in = NULL;
	int r = gather_open(g, source, &in)
			?: merge_input(g->merge, in, source->is_whole ? NULL : &g->range,
				       g->message);

	reading_file_end(&g->l->reading);
	if (r > 0) {
		sources_name_file(source->path, r, g->message);
		if (!source->is_found || r == REPORT_E_DENIED)
			return r;
		if (g->n_passed++ < PASSED_SHOWN)
			listener_note(&g->l->options.listener, "passed over: %s", g->message->text);
		return REPORT_E_OK;
	}
	if (r)
		return r;
	g->n++;
	g->n_legacy += input_format(in) == ANY_CPUPROFILE;
	return REPORT_E_OK;
}

/* A file that nothing is merged with. */
static int load_hold_single(struct gathering *g, struct source *source, struct profile **ret)
{
	cleanup(input_freep) struct input *in = NULL;
	cleanup(profile_freep) struct profile *p = NULL;
	int r = gather_open(g, source, &in)
		?: input_hold(in, &p, g->message)
		?: merge_single_profile(p);

	reading_file_end(&g->l->reading);
	reading_end(&g->l->reading);
	if (r)
		return sources_name_file(source->path, r, g->message);
	g->n = 1;
	g->n_legacy = input_format(in) == ANY_CPUPROFILE;
	*ret = steal_ptr(&p);
	return REPORT_E_OK;
}

/* What adds up to nothing is gone from several, as in pprof. */
static int load_finish_merge(struct merge *m, struct profile **ret)
{
	int r = merge_finish(m) ?: profile_drop_zeroes(merge_profile(m));

	if (!r)
		*ret = merge_steal_profile(m);
	return r;
}

static int merge_all(struct gathering *g, struct sources *sources, enum merge_windows windows,
		     struct profile **ret)
{
	cleanup(merge_freep) struct merge *m = NULL;
	int r = merge_new(&m, windows);

	if (!r)
		merge_use_common_types(m);
	if (!r && g->l->options.times)
		merge_keep_times(m);
	g->merge = m;
	for (size_t i = 0; i < sources->n && !r; i++)
		r = gather_file(g, &sources->all[i]);
	reading_end(&g->l->reading);
	if (r)
		return r;
	if (g->n_passed > PASSED_SHOWN)
		listener_note(&g->l->options.listener, "%zu more passed over",
			      g->n_passed - PASSED_SHOWN);
	if (!merge_profile(m))
		return profile_refuse(g->message, REPORT_E_BAD, "%s: no profile in it",
				      sources->n ? sources->all[0].path : "");
	return load_finish_merge(m, ret);
}

static int load_gather(struct gathering *g, struct sources *sources, struct profile **ret)
{
	bool is_store = g->l->options.inputs->is_store && sources == &g->l->sources;

	if (sources->n == 1 && !sources->all[0].is_found && !is_store)
		return load_hold_single(g, &sources->all[0], ret);
	return merge_all(g, sources, is_store ? MERGE_WINDOWS_DROPPED : MERGE_WINDOWS_KEPT, ret);
}

/* --- held ------------------------------------------------------------------------------------- */

/* What becomes of l->profile. */
static int subtract_bases(struct load *l, struct profile_message *message)
{
	cleanup(profile_freep) struct profile *base = NULL;
	const struct compare_options options = {l->options.inputs->normalize,
						l->options.inputs->is_diff};
	struct gathering g = {.l = l, .message = message};
	int r;

	reading_begin(&l->reading, l->bases.n, &l->options.listener);
	r = load_gather(&g, &l->bases, &base);
	l->is_legacy &= g.n_legacy == g.n;
	l->n_files += g.n;
	if (r)
		return r;
	r = compare_subtract(&l->profile, base, &options, message);
	return r > 0 ? REPORT_E_BAD : r;
}

/* Whether any source is a URL, or is none. */
static bool load_has_source(const struct load *l, bool is_url)
{
	const struct sources *const both[] = {&l->sources, &l->bases};

	for (size_t k = 0; k < ARRAY_SIZE(both); k++)
		for (size_t i = 0; i < both[k]->n; i++)
			if ((both[k]->all[i].url != NULL) == is_url)
				return true;
	return false;
}

/* Takes @opened, the only one of the sources, or NULL. */
static int load_hold_profile(struct load *l, struct input *opened, struct profile_message *message)
{
	const struct report_inputs *in = l->options.inputs;
	struct gathering g = {.l = l,
			      .opened = opened,
			      .message = message,
			      .range = {.since_ns = l->options.stored.since_ns,
					.until_ns = l->options.stored.until_ns}};
	int r = load_gather(&g, &l->sources, &l->profile);

	input_free(g.opened);
	l->n_files = g.n;
	l->is_legacy = g.n_legacy == g.n;
	if (!r && in->n_bases)
		r = subtract_bases(l, message);
	if (!r && load_has_source(l, false))
		r = binaries_name(l->profile, &l->options);
	if (!r)
		r = function_names_set(l->profile, in->mode.names, &l->options.listener);
	if (!r && load_has_source(l, true))
		r = remote_save_profile(l->profile, &l->options.listener);
	return r;
}

/* --- a stream --------------------------------------------------------------------------------- */

/*
 * If there is one file alone, *ret is that file, opened, from which *ret_stream tells whether it
 * can be told as it is read. It may be a pipe: nobody can open it again.
 */
static int open_single(struct load *l, struct input **ret, bool *ret_stream,
		       struct profile_message *message)
{
	struct source *source = l->sources.all;
	const struct report_inputs *in = l->options.inputs;
	cleanup(input_freep) struct input *input = NULL;
	int r;

	*ret_stream = false;
	if (l->options.hold || l->sources.n != 1 || in->n_bases || in->is_store)
		return REPORT_E_OK;
	r = open_input(l, source, &input, message);
	if (r)
		return sources_name_file(source->path, r, message);
	/* What was fetched is kept, with its names. */
	*ret_stream = !source->url && input_is_stream(input) &&
		      !binaries_are_wanted(input_profile(input), &l->options) &&
		      !function_names_are_wanted(input_profile(input), in->mode.names);
	*ret = steal_ptr(&input);
	return REPORT_E_OK;
}

static int load_next_of_stream(struct load *l, bool *ret_any, struct profile_message *message)
{
	int r;

	if (!l->is_begun)
		input_rewind(l->input);
	l->is_begun = true;
	r = sources_name_file(l->sources.all[0].path, input_next(l->input, ret_any, message),
			      message);
	if (r || *ret_any)
		return r;
	l->is_begun = false;
	if (!l->is_known)
		reading_file_end(&l->reading);
	if (!l->is_known)
		reading_end(&l->reading);
	l->is_known = true;
	return REPORT_E_OK;
}

/* --- any -------------------------------------------------------------------------------------- */

/* Takes @texts from @first on. */
static int load_add_sources(struct sources *s, const struct report_inputs *in, const char **texts,
			    size_t first, size_t n, struct profile_message *message)
{
	int r = 0;

	s->times = (struct source_url_times){.seconds = in->seconds, .timeout_s = in->timeout};
	for (size_t i = first; i < n && !r; i++)
		r = sources_add(s, texts[i], message);
	return r;
}

static void load_note_skipped(const struct load *l)
{
	size_t n_double = l->sources.n_double + l->bases.n_double;
	size_t n_too_far = l->sources.n_too_far + l->bases.n_too_far;

	if (n_double)
		listener_note(
			&l->options.listener,
			"%zu legacy profiles passed over: the same samples are in the windows "
			"beside them",
			n_double);
	if (n_too_far)
		listener_note(&l->options.listener,
			      "%zu files or directories passed over: they are too deep in "
			      "directories, or their "
			      "paths are too long",
			      n_too_far);
}

/* The operands but for the program; those of the store instead. */
static int find_sources(struct load *l, struct profile_message *message)
{
	const struct report_inputs *in = l->options.inputs;
	struct sources *sources = &l->sources;
	struct load_stored stored;
	size_t first = 0;
	int r = 0;

	if (in->is_store) {
		stored = l->options.stored;
		stored.service = in->service;
		r = sources_add_stored(sources, &stored, message);
	}
	if (in->n_profiles > 1 && binaries_is_program(in->profiles[0])) {
		l->options.program = in->profiles[0];
		first = 1;
	}
	if (!r)
		r = load_add_sources(sources, in, in->profiles, first, in->n_profiles, message);
	if (!r)
		r = load_add_sources(&l->bases, in, in->bases, 0, in->n_bases, message);
	load_note_skipped(l);
	return r;
}

/* Gets what is at URLs, and says what the options cannot do. */
static int load_fetch(struct load *l, struct profile_message *message)
{
	const struct report_inputs *in = l->options.inputs;

	if ((in->seconds || in->timeout) && !load_has_source(l, true))
		listener_note(
			&l->options.listener,
			"--seconds and --timeout do nothing: no profile is fetched from a URL");
	return remote_fetch(&l->sources, &l->bases, &l->options, message);
}

int load_new(struct load **ret, const struct load_options *options, struct profile_message *message)
{
	cleanup(load_freep) struct load *l = calloc(1, sizeof(*l));
	cleanup(input_freep) struct input *input = NULL;
	bool is_stream = false;
	int r;

	if (!l)
		return error_origin(-ENOMEM);
	l->options = *options;
	r = find_sources(l, message) ?: load_fetch(l, message);
	if (!r)
		reading_begin(&l->reading, l->sources.n, &l->options.listener);
	if (!r)
		r = open_single(l, &input, &is_stream, message);
	if (!r && is_stream) {
		l->input = steal_ptr(&input);
		l->n_files = 1;
		r = merge_single_profile(input_profile(l->input)); /* so that there is a profile */
	} else if (!r) {
		r = load_hold_profile(l, steal_ptr(&input), message);
	}
	/* What the options change about what the profile says of itself. */
	if (!r && options->inputs->all_frames)
		load_profile(l)->drop_frames = load_profile(l)->keep_frames = 0;
	if (!r && *options->inputs->comment)
		r = profile_add_comment(load_profile(l), options->inputs->comment);
	l->options.inputs = NULL; /* the caller's */
	l->options.program = NULL;
	if (r) {
		reading_end(&l->reading);
		return r;
	}
	*ret = steal_ptr(&l);
	return REPORT_E_OK;
}

struct profile *load_profile(struct load *l)
{
	return l->input ? input_profile(l->input) : l->profile;
}

bool load_is_legacy(const struct load *l)
{
	return l->is_legacy;
}

bool load_is_comparison(const struct load *l)
{
	return l->bases.n;
}

size_t load_n_files(const struct load *l)
{
	return l->n_files;
}

int load_set_wall(struct load *l, bool has_wall, struct profile_message *message)
{
	int r = 0;

	if (has_wall && !l->has_wall)
		r = wall_add(load_profile(l), message);
	else if (!has_wall && l->has_wall)
		wall_remove(load_profile(l));
	if (!r)
		l->has_wall = has_wall;
	return r > 0 ? REPORT_E_BAD_OPTION : r;
}

/* A reader adds samples of the types that are in its file. */
static int load_next_with_wall(struct load *l, bool *ret_any, struct profile_message *message)
{
	const bool has_wall = l->has_wall;
	int r;

	(void)load_set_wall(l, false, NULL);
	r = load_next_of_stream(l, ret_any, message);
	return r ? r : load_set_wall(l, has_wall, message);
}

int load_next(struct load *l, bool *ret_any, struct profile_message *message)
{
	if (l->input)
		return load_next_with_wall(l, ret_any, message);
	*ret_any = !l->is_told && l->profile->n_samples;
	l->is_told = *ret_any;
	return REPORT_E_OK;
}
