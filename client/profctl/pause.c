/* SPDX-License-Identifier: MIT */
/* pause and resume: one verb in two directions. */
#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "common/cleanup.h"

static int pause_or_resume(struct context *context, int argc, char **argv,
			   Profd__Control__Request__VerbCase verb)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	struct plain_arguments arguments;
	struct usage_message message;
	int r = plain_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	return call_verb(context, verb, CALL_LONG_MS, PROFD__CONTROL__RESPONSE__RESULT_OK,
			 &response);
}

int pause_run(struct context *context, int argc, char **argv)
{
	return pause_or_resume(context, argc, argv, PROFD__CONTROL__REQUEST__VERB_PAUSE);
}

int resume_run(struct context *context, int argc, char **argv)
{
	return pause_or_resume(context, argc, argv, PROFD__CONTROL__REQUEST__VERB_RESUME);
}
