/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "common/cleanup.h"
#include "common/units.h"

enum {
	OPTION_FREQUENCY = OPTION_OWN,
	OPTION_PERIOD,
	OPTION_EVENT,
	OPTION_DURATION,
	OPTION_NAME,
	OPTION_FORMATS,
	OPTION_CHILDREN,
	OPTION_NO_KERNEL,
	OPTION_TID,
	OPTION_SERVICE,
	OPTION_CGROUP,
	OPTION_UID,
	OPTION_COMM,
	OPTION_CPUS,
	OPTION_ALL,
};

static const struct option_spec specs[] = {
	COMMON_OPTIONS,
	{OPTION_FREQUENCY, 'F', "frequency", true},
	{OPTION_PERIOD, 'c', "period", true},
	{OPTION_EVENT, 'e', "event", true},
	{OPTION_DURATION, 'd', "duration", true},
	{OPTION_NAME, 0, "name", true},
	{OPTION_FORMATS, 0, "formats", true},
	{OPTION_CHILDREN, 0, "children", false},
	{OPTION_NO_KERNEL, 0, "no-kernel", false},
	{OPTION_TID, 't', "tid", true},
	{OPTION_SERVICE, 's', "service", true},
	{OPTION_CGROUP, 0, "cgroup", true},
	{OPTION_UID, 0, "uid", true},
	{OPTION_COMM, 0, "comm", true},
	{OPTION_CPUS, 'C', "cpus", true},
	{OPTION_ALL, 0, "all", false},
};

static int parse_positive(const char *what, const char *text, uint64_t *ret,
			  struct usage_message *message)
{
	uint64_t value;

	if (units_parse_number(text, &value) || value == 0)
		return usage_error(message, "%s must be a number above 0, not '%s'", what, text);
	*ret = value;
	return 0;
}

static int parse_formats(const char *text, struct start_arguments *ret,
			 struct usage_message *message)
{
	static const char *const names[] = {"pprof", "legacy"};

	ret->n_formats = 0;
	while (*text) {
		size_t length = strcspn(text, ","), i = 0;

		while (i < ARRAY_SIZE(names) &&
		       (strlen(names[i]) != length || strncmp(names[i], text, length) != 0))
			i++;
		if (i == ARRAY_SIZE(names))
			return usage_error(message,
					   "--formats takes pprof and legacy, not '%.*s' (image "
					   "profiles are made by the system session)",
					   (int)length, text);
		if (ret->n_formats == ARRAY_SIZE(ret->formats))
			return usage_error(message, "--formats names a format too often");
		ret->formats[ret->n_formats++] = i ? PROFD__CONTROL__FORMAT__LEGACY
						   : PROFD__CONTROL__FORMAT__PPROF;
		text += length + (text[length] == ',');
	}
	return ret->n_formats ? 0 : usage_error(message, "--formats is empty");
}

static int add_target(struct start_arguments *ret, Profd__Control__TargetKind kind, int64_t number,
		      const char *text, struct usage_message *message)
{
	/* Two sessions would have the same samples. */
	for (size_t i = 0; i < ret->n_targets; i++) {
		const struct start_target *t = &ret->targets[i];

		if (t->kind != kind || t->number != number || strcmp(t->text, text) != 0)
			continue;
		if (*text)
			return usage_error(message, "'%s' is named twice", text);
		if (kind == PROFD__CONTROL__TARGET_KIND__ALL)
			return usage_error(message, "--all is given twice");
		return usage_error(message, "%" PRId64 " is named twice", number);
	}
	if (ret->n_targets == TARGETS_MAX)
		return usage_error(message, "more than %d targets", TARGETS_MAX);
	ret->targets[ret->n_targets++] =
		(struct start_target){.kind = kind, .number = number, .text = text};
	return 0;
}

static int add_number_target(struct start_arguments *ret, Profd__Control__TargetKind kind,
			     const char *text, struct usage_message *message)
{
	bool is_uid = kind == PROFD__CONTROL__TARGET_KIND__UID;
	uint64_t number;

	if (units_parse_number(text, &number) || number > (is_uid ? UINT32_MAX - 1 : INT32_MAX) ||
	    (!is_uid && number == 0))
		return usage_error(message, "'%s' is no %s id", text, is_uid ? "user" : "process");
	return add_target(ret, kind, (int64_t)number, "", message);
}

/* People copy the folder's path; the daemon knows cgroups as /proc/PID/cgroup names them. */
static const char *strip_cgroup_mount(const char *path)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/unified/", "/sys/fs/cgroup/systemd/",
					     "/sys/fs/cgroup/"};

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++)
		if (strncmp(path, mounts[i], strlen(mounts[i])) == 0)
			return path + strlen(mounts[i]) - 1;
	return path;
}

