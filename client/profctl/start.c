/* SPDX-License-Identifier: MIT */
/*
 * One request for each target of the command line, with the same options. Those that were started
 * before one is refused stay.
 */
#include <inttypes.h>
#include <string.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "common/cleanup.h"
#include "common/store/contents.h"
#include "common/units.h"

static int option_formats(const char *name, const char *text, void *to,
			  struct usage_message *message)
{
	struct start_arguments *ret = to;

	ret->request.formats = ret->formats;
	ret->request.n_formats = 0;
	while (*text) {
		size_t length = strcspn(text, ",");
		unsigned format = contents_find(text, length);

		if (format >= N_CONTENTS_WINDOWS)
			return usage_error(message,
					   "%s takes pprof and legacy, not '%.*s' (image "
					   "profiles are made by the system session)",
					   name, (int)length, text);
		if (ret->request.n_formats == ARRAY_SIZE(ret->formats))
			return usage_error(message, "%s has a format twice", name);
		ret->formats[ret->request.n_formats++] = (Profd__Control__Format)format;
		text += length + (text[length] == ',');
	}
	return ret->request.n_formats ? 0 : usage_error(message, "%s is empty", name);
}

static int add_target(struct start_arguments *ret, Profd__Control__TargetKind kind, int64_t number,
		      const char *text, struct usage_message *message)
{
	if (ret->n_targets == TARGETS_MAX)
		return usage_error(message, "more than %d targets", TARGETS_MAX);
	ret->targets[ret->n_targets++] =
		(struct start_target){.kind = kind, .number = number, .text = text};
	return 0;
}

/* What a row of the options adds a target to. */
struct target_option {
	struct start_arguments *arguments;
	Profd__Control__TargetKind kind;
};

static int option_number_target(const char *name, const char *text, void *to,
				struct usage_message *message)
{
	const struct target_option *target = to;
	bool is_uid = target->kind == PROFD__CONTROL__TARGET_KIND__UID;
	uint64_t number;

	(void)name;
	if (units_parse_number(text, &number) || number > (is_uid ? UINT32_MAX - 1 : INT32_MAX) ||
	    (!is_uid && number == 0))
		return usage_error(message, "'%s' is not a %s id", text,
				   is_uid ? "user" : "process");
	return add_target(target->arguments, target->kind, (int64_t)number, "", message);
}

/* People copy the directory's path; the daemon knows cgroups as /proc/PID/cgroup names them. */
static const char *strip_cgroup_mount(const char *path)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/unified/", "/sys/fs/cgroup/systemd/",
					     "/sys/fs/cgroup/"};

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++)
		if (strncmp(path, mounts[i], strlen(mounts[i])) == 0)
			return path + strlen(mounts[i]) - 1;
	return path;
}

static int option_text_target(const char *name, const char *text, void *to,
			      struct usage_message *message)
{
	const struct target_option *target = to;

	(void)name;
	if (target->kind == PROFD__CONTROL__TARGET_KIND__CGROUP)
		text = strip_cgroup_mount(text);
	return add_target(target->arguments, target->kind, 0, text, message);
}

#define TARGET(name)                                     \
	&(struct target_option)                          \
	{                                                \
		ret, PROFD__CONTROL__TARGET_KIND__##name \
	}

int start_parse(int argc, char *const *argv, struct start_arguments *ret,
		struct usage_message *message)
{
	static const char one_rate[] = "only one of -F and -c, once",
			  one_all[] = "--all is given twice";
	uint64_t period = 0;
	bool all = false, children = false, no_kernel = false;
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{'F', "frequency", option_number, &ret->request.rate, one_rate},
		{'c', "period", option_number, &period, one_rate},
		{'e', "event", option_text, &ret->request.event, NULL},
		{'d', "duration", option_duration, &ret->request.duration_ns, NULL},
		{0, "name", option_text, &ret->request.name, NULL},
		{0, "formats", option_formats, ret, NULL},
		{0, "children", option_flag, &children, NULL},
		{0, "no-kernel", option_flag, &no_kernel, NULL},
		{0, NULL, option_number_target, TARGET(PID), NULL},
		{'t', "tid", option_number_target, TARGET(TID), NULL},
		{'s', "service", option_text_target, TARGET(SERVICE), NULL},
		{0, "cgroup", option_text_target, TARGET(CGROUP), NULL},
		{0, "uid", option_number_target, TARGET(UID), NULL},
		{0, "comm", option_text_target, TARGET(COMM), NULL},
		{'C', "cpus", option_text_target, TARGET(CPUS), NULL},
		{0, "all", option_flag, &all, one_all},
		{0},
	};
	int r;

	*ret = (struct start_arguments){.request = PROFD__CONTROL__START__INIT};
	r = options_parse(rows, argc, argv, message);
	if (!r && all)
		r = add_target(ret, PROFD__CONTROL__TARGET_KIND__ALL, 0, "", message);
	if (r)
		return r;
	ret->request.children = children;
	ret->request.no_kernel = no_kernel;
	ret->request.is_period = period != 0;
	ret->request.rate = period ? period : ret->request.rate;
	if (ret->n_targets == 0)
		return usage_error(message, "no target: use a pid, -s SERVICE, --all");
	if (ret->n_targets > 1 && *ret->request.name)
		return usage_error(message, "--name needs a single target");
	return 0;
}

static int start_one_session(const struct context *context, struct start_arguments *arguments,
			     const struct start_target *target, struct json *j)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Start *start = &arguments->request;
	int r;

	start->target = target->kind;
	start->number = target->number;
	start->text = (char *)target->text;
	r = call_daemon(context, PROFD__CONTROL__REQUEST__VERB_START, start, &response);
	if (r)
		return r;
	if (!arguments->json) {
		fprintf(context->out, "%s\n", response->text);
		return STATUS_DONE;
	}
	json_begin_object(j, NULL);
	json_text(j, "id", response->text);
	json_close(j);
	return STATUS_DONE;
}

int start_run(struct context *context, int argc, char **argv)
{
	struct start_arguments arguments;
	struct usage_message message;
	struct json j = {.out = context->out};
	int r = start_parse(argc, argv, &arguments, &message);
	bool is_array = !r && arguments.json && arguments.n_targets > 1;

	if (r)
		return parse_ended(context, r, &message);
	if (is_array)
		json_begin_array(&j, NULL);
	for (size_t i = 0; i < arguments.n_targets && !r; i++)
		r = start_one_session(context, &arguments, &arguments.targets[i], &j);
	/* Those before one that was refused have begun. */
	if (is_array || (arguments.json && !r))
		json_end(&j);
	return r;
}
