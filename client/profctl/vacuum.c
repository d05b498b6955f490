/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "common/cleanup.h"
#include "common/units.h"

enum { OPTION_MAX_AGE = OPTION_OWN, OPTION_MAX_SIZE };

/* A limit of 0 would be no limit, and not what somebody means who deletes. */
static int parse_limit(int id, const char *argument, struct vacuum_arguments *ret,
		       struct usage_message *message)
{
	bool is_age = id == OPTION_MAX_AGE;
	uint64_t *to = is_age ? &ret->max_age_ns : &ret->max_size;
	int r = is_age ? units_parse_duration(argument, to) : units_parse_size(argument, to);

	if (!r && *to)
		return 0;
	if (is_age)
		return usage_error(message, "--max-age takes a time such as 12h or 3d, not '%s'",
				   argument);
	return usage_error(message, "--max-size takes a size such as 500M, not '%s'", argument);
}

int vacuum_parse(int argc, char *const *argv, struct vacuum_arguments *ret,
		 struct usage_message *message)
{
	static const struct option_spec specs[] = {
		COMMON_OPTIONS,
		{OPTION_MAX_AGE, 0, "max-age", true},
		{OPTION_MAX_SIZE, 0, "max-size", true},
	};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	struct vacuum_arguments arguments = {0};
	const char *argument;
	int id, r = 0;

	while (r == 0 && (id = options_next(&o, &argument)) != OPTIONS_END) {
		if (id == OPTION_HELP)
			return VERB_HELP;
		if (id == OPTION_JSON)
			arguments.json = true;
		else if (id == OPTION_MAX_AGE || id == OPTION_MAX_SIZE)
			r = parse_limit(id, argument, &arguments, message);
		else if (id == OPTIONS_OPERAND)
			r = usage_error(message, "'%s' is one word too many", argument);
		else
			return id;
	}
	if (r)
		return r;
	*ret = arguments;
	return 0;
}

int vacuum_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Vacuum vacuum = PROFD__CONTROL__VACUUM__INIT;
	struct json j = {.out = context->out};
	const Profd__Control__Vacuumed *freed;
	struct vacuum_arguments arguments;
	struct usage_message message;
	char buffer[UNITS_TEXT_MAX];
	int r = vacuum_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	vacuum.max_age_ns = arguments.max_age_ns;
	vacuum.max_size_bytes = arguments.max_size;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_VACUUM;
	request.vacuum = &vacuum;
	r = call_daemon(context, &request, CALL_LONG_MS, PROFD__CONTROL__RESPONSE__RESULT_VACUUMED,
			&response);
	if (r)
		return r;
	freed = response->vacuumed;
	if (arguments.json) {
		json_begin_object(&j, NULL);
		json_number(&j, "freed_files", freed->files);
		json_number(&j, "freed_bytes", freed->bytes);
		json_end_object(&j);
		json_end(&j);
		return STATUS_DONE;
	}
	fprintf(context->out, "freed %s: %" PRIu64 " files\n",
		units_print_size_short(buffer, sizeof(buffer), freed->bytes), freed->files);
	return STATUS_DONE;
}