static int parse_target(int id, const char *argument, struct start_arguments *ret,
			struct usage_message *message)
{
	switch (id) {
	case OPTIONS_OPERAND:
		return add_number_target(ret, PROFD__CONTROL__TARGET_KIND__PID, argument, message);
	case OPTION_TID:
		return add_number_target(ret, PROFD__CONTROL__TARGET_KIND__TID, argument, message);
	case OPTION_UID:
		return add_number_target(ret, PROFD__CONTROL__TARGET_KIND__UID, argument, message);
	case OPTION_SERVICE:
		return add_target(ret, PROFD__CONTROL__TARGET_KIND__SERVICE, 0, argument, message);
	case OPTION_CGROUP:
		return add_target(ret, PROFD__CONTROL__TARGET_KIND__CGROUP, 0,
				  strip_cgroup_mount(argument), message);
	case OPTION_COMM:
		return add_target(ret, PROFD__CONTROL__TARGET_KIND__COMM, 0, argument, message);
	case OPTION_CPUS:
		return add_target(ret, PROFD__CONTROL__TARGET_KIND__CPUS, 0, argument, message);
	default:
		return add_target(ret, PROFD__CONTROL__TARGET_KIND__ALL, 0, "", message);
	}
}

static int parse_start_option(int id, const char *argument, struct start_arguments *ret,
			      struct usage_message *message)
{
	switch (id) {
	case OPTION_JSON:
		ret->json = true;
		return 0;
	case OPTION_FREQUENCY:
	case OPTION_PERIOD:
		if (ret->rate)
			return usage_error(message, "one of -F and -c, once");
		ret->is_period = id == OPTION_PERIOD;
		return parse_positive(ret->is_period ? "-c" : "-F", argument, &ret->rate, message);
	case OPTION_EVENT:
		ret->event = argument;
		return 0;
	case OPTION_DURATION:
		if (units_parse_duration(argument, &ret->duration_ns) || ret->duration_ns == 0)
			return usage_error(message,
					   "-d takes a duration such as 500ms, 10s or 5m, not '%s'",
					   argument);
		return 0;
	case OPTION_NAME:
		ret->name = argument;
		return 0;
	case OPTION_FORMATS:
		return parse_formats(argument, ret, message);
	case OPTION_CHILDREN:
		ret->children = true;
		return 0;
	case OPTION_NO_KERNEL:
		ret->no_kernel = true;
		return 0;
	default:
		return parse_target(id, argument, ret, message);
	}
}

int start_parse(int argc, char *const *argv, struct start_arguments *ret,
		struct usage_message *message)
{
	struct start_arguments arguments = {.event = "", .name = ""};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	const char *argument = NULL;
	int id;

	while ((id = options_next(&o, &argument)) != OPTIONS_END) {
		if (id == OPTION_HELP)
			return VERB_HELP;
		if (id == OPTIONS_BAD || parse_start_option(id, argument, &arguments, message))
			return OPTIONS_BAD;
	}
	if (arguments.n_targets == 0)
		return usage_error(message, "what to profile is missing: a pid, -s SERVICE, --all");
	if (arguments.n_targets > 1 && *arguments.name)
		return usage_error(message, "--name is for one target");
	*ret = arguments;
	return 0;
}

static int start_one_session(const struct context *context, struct start_arguments *arguments,
			     const struct start_target *target, struct json *j)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	int r;

	start.target = target->kind;
	start.number = target->number;
	start.text = (char *)target->text;
	start.children = arguments->children;
	start.event = (char *)arguments->event;
	start.is_period = arguments->is_period;
	start.rate = arguments->rate;
	start.duration_ns = arguments->duration_ns;
	start.name = (char *)arguments->name;
	start.formats = arguments->formats;
	start.n_formats = arguments->n_formats;
	start.no_kernel = arguments->no_kernel;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_START;
	request.start = &start;
	r = call_daemon(context, &request, CALL_SHORT_MS, PROFD__CONTROL__RESPONSE__RESULT_TEXT,
			&response);
	if (r)
		return r;
	if (!arguments->json) {
		fprintf(context->out, "%s\n", response->text);
		return STATUS_DONE;
	}
	json_begin_object(j, NULL);
	json_text(j, "id", response->text);
	json_end_object(j);
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
	if (is_array)
		json_end_array(&j);
	if (is_array || (arguments.json && !r))
		json_end(&j);
	return r;
}
