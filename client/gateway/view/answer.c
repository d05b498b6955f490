/* SPDX-License-Identifier: MIT */
/*
 * A profile is read, less its base; its samples go by the labels that were asked for, through a
 * shape, into the view of the question, which writes its part behind what all answers have.
 */
#include "client/gateway/view/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/heat.h"
#include "client/analysis/idle.h"
#include "client/analysis/json_text.h"
#include "client/analysis/shape.h"
#include "client/analysis/time_range.h"
#include "client/analysis/view.h"
#include "client/analysis/view_feed.h"
#include "client/analysis/wall.h"
#include "client/code/source_file.h"
#include "client/gateway/view/command.h"
#include "client/gateway/view/pieces.h"
#include "client/gateway/view/tags.h"
#include "client/gateway/view/view_protocol.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/profile/compare.h"
#include "common/profile/coverage.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/windows.h"

#define UNPACKED_MAX ((size_t)128 << 20)
#define HEAD_MAX     ((size_t)64 << 10) /* of the answer: names of types, the command */
#define ROOTS        "service,comm"     /* of a flame graph of the machine */

/* A view of the API: its class, and what it asks of its stacks. */
static const struct answer_maker {
	const struct view_class *class;
	enum shape_granularity granularity;
	bool objects; /* frames have files and modules */
	bool rooted;  /* the machine's stacks begin at services and programs */
	bool frameless;
} answer_makers[N_QUESTION_VIEWS] = {
	[QUESTION_FLAME] = {&view_part_flame, SHAPE_FUNCTIONS, .objects = true, .rooted = true},
	[QUESTION_TOP] = {&view_part_top, SHAPE_FUNCTIONS, .objects = true},
	[QUESTION_SANDWICH] = {&view_part_sandwich, SHAPE_FUNCTIONS, .objects = true},
	[QUESTION_SOURCE] = {&view_part_source, SHAPE_LINES, .objects = true},
	[QUESTION_LABELS] = {&view_part_labels, SHAPE_FUNCTIONS, .frameless = true},
};

static const struct answer_maker answer_source_name = {&view_part_source_name, SHAPE_LINES,
						       .objects = true};

struct answer {
	const struct question *q;
	const struct answer_maker *maker;
	const struct view_request *request;
	struct answer_message *message;
	struct profile_message why;
	struct profile *profile;
	int64_t since_ns, until_ns; /* of the profile without its base */
	struct shape *shape;
	struct view *view;
	struct view_options options;
	struct view_feed feed;
	struct tags *tags;
	struct idle *idle; /* NULL: nothing is hidden */
	struct source_file source;
	char *focus, *hide;
};

static void answer_deinit(struct answer *a)
{
	report_view_free(a->view);
	shape_free(a->shape);
	view_feed_deinit(&a->feed);
	tags_free(a->tags);
	idle_free(a->idle);
	source_file_deinit(&a->source);
	profile_free(a->profile);
	free(a->focus);
	free(a->hide);
}

static int answer_refuse(struct answer *a, int status, const char *why)
{
	snprintf(a->message->text, sizeof(a->message->text), "%s", why);
	return status;
}

/* --- the profile ------------------------------------------------------------------------------ */

static int answer_read(struct answer *a, int fd, struct profile **ret)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = view_read_file(fd, &data, &length)
			?: pprof_read(data, length, UNPACKED_MAX, ret, &a->why);

	return r > 0 ? answer_refuse(a, 503, a->why.text) : r;
}

/* What of it is in the range, as far as its times are known: else whole windows. */
static int answer_cut(struct profile *p, const struct question_range *range)
{
	int64_t untimed;

	return question_range_is_timed(range) ? time_range_keep(p, (int64_t)range->since_ns,
								(int64_t)range->until_ns, &untimed)
					      : 0;
}

static int answer_load(struct answer *a, const int *files)
{
	static const struct compare_options options = {.labels_bases = true};
	cleanup(profile_freep) struct profile *base = NULL;
	int r = answer_read(a, files[0], &a->profile) ?: answer_cut(a->profile, &a->q->range);

	if (r)
		return r;
	a->since_ns = a->profile->time_ns;
	a->until_ns = profile_until_ns(a->profile);
	if (!a->q->has_base || a->request->n_files < 2)
		return 0;
	r = answer_read(a, files[1], &base)
		    ?: answer_cut(base, &a->q->base)
		?: compare_subtract(&a->profile, base, &options, &a->why);
	return r == COMPARE_E_MISMATCH ? answer_refuse(a, 400, a->why.text) : r;
}

/* --- what is asked of it ---------------------------------------------------------------------- */

static int answer_find_type(struct answer *a)
{
	const char *name = question_text(a->q, a->q->type);
	int r;

	if (!a->profile->n_sample_types)
		return answer_refuse(a, 503, "this profile has no values");
	a->feed.input.type = profile_default_type(a->profile);
	r = wall_is_possible(a->profile) ? wall_add(a->profile, NULL) : 0;
	if (r)
		return r;
	if (*name && !profile_find_type(a->profile, name, &a->feed.input.type))
		return answer_refuse(a, 400, "the profile has no values of this type");
	return 0;
}

