/* SPDX-License-Identifier: MIT */
/*
 * [export NAME]: its keys, in a table like that of the others (config.c), and what their values may
 * be. A section of a later file goes on with that of an earlier one; within a file, a second one of
 * the same name is a mistake. What a URL holds is not repeated in messages: there might be a
 * password in it, which is refused.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/config/config_private.h"
#include "common/error.h"
#include "common/text_print.h"
#include "common/utf8.h"

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

#define URL_MAX        2000
#define PATH_LENGTH    4095
#define SERVICES_MAX   2000 /* bytes; profd takes no more in a request */
#define SERVICE_MAX    255
#define TAGS_MAX       2000
#define TAG_NAME_MAX   64
#define TAG_VALUE_MAX  200
#define N_TAGS_MAX     16 /* of the 30 labels of a series that Pyroscope takes */
#define TAG_NAMES_MAX  (8 * (TAG_NAME_MAX + 1))
#define N_NAMES_MAX    8
#define SPOOL_SIZE_MAX (UINT64_C(1) << 40)

#define AT(field) offsetof(struct config_export, field)

const struct config_key config_export_keys[] = {
	{"export", "type", KIND_EXPORT_TYPE, AT(type), 0, 0, ""},
	{"export", "url", KIND_URL, AT(url), 0, URL_MAX, ""},
	{"export", "header_file", KIND_PATH, AT(header_file), 0, PATH_LENGTH, ""},
	{"export", "ca_file", KIND_PATH, AT(ca_file), 0, PATH_LENGTH, ""},
	{"export", "services", KIND_SERVICES, AT(services), 0, SERVICES_MAX, ""},
	{"export", "labels", KIND_TAGS, AT(labels), 0, TAGS_MAX, ""},
	{"export", "keep", KIND_TAG_NAMES, AT(keep), 0, TAG_NAMES_MAX, ""},
	{"export", "spool_size", KIND_SIZE, AT(spool_size), 1 << 20, SPOOL_SIZE_MAX, "256M"},
	{"export", "max_age", KIND_AGE, AT(max_age_ns), NS_PER_S, UINT64_MAX, ""},
	{0},
};

/* --- values ----------------------------------------------------------------------------------- */

int value_set_export_type(struct config_value *v)
{
	static const char *const types[] = {"", "pyroscope", "parca", "otlp"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(v->text, types[i]) == 0)
			return value_replace_text(v);
	return value_invalid(v, "must be pyroscope, parca or otlp, not '%s'", v->text);
}

/* The host and all behind it; NULL: it is a URL of another kind. */
static const char *url_after_scheme(const char *url)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
			return url + strlen(schemes[i]);
	return NULL;
}

