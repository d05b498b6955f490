/* SPDX-License-Identifier: MIT */
/*
 * The daemon answers with its configuration as a file, as config_print() writes it: sections, and
 * "key = value" in them. As JSON that is {"section": {"key": "value"}}; a list that the file gives
 * in several lines is joined again.
 */
#include <string.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "common/cleanup.h"
#include "common/error.h"

#include <errno.h>

int config_text_to_json(const char *text, FILE *out)
{
	cleanup(freep) char *copy = strdup(text);
	cleanup(freep) char *joined = malloc(strlen(text) + 1); /* room for all values at once */
	struct json j = {.out = out};
	const char *key = NULL; /* that was read last: its value may go on in the next line */
	char *rest = NULL;

	if (!copy || !joined)
		return error_origin(-ENOMEM);
	json_begin_object(&j, NULL);
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = *line == '[' ? NULL : strstr(line, " =");

		if (value) {
			*value = '\0';
			value += strspn(value + 1, "= ") + 1;
			if (key && strcmp(key, line) == 0) {
				strcat(strcat(joined, ","), value);
				continue;
			}
		}
		if (key)
			json_text(&j, key, joined);
		key = value ? line : NULL;
		if (value) {
			strcpy(joined, value);
			continue;
		}
		if (j.depth > 1)
			json_close(&j);
		line[strcspn(line, "]")] = '\0';
		json_begin_object(&j, line + 1);
	}
	if (key)
		json_text(&j, key, joined);
	json_end(&j);
	return 0;
}

int config_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	bool json;
	struct usage_message message;
	int r = plain_parse(argc, argv, &json, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = call_daemon(context, PROFD__CONTROL__REQUEST__VERB_CONFIG, NULL, &response);
	if (r)
		return r;
	if (!json) {
		fputs(response->text, context->out);
		return STATUS_DONE;
	}
	r = config_text_to_json(response->text, context->out);
	return r ? profctl_complain(context, STATUS_FAILED, "%s", error_describe(r)) : STATUS_DONE;
}