/* A profile with samples of several services. */
static bool answer_has_services(const struct profile *p)
{
	uint32_t first = 0;

	for (size_t i = 0; i < p->n_sample_labels; i++) {
		const struct profile_label *l = &p->sample_labels[i];

		if (!l->str || strcmp(profile_string(p, l->key), "service") != 0)
			continue;
		if (first && l->str != first)
			return true;
		first = l->str;
	}
	return false;
}

static int answer_make_shape(struct answer *a)
{
	struct shape_options options = {
		.granularity = a->maker->granularity,
		.with_objects = a->maker->objects,
		.compares = a->maker->objects && a->q->has_base,
		.unit = "minimum",
	};
	int r = question_join_filters(a->q, QUESTION_FOCUS, &a->focus)
			?: question_join_filters(a->q, QUESTION_HIDE, &a->hide);

	if (r)
		return r;
	options.focus = a->focus;
	options.hide = a->hide;
	/* Of services that are compared, stacks have what they share first. */
	if (a->maker->rooted && a->q->scope == QUESTION_MACHINE && answer_has_services(a->profile))
		options.tagroot = ROOTS;
	r = shape_new(&a->shape, &options, &a->why);
	return r > 0 ? answer_refuse(a, 400, a->why.text) : r;
}

/* Of a view that shows one: NULL stays where this gateway opens none. */
static int answer_read_source(struct answer *a, const int *files)
{
	const struct view_request *request = a->request;

	if (request->source == VIEW_SOURCE_CLOSED)
		return 0;
	a->options.source = &a->source;
	a->options.source_changed_s = request->source_changed_s;
	a->source.why = request->source_why;
	return request->source == VIEW_SOURCE_OPEN
		       ? source_file_read(&a->source, files[request->n_files - 1], VIEW_SOURCE_MAX)
		       : 0;
}

/* Of all samples, whatever the question selects: of waiting time, or of all values. */
static int answer_find_idle(struct answer *a)
{
	const struct profile *p = a->profile;
	const char *type = profile_string(p, p->sample_types[a->feed.input.type].type);
	int r;

	if (a->q->idle || !idle_may_be(p) ||
	    (strcmp(type, WALL_OFF_TYPE) != 0 && strcmp(type, WALL_TYPE) != 0 &&
	     (a->q->type || !a->maker->class->tells_all_types)))
		return 0;
	r = idle_new(&a->idle) ?: idle_learn(a->idle, a->profile);
	if (!r)
		idle_decide(a->idle);
	return r;
}

static bool answer_leave_out(void *userdata, const struct profile *p, size_t sample)
{
	struct answer *a = userdata;

	return tags_leave_out(a->tags, p, sample) || (a->idle && idle_is(a->idle, p, sample));
}

