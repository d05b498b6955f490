/* SPDX-License-Identifier: MIT */
/* What the command lines of several verbs have in common. */
#include "client/profctl/arguments.h"

#include "common/cleanup.h"
#include "common/units.h"

int parse_moment(const char *name, const char *text, uint64_t now_ns, uint64_t *ret_ns,
		 struct usage_message *message)
{
	if (units_parse_moment(text, now_ns, ret_ns))
		return usage_error(message,
				   "%s takes a moment such as -10m, 14:30, today or "
				   "2026-11-21T14:30:00Z, not '%s'",
				   name, text);
	return 0;
}

int check_time_range(uint64_t since_ns, uint64_t until_ns, struct usage_message *message)
{
	if (until_ns && until_ns < since_ns)
		return usage_error(message, "--until lies before --since");
	return 0;
}

bool parse_session_id(const char *text, uint64_t *ret)
{
	uint64_t id;

	if (text[0] != 's' || units_parse_number(text + 1, &id) || id == 0)
		return false;
	*ret = id;
	return true;
}

int plain_parse(int argc, char *const *argv, struct plain_arguments *ret,
		struct usage_message *message)
{
	static const struct option_spec specs[] = {COMMON_OPTIONS};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	struct plain_arguments arguments = {0};
	const char *argument;
	int id;

	while ((id = options_next(&o, &argument)) != OPTIONS_END) {
		switch (id) {
		case OPTION_HELP:
			return VERB_HELP;
		case OPTION_JSON:
			arguments.json = true;
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
