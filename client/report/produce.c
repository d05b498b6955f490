/* SPDX-License-Identifier: MIT */
/*
 * Samples come from the load in batches, go through the shape one at a time, and end in a view or,
 * of conversions, in a new profile. Views that ask for it see them again. A picture is a view's
 * text that another program draws.
 */
#include "client/report/produce.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/idle.h"
#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "client/analysis/view_feed.h"
#include "client/analysis/wall.h"
#include "client/report/picture.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/profile/pprof.h"

#define FILTERS_MAX 16

/* --- the views -------------------------------------------------------------------------------- */

#define VIEW_MAKER(number, name, alias, kind, group, summary, ...) [REPORT_##number] = {__VA_ARGS__}

static const struct maker makers[] = {REPORT_VIEWS(VIEW_MAKER)};

/* Never NULL. */
static const struct maker *maker_of(const struct report_options *o)
{
	static const struct maker none;

	return (size_t)o->view < ARRAY_SIZE(makers) ? &makers[o->view] : &none;
}

#define ROOTS "service,comm" /* of a report on a whole machine */

static bool has_label_frames(const struct report_options *o)
{
	return *o->shape.tagroot || *o->shape.tagleaf;
}

struct produce_needs produce_needs(const struct report_options *o)
{
	const struct maker *maker = maker_of(o);

	return (struct produce_needs){
		/* The units of labels are those of all samples together. */
		.held = maker->held || maker->converts || *o->shape.tagfocus ||
			*o->shape.tagignore || has_label_frames(o),
		.code = maker->code,
		.lines = maker->code || o->shape.granularity == SHAPE_LINES ||
			 o->shape.granularity == SHAPE_FILES,
		.binary = maker->binary,
	};
}

/* --- which value ------------------------------------------------------------------------------ */

static int produce_refuse_type(const struct profile *p, const char *name,
			       struct profile_message *message)
{
	char names[120] = "";
	size_t length = 0;

	for (uint32_t i = 0; i < p->n_sample_types && length < sizeof(names); i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
					   i ? ", " : "",
					   profile_string(p, p->sample_types[i].type));
	return profile_refuse(message, REPORT_E_BAD_OPTION, "sample_index '%.40s' is none of %s",
			      name, names);
}

/* Of the profile's own types. */
static int produce_find_type(struct load *l, const char *name, unsigned *ret,
			     struct profile_message *message)
{
	const struct profile *p = load_profile(l);

	if (!p->n_sample_types)
		return profile_refuse(message, REPORT_E_BAD, "the profile has no values");
	if (*name && !name[strspn(name, "0123456789")]) {
		unsigned long number = strtoul(name, NULL, 10);

		if (number >= p->n_sample_types)
			return produce_refuse_type(p, name, message);
		*ret = (unsigned)number;
		return REPORT_E_OK;
	}
	if (*name)
		return profile_find_type(p, name, ret) ? REPORT_E_OK
						       : produce_refuse_type(p, name, message);
	/* What google-pprof shows of its own format. */
	*ret = load_is_legacy(l) ? 0 : profile_default_type(p);
	return REPORT_E_OK;
}

/* The one type of a view that shows no other. */
static int produce_only_type(const struct profile *p, const struct report_options *o,
			     const char *type, unsigned *ret, struct profile_message *message)
{
	if (*o->sample_index && strcmp(o->sample_index, type) != 0)
		return profile_refuse(message, REPORT_E_BAD_OPTION,
				      "--%s shows %s, not sample_index '%.40s'",
				      report_view_name(o->view), type, o->sample_index);
	return profile_find_type(p, type, ret)
		       ? REPORT_E_OK
		       : profile_refuse(message, REPORT_E_BAD_OPTION,
					"--%s: the profile has no %s values; profctl record --wall "
					"measures them",
					report_view_name(o->view), type);
}

/*
 * The number of the sample type that the options mean: a name, a number, "" for the default, or
 * `wall`, which samples have then. Those of a view that shows all types have it if they can.
 * REPORT_E_OK, _BAD_OPTION, _BAD_INPUT or negative errno.
 */
static int produce_sample_type(struct load *l, const struct report_options *o, unsigned *ret,
			       struct profile_message *message)
{
	const struct maker *maker = maker_of(o);
	const struct profile *p = load_profile(l);
	const char *name = o->sample_index;
	int r = load_set_wall(l, false, message);

