/* SPDX-License-Identifier: MIT */
/* pause and resume: one verb in two directions. */
#include "client/profctl/arguments.h"
#include "client/profctl/call.h"

static int pause_or_resume(struct context *context, int argc, char **argv,
			   Profd__Control__Request__VerbCase verb)
{
	const struct call call = {verb, NULL, PROFD__CONTROL__RESPONSE__RESULT_OK, CALL_LONG_MS};
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	struct plain_arguments arguments;
	struct usage_message message;
	int r = plain_parse(argc, argv, &arguments, &message);

	return r ? parse_ended(context, r, &message) : call_daemon(context, &call, &response);
}

int pause_run(struct context *context, int argc, char **argv)
{
	return pause_or_resume(context, argc, argv, PROFD__CONTROL__REQUEST__VERB_PAUSE);
}

int resume_run(struct context *context, int argc, char **argv)
{
	return pause_or_resume(context, argc, argv, PROFD__CONTROL__REQUEST__VERB_RESUME);
}
