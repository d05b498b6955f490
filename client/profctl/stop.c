/* SPDX-License-Identifier: MIT */
#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "common/units.h"

static int option_session_or_pid(const char *name, const char *argument, void *to,
				 struct usage_message *message)
{
	struct stop_arguments *a = to;

	if (option_session(name, argument, &a->id, message) == 0 ||
	    option_pid(name, argument, &a->pid, message) == 0)
		return 0;
	return usage_error(message, "'%s' is neither a session such as s1 nor a pid", argument);
}

int stop_parse(int argc, char *const *argv, struct stop_arguments *ret,
	       struct usage_message *message)
{
	static const char only[] = "only one session or pid, or --all";
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{0, "all", option_flag, &ret->all, only},
		{0, NULL, option_session_or_pid, ret, only},
		{0},
	};
	int r;

	*ret = (struct stop_arguments){0};
	r = options_parse(rows, argc, argv, message);
	if (!r && !ret->all && !ret->id && !ret->pid)
		r = usage_error(message,
				"nothing to stop: use a session such as s1, a pid, or --all");
	return r;
}

int stop_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	Profd__Control__Stop stop = PROFD__CONTROL__STOP__INIT;
	const struct call call = {PROFD__CONTROL__REQUEST__VERB_STOP, &stop,
				  PROFD__CONTROL__RESPONSE__RESULT_PATHS, CALL_LONG_MS};
	struct stop_arguments arguments;
	struct usage_message message;
	int r = stop_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	if (arguments.all) {
		stop.which_case = PROFD__CONTROL__STOP__WHICH_ALL;
		stop.all = &empty;
	} else if (arguments.id) {
		stop.which_case = PROFD__CONTROL__STOP__WHICH_ID;
		stop.id = arguments.id;
	} else {
		stop.which_case = PROFD__CONTROL__STOP__WHICH_PID;
		stop.pid = arguments.pid;
	}
	r = call_daemon(context, &call, &response);
	if (!r)
		call_print_paths(context, response->paths, arguments.json,
				 arguments.all
					 ? "no files: no session runs, or none has any samples"
					 : "no files: the session has no samples");
	return r;
}
