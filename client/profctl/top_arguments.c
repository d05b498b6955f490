/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "client/profctl/arguments.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"

#define INTERVAL_NS  (2 * NS_PER_S)
#define INTERVAL_MIN (NS_PER_S / 10)
#define INTERVAL_MAX (3600 * NS_PER_S)

enum {
	OPTION_SERVICE = OPTION_OWN,
	OPTION_PID,
	OPTION_DELAY,
	OPTION_ROWS,
	OPTION_ONCE,
};

/* `2`, `0.5`, and what durations are elsewhere. */
static int parse_top_delay(const char *text, uint64_t *ret, struct usage_message *message)
{
	char *end;
	double seconds = strtod(text, &end);
	uint64_t ns = 0;

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
	*ret = ns;
	return 0;
}

static int parse_top_option(int id, const char *argument, struct top_arguments *a,
			    struct usage_message *message)
{
	uint64_t number;

	if ((id == OPTION_SERVICE || id == OPTION_PID) && (*a->service || a->pid))
		return usage_error(message, "only one of -s and -p");
	switch (id) {
	case OPTION_JSON:
		a->json = true;
		return 0;
	case OPTION_SERVICE:
		a->target = PROFD__CONTROL__TARGET_KIND__SERVICE;
		a->service = argument;
		return *argument ? 0 : usage_error(message, "the service's name is empty");
	case OPTION_PID:
		if (units_parse_number(argument, &number) || !number || number > INT32_MAX)
			return usage_error(message, "'%s' is not a process id", argument);
		a->target = PROFD__CONTROL__TARGET_KIND__PID;
		a->pid = (int64_t)number;
		return 0;
	case OPTION_DELAY:
		return parse_top_delay(argument, &a->interval_ns, message);
	case OPTION_ROWS:
		if (units_parse_number(argument, &a->rows) || !a->rows)
			return usage_error(message, "--rows takes a number above 0, not '%s'",
					   argument);
		return 0;
	case OPTION_ONCE:
		a->once = true;
		return 0;
	case OPTIONS_OPERAND:
		return usage_error(message, "unexpected argument '%s'; for a process use -p %s",
				   argument, argument);
	default:
		return id;
	}
}

int top_parse(int argc, char *const *argv, struct top_arguments *ret, struct usage_message *message)
{
	static const struct option_spec specs[] = {
		COMMON_OPTIONS,
		{OPTION_SERVICE, 's', "service", true},
		{OPTION_PID, 'p', "pid", true},
		{OPTION_DELAY, 'd', "delay", true},
		{OPTION_ROWS, 0, "rows", true},
		{OPTION_ONCE, 0, "once", false},
	};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	struct top_arguments a = {.target = PROFD__CONTROL__TARGET_KIND__ALL,
				  .service = "",
				  .interval_ns = INTERVAL_NS};
	const char *argument;
	int id, r = 0;

	while (!r && (id = options_next(&o, &argument)) != OPTIONS_END) {
		if (id == OPTION_HELP)
			return VERB_HELP;
		r = parse_top_option(id, argument, &a, message);
	}
	if (r)
		return r;
	*ret = a;
	return 0;
}
