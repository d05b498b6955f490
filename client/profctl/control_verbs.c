/* SPDX-License-Identifier: MIT */
/*
 * The verbs that ask profd to do something, once: each sends one request, and prints what came of
 * it.
 */
#include <inttypes.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "client/profctl/table.h"

/* --- without arguments ------------------------------------------------------------------------ */

int plain_parse(int argc, char *const *argv, bool *ret_json, struct usage_message *message)
{
	const struct option_row rows[] = {{0, "json", option_flag, ret_json, NULL}, {0}};

	*ret_json = false;
	return options_parse(rows, argc, argv, message);
}

/* @key: what the text that is answered is called in JSON; NULL: there is none. */
static int run_plain_verb(struct context *context, int argc, char **argv,
			  Profd__Control__Request__VerbCase verb, const char *key)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	bool json;
	struct json j = {.out = context->out};
	struct usage_message message;
	int r = plain_parse(argc, argv, &json, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = call_daemon(context, verb, NULL, &response);
	if (r || !key)
		return r;
	if (!json) {
		fprintf(context->out, "%s\n", response->text);
		return STATUS_DONE;
	}
	json_begin_object(&j, NULL);
	json_text(&j, key, response->text);
	json_end(&j);
	return STATUS_DONE;
}

int pause_run(struct context *context, int argc, char **argv)
{
	return run_plain_verb(context, argc, argv, PROFD__CONTROL__REQUEST__VERB_PAUSE, NULL);
}

int resume_run(struct context *context, int argc, char **argv)
{
	return run_plain_verb(context, argc, argv, PROFD__CONTROL__REQUEST__VERB_RESUME, NULL);
}

int epoch_run(struct context *context, int argc, char **argv)
{
	return run_plain_verb(context, argc, argv, PROFD__CONTROL__REQUEST__VERB_EPOCH, "epoch");
}

/* --- that write files ------------------------------------------------------------------------- */

/* Sends @message, and prints the paths that are answered; tells @none to people if there are none.
 */
static int call_for_paths(const struct context *context, Profd__Control__Request__VerbCase verb,
			  const void *message, bool json, const char *none)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	const Profd__Control__Paths *paths;
	struct json j = {.out = context->out};
	int r = call_daemon(context, verb, message, &response);

	if (r)
		return r;
	paths = response->paths;
	if (!json) {
		for (size_t i = 0; i < paths->n_paths; i++)
			fprintf(context->out, "%s\n", paths->paths[i]);
		return paths->n_paths ? STATUS_DONE
				      : profctl_complain(context, STATUS_DONE, "%s", none);
	}
	json_begin_object(&j, NULL);
	json_begin_array(&j, "files");
	for (size_t i = 0; i < paths->n_paths; i++)
		json_text(&j, NULL, paths->paths[i]);
	json_end(&j);
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
	/* A limit of 0 would be no limit, and not what somebody means who deletes. */
	const struct option_row rows[] = {
		{0, "json", option_flag, ret_json, NULL},
		{0, "max-age", option_duration, &ret->max_age_ns, NULL},
		{0, "max-size", option_size, &ret->max_size_bytes, NULL},
		{0},
	};

	*ret = (Profd__Control__Vacuum)PROFD__CONTROL__VACUUM__INIT;
	*ret_json = false;
	return options_parse(rows, argc, argv, message);
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
	fprintf(context->out, "freed %s: %" PRIu64 " files\n", TEXT_OF_SIZE(freed->bytes),
		freed->files);
	return STATUS_DONE;
}
