/* SPDX-License-Identifier: MIT */
/*
 * profctl convert: profiles of any format, merged, in another one, as they are: without filters,
 * without looking for names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/memory_text.h"
#include "client/profctl/arguments.h"
#include "client/profctl/memory.h"
#include "client/profctl/output.h"
#include "client/profctl/report.h"
#include "client/report/load.h"
#include "client/report/produce.h"
#include "common/cleanup.h"
#include "common/error.h"

struct arguments {
	enum output_format format; /* if not: */
	bool speedscope, has_format;
	const char *output;
	const char **profiles; /* owned */
	size_t n_profiles;
};

static void arguments_deinit(struct arguments *a)
{
	free(a->profiles);
}

static int option_convert_to(const char *name, const char *text, void *to,
			     struct usage_message *message)
{
	struct arguments *a = to;

	(void)name;
	a->has_format = true;
	a->speedscope = strcmp(text, "speedscope") == 0;
	if (a->speedscope || output_find_format(text, &a->format))
		return 0;
	return usage_error(message, "--to takes pprof, legacy, collapsed or speedscope, not '%s'",
			   text);
}

static int option_convert_output(const char *name, const char *path, void *to,
				 struct usage_message *message)
{
	return option_text(name, path, to, message)
		       ? usage_error(message, "the output file's name is empty")
		       : 0;
}

static int option_convert_input(const char *name, const char *path, void *to,
				struct usage_message *message)
{
	struct arguments *a = to;

	(void)name, (void)message;
	a->profiles[a->n_profiles++] = path;
	return 0;
}

static int convert_parse(int argc, char *const *argv, struct arguments *ret,
			 struct usage_message *message)
{
	const struct option_row rows[] = {
		{'t', "to", option_convert_to, ret, NULL},
		{'o', "output", option_convert_output, &ret->output, NULL},
		{0, NULL, option_convert_input, ret, NULL},
		{0},
	};
	int r;

	*ret = (struct arguments){.output = "-"};
	ret->profiles = calloc((size_t)argc + 1, sizeof(*ret->profiles));
	if (!ret->profiles)
		return usage_error(message, "out of memory");
	r = options_parse(rows, argc, argv, message);
	if (!r && !ret->has_format)
		return usage_error(message, "no format: use --to FORMAT");
	if (!r && !ret->n_profiles)
		return usage_error(message, "no PROFILE given; - is standard input");
	return r;
}

static int make_speedscope(struct load *l, struct memory_text *ret, struct profile_message *message)
{
	const struct listener nobody = {0};
	struct report_options o;
	int r = memory_text_open(ret);

	report_options_init(&o);
	o.view = REPORT_SPEEDSCOPE;
	if (!r)
		r = produce_report(l, &o, &nobody, ret->out, message);
	return r ? r : memory_text_close(ret);
}

static int convert_profiles(struct context *context, const struct arguments *a)
{
	cleanup(memory_unboundp) struct rlimit bound;
	cleanup(memory_text_deinit) struct memory_text made = {0};
	cleanup(load_freep) struct load *l = NULL;
	struct profile_message message;
	struct report_inputs inputs;
	int r;

	report_inputs_init(&inputs);
	inputs.profiles = a->profiles;
	inputs.n_profiles = a->n_profiles;
	inputs.symbolize = "none";
	memory_bound(&bound);
	r = report_load(context, &inputs, &l);
	if (r)
		return r;
	r = a->speedscope
		    ? make_speedscope(l, &made, &message)
		    : output_make(load_profile(l), a->format, (uint8_t **)&made.text, &made.length);
	if (r < 0)
		return report_complain(context, r);
	if (r)
		return profctl_complain(context, STATUS_FAILED, "%s", message.text);
	return output_write(context, STATUS_FAILED, a->output, (uint8_t *)made.text, made.length);
}

int convert_run(struct context *context, int argc, char **argv)
{
	cleanup(arguments_deinit) struct arguments a;
	struct usage_message message;
	int r = convert_parse(argc, argv, &a, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = output_check(context, STATUS_FAILED, a.output,
			 a.speedscope || output_is_text(a.format));
	return r ? r : convert_profiles(context, &a);
}