static int answer_make_view(struct answer *a, const int *files)
{
	int r = tags_new(&a->tags, a->q, a->profile) ?: answer_find_idle(a);

	if (r)
		return r;
	view_options_init(&a->options);
	r = answer_read_source(a, files);
	if (r)
		return r;
	a->options.pattern = question_text(a->q, a->q->function);
	a->options.nodecount = (int)a->q->limit;
	a->options.unit = "auto";
	a->options.max_bytes = VIEW_ANSWER_MAX - HEAD_MAX;
	a->options.one_type = a->q->type;
	a->feed.shape = a->shape;
	a->feed.is_left_out = answer_leave_out;
	a->feed.userdata = a;
	a->feed.takes_frameless = a->maker->frameless;
	r = report_view_new(&a->view, a->maker->class, &a->options, &a->why);
	a->feed.view = a->view;
	return r > 0 ? answer_refuse(a, 400, a->why.text) : r;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void answer_put_text(FILE *out, const char *name, const char *value)
{
	fprintf(out, "\"%s\":", name);
	json_text_write(out, value);
	fputc(',', out);
}

static void answer_put_types(const struct answer *a, FILE *out)
{
	const struct profile *p = a->profile;
	const struct profile_value_type *type = &p->sample_types[a->feed.input.type];

	answer_put_text(out, "unit", profile_string(p, type->unit));
	answer_put_text(out, "type", profile_string(p, type->type));
	fputs("\"types\":[", out);
	for (uint32_t i = 0; i < p->n_sample_types; i++) {
		fputs(i ? "," : "", out);
		json_text_write(out, profile_string(p, p->sample_types[i].type));
	}
	fputs("],", out);
}

/* What is hidden of all samples; nothing of profiles without waiting time. */
static void answer_put_idle(const struct answer *a, FILE *out)
{
	struct idle_sum sum = {0};

	if (!idle_may_be(a->profile))
		return;
	if (a->idle)
		sum = idle_sum(a->idle);
	fprintf(out, "\"idle\":{\"ns\":%" PRId64 ",\"threads\":%zu,\"at_least\":%s},", sum.ns,
		sum.n_threads, sum.is_at_least ? "true" : "false");
}

static int answer_put_head(const struct answer *a, FILE *out)
{
	const struct view_input *input = &a->feed.input;
	const struct compare_total *total = &a->feed.all;
	cleanup(freep) char *command = NULL;
	const struct view_origin *origin = &a->request->origin;
	const int64_t n = input->n_shown - input->n_base_shown;
	const int64_t n_rootless = input->n_rootless - input->n_base_rootless;
	const int64_t n_guessed = input->n_guessed - input->n_base_guessed;
	int r = origin->is_files ? 0 : command_print(a->q, origin->store, &command);

	if (r)
		return r;
	fprintf(out, "{\"since_ms\":%" PRId64 ",\"until_ms\":%" PRId64 ",",
		a->since_ns / (int64_t)NS_PER_MS, a->until_ns / (int64_t)NS_PER_MS);
	fprintf(out, "\"total\":%" PRId64 ",\"base_total\":%" PRId64 ",",
		total->total - total->base_total, total->base_total);
	answer_put_types(a, out);
	answer_put_idle(a, out);
	fprintf(out, "\"samples\":%" PRId64 ",", n);
	if (n > 0)
		fprintf(out, "\"complete_share\":%.6f,\"guessed_share\":%.6f,",
			1 - (double)(n_rootless + n_guessed) / (double)n,
			(double)n_guessed / (double)n);
	else
		fputs("\"complete_share\":null,\"guessed_share\":null,", out);
	if (command)
		answer_put_text(out, "command", command);
	else
		fputs("\"command\":null,", out);
	fprintf(out, "\"windows\":%" PRIu64 ",", a->request->n_windows);
	return 0;
}

static int answer_run_view(struct answer *a, FILE *out)
{
	int r;

	do
		r = view_feed_samples(&a->feed, a->profile)
			    ?: view_feed_end(&a->feed, a->profile)
			?: report_view_end(a->view, &a->feed.input, out);
	while (r == VIEW_E_AGAIN);
	if (r == VIEW_E_TOO_LONG)
		return answer_refuse(a, 503, "the names in this profile are too long");
	return r > 0 ? answer_refuse(a, 400, a->why.text) : r;
}

/* --- heat maps -------------------------------------------------------------------------------- */

/* When the machine was sampled: of a service that did nothing, its own profile does not show it. */
static int answer_cover(const struct view_request *request, struct profile_coverage *ret)
{
	int r = 0;

	for (uint32_t i = 0; i < request->n_covered && i < QUESTION_STEPS_MAX && !r; i++) {
		const struct profile_window step = {
			.time_ns = (int64_t)(request->covered_since_ns +
					     i * request->covered_step_ns),
			.duration_ns = (int64_t)request->covered_step_ns,
		};

		r = request->is_covered[i] ? profile_coverage_add(ret, &step) : 0;
	}
	return r;
}

static int answer_write_heat(struct answer *a, const int *files, FILE *out)
{
	cleanup(profile_coverage_deinit) struct profile_coverage covered = {0};
	const struct question_range *range = &a->q->range;
	struct heat_options options = {
		.since_ns = (int64_t)range->since_ns,
		.until_ns = (int64_t)range->until_ns,
		.covered = a->request->n_covered ? &covered : NULL,
		.is_left_out = tags_leave_out,
	};
	int r = answer_read(a, files[0], &a->profile)
			?: answer_cover(a->request, &covered)
			?: tags_new(&a->tags, a->q, a->profile);

	if (r)
		return r;
	options.userdata = a->tags;
	r = heat_write(a->profile, &options, out);
	return r == HEAT_E_RANGE ? answer_refuse(a, 400,
						 "the range of a heat map has a second at "
						 "least and an hour at most")
				 : r;
}

/* ---------------------------------------------------------------------------------------------- */

int answer_write(const struct view_request *request, const int *files, FILE *out,
		 struct answer_message *message)
{
	cleanup(memory_text_deinit) struct memory_text part = {0};
	const struct question *q = &request->question;
	cleanup(answer_deinit) struct answer a = {.request = request, .q = q, .message = message};
	int r;

	if (q->view == QUESTION_HEAT)
		return answer_write_heat(&a, files, out);
	if (q->view >= N_QUESTION_VIEWS || !answer_makers[q->view].class)
		return answer_refuse(&a, 404, "there is no such view");
	a.maker = request->task == VIEW_SOURCE ? &answer_source_name : &answer_makers[q->view];
	r = answer_load(&a, files)
		?: answer_find_type(&a)
		?: answer_make_shape(&a)
		?: answer_make_view(&a, files)
		?: memory_text_open(&part)
		?: answer_run_view(&a, part.out)
		?: memory_text_close(&part);
	if (!r && request->task != VIEW_SOURCE)
		r = answer_put_head(&a, out);
	if (!r && request->task == VIEW_SOURCE)
		fputs(part.text, out);
	else if (!r)
		fprintf(out, "%s}", part.text);
	return r;
}
