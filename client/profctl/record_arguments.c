/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "client/profctl/arguments.h"
#include "client/profctl/output.h"
#include "common/cleanup.h"
#include "common/units.h"

enum {
	OPTION_FREQUENCY = OPTION_OWN,
	OPTION_EVENT,
	OPTION_DURATION,
	OPTION_OUTPUT,
	OPTION_ALL,
	OPTION_PID,
	OPTION_SERVICE,
	OPTION_STACKS,
	OPTION_CALL_GRAPH,
};

static int parse_record_number(const char *what, const char *text, uint64_t max, uint64_t *ret,
			       struct usage_message *message)
{
	uint64_t value;

	if (units_parse_number(text, &value) || value == 0 || value > max)
		return usage_error(message, "%s, not '%s'", what, text);
	*ret = value;
	return 0;
}

static int record_set_target(struct record_arguments *a, Profd__Control__TargetKind kind,
			     bool *has_one, struct usage_message *message)
{
	if (*has_one)
		return usage_error(message, "one of -a, -p, -s and COMMAND; how long is "
					    "-d TIME");
	*has_one = true;
	a->target = kind;
	return 0;
}

static int parse_record_option(int id, const char *argument, struct record_arguments *a,
			       bool *has_target, struct usage_message *message)
{
	uint64_t pid = 0;
	int r;

	switch (id) {
	case OPTION_FREQUENCY:
		return parse_record_number("-F takes a number of samples per second", argument,
					   UINT32_MAX, &a->frequency, message);
	case OPTION_EVENT:
		a->event = argument;
		return *argument ? 0 : usage_error(message, "the event's name is empty");
	case OPTION_DURATION:
		if (units_parse_duration(argument, &a->duration_ns) || a->duration_ns == 0)
			return usage_error(message,
					   "-d takes a duration such as 500ms, 10s or 5m, not '%s'",
					   argument);
		return 0;
	case OPTION_OUTPUT:
		a->output = argument;
		return *argument ? 0 : usage_error(message, "the output file's name is empty");
	case OPTION_STACKS: /* perf record's */
	case OPTION_CALL_GRAPH:
		return usage_error(message,
				   "unknown option %s: stacks are always recorded, to their root",
				   id == OPTION_STACKS ? "-g" : "--call-graph");
	case OPTION_ALL:
		return record_set_target(a, PROFD__CONTROL__TARGET_KIND__ALL, has_target, message);
	case OPTION_PID:
		r = parse_record_number("-p takes a process id", argument, INT32_MAX, &pid,
					message);
		a->pid = (int64_t)pid;
		return r ? r
			 : record_set_target(a, PROFD__CONTROL__TARGET_KIND__PID, has_target,
					     message);
	case OPTION_SERVICE:
		a->service = argument;
		return *argument ? record_set_target(a, PROFD__CONTROL__TARGET_KIND__SERVICE,
						     has_target, message)
				 : usage_error(message, "the service's name is empty");
	default:
		return id;
	}
}

static int record_check_arguments(struct record_arguments *a, bool has_target,
				  struct usage_message *message)
{
	if (!has_target || (a->command && !**a->command))
		return usage_error(message, "what is to be recorded: -a, -p PID, -s SERVICE, or a "
					    "COMMAND?");
	a->format = output_format_of(a->output);
	if (a->format == OUTPUT_LEGACY && !a->command && !a->pid)
		return usage_error(message, "a legacy profile (.prof) is of one process: -p PID, "
					    "or a COMMAND");
	if (a->command && strcmp(a->output, "-") == 0)
		return usage_error(message, "standard output is the command's: -o FILE");
	return 0;
}

int record_parse(int argc, char *const *argv, struct record_arguments *ret,
		 struct usage_message *message)
{
	static const struct option_spec specs[] = {
		{OPTION_HELP, 'h', "help", false},    {OPTION_FREQUENCY, 'F', "frequency", true},
		{OPTION_EVENT, 'e', "event", true},   {OPTION_DURATION, 'd', "duration", true},
		{OPTION_OUTPUT, 'o', "output", true}, {OPTION_ALL, 'a', "all", false},
		{OPTION_PID, 'p', "pid", true},       {OPTION_SERVICE, 's', "service", true},
		{OPTION_STACKS, 'g', NULL, false},    {OPTION_CALL_GRAPH, 0, "call-graph", true},
	};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	struct record_arguments a = {.service = "", .event = "", .output = OUTPUT_DEFAULT};
	bool has_target = false;
	const char *argument;
	int id, r = 0;

	while (!r && !a.command && (id = options_next(&o, &argument)) != OPTIONS_END) {
		if (id == OPTION_HELP)
			return VERB_HELP;
		if (id == OPTIONS_OPERAND) {
			/* What follows is the command's. */
			r = record_set_target(&a, PROFD__CONTROL__TARGET_KIND__PID, &has_target,
					      message);
			a.command = argv + o.at - 1;
		} else {
			r = parse_record_option(id, argument, &a, &has_target, message);
		}
	}
	if (!r)
		r = record_check_arguments(&a, has_target, message);
	if (r)
		ret->command = a.command;
	else
		*ret = a;
	return r;
}
