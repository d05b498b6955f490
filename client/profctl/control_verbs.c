/* SPDX-License-Identifier: MIT */
/*
 * The verbs that ask profd to do something, once: each sends one request, and prints what came of
 * it. But `start` sends one for each target of its command line, with the same options; those that
 * were started before one is refused stay.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "client/profctl/services.h"
#include "client/profctl/table.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/store/contents.h"
#include "common/units.h"

/* --- without arguments ------------------------------------------------------------------------ */

int plain_parse(int argc, char *const *argv, bool *ret_json, struct usage_message *message)
{
	const struct option_row rows[] = {{0, "json", option_flag, ret_json, NULL}, {0}};

	*ret_json = false;
	return options_parse(rows, argc, argv, message);
}

/* A text that is answered is, in JSON, named as the verb. */
int plain_run(struct context *context, int argc, char **argv)
{
	const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field_by_name(
		&profd__control__request__descriptor, context->verb);
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	struct json j = {.out = context->out};
	struct usage_message message;
	bool json, is_config = field->id == PROFD__CONTROL__REQUEST__VERB_CONFIG;
	int r = plain_parse(argc, argv, &json, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = call_daemon(context, (Profd__Control__Request__VerbCase)field->id, NULL, &response);
	if (r || response->result_case != PROFD__CONTROL__RESPONSE__RESULT_TEXT)
		return r;
	if (!json) {
		fprintf(context->out, "%s%s", response->text, is_config ? "" : "\n");
		return STATUS_DONE;
	}
	if (is_config) {
		r = config_text_to_json(response->text, context->out);
		return r ? profctl_complain(context, STATUS_FAILED, "%s", error_describe(r))
			 : STATUS_DONE;
	}
	json_begin_object(&j, NULL);
	json_text(&j, context->verb, response->text);
	json_end(&j);
	return STATUS_DONE;
}

int pause_parse(int argc, char *const *argv, Profd__Control__Pause *ret,
		struct usage_message *message)
{
	bool json;
	const struct option_row rows[] = {
		{0, "json", option_flag, &json, NULL},
		{0, "for", option_duration, &ret->duration_ns, NULL},
		{0},
	};

	*ret = (Profd__Control__Pause)PROFD__CONTROL__PAUSE__INIT;
	return options_parse(rows, argc, argv, message);
}

int pause_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Pause request;
	struct usage_message message;
	int r = pause_parse(argc, argv, &request, &message);

	return r ? parse_ended(context, r, &message)
		 : call_daemon(context, PROFD__CONTROL__REQUEST__VERB_PAUSE, &request, &response);
}

/* --- that starts sessions ------------------------------------------------------------------- */

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
	/* Two sessions would have the same samples. */
	for (size_t i = 0; i < ret->n_targets; i++)
		if (ret->targets[i].kind == kind && ret->targets[i].number == number &&
		    !strcmp(ret->targets[i].text, text))
			return usage_error(message, "a target is named twice");
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

static int option_target(const char *name, const char *text, void *to,
			 struct usage_message *message)
{
	const struct target_option *target = to;
	bool is_uid = target->kind == PROFD__CONTROL__TARGET_KIND__UID;
	bool is_number = is_uid || target->kind == PROFD__CONTROL__TARGET_KIND__TID;
	uint64_t number = 0;
	int64_t pid;

