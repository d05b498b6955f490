/* SPDX-License-Identifier: MIT */
/* What the command lines of several verbs have in common. */
#include "client/profctl/arguments.h"

#include "common/cleanup.h"
#include "common/units.h"

int check_time_range(uint64_t since_ns, uint64_t until_ns, struct usage_message *message)
{
	if (until_ns && until_ns < since_ns)
		return usage_error(message, "--until is before --since");
	return 0;
}

int option_moment(const char *name, const char *argument, void *to, struct usage_message *message)
{
	const struct option_moment *moment = to;

	if (units_parse_moment(argument, moment->now_ns, moment->to_ns))
		return usage_error(message,
				   "%s takes a moment such as -10m, 14:30, today or "
				   "2026-11-21T14:30:00Z, not '%s'",
				   name, argument);
	return 0;
}

int plain_parse(int argc, char *const *argv, bool *ret_json, struct usage_message *message)
{
	const struct option_row rows[] = {{0, "json", option_flag, ret_json, NULL}, {0}};

	*ret_json = false;
	return options_parse(rows, argc, argv, message);
}
