/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/status_view.h"
#include "common/cleanup.h"

#define WATCH_SECONDS 2
#define CLEAR_SCREEN  "\x1b[H\x1b[2J"

enum { OPTION_WATCH = OPTION_OWN };

int status_parse(int argc, char *const *argv, struct status_arguments *ret,
		 struct usage_message *message)
{
	static const struct option_spec specs[] = {COMMON_OPTIONS,
						   {OPTION_WATCH, 'w', "watch", false}};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	struct status_arguments arguments = {0};
	const char *argument;
	int id;

	while ((id = options_next(&o, &argument)) != OPTIONS_END) {
		switch (id) {
		case OPTION_HELP:
			return VERB_HELP;
		case OPTION_JSON:
			arguments.json = true;
			break;
		case OPTION_WATCH:
			arguments.watch = true;
			break;
		case OPTIONS_OPERAND:
			return usage_error(message, "takes no arguments, such as '%s'", argument);
		default:
			return id;
		}
	}
	*ret = arguments;
	return 0;
}

static int status_show(const struct context *context, const struct status_arguments *arguments)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	int r;

	r = call_verb(context, PROFD__CONTROL__REQUEST__VERB_STATUS, CALL_SHORT_MS,
		      PROFD__CONTROL__RESPONSE__RESULT_STATUS, &response);
	if (r)
		return r;
	if (arguments->json) {
		status_print_json(response->status, arguments->watch, context->out);
		return STATUS_DONE;
	}
	if (arguments->watch)
		fputs(context->screen ? CLEAR_SCREEN : "\n", context->out);
	if (status_print(response->status, context->color, context->out))
		return profctl_complain(context, STATUS_FAILED, "no memory");
	return STATUS_DONE;
}

int status_run(struct context *context, int argc, char **argv)
{
	struct status_arguments arguments = {0};
	struct usage_message message;
	int r = status_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	/* Until the daemon ends, the reader goes or the user interrupts. */
	do {
		r = status_show(context, &arguments);
		if (r || !arguments.watch || fflush(context->out))
			return r;
	} while (nanosleep(&(struct timespec){.tv_sec = WATCH_SECONDS}, NULL) == 0);
	return STATUS_DONE;
}
