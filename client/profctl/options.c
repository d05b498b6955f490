/* SPDX-License-Identifier: MIT */
#include "client/profctl/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int usage_error(struct usage_message *message, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message->text, sizeof(message->text), format, args);
	va_end(args);
	return OPTIONS_BAD;
}

static int options_next_argument(struct options *o, const char *name, const char **ret_argument)
{
	if (o->at >= o->argc)
		return usage_error(o->message, "%s needs an argument", name);
	*ret_argument = o->argv[o->at++];
	return 0;
}

static int options_next_long(struct options *o, const char *word, const char **ret_argument)
{
	const char *value = strchr(word, '=');
	size_t length = value ? (size_t)(value - word) : strlen(word);

	for (size_t i = 0; i < o->n_specs; i++) {
		const struct option_spec *spec = &o->specs[i];

		if (!spec->long_name || strlen(spec->long_name) != length - 2 ||
		    strncmp(spec->long_name, word + 2, length - 2) != 0)
			continue;
		if (value && !spec->has_argument)
			return usage_error(o->message, "--%s takes no argument", spec->long_name);
		*ret_argument = value ? value + 1 : NULL;
		if (!value && spec->has_argument && options_next_argument(o, word, ret_argument))
			return OPTIONS_BAD;
		return spec->id;
	}
	return usage_error(o->message, "unknown option %.*s", (int)length, word);
}

static int options_next_short(struct options *o, const char **ret_argument)
{
	const char name[] = {'-', *o->cluster, '\0'};

	for (size_t i = 0; i < o->n_specs; i++) {
		const struct option_spec *spec = &o->specs[i];

		if (spec->short_name != name[1])
			continue;
		o->cluster++;
		*ret_argument = NULL;
		if (spec->has_argument) {
			*ret_argument = o->cluster;
			if (!*o->cluster && options_next_argument(o, name, ret_argument))
				return OPTIONS_BAD;
			o->cluster = NULL;
		}
		return spec->id;
	}
	return usage_error(o->message, "unknown option %s", name);
}

int options_next(struct options *o, const char **ret_argument)
{
	const char *word;

	if (o->cluster && *o->cluster)
		return options_next_short(o, ret_argument);
	o->cluster = NULL;
	if (o->at == 0)
		o->at = 1;
	if (o->at >= o->argc)
		return OPTIONS_END;
	word = o->argv[o->at++];
	if (!o->only_operands && strcmp(word, "--") == 0) {
		o->only_operands = true;
		return options_next(o, ret_argument);
	}
	if (o->only_operands || word[0] != '-' || word[1] == '\0') {
		*ret_argument = word;
		return OPTIONS_OPERAND;
	}
	if (word[1] == '-')
		return options_next_long(o, word, ret_argument);
	o->cluster = word + 1;
	return options_next_short(o, ret_argument);
}
