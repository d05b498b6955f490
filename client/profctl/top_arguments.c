/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "client/profctl/arguments.h"
#include "common/clock.h"
#include "common/units.h"

#define INTERVAL_NS  (2 * NS_PER_S)
#define INTERVAL_MIN (NS_PER_S / 10)
#define INTERVAL_MAX (3600 * NS_PER_S)

/* `2`, `0.5`, and what durations are elsewhere. */
static int option_top_delay(const char *name, const char *text, void *to,
			    struct usage_message *message)
{
	char *end;
	double seconds = strtod(text, &end);
	uint64_t ns = 0;

	(void)name;
	if (*text >= '0' && *text <= '9' && !*end &&
	    seconds <= (double)INTERVAL_MAX / (double)NS_PER_S)
		ns = (uint64_t)(seconds * (double)NS_PER_S);
	else if (units_parse_duration(text, &ns))
		ns = 0;
	if (ns < INTERVAL_MIN || ns > INTERVAL_MAX)
		return usage_error(message,
				   "-d takes 0.1 to 3600 seconds, or a time such as 500ms or 1m, "
				   "not '%s'",
				   text);
	*(uint64_t *)to = ns;
	return 0;
}

static int option_top_service(const char *name, const char *text, void *to,
			      struct usage_message *message)
{
	return option_text(name, text, to, message)
		       ? usage_error(message, "the service's name is empty")
		       : 0;
}

static int option_top_rows(const char *name, const char *text, void *to,
			   struct usage_message *message)
{
	return option_number(name, text, to, message)
		       ? usage_error(message, "--rows takes a number above 0, not '%s'", text)
		       : 0;
}

static int refuse_top_operand(const char *name, const char *text, void *to,
			      struct usage_message *message)
{
	(void)name, (void)to;
	return usage_error(message, "unexpected argument '%s'; for a process use -p %s", text,
			   text);
}

int top_parse(int argc, char *const *argv, struct top_arguments *ret, struct usage_message *message)
{
	static const char only[] = "only one of -s and -p";
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{'s', "service", option_top_service, &ret->service, only},
		{'p', "pid", option_pid, &ret->pid, only},
		{'d', "delay", option_top_delay, &ret->interval_ns, NULL},
		{0, "rows", option_top_rows, &ret->rows, NULL},
		{0, "once", option_flag, &ret->once, NULL},
		{0, NULL, refuse_top_operand, NULL, NULL},
		{0},
	};
	int r;

	*ret = (struct top_arguments){.service = "", .interval_ns = INTERVAL_NS};
	r = options_parse(rows, argc, argv, message);
	ret->target = *ret->service ? PROFD__CONTROL__TARGET_KIND__SERVICE
		      : ret->pid    ? PROFD__CONTROL__TARGET_KIND__PID
				    : PROFD__CONTROL__TARGET_KIND__ALL;
	return r;
}
