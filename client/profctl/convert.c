/* SPDX-License-Identifier: MIT */
/*
 * profctl convert: profiles of any format, merged, in another one, without filters and without
 * looking for names. A format is a row of conversions.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/firefox.h"
#include "client/analysis/title.h"
#include "client/export/otlp.h"
#include "client/export/target.h"
#include "client/formats/gzip.h"
#include "client/profctl/arguments.h"
#include "client/profctl/memory.h"
#include "client/profctl/output.h"
#include "client/profctl/report.h"
#include "client/profctl/telling.h"
#include "client/report/load.h"
#include "client/report/options.h"
#include "common/cleanup.h"
#include "common/memory_text.h"
#include "common/profile/pprof.h"

/* --- formats ---------------------------------------------------------------------------------- */

/* These return 0 or negative errno; *ret: malloc'ed. */
static int convert_make_firefox(const struct profile *p, uint8_t **ret, size_t *ret_length)
{
	cleanup(memory_text_deinit) struct memory_text json = {0};
	int r = memory_text_open(&json) ?: firefox_write(p, json.out) ?: memory_text_close(&json);

	if (r)
		return r;
	*ret_length = json.length;
	*ret = (uint8_t *)steal_ptr(&json.text);
	return 0;
}

/* Labels name the services; the machine is known if the profile is of one alone. */
static int convert_make_otlp(const struct profile *p, uint8_t **ret, size_t *ret_length)
{
	size_t n_hosts;
	const char *host = report_title_host(p, &n_hosts);
	const struct export_scope scope = {.host = n_hosts == 1 ? host : NULL};

	return otlp_write(p, 0, SIZE_MAX, &scope, ret, ret_length);
}

/* Made by one of make, view and format; what make makes is packed if the file's name ends so. */
static const struct conversion {
	const char *name;
	int (*make)(const struct profile *p, uint8_t **ret, size_t *ret_length);
	int view; /* REPORT_* */
	enum any_format format;
	bool is_text;
} conversions[] = {
	{"pprof", .format = ANY_PPROF},
	{"legacy", .format = ANY_CPUPROFILE},
	{"collapsed", .format = ANY_COLLAPSED, .is_text = true},
	{"speedscope", .view = REPORT_SPEEDSCOPE, .is_text = true},
	{"firefox", .make = convert_make_firefox, .is_text = true},
	{"otlp", .make = convert_make_otlp},
};

/* --- arguments -------------------------------------------------------------------------------- */

struct convert_arguments {
	const struct conversion *to;
	const char *output;
	const char **profiles; /* room for as many as there are words */
	size_t n_profiles;
};

static int convert_refuse_format(const char *text, struct usage_message *message)
{
	char names[80] = "";
	size_t length = 0;

	for (size_t i = 0; i < ARRAY_SIZE(conversions); i++) {
		const char *before = !i ? "" : i + 1 < ARRAY_SIZE(conversions) ? ", " : " or ";

		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s", before,
					   conversions[i].name);
	}
	return usage_error(message, "--to takes %s, not '%s'", names, text);
}

static int option_convert_to(const char *name, const char *text, void *to,
			     struct usage_message *message)
{
	struct convert_arguments *a = to;

	(void)name;
	for (size_t i = 0; i < ARRAY_SIZE(conversions); i++) {
		if (strcmp(text, conversions[i].name) != 0)
			continue;
		a->to = &conversions[i];
		return 0;
	}
	return convert_refuse_format(text, message);
}

static int option_convert_input(const char *name, const char *path, void *to,
				struct usage_message *message)
{
	struct convert_arguments *a = to;

	(void)name, (void)message;
	a->profiles[a->n_profiles++] = path;
	return 0;
}

static int convert_parse(int argc, char *const *argv, struct convert_arguments *ret,
			 struct usage_message *message)
{
	const struct option_row rows[] = {
		{'t', "to", option_convert_to, ret, NULL},
		{'o', "output", option_text, &ret->output, NULL},
		{0, NULL, option_convert_input, ret, NULL},
		{0},
	};
	int r;

	if (!ret->profiles)
		return usage_error(message, "out of memory");
	r = options_parse(rows, argc, argv, message);
	if (!r && !ret->to)
		return usage_error(message, "no format: use --to FORMAT");
	if (!r && !ret->n_profiles)
		return usage_error(message, "no PROFILE given; - is standard input");
	return r;
}

/* --- the work --------------------------------------------------------------------------------- */

static bool convert_packs(const struct convert_arguments *a)
{
	return a->to->make && !fnmatch("*.gz", a->output, 0);
}

static int convert_make(const struct context *context, const struct convert_arguments *a,
			const struct profile *p)
{
	struct output_file output = {.path = a->output};
	cleanup(freep) uint8_t *data = NULL, *packed = NULL;
	size_t length, packed_length;
	int r = a->to->make(p, &data, &length);

	if (!r && convert_packs(a))
		r = gzip_pack(data, length, &packed, &packed_length);
	if (r)
		return memory_complain(context, r);
	return packed ? output_write(context, STATUS_FAILED, &output, packed, packed_length)
		      : output_write(context, STATUS_FAILED, &output, data, length);
}

static int convert_profiles(struct context *context, const struct convert_arguments *a)
{
	cleanup(memory_unboundp) struct rlimit bound;
	cleanup(load_freep) struct load *l = NULL;
	struct output_file output = {.path = a->output, .format = a->to->format};
	struct report_options o;
	struct report_inputs inputs;
	struct profile_message message;
	struct telling telling;
	struct load_options options = {
		.inputs = &inputs,
		.stored.open_fd = -1,
		.hold = true, /* so that nothing is printed later */
		.times = true,
	};
	int r;

	options.listener = telling_init(&telling, context);
	report_inputs_init(&inputs);
	inputs.profiles = a->profiles;
	inputs.n_profiles = a->n_profiles;
	inputs.mode = (struct symbolize_mode){0};
	memory_bound(&bound);
	r = load_new(&l, &options, &message);
	if (r)
		return report_exit_status(context, r, &message);
	if (a->to->make)
		return convert_make(context, a, load_profile(l));
	if (!a->to->view)
		return output_save(context, STATUS_FAILED, &output, load_profile(l));
	report_options_init(&o);
	o.view = a->to->view;
	o.output = a->output;
	return report_once(context, &options.listener, l, &o);
}

int convert_run(struct context *context, int argc, char **argv)
{
	cleanup(freep) const char **profiles = calloc((size_t)argc + 1, sizeof(*profiles));
	struct convert_arguments a = {.output = "-", .profiles = profiles};
	struct usage_message message;
	int r = convert_parse(argc, argv, &a, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = output_check(context, STATUS_FAILED, a.output, a.to->is_text && !convert_packs(&a));
	return r ? r : convert_profiles(context, &a);
}
