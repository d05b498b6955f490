/* SPDX-License-Identifier: MIT */
#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "common/cleanup.h"

int flush_parse(int argc, char *const *argv, struct flush_arguments *ret,
		struct usage_message *message)
{
	static const struct option_spec specs[] = {COMMON_OPTIONS};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	struct flush_arguments arguments = {0};
	const char *argument;
	int id;

	while ((id = options_next(&o, &argument)) != OPTIONS_END) {
		switch (id) {
		case OPTION_HELP:
			return VERB_HELP;
		case OPTION_JSON:
			arguments.json = true;
			break;
		case OPTIONS_OPERAND:
			if (arguments.id)
				return usage_error(message, "one session at a time");
			if (!parse_session_id(argument, &arguments.id))
				return usage_error(message, "'%s' is no session such as s1",
						   argument);
			break;
		default:
			return id;
		}
	}
	*ret = arguments;
	return 0;
}

int flush_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Flush flush = PROFD__CONTROL__FLUSH__INIT;
	struct flush_arguments arguments;
	struct usage_message message;
	int r = flush_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	flush.id = arguments.id;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_FLUSH;
	request.flush = &flush;
	r = call_daemon(context, &request, CALL_LONG_MS, PROFD__CONTROL__RESPONSE__RESULT_PATHS,
			&response);
	if (r)
		return r;
	call_print_paths(context, response->paths, arguments.json,
			 "no files: there are no samples since the last flush");
	return STATUS_DONE;
}
