/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/status_view.h"

#define WATCH_SECONDS 2
#define CLEAR_SCREEN  "\x1b[H\x1b[2J"

int status_parse(int argc, char *const *argv, struct status_arguments *ret,
		 struct usage_message *message)
{
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{'w', "watch", option_flag, &ret->watch, NULL},
		{0},
	};

	*ret = (struct status_arguments){0};
	return options_parse(rows, argc, argv, message);
}

static int status_show(const struct context *context, const struct status_arguments *arguments)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	int r = call_status(context, &response);

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
