/* SPDX-License-Identifier: MIT */
/*
 * By the kind of a key: what texts its field takes, with the reason if one is refused, and how the
 * field is written back.
 *
 * A list key may be given several times and grows; an empty value empties it. This is how a file
 * in profd.conf.d/ adds to the main one, and how a long list fits into lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/config/config_private.h"
#include "common/error.h"
#include "common/store/contents.h"
#include "common/units.h"

#define LIST_MAX 1024

static const char *const symbolizes[] = {
	[SYMBOLIZE_NONE] = "none",
	[SYMBOLIZE_FUNCTIONS] = "functions",
	[SYMBOLIZE_LINES] = "lines",
};

int value_replace_text(struct config_value *v)
{
	char *copy = strdup(v->text);

	if (!copy)
		return error_origin(-ENOMEM);
	free(*(char **)v->field);
	*(char **)v->field = copy;
	return 0;
}

static int value_set_text(struct config_value *v)
{
	if (strlen(v->text) < v->key->min)
		return value_invalid(v, "must not be empty");
	if (strlen(v->text) > v->key->max)
		return value_invalid(v, "is longer than %" PRIu64 " bytes", v->key->max);
	if (v->key->kind == KIND_PATH && *v->text && v->text[0] != '/')
		return value_invalid(v, "must be an absolute path, not '%s'", v->text);
	return value_replace_text(v);
}

static void list_free(char **list)
{
	for (char **item = list; item && *item; item++)
		free(*item);
	free(list);
}

static int list_append(char ***list, const char *text, size_t length)
{
	char **grown;
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	if (n >= LIST_MAX)
		return CONFIG_E_INVALID;
	grown = reallocarray(*list, n + 2, sizeof(*grown));
	if (!grown)
		return error_origin(-ENOMEM);
	*list = grown;
	grown[n] = strndup(text, length);
	grown[n + 1] = NULL;
	return grown[n] ? 0 : error_origin(-ENOMEM);
}

bool config_next_item(const char **text, const char **ret_item, size_t *ret_length)
{
	const char *start = *text, *end;

	if (!start)
		return false;
	end = strchrnul(start, ',');
	*text = *end ? end + 1 : NULL;
	start += strspn(start, " \t");
	while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*ret_item = start;
	*ret_length = (size_t)(end - start);
	return true;
}

static int value_set_list(struct config_value *v)
{
	char ***list = v->field;
	const char *text = v->text, *item;
	size_t length;
	int r;

	if (!*text && *list) {
		list_free(*list);
		*list = NULL;
	}
	if (!*list) {
		*list = calloc(1, sizeof(**list));
		if (!*list)
			return error_origin(-ENOMEM);
	}
	while (*v->text && config_next_item(&text, &item, &length)) {
		if (length == 0)
			return value_invalid(v, "has an empty item in '%s'", v->text);
		r = list_append(list, item, length);
		if (r)
			return r < 0 ? r : value_invalid(v, "has more than %d items", LIST_MAX);
	}
	return 0;
}

static int value_parse_bool(struct config_value *v, bool *ret)
{
	static const char *const yes[] = {"yes", "true", "on", "1"};
	static const char *const no[] = {"no", "false", "off", "0"};

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (strcmp(v->text, yes[i]) == 0 || strcmp(v->text, no[i]) == 0) {
			*ret = strcmp(v->text, yes[i]) == 0;
			return 0;
		}
	}
	return value_invalid(v, "must be yes or no, not '%s'", v->text);
}

static int value_check_range(struct config_value *v, uint64_t number)
{
	char min[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX];
	bool is_duration = v->key->kind == KIND_DURATION || v->key->kind == KIND_SECONDS ||
			   v->key->kind == KIND_AGE;
	const char *(*print)(char *, size_t, uint64_t) = is_duration ? units_print_duration
								     : units_print_size;

	if (number >= v->key->min && number <= v->key->max)
		return 0;
	if (is_duration || v->key->kind == KIND_SIZE) {
		print(min, sizeof(min), v->key->min);
		print(max, sizeof(max), v->key->max);
	} else {
		snprintf(min, sizeof(min), "%" PRIu64, v->key->min);
		snprintf(max, sizeof(max), "%" PRIu64, v->key->max);
	}
	if (v->key->max == UINT64_MAX)
		return value_invalid(v, "must be at least %s, not '%s'", min, v->text);
	return value_invalid(v, "must be %s to %s, not '%s'", min, max, v->text);
}

static int value_set_number(struct config_value *v)
{
	static const struct {
		int (*parse)(const char *, uint64_t *);
		const char *form;
	} kinds[] = {
		[KIND_U32] = {units_parse_number, "a number"},
		[KIND_U64] = {units_parse_number, "a number"},
		[KIND_DURATION] = {units_parse_duration, "a duration such as 500ms, 10s or 7d"},
		[KIND_SECONDS] = {units_parse_duration, "a duration such as 90s or 7d"},
		[KIND_AGE] = {units_parse_duration, "a duration such as 90s or 7d"},
		[KIND_SIZE] = {units_parse_size, "a size such as 64K, 512M or 2G"},
	};
	uint64_t number;
	int r = kinds[v->key->kind].parse(v->text, &number);

	if (r == UNITS_E_RANGE)
		return value_invalid(v, "is too large: '%s'", v->text);
	if (r)
		return value_invalid(v, "must be %s, not '%s'", kinds[v->key->kind].form, v->text);
	r = value_check_range(v, number);
	if (r)
		return r;
	if (v->key->kind == KIND_U32)
		*(uint32_t *)v->field = (uint32_t)number;
	else
		*(uint64_t *)v->field = v->key->kind == KIND_SECONDS ? number / NS_PER_S : number;
	return 0;
}

static int value_set_age(struct config_value *v)
{
	if (*v->text)
		return value_set_number(v);
	*(uint64_t *)v->field = 0;
	return 0;
}

static int value_set_mode(struct config_value *v)
{
	size_t length = strlen(v->text);

	if (length < 3 || length > 4 || strspn(v->text, "01234567") != length ||
	    (length == 4 && v->text[0] != '0'))
		return value_invalid(v, "must be an octal mode such as 0666, not '%s'", v->text);
	*(uint32_t *)v->field = (uint32_t)strtoul(v->text, NULL, 8);
	return 0;
}

static int value_set_share(struct config_value *v)
{
	double share;

	if (units_parse_share(v->text, &share) || share <= 0)
		return value_invalid(v, "must be a percentage above 0%% such as 1%%, not '%s'",
				     v->text);
	*(double *)v->field = share;
	return 0;
}

static int value_set_formats(struct config_value *v)
{
	const char *text = v->text, *item;
	unsigned mask = 0;
	size_t length;

	while (config_next_item(&text, &item, &length)) {
		unsigned format = contents_find(item, length);

		if (format == N_CONTENTS_FORMATS)
			return value_invalid(v, "must be pprof, legacy or images, not '%.*s'",
					     (int)length, item);
		mask |= 1u << format;
	}
	*(unsigned *)v->field = mask;
	return 0;
}

static int value_set_symbolize(struct config_value *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbolizes); i++) {
		if (strcmp(v->text, symbolizes[i]) == 0) {
			*(int *)v->field = (int)i;
			return 0;
		}
	}
	return value_invalid(v, "must be none, functions or lines, not '%s'", v->text);
}

static int value_set_label(struct config_value *v)
{
	unsigned *mask = v->field;
	bool on = false;
	int r = value_parse_bool(v, &on);

	if (r)
		return r;
	*mask = on ? *mask | (unsigned)v->key->min : *mask & ~(unsigned)v->key->min;
	return 0;
}

static int value_set_bool(struct config_value *v)
{
	return value_parse_bool(v, v->field);
}

int config_value_set(void *fields, struct config_value *v)
{
	static int (*const set[])(struct config_value * v) = {
		[KIND_TEXT] = value_set_text,
		[KIND_PATH] = value_set_text,
		[KIND_LIST] = value_set_list,
		[KIND_BOOL] = value_set_bool,
		[KIND_U32] = value_set_number,
		[KIND_U64] = value_set_number,
		[KIND_MODE] = value_set_mode,
		[KIND_DURATION] = value_set_number,
		[KIND_SECONDS] = value_set_number,
		[KIND_SIZE] = value_set_number,
		[KIND_SHARE] = value_set_share,
		[KIND_FORMATS] = value_set_formats,
		[KIND_SYMBOLIZE] = value_set_symbolize,
		[KIND_LABEL] = value_set_label,
		[KIND_AGE] = value_set_age,
		[KIND_URL] = value_set_url,
		[KIND_EXPORT_TYPE] = value_set_export_type,
		[KIND_SERVICES] = value_set_joined,
		[KIND_TAGS] = value_set_joined,
		[KIND_TAG_NAMES] = value_set_joined,
	};

	v->field = (char *)fields + v->key->offset;
	return set[v->key->kind](v);
}

void config_value_clear(void *fields, const struct config_key *key)
{
	void *field = (char *)fields + key->offset;

	switch (key->kind) {
	case KIND_TEXT:
	case KIND_PATH:
	case KIND_URL:
	case KIND_EXPORT_TYPE:
	case KIND_SERVICES:
	case KIND_TAGS:
	case KIND_TAG_NAMES:
		free(*(char **)field);
		break;
	case KIND_LIST:
		list_free(*(char ***)field);
		break;
	default:
		break;
	}
}

static void value_print_formats(unsigned mask, FILE *out)
{
	const char *separator = "";

	for (unsigned i = 0; i < N_CONTENTS_FORMATS; i++) {
		if (!(mask & 1u << i))
			continue;
		fprintf(out, "%s%s", separator, contents_formats[i].name);
		separator = ",";
	}
}

void config_value_print(const struct config_key *key, const void *field, FILE *out)
{
	char buffer[UNITS_TEXT_MAX];
	uint64_t unit;

	switch (key->kind) {
	case KIND_TEXT:
	case KIND_PATH:
	case KIND_URL:
	case KIND_EXPORT_TYPE:
	case KIND_SERVICES:
	case KIND_TAGS:
	case KIND_TAG_NAMES:
		fputs(*(char *const *)field, out);
		break;
	case KIND_AGE:
		if (!*(const uint64_t *)field)
			break;
		/* fall through */
	case KIND_DURATION:
	case KIND_SECONDS:
		unit = key->kind == KIND_SECONDS ? NS_PER_S : 1;
		units_print_duration(buffer, sizeof(buffer), unit * *(const uint64_t *)field);
		fputs(buffer, out);
		break;
	case KIND_BOOL:
		fputs(*(const bool *)field ? "yes" : "no", out);
		break;
	case KIND_U32:
		fprintf(out, "%" PRIu32, *(const uint32_t *)field);
		break;
	case KIND_U64:
		fprintf(out, "%" PRIu64, *(const uint64_t *)field);
		break;
	case KIND_MODE:
		fprintf(out, "%04" PRIo32, *(const uint32_t *)field);
		break;
	case KIND_SIZE:
		fputs(units_print_size(buffer, sizeof(buffer), *(const uint64_t *)field), out);
		break;
	case KIND_SHARE:
		fputs(units_print_share(buffer, sizeof(buffer), *(const double *)field), out);
		break;
	case KIND_FORMATS:
		value_print_formats(*(const unsigned *)field, out);
		break;
	case KIND_SYMBOLIZE:
		fputs(symbolizes[*(const int *)field], out);
		break;
	case KIND_LABEL:
		fputs(*(const unsigned *)field & key->min ? "yes" : "no", out);
		break;
	case KIND_LIST:
		for (char *const *item = *(char **const *)field; *item; item++)
			fprintf(out, "%s%s", *item, item[1] ? "," : "");
		break;
	}
}