	if (target->kind == PROFD__CONTROL__TARGET_KIND__SERVICE &&
	    option_service(name, text, &text, message))
		return OPTIONS_BAD;
	if (target->kind == PROFD__CONTROL__TARGET_KIND__PID)
		return option_pid(name, text, &pid, message)
			       ?: add_target(target->arguments, target->kind, pid, "", message);
	if (is_number && (units_parse_number(text, &number) ||
			  number > (is_uid ? UINT32_MAX - 1 : INT32_MAX) || (!is_uid && !number)))
		return usage_error(message, "'%s' is not a %s id", text,
				   is_uid ? "user" : "process");
	if (target->kind == PROFD__CONTROL__TARGET_KIND__CGROUP)
		text = strip_cgroup_mount(text);
	return add_target(target->arguments, target->kind, (int64_t)number, is_number ? "" : text,
			  message);
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
	bool all = false, children = false, no_kernel = false, wakers = false, latency = false;
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{'F', "frequency", option_number, &ret->request.rate, one_rate},
		{'c', "period", option_number, &period, one_rate},
		{'e', "event", option_text, &ret->request.event, NULL},
		{'d', "duration", option_seconds, &ret->request.duration_ns, NULL},
		{0, "name", option_text, &ret->request.name, NULL},
		{0, "formats", option_formats, ret, NULL},
		{0, "children", option_flag, &children, NULL},
		{0, "no-kernel", option_flag, &no_kernel, NULL},
		{0, "wakers", option_flag, &wakers, NULL},
		{0, "latency", option_flag, &latency, NULL},
		{0, NULL, option_target, TARGET(PID), NULL},
		{'t', "tid", option_target, TARGET(TID), NULL},
		{'s', "service", option_target, TARGET(SERVICE), NULL},
		{0, "cgroup", option_target, TARGET(CGROUP), NULL},
		{0, "uid", option_target, TARGET(UID), NULL},
		{0, "comm", option_target, TARGET(COMM), NULL},
		{'C', "cpus", option_target, TARGET(CPUS), NULL},
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
	ret->request.wakers = wakers;
	ret->request.latency = latency;
	ret->request.is_period = period != 0;
	ret->request.rate = period ? period : ret->request.rate;
	if (ret->n_targets == 0)
		return usage_error(message, "no target: use a pid, -s SERVICE, --all");
	if (wakers && !event_has_waits(ret->request.event))
		return usage_error(message, "--wakers needs -e wall or -e off-cpu");
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
	/* It may come yet, or the name is wrong. */
	if (target->kind == PROFD__CONTROL__TARGET_KIND__SERVICE)
		(void)services_check_running(context, target->text);
	if (!arguments->json) {
		print_safely(context->out, response->text);
		fputc('\n', context->out);
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

/* --- that write files ------------------------------------------------------------------------- */

/* @j: NULL for people. */
static void print_path(const struct context *context, struct json *j, const char *path)
{
	if (j) {
		json_text(j, NULL, path);
		return;
	}
	print_safely(context->out, path);
	fputc('\n', context->out);
}

/* Sends @message, and prints the paths that are answered; tells @none to people if there are none.
 */
static int call_for_paths(const struct context *context, Profd__Control__Request__VerbCase verb,
			  const void *message, bool json, const char *none)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	cleanup(freep) uint8_t *list = NULL; /* more paths */
	const Profd__Control__Paths *paths;
	struct json j = {.out = context->out};
	int r = call_paths(context, verb, message, &response, &list);

	if (r)
		return r;
	paths = response->paths;
	if (json) {
		json_begin_object(&j, NULL);
		json_begin_array(&j, "files");
	}
	for (size_t i = 0; i < paths->n_paths; i++)
		print_path(context, json ? &j : NULL, paths->paths[i]);
	list[paths->bytes] = '\0';
	for (uint64_t at = 0; at < paths->bytes; at += strlen((char *)list + at) + 1)
		print_path(context, json ? &j : NULL, (char *)list + at);
	if (json)
		json_end(&j);
	else if (!paths->n_paths && !paths->bytes)
		profctl_complain(context, STATUS_DONE, "%s", none);
	return STATUS_DONE;
}

int flush_parse(int argc, char *const *argv, Profd__Control__Flush *ret, bool *ret_json,
		struct usage_message *message)
{
	const struct option_row rows[] = {
		{0, "json", option_flag, ret_json, NULL},
		{0, NULL, option_session, &ret->id, "only one session can be given"},
		{0},
	};

	*ret = (Profd__Control__Flush)PROFD__CONTROL__FLUSH__INIT;
	*ret_json = false;
	return options_parse(rows, argc, argv, message);
}

int flush_run(struct context *context, int argc, char **argv)
{
	Profd__Control__Flush request;
	struct usage_message message;
	bool json;
	int r = flush_parse(argc, argv, &request, &json, &message);

	return r ? parse_ended(context, r, &message)
		 : call_for_paths(context, PROFD__CONTROL__REQUEST__VERB_FLUSH, &request, json,
				  "no files: there are no samples since the last flush");
}

static int option_session_or_pid(const char *name, const char *argument, void *to,
				 struct usage_message *message)
{
	Profd__Control__Stop *stop = to;

	stop->which_case = PROFD__CONTROL__STOP__WHICH_ID;
	if (option_session(name, argument, &stop->id, message) == 0)
		return 0;
	stop->which_case = PROFD__CONTROL__STOP__WHICH_PID;
	if (option_pid(name, argument, &stop->pid, message) == 0)
		return 0;
	return usage_error(message, "'%s' is neither a session such as s1 nor a pid", argument);
}

int stop_parse(int argc, char *const *argv, struct stop_arguments *ret,
	       struct usage_message *message)
{
	static const char only[] = "only one session or pid, or --all";
	static Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{0, "all", option_flag, &ret->all, only},
		{0, NULL, option_session_or_pid, &ret->request, only},
		{0},
	};
	int r;

