/* SPDX-License-Identifier: MIT */
#include "client/profctl/arguments.h"
#include "client/profctl/call.h"

int flush_parse(int argc, char *const *argv, struct flush_arguments *ret,
		struct usage_message *message)
{
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{0, NULL, option_session, &ret->id, "only one session can be given"},
		{0},
	};

	*ret = (struct flush_arguments){0};
	return options_parse(rows, argc, argv, message);
}

int flush_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Flush flush = PROFD__CONTROL__FLUSH__INIT;
	const struct call call = {PROFD__CONTROL__REQUEST__VERB_FLUSH, &flush,
				  PROFD__CONTROL__RESPONSE__RESULT_PATHS, CALL_LONG_MS};
	struct flush_arguments arguments;
	struct usage_message message;
	int r = flush_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	flush.id = arguments.id;
	r = call_daemon(context, &call, &response);
	if (!r)
		call_print_paths(context, response->paths, arguments.json,
				 "no files: there are no samples since the last flush");
	return r;
}
