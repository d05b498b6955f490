/* SPDX-License-Identifier: MIT */
/* The verb: asks once, or again and again for a screen. */
#include "client/profctl/status.h"

#include <string.h>
#include <time.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/top/terminal.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/memory_text.h"

#define WATCH_SECONDS 2
#define CLEAR_SCREEN  "\x1b[H\x1b[2J"
#define NO_WRAP       "\x1b[?7l"
#define WRAP          "\x1b[?7h"

int status_parse(int argc, char *const *argv, struct status_arguments *ret,
		 struct usage_message *message)
{
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{'w', "watch", option_flag, &ret->watch, NULL},
		{'v', "verbose", option_flag, &ret->verbose, NULL},
		{0},
	};

	*ret = (struct status_arguments){0};
	return options_parse(rows, argc, argv, message);
}

/* What has room, from the top on: neither does it scroll away, nor do long lines take two. */
static void status_write_screen(const struct context *context, const char *text)
{
	unsigned rows, columns;

	terminal_size(fileno(context->out), &rows, &columns);
	fputs(CLEAR_SCREEN NO_WRAP, context->out);
	for (; *text && rows > 1; rows--) {
		size_t length = strcspn(text, "\n");

		length += text[length] == '\n';
		fwrite(text, 1, length, context->out);
		text += length;
	}
	fputs(*text ? "(enlarge the terminal for the rest)" WRAP : WRAP, context->out);
}

static int status_show_text(const struct context *context, const struct status_arguments *arguments,
			    const Profd__Control__Status *status)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r = memory_text_open(&text)
		?: (arguments->verbose ? status_print : status_print_short)(status, context->color,
		    text.out)
		?: memory_text_close(&text);

	if (r)
		return profctl_complain(context, STATUS_FAILED, "%s", error_describe(r));
	if (arguments->watch && context->screen)
		status_write_screen(context, text.text);
	else
		fprintf(context->out, "%s%s", arguments->watch ? "\n" : "", text.text);
	return STATUS_DONE;
}

static int status_show(const struct context *context, const struct status_arguments *arguments)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	int r = (arguments->json ? call_daemon_exact
				 : call_daemon)(context, PROFD__CONTROL__REQUEST__VERB_STATUS, NULL,
						&response);

	if (r)
		return r;
	if (!arguments->json)
		return status_show_text(context, arguments, response->status);
	status_print_json(response->status, arguments->watch, context->out);
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