	if (r)
		return r;
	if (maker->type)
		return produce_only_type(p, o, maker->type, ret, message);
	if (strcmp(name, WALL_TYPE) == 0 && !profile_find_type(p, name, ret)) {
		r = load_set_wall(l, true, message);
		*ret = p->n_sample_types - 1;
		return r;
	}
	r = produce_find_type(l, name, ret, message);
	if (!r && !*name && maker->class && maker->class->tells_all_types && wall_is_possible(p))
		r = load_set_wall(l, true, message);
	return r;
}

/* --- the work --------------------------------------------------------------------------------- */

struct produce_work {
	struct load *load;
	const struct report_options *o;
	const struct listener *listener;
	const struct maker *maker;
	struct profile_message *message;
	struct shape *shape;
	struct view *view; /* what takes the stacks: it, or this */
	struct shape_profile *converted;
	struct view_options view_options;
	struct view_feed feed;
	size_t n_functions, n_locations; /* of the profile, without those of labels */
	bool is_rooted;
	char filters_text[FILTERS_MAX][128];
	const char *filters[FILTERS_MAX];
	struct idle *idle; /* NULL: nothing is hidden */
	char files_note[128], idle_text[IDLE_NOTE_MAX];
	const char *notes[2]; /* what the view prints above all */
};

static void produce_work_deinit(struct produce_work *w)
{
	/* The next command's profile is as it was. */
	if (w->load && (has_label_frames(w->o) || w->is_rooted))
		profile_cut_locations(load_profile(w->load), w->n_functions, w->n_locations);
	report_view_free(w->view);
	shape_profile_free(w->converted);
	shape_free(w->shape);
	view_feed_deinit(&w->feed);
	idle_free(w->idle);
}

static void add_filter(struct produce_work *w, const char *name, const char *value)
{
	size_t n = w->view_options.n_filters;

	if (!*value)
		return;
	snprintf(w->filters_text[n], sizeof(w->filters_text[n]), "%s=%s", name, value);
	w->filters[n] = w->filters_text[n];
	w->view_options.n_filters++;
}

static void set_view_options(struct produce_work *w)
{
	const struct shape_options *o = &w->o->shape;

	w->view_options = w->o->print;
	w->view_options.one_type = *w->o->sample_index;
	add_filter(w, "focus", o->focus);
	add_filter(w, "ignore", o->ignore);
	add_filter(w, "hide", o->hide);
	add_filter(w, "show", o->show);
	add_filter(w, "show_from", o->show_from);
	add_filter(w, "tagfocus", o->tagfocus);
	add_filter(w, "tagignore", o->tagignore);
	add_filter(w, "tagshow", o->tagshow);
	add_filter(w, "taghide", o->taghide);
	w->view_options.filters = w->filters;
	snprintf(w->files_note, sizeof(w->files_note), "Files: %zu", load_n_files(w->load));
	w->feed.input.notes = w->notes;
	if (load_n_files(w->load) > 1)
		w->notes[w->feed.input.n_notes++] = w->files_note;
	if (w->idle && *idle_note(w->idle, w->idle_text))
		w->notes[w->feed.input.n_notes++] = w->idle_text;
}

static bool wants_addresses(const struct maker *maker)
{
	return maker->converts || (maker->class && maker->class->wants_addresses);
}

/* What can be told before anything is read. Makes the shape. */
static int check_options(struct produce_work *w)
{
	const struct report_options *o = w->o;
	const struct maker *maker = w->maker;
	struct shape_options options = o->shape;
	int r;

	if (!maker->class && !maker->converts)
		return profile_refuse(w->message, REPORT_E_BAD_OPTION, "there is no --%s",
				      report_view_name(o->view));
	if (o->mean && maker->adds_up)
		return profile_refuse(
			w->message, REPORT_E_BAD_OPTION,
			"--mean cannot be combined with --%s, whose parts must add up",
			report_view_name(o->view));
	if (o->print.json && !maker->json)
		return profile_refuse(w->message, REPORT_E_BAD_OPTION,
				      "--json: there is no --%s as JSON",
				      report_view_name(o->view));
	if (w->is_rooted)
		options.tagroot = ROOTS;
	options.unit = o->print.unit;
	options.trim_path = o->print.trim_path;
	options.source_path = o->print.source_path;
	if (wants_addresses(maker))
		options.granularity = SHAPE_ADDRESSES;
	else if (maker->lines)
		options.granularity = SHAPE_LINES;
	options.no_inlines = maker->outermost || (!maker->inlined && o->shape.no_inlines);
	options.with_objects = wants_addresses(maker) || maker->objects;
	options.compares = maker->objects && !maker->code && w->load && load_is_comparison(w->load);
	options.with_mappings = wants_addresses(maker) && maker->code;
	options.whole_filenames = maker->paths;
	options.nameless_addresses = w->load && load_is_legacy(w->load);
	r = shape_new(&w->shape, &options, w->message);
	return r > 0 ? REPORT_E_BAD_OPTION : r;
}