int value_set_url(struct config_value *v)
{
	const char *host = url_after_scheme(v->text);

	if (!*v->text)
		return value_replace_text(v);
	if (strlen(v->text) > v->key->max)
		return value_invalid(v, "is longer than %zu bytes", (size_t)v->key->max);
	for (const char *c = v->text; *c; c++)
		if (*c <= ' ' || *c > '~')
			return value_invalid(v, "has a blank or another character that needs %%XX");
	if (!host)
		return value_invalid(v, "must begin with http:// or https://");
	if (strcspn(host, "/:?#") == 0)
		return value_invalid(v, "has no host");
	if (strchr(host, '@'))
		return value_invalid(v, "may have no user name or password: use header_file");
	if (strpbrk(host, "?#"))
		return value_invalid(v, "may have no ? or #: it is the server's, without what is "
					"asked of it");
	return value_replace_text(v);
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static bool has_control(const char *text)
{
	while (*text && !is_control(*text))
		text++;
	return *text;
}

static int value_check_service(struct config_value *v, const char *item)
{
	if (has_control(item) || strlen(item) > SERVICE_MAX)
		return value_invalid(v,
				     "has a service name of more than %d bytes, or with control "
				     "characters",
				     SERVICE_MAX);
	return 0;
}

static bool is_tag_name(const char *text, size_t length, const char *first, const char *others)
{
	return length && length <= TAG_NAME_MAX && strchr(first, *text) &&
	       strspn(text, others) >= length;
}

/*
 * "__" begins names that mean something to the servers themselves, and what a profile is of, profd
 * knows.
 */
static bool is_reserved_tag(const char *text, size_t length)
{
	static const char *const reserved[] = {"service_name", "service.name"};

	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (length == strlen(reserved[i]) && strncmp(text, reserved[i], length) == 0)
			return true;
	return strncmp(text, "__", 2) == 0;
}

static int value_check_tag(struct config_value *v, const char *item)
{
	size_t length = strcspn(item, "=");
	const char *value = item + length + 1;

	if (!item[length] || !is_tag_name(item, length, LOWER UPPER "_", LOWER UPPER DIGITS "_."))
		return value_invalid(v,
				     "must be NAME=VALUE, with letters, digits, _ and . in NAME, "
				     "not '%.80s'",
				     item);
	if (is_reserved_tag(item, length))
		return value_invalid(v, "may not set '%.*s'", (int)length, item);
	if (!*value || strlen(value) > TAG_VALUE_MAX || has_control(value) || !utf8_is_valid(value))
		return value_invalid(v, "needs a value of 1 to %d bytes of UTF-8 for '%.*s'",
				     TAG_VALUE_MAX, (int)length, item);
	return 0;
}

static int value_check_tag_name(struct config_value *v, const char *item)
{
	if (is_tag_name(item, strlen(item), LOWER "_", LOWER DIGITS "_"))
		return 0;
	return value_invalid(v, "must be labels of samples such as thread or pid, not '%.80s'",
			     item);
}

/* Whether @item's name is in @joined, which has *ret_n items. */
static bool joined_has(const char *joined, const char *item, size_t *ret_n)
{
	const char *text = *joined ? joined : NULL, *other;
	size_t length, name = strcspn(item, "=");
	bool found = false;

	for (*ret_n = 0; config_next_item(&text, &other, &length); ++*ret_n) {
		const char *end = memchr(other, '=', length);
		size_t n = end ? (size_t)(end - other) : length;

		found |= n == name && memcmp(other, item, n) == 0;
	}
	return found;
}

static int joined_append(struct config_value *v, const char *item)
{
	static const struct {
		int (*check)(struct config_value *v, const char *item);
		size_t max; /* items */
	} kinds[] = {
		[KIND_SERVICES] = {value_check_service, SIZE_MAX},
		[KIND_TAGS] = {value_check_tag, N_TAGS_MAX},
		[KIND_TAG_NAMES] = {value_check_tag_name, N_NAMES_MAX},
	};
	char **text = v->field, *joined;
	size_t n;
	int r = kinds[v->key->kind].check(v, item);

	if (r)
		return r;
	if (joined_has(*text, item, &n))
		return v->key->kind == KIND_SERVICES ? 0
						     : value_invalid(v, "has '%.*s' twice",
								     (int)strcspn(item, "="), item);
	if (n >= kinds[v->key->kind].max)
		return value_invalid(v, "has more than %zu items", kinds[v->key->kind].max);
	if (strlen(*text) + strlen(item) + 1 > v->key->max)
		return value_invalid(v, "is longer than %zu bytes", (size_t)v->key->max);
	r = text_print(&joined, "%s%s%s", *text, **text ? "," : "", item);
	if (r)
		return r;
	free(*text);
	*text = joined;
	return 0;
}

int value_set_joined(struct config_value *v)
{
	const char *rest = v->text, *start;
	char **text = v->field;
	size_t length;
	int r = 0;

	if (!*v->text || !*text)
		r = value_replace_text(&(struct config_value){.field = text, .text = ""});
	while (!r && *v->text && config_next_item(&rest, &start, &length)) {
		cleanup(freep) char *item = strndup(start, length);

		if (!item)
			return error_origin(-ENOMEM);
		r = *item ? joined_append(v, item)
			  : value_invalid(v, "has an empty item in '%s'", v->text);
	}
	return r;
}

/* --- sections --------------------------------------------------------------------------------- */

void config_export_deinit(struct config_export *e)
{
	for (const struct config_key *key = config_export_keys; key->name; key++)
		config_value_clear(e, key);
	free(e->place);
}

#define export_invalid(why, ...) (snprintf((why), 200, __VA_ARGS__), CONFIG_E_INVALID)

static int config_export_check_name(const char *name, char why[200])
{
	size_t length = strlen(name);

	if (!length)
		return export_invalid(why, "needs a name, as in [export main]");
	if (length > CONFIG_EXPORT_NAME_MAX || strspn(name, CONFIG_EXPORT_NAME_BYTES) != length)
		return export_invalid(why,
				      "is no name: it takes 1 to %d of the characters a-z 0-9 _ -",
				      CONFIG_EXPORT_NAME_MAX);
	return 0;
}

static struct config_export *config_find_export(struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_exports; i++)
		if (strcmp(c->exports[i].name, name) == 0)
			return &c->exports[i];
	return NULL;
}

static int config_export_add(struct config *c, const char *name, char why[200],
			     struct config_export **ret)
{
	struct config_export *e = &c->exports[c->n_exports];

	if (c->n_exports == CONFIG_EXPORTS_MAX)
		return export_invalid(why, "is one too many: there may be %d", CONFIG_EXPORTS_MAX);
	c->n_exports++;
	snprintf(e->name, sizeof(e->name), "%s", name);
	*ret = e;
	return config_set_defaults(e, config_export_keys);
}

int config_export_begin(struct config *c, const char *name, const char *file, unsigned line,
			struct config_export **ret, char why[200])
{
	cleanup(freep) char *place = NULL;
	struct config_export *e;
	int r;

	name += strspn(name, " \t");
	r = config_export_check_name(name, why) ?: text_print(&place, "%s:%u", file, line);
	if (r)
		return r;
	e = config_find_export(c, name);
	if (e && e->place && strncmp(e->place, file, strlen(file)) == 0 &&
	    strrchr(e->place, ':') == e->place + strlen(file))
		return export_invalid(why, "is there twice: first in line %s",
				      strrchr(e->place, ':') + 1);
	r = e ? 0 : config_export_add(c, name, why, &e);
	if (r)
		return r;
	free(e->place);
	e->place = steal_ptr(&place);
	*ret = e;
	return 0;
}

int config_export_finish(struct config_export *e, const char **ret_lacks)
{
	struct config_value all = {.field = &e->services, .text = "*"};

	*ret_lacks = !*e->type ? "type" : !*e->url ? "url" : NULL;
	if (*ret_lacks)
		return CONFIG_E_INVALID;
	return *e->services ? 0 : value_replace_text(&all);
}
