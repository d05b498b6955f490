/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "common/units.h"

int vacuum_parse(int argc, char *const *argv, struct vacuum_arguments *ret,
		 struct usage_message *message)
{
	/* A limit of 0 would be no limit, and not what somebody means who deletes. */
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{0, "max-age", option_duration, &ret->max_age_ns, NULL},
		{0, "max-size", option_size, &ret->max_size, NULL},
		{0},
	};

	*ret = (struct vacuum_arguments){0};
	return options_parse(rows, argc, argv, message);
}

int vacuum_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Vacuum vacuum = PROFD__CONTROL__VACUUM__INIT;
	const struct call call = {PROFD__CONTROL__REQUEST__VERB_VACUUM, &vacuum,
				  PROFD__CONTROL__RESPONSE__RESULT_VACUUMED, CALL_LONG_MS};
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
	r = call_daemon(context, &call, &response);
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
