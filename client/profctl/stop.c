/* SPDX-License-Identifier: MIT */
#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "common/cleanup.h"
#include "common/units.h"

enum { OPTION_ALL = OPTION_OWN };

static int parse_operand(const char *text, struct stop_arguments *ret,
			 struct usage_message *message)
{
	uint64_t pid;

	if (ret->id || ret->pid)
		return usage_error(message, "one session or pid at a time, or --all");
	if (parse_session_id(text, &ret->id))
		return 0;
	if (units_parse_number(text, &pid) || pid == 0 || pid > INT32_MAX)
		return usage_error(message, "'%s' is neither a session such as s1 nor a pid", text);
	ret->pid = (int64_t)pid;
	return 0;
}

int stop_parse(int argc, char *const *argv, struct stop_arguments *ret,
	       struct usage_message *message)
{
	static const struct option_spec specs[] = {COMMON_OPTIONS, {OPTION_ALL, 0, "all", false}};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	struct stop_arguments arguments = {0};
	const char *argument;
	int id;

	while ((id = options_next(&o, &argument)) != OPTIONS_END) {
		switch (id) {
		case OPTION_HELP:
			return VERB_HELP;
		case OPTION_JSON:
			arguments.json = true;
			break;
		case OPTION_ALL:
			arguments.all = true;
			break;
		case OPTIONS_OPERAND:
			if (parse_operand(argument, &arguments, message))
				return OPTIONS_BAD;
			break;
		default:
			return id;
		}
	}
	if (arguments.all == (arguments.id || arguments.pid))
		return usage_error(message, arguments.all ? "either --all or one session"
							  : "what to stop is missing: a session "
							    "such as s1, a pid, or --all");
	*ret = arguments;
	return 0;
}

int stop_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	Profd__Control__Stop stop = PROFD__CONTROL__STOP__INIT;
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
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_STOP;
	request.stop = &stop;
	r = call_daemon(context, &request, CALL_LONG_MS, PROFD__CONTROL__RESPONSE__RESULT_PATHS,
			&response);
	if (r)
		return r;
	call_print_paths(context, response->paths, arguments.json,
			 arguments.all ? "no files: no session runs, or none has any samples"
				       : "no files: the session has no samples");
	return STATUS_DONE;
}