	*ret = (struct stop_arguments){.request = PROFD__CONTROL__STOP__INIT};
	r = options_parse(rows, argc, argv, message);
	if (!r && ret->all) {
		ret->request.which_case = PROFD__CONTROL__STOP__WHICH_ALL;
		ret->request.all = &empty;
	}
	if (!r && !ret->request.which_case)
		r = usage_error(message,
				"nothing to stop: use a session such as s1, a pid, or --all");
	return r;
}

int stop_run(struct context *context, int argc, char **argv)
{
	struct stop_arguments arguments;
	struct usage_message message;
	int r = stop_parse(argc, argv, &arguments, &message);

	return r ? parse_ended(context, r, &message)
		 : call_for_paths(context, PROFD__CONTROL__REQUEST__VERB_STOP, &arguments.request,
				  arguments.json,
				  arguments.all
					  ? "no files: no session runs, or none has any samples"
					  : "no files: the session has no samples");
}

/* --- that deletes them ------------------------------------------------------------------------ */

int vacuum_parse(int argc, char *const *argv, Profd__Control__Vacuum *ret, bool *ret_json,
		 struct usage_message *message)
{
	bool dry_run = false;
	/* A limit of 0 would be no limit, and not what somebody means who deletes. */
	const struct option_row rows[] = {
		{0, "json", option_flag, ret_json, NULL},
		{0, "max-age", option_duration, &ret->max_age_ns, NULL},
		{0, "max-size", option_size, &ret->max_size_bytes, NULL},
		{'n', "dry-run", option_flag, &dry_run, NULL},
		{0},
	};
	int r;

	*ret = (Profd__Control__Vacuum)PROFD__CONTROL__VACUUM__INIT;
	*ret_json = false;
	r = options_parse(rows, argc, argv, message);
	ret->dry_run = dry_run;
	return r;
}

int vacuum_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Vacuum request;
	struct json j = {.out = context->out};
	const Profd__Control__Vacuumed *freed;
	struct usage_message message;
	bool json;
	int r = vacuum_parse(argc, argv, &request, &json, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = call_daemon(context, PROFD__CONTROL__REQUEST__VERB_VACUUM, &request, &response);
	if (r)
		return r;
	freed = response->vacuumed;
	if (json) {
		json_begin_object(&j, NULL);
		json_number(&j, "freed_files", freed->files);
		json_number(&j, "freed_bytes", freed->bytes);
		json_close(&j);
		json_end(&j);
		return STATUS_DONE;
	}
	fprintf(context->out, "%s %s: %" PRIu64 " file%s\n",
		request.dry_run ? "would free" : "freed", TEXT_OF_SIZE(freed->bytes), freed->files,
		UNITS_PLURAL(freed->files));
	return STATUS_DONE;
}

/* --- that tells the configuration ------------------------------------------------------------- */

/*
 * The configuration as a file, as config_print() writes it: sections, and "key = value" in them. As
 * JSON that is {"section": {"key": "value"}}; a list that the file gives in several lines is joined
 * again.
 */
int config_text_to_json(const char *text, FILE *out)
{
	cleanup(freep) char *copy = strdup(text);
	cleanup(freep) char *joined = malloc(strlen(text) + 1); /* room for all values at once */
	struct json j = {.out = out};
	const char *key = NULL; /* that was read last: its value may go on in the next line */
	char *rest = NULL, *end = joined;

	if (!copy || !joined)
		return error_origin(-ENOMEM);
	json_begin_object(&j, NULL);
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = *line == '[' ? NULL : strstr(line, " =");

		if (value) {
			*value = '\0';
			value += strspn(value + 1, "= ") + 1;
			if (key && strcmp(key, line) == 0) {
				end = stpcpy(stpcpy(end, ","), value);
				continue;
			}
		}
		if (key)
			json_text(&j, key, joined);
		key = value ? line : NULL;
		if (value) {
			end = stpcpy(joined, value);
			continue;
		}
		if (j.depth > 1)
			json_close(&j);
		line[strcspn(line, "]")] = '\0';
		json_begin_object(&j, line + 1);
	}
	if (key)
		json_text(&j, key, joined);
	json_end(&j);
	return 0;
}