/* All samples, once. */
static int produce_process_samples(struct produce_work *w)
{
	bool any = true;
	int r = 0;

	while (!r && any) {
		r = load_next(w->load, &any, w->message);
		if (!r && any)
			r = view_feed_samples(&w->feed, load_profile(w->load));
	}
	return r ?: view_feed_end(&w->feed, load_profile(w->load));
}

static int view_outcome(int r)
{
	return r == VIEW_E_NO_MATCH ? REPORT_E_NOTHING : r > 0 ? REPORT_E_BAD_OPTION : r;
}

static int run_view(struct produce_work *w, FILE *out)
{
	int r = report_view_new(&w->view, w->maker->class, &w->view_options, w->message);

	if (r)
		return view_outcome(r);
	w->feed.view = w->view;
	do {
		r = produce_process_samples(w);
		if (r)
			return r;
		r = report_view_end(w->view, &w->feed.input, out);
	} while (r == VIEW_E_AGAIN);
	return view_outcome(r);
}

/* Whether there are samples of several services, before anything is made of them. */
static int produce_find_roots(struct produce_work *w)
{
	struct profile *p = load_profile(w->load);
	uint32_t key, first = 0;
	bool any = true;
	int r = 0;

	if (!w->maker->rooted || has_label_frames(w->o))
		return 0;
	while (!r && any) {
		r = load_next(w->load, &any, w->message) ?: profile_add_text(p, "service", &key);
		for (size_t i = 0; i < p->n_sample_labels && any && !r && !w->is_rooted; i++) {
			const struct profile_label *l = &p->sample_labels[i];

			if (!l->str || l->key != key)
				continue;
			w->is_rooted = first && l->str != first;
			first = l->str;
		}
	}
	return r;
}

/* Whether waiting time is shown, in a report that is not the profile as it is. */
static bool produce_shows_waits(const struct produce_work *w)
{
	const struct profile *p = load_profile(w->load);
	const char *type = profile_string(p, p->sample_types[w->feed.input.type].type);

	if (!idle_may_be(p) || (w->maker->converts && !w->maker->one_type))
		return false;
	return strcmp(type, WALL_OFF_TYPE) == 0 || strcmp(type, WALL_TYPE) == 0 ||
	       (w->maker->class && w->maker->class->tells_all_types && !*w->o->sample_index);
}

/* Which threads are idle, of all samples. */
static int produce_find_idle(struct produce_work *w)
{
	bool any = true;
	int r;

	if (w->o->idle || !produce_shows_waits(w))
		return 0;
	r = idle_new(&w->idle);
	while (!r && any) {
		r = load_next(w->load, &any, w->message);
		if (!r && any)
			r = idle_learn(w->idle, load_profile(w->load));
	}
	if (r)
		return r;
	idle_decide(w->idle);
	w->feed.is_left_out = idle_is;
	w->feed.userdata = w->idle;
	return 0;
}

/* --- pictures --------------------------------------------------------------------------------- */

static int produce_draw(struct produce_work *w, FILE *out)
{
	cleanup(memory_text_deinit) struct memory_text graph = {0};
	int r = memory_text_open(&graph) ?: run_view(w, graph.out) ?: memory_text_close(&graph);

	return r ? r : picture_draw(w->maker->draws, graph.text, graph.length, out, w->message);
}

static int produce_render(struct produce_work *w, FILE *out)
{
	return w->maker->draws ? produce_draw(w, out) : run_view(w, out);
}

/* In a window, with a line that tells where the file is. */
static int produce_show_window(struct produce_work *w)
{
	cleanup(memory_text_deinit) struct memory_text file = {0};
	cleanup(freep) char *path = NULL;
	int r = memory_text_open(&file)
		?: produce_render(w, file.out)
		?: memory_text_close(&file)
		?: picture_show(w->maker->window, w->maker->shows, file.text, file.length, &path,
				w->message);

	if (!r)
		listener_note(w->listener, "%s", path);
	return r;
}

