/* SPDX-License-Identifier: MIT */
/*
 * The daemon answers with its configuration as a file. As JSON that is {"section": {"key":
 * "value"}}; a list that the file gives in several lines is joined again.
 */
#include <string.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/config.h"
#include "client/profctl/json.h"
#include "common/cleanup.h"
#include "common/error.h"

#include <errno.h>

/* Cuts blanks off both ends, in place. */
static char *trim_blanks(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* The key that was read last: its value may go on in the next line. */
struct pending {
	const char *key;
	char *value; /* owned */
};

static void put_pending(struct json *j, struct pending *pending)
{
	if (pending->key)
		json_text(j, pending->key, pending->value);
	pending->key = NULL;
	free(pending->value);
	pending->value = NULL;
}

static int config_add_key(struct json *j, struct pending *pending, const char *key,
			  const char *value)
{
	char *joined;

	if (pending->key && strcmp(pending->key, key) == 0) {
		if (asprintf(&joined, "%s,%s", pending->value, value) < 0)
			return error_origin(-ENOMEM);
		free(pending->value);
		pending->value = joined;
		return 0;
	}
	put_pending(j, pending);
	pending->value = strdup(value);
	if (!pending->value)
		return error_origin(-ENOMEM);
	pending->key = key;
	return 0;
}

static void config_begin_section(struct json *j, struct pending *pending, char *line,
				 bool *in_section)
{
	put_pending(j, pending);
	if (*in_section)
		json_end_object(j);
	*in_section = true;
	line[strcspn(line, "]")] = '\0';
	json_begin_object(j, line + 1);
}

int config_text_to_json(const char *text, FILE *out)
{
	cleanup(freep) char *copy = strdup(text);
	struct pending pending = {0};
	struct json j = {.out = out};
	bool in_section = false;
	char *rest = NULL;
	int r = 0;

	if (!copy)
		return error_origin(-ENOMEM);
	json_begin_object(&j, NULL);
	for (char *next = strtok_r(copy, "\n", &rest); next && r == 0;
	     next = strtok_r(NULL, "\n", &rest)) {
		char *line = trim_blanks(next), *value = strchr(line, '=');

		if (*line == '[') {
			config_begin_section(&j, &pending, line, &in_section);
		} else if (value && *line != '#' && *line != ';' && in_section) {
			*value = '\0';
			r = config_add_key(&j, &pending, trim_blanks(line), trim_blanks(value + 1));
		}
	}
	put_pending(&j, &pending);
	if (in_section)
		json_end_object(&j);
	json_end_object(&j);
	json_end(&j);
	return r;
}

int config_run(struct context *context, int argc, char **argv)
{
	static const struct call call = {PROFD__CONTROL__REQUEST__VERB_CONFIG, NULL,
					 PROFD__CONTROL__RESPONSE__RESULT_TEXT, CALL_SHORT_MS};
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	struct plain_arguments arguments;
	struct usage_message message;
	int r = plain_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = call_daemon(context, &call, &response);
	if (r)
		return r;
	if (!arguments.json) {
		fputs(response->text, context->out);
		return STATUS_DONE;
	}
	r = config_text_to_json(response->text, context->out);
	return r ? profctl_complain(context, STATUS_FAILED, "%s", error_describe(r)) : STATUS_DONE;
}
