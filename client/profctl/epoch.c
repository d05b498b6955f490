/* SPDX-License-Identifier: MIT */
#include "client/profctl/arguments.h"
#include "client/profctl/call.h"

int epoch_run(struct context *context, int argc, char **argv)
{
	static const struct call call = {PROFD__CONTROL__REQUEST__VERB_EPOCH, NULL,
					 PROFD__CONTROL__RESPONSE__RESULT_TEXT, CALL_LONG_MS};
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	struct plain_arguments arguments;
	struct usage_message message;
	int r = plain_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = call_daemon(context, &call, &response);
	if (!r)
		call_print_text(context, response->text, arguments.json, "epoch");
	return r;
}