/* --- conversions ------------------------------------------------------------------------------ */

/* pprof cuts what it divides, and rounds what it scales otherwise. */
static void produce_divide_values(struct profile *p, double by)
{
	for (size_t i = 0; i < p->n_samples * p->n_sample_types; i++) {
		double value = trunc((double)p->sample_values[i] * (1 / by));

		p->sample_values[i] = value >= 0x1p63    ? INT64_MAX
				      : value <= -0x1p63 ? INT64_MIN
							 : (int64_t)value;
	}
}

/* Whether what is left would be all there is. */
static bool produce_is_unfiltered(const struct produce_work *w, const struct profile *p)
{
	const struct report_options *o = w->o;

	if (w->view_options.n_filters || *o->shape.prune_from || has_label_frames(o) ||
	    p->drop_frames || *o->print.trim_path || o->shape.no_inlines || o->print.divide_by != 1)
		return false;
	for (size_t i = 0; i < p->n_samples && !w->maker->frameless; i++)
		if (!p->samples[i].n_locations)
			return false;
	return true;
}

static int produce_write(const struct maker *maker, const struct profile *p, FILE *out)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length = 0;
	int r;

	if (maker->print)
		return maker->print(p, out);
	r = any_write(p, maker->format, &data, &length);
	if (!r)
		fwrite(data, 1, length, out);
	return r;
}

/* What the filters leave, as a profile. */
static int run_conversion(struct produce_work *w, FILE *out)
{
	cleanup(profile_freep) struct profile *p = NULL;
	int r;

	if (!w->maker->one_type && produce_is_unfiltered(w, load_profile(w->load)))
		return produce_write(w->maker, load_profile(w->load), out);
	r = shape_profile_new(&w->converted, w->shape, load_profile(w->load));
	w->feed.converted = w->converted;
	r = r ?: produce_process_samples(w) ?: shape_profile_finish(w->converted, &p);
	if (r)
		return r;
	if (w->o->print.divide_by != 1 && w->o->view != REPORT_RAW)
		produce_divide_values(p, w->o->print.divide_by);
	if (w->maker->one_type)
		profile_keep_types(p, &w->feed.input.type, 1);
	return produce_write(w->maker, p, out);
}

/* --- what is said of it ----------------------------------------------------------------------- */

/* Each line of what the shape has to say. */
static int produce_note_warnings(struct produce_work *w)
{
	cleanup(freep) char *text = NULL;
	char *line, *rest;
	int r = shape_warnings(w->shape, &text);

	if (r)
		return r;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		listener_note(w->listener, "%s", line);
	return 0;
}

int produce_check(const struct report_options *o, struct profile_message *message)
{
	cleanup(produce_work_deinit) struct produce_work w = {.o = o,
							      .maker = maker_of(o),
							      .message = message};

	return check_options(&w);
}

int produce_report(struct load *l, const struct report_options *o, const struct listener *listener,
		   FILE *out, struct profile_message *message)
{
	cleanup(produce_work_deinit) struct produce_work w = {
		.load = l,
		.o = o,
		.listener = listener,
		.maker = maker_of(o),
		.message = message,
		.n_functions = load_profile(l)->n_functions,
		.n_locations = load_profile(l)->n_locations,
	};
	int r;

	r = produce_sample_type(l, o, &w.feed.input.type, message);
	w.feed.input.mean = o->mean;
	if (!r)
		r = produce_find_roots(&w) ?: produce_find_idle(&w);
	if (!r)
		r = check_options(&w);
	if (r)
		return r;
	set_view_options(&w);
	w.feed.shape = w.shape;
	w.feed.is_relative = o->relative_percentages;
	w.feed.takes_frameless = w.maker->frameless;
	w.feed.learns_units = w.maker->units;
	if (*w.idle_text && (w.view_options.compact_labels || !w.maker->headed))
		listener_note(listener, "%s", w.idle_text);
	r = w.maker->converts ? run_conversion(&w, out)
	    : w.maker->shows  ? produce_show_window(&w)
			      : produce_render(&w, out);
	if (r > 0 && r != REPORT_E_NOTHING)
		return r;
	if (r >= 0 && produce_note_warnings(&w))
		return error_origin(-ENOMEM);
	return r;
}
