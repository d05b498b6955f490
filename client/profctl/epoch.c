/* SPDX-License-Identifier: MIT */
#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "common/cleanup.h"

int epoch_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	struct json j = {.out = context->out};
	struct plain_arguments arguments;
	struct usage_message message;
	int r = plain_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = call_verb(context, PROFD__CONTROL__REQUEST__VERB_EPOCH, CALL_LONG_MS,
		      PROFD__CONTROL__RESPONSE__RESULT_TEXT, &response);
	if (r)
		return r;
	if (!arguments.json) {
		fprintf(context->out, "%s\n", response->text);
		return STATUS_DONE;
	}
	json_begin_object(&j, NULL);
	json_text(&j, "epoch", response->text);
	json_end_object(&j);
	json_end(&j);
	return STATUS_DONE;
}
