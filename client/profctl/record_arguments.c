/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "client/profctl/arguments.h"

static const char one_target[] = "only one of -a, -p, -s and COMMAND; the duration is -d TIME";

static int record_check_arguments(struct record_arguments *a, struct usage_message *message)
{
	bool has_target = a->all || a->pid || *a->service;

	if (a->command && has_target)
		return usage_error(message, "%s", one_target);
	if (a->command ? !**a->command : !has_target)
		return usage_error(message, "nothing to record: use -a, -p PID, -s SERVICE, or a "
					    "COMMAND");
	a->format = output_format_of(a->output);
	if (a->format == OUTPUT_LEGACY && !a->command && !a->pid)
		return usage_error(message, "a legacy profile (.prof) has one process: use -p PID, "
					    "or a COMMAND");
	if (a->frequency > UINT32_MAX)
		return usage_error(message, "-F is at most %" PRIu32, UINT32_MAX);
	if (a->command && strcmp(a->output, "-") == 0)
		return usage_error(message, "standard output is used by the command: use -o FILE");
	return 0;
}

int record_parse(int argc, char *const *argv, struct record_arguments *ret,
		 struct usage_message *message)
{
	const struct option_row rows[] = {
		{'F', "frequency", option_number, &ret->frequency, NULL},
		{'e', "event", option_text, &ret->event, NULL},
		{'d', "duration", option_duration, &ret->duration_ns, NULL},
		{'o', "output", option_text, &ret->output, NULL},
		{'a', "all", option_flag, &ret->all, one_target},
		{'p', "pid", option_pid, &ret->pid, one_target},
		{'s', "service", option_text, &ret->service, one_target},
		{0},
	};
	int r;

	*ret = (struct record_arguments){.service = "", .event = "", .output = OUTPUT_DEFAULT};
	r = options_parse_command(rows, argc, argv, &ret->command, message);
	return r ? r : record_check_arguments(ret, message);
}
