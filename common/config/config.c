/* SPDX-License-Identifier: MIT */
/*
 * One table, keys[], says for every key where it is written, what values it takes and what it is
 * by default. Reading, printing and the defaults go by it.
 *
 * By the kind of a key: what texts its field takes, with the reason if one is refused, and how the
 * field is written back. What others take for a comment, text behind " ;", is refused.
 *
 * A list key may be given several times and grows; an empty value empties it. This is how a file
 * in profd.conf.d/ adds to the main one, and how a long list fits into lines.
 */
#include "common/config/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/read_end.h"
#include "common/store/contents.h"
#include "common/text_print.h"
#include "common/units.h"
#include "common/user_paths.h"

#define DEFAULT_PATH    "/etc/profd/profd.conf"
#define NO_GROUP        "none" /* no name of one */
#define FILE_SIZE_MAX   (1024 * 1024)
#define LIST_MAX        1024
#define BLANKS          " \t\r"
#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define DAY             (86400 * NS_PER_S)

enum kind {
	KIND_TEXT,
	KIND_PATH, /* absolute */
	KIND_LIST,
	KIND_BOOL,
	KIND_U32,
	KIND_U64,
	KIND_MODE,     /* octal */
	KIND_DURATION, /* ns */
	KIND_SECONDS,  /* the same in whole seconds; bounds in ns */
	KIND_SIZE,     /* bytes */
	KIND_SHARE,
	KIND_FORMATS,
	KIND_SYMBOLIZE,
	KIND_LABEL, /* bit `min` of an unsigned */
};

struct key {
	const char *section, *name;
	enum kind kind;
	size_t offset;
	uint64_t min, max; /* numbers: the value; texts and paths: the length */
	const char *standard;
};

#define AT(field) offsetof(struct config, field)

#define LABEL_KEY(label, key, is_on)                                            \
	{                                                                       \
		"labels", #key, KIND_LABEL, AT(labels), LABEL_##label, 0, is_on \
	}

#define LIMIT_KEY(key, field, kind, min, max, standard) \
	{"store", key, KIND_##kind, AT(field), min, max, standard},

static const struct key keys[] = {
	{"sampling", "event", KIND_TEXT, AT(event), 1, 31, "auto"},
	{"sampling", "frequency", KIND_U64, AT(frequency), 1, 100000, "99"},
	{"sampling", "kernel_stacks", KIND_BOOL, AT(kernel_stacks), 0, 0, "yes"},
	{"sampling", "max_depth", KIND_U32, AT(max_depth), 1, 1024, "1024"},
	{"sampling", "exclude_self", KIND_BOOL, AT(exclude_self), 0, 0, "yes"},
	{"sampling", "max_cpu", KIND_SHARE, AT(max_cpu), 0, 0, "3%"},
	{"system", "enabled", KIND_BOOL, AT(system_enabled), 0, 0, "yes"},
	{"system", "exclude_services", KIND_LIST, AT(exclude_services), 0, 0, ""},
	{"system", "exclude_comms", KIND_LIST, AT(exclude_comms), 0, 0, ""},
	{"flush", "interval", KIND_DURATION, AT(interval_ns), NS_PER_S, DAY, "60s"},
	{"flush", "formats", KIND_FORMATS, AT(formats), 0, 0, "pprof,images"},
	{"flush", "symbolize", KIND_SYMBOLIZE, AT(symbolize), 0, 0, "functions"},
	LABELS(LABEL_KEY),
	{"store", "path", KIND_PATH, AT(store_path), 1, 180, "/var/lib/profd"},
	/* clang-format off */
	LIMITS(LIMIT_KEY)
	/* clang-format on */
	{"store", "legacy_max_processes", KIND_U32, AT(store_legacy_max_processes), 0, 1000000,
	 "64"},
	{"store", "group", KIND_TEXT, AT(store_group), 1, 31, "profd"},
	{"memory", "budget", KIND_SIZE, AT(memory_budget), 16 << 20, UINT64_C(1) << 40, "128M"},
	{"control", "socket", KIND_PATH, AT(control_socket), 1, 107, "/run/profd/control.sock"},
	{"control", "socket_mode", KIND_MODE, AT(control_socket_mode), 0, 0777, "0666"},
	{"control", "max_sessions", KIND_U32, AT(control_max_sessions), 1, 1024, "64"},
	{"limits", "per_user_control", KIND_SHARE, AT(per_user_control), 0, 0, "1%"},
	{"limits", "per_user_store", KIND_SHARE, AT(per_user_store), 0, 0, "10%"},
	{"debuginfod", "enabled", KIND_BOOL, AT(debuginfod_enabled), 0, 0, "no"},
	{"debuginfod", "urls", KIND_LIST, AT(debuginfod_urls), 0, 0, ""},
};

/* --- values ----------------------------------------------------------------------------------- */

/* One value to be set; `why` is for the message when it is refused. */
struct value {
	const struct key *key;
	const char *text;
	void *field; /* in struct config */
	char why[200];
};

static const char *const symbolizes[] = {
	[SYMBOLIZE_NONE] = "none",
	[SYMBOLIZE_FUNCTIONS] = "functions",
	[SYMBOLIZE_LINES] = "lines",
};

#define value_invalid(v, ...) (snprintf((v)->why, sizeof((v)->why), __VA_ARGS__), CONFIG_E_INVALID)

static int value_set_text(struct value *v)
{
	char *copy;

	if (strlen(v->text) < v->key->min)
		return value_invalid(v, "must not be empty");
	if (strlen(v->text) > v->key->max)
		return value_invalid(v, "is longer than %" PRIu64 " bytes", v->key->max);
	if (v->key->kind == KIND_PATH && v->text[0] != '/')
		return value_invalid(v, "must be an absolute path, not '%s'", v->text);
	copy = strdup(v->text);
	if (!copy)
		return error_origin(-ENOMEM);
	free(*(char **)v->field);
	*(char **)v->field = copy;
	return 0;
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

/* The next item of a comma-separated text, without blanks around it; false at the end. */
static bool list_next_item(const char **text, const char **ret_item, size_t *ret_length)
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

static int value_set_list(struct value *v)
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
	while (*v->text && list_next_item(&text, &item, &length)) {
		if (length == 0)
			return value_invalid(v, "has an empty item in '%s'", v->text);
		r = list_append(list, item, length);
		if (r)
			return r < 0 ? r : value_invalid(v, "has more than %d items", LIST_MAX);
	}
	return 0;
}

static int value_parse_bool(struct value *v, bool *ret)
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

static int value_check_range(struct value *v, uint64_t number)
{
	char min[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX];
	bool is_duration = v->key->kind == KIND_DURATION || v->key->kind == KIND_SECONDS;
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

static int value_set_number(struct value *v)
{
	static const struct {
		int (*parse)(const char *, uint64_t *);
		const char *form;
	} kinds[] = {
		[KIND_U32] = {units_parse_number, "a number"},
		[KIND_U64] = {units_parse_number, "a number"},
		[KIND_DURATION] = {units_parse_duration, "a duration such as 500ms, 10s or 7d"},
		[KIND_SECONDS] = {units_parse_duration, "a duration such as 90s or 7d"},
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

static int value_set_mode(struct value *v)
{
	size_t length = strlen(v->text);

	if (length < 3 || length > 4 || strspn(v->text, "01234567") != length ||
	    (length == 4 && v->text[0] != '0'))
		return value_invalid(v, "must be an octal mode such as 0666, not '%s'", v->text);
	*(uint32_t *)v->field = (uint32_t)strtoul(v->text, NULL, 8);
	return 0;
}

static int value_set_share(struct value *v)
{
	double share;

	if (units_parse_share(v->text, &share) || share <= 0)
		return value_invalid(v, "must be a percentage above 0%% such as 1%%, not '%s'",
				     v->text);
	*(double *)v->field = share;
	return 0;
}

static int value_set_formats(struct value *v)
{
	const char *text = v->text, *item;
	unsigned mask = 0;
	size_t length;

	while (list_next_item(&text, &item, &length)) {
		unsigned format = contents_find(item, length);

		if (format == N_CONTENTS_FORMATS)
			return value_invalid(v, "must be pprof, legacy or images, not '%.*s'",
					     (int)length, item);
		mask |= 1u << format;
	}
	*(unsigned *)v->field = mask;
	return 0;
}

static int value_set_symbolize(struct value *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbolizes); i++) {
		if (strcmp(v->text, symbolizes[i]) == 0) {
			*(int *)v->field = (int)i;
			return 0;
		}
	}
	return value_invalid(v, "must be none, functions or lines, not '%s'", v->text);
}

static int value_set_label(struct value *v)
{
	unsigned *mask = v->field;
	bool on = false;
	int r = value_parse_bool(v, &on);

	if (r)
		return r;
	*mask = on ? *mask | (unsigned)v->key->min : *mask & ~(unsigned)v->key->min;
	return 0;
}

static int value_set_bool(struct value *v)
{
	return value_parse_bool(v, v->field);
}

/*
 * Sets the field; lists grow, or are emptied by an empty text. Returns 0, CONFIG_E_INVALID with
 * `why` (to be read after the key's name), or negative errno.
 */
static int value_set(struct config *c, struct value *v)
{
	static int (*const set[])(struct value * v) = {
		[KIND_TEXT] = value_set_text,           [KIND_PATH] = value_set_text,
		[KIND_LIST] = value_set_list,           [KIND_BOOL] = value_set_bool,
		[KIND_U32] = value_set_number,          [KIND_U64] = value_set_number,
		[KIND_MODE] = value_set_mode,           [KIND_DURATION] = value_set_number,
		[KIND_SECONDS] = value_set_number,      [KIND_SIZE] = value_set_number,
		[KIND_SHARE] = value_set_share,         [KIND_FORMATS] = value_set_formats,
		[KIND_SYMBOLIZE] = value_set_symbolize, [KIND_LABEL] = value_set_label,
	};

	v->field = (char *)c + v->key->offset;
	return set[v->key->kind](v);
}

/* A field of zeros holds nothing. */
static void value_clear(struct config *c, const struct key *key)
{
	void *field = (char *)c + key->offset;

	if (key->kind == KIND_TEXT || key->kind == KIND_PATH)
		free(*(char **)field);
	else if (key->kind == KIND_LIST)
		list_free(*(char ***)field);
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

static void value_print(const struct key *key, const void *field, FILE *out)
{
	char buffer[UNITS_TEXT_MAX];
	uint64_t unit;

	switch (key->kind) {
	case KIND_TEXT:
	case KIND_PATH:
		fputs(*(char *const *)field, out);
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
	case KIND_DURATION:
	case KIND_SECONDS:
		unit = key->kind == KIND_SECONDS ? NS_PER_S : 1;
		units_print_duration(buffer, sizeof(buffer), unit * *(const uint64_t *)field);
		fputs(buffer, out);
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

/* --- a text ----------------------------------------------------------------------------------- */

/* One text that is being read. */
struct config_reading {
	struct config *config;
	struct config_message *message;
	const char *name;
	const char *section; /* NULL: its keys mean nothing, and that was said */
	unsigned line;
	int result; /* 0, CONFIG_E_INVALID or negative errno */
};

/* Returns CONFIG_E_INVALID. */
__attribute__((format(printf, 2, 3))) static int config_add_error(struct config_message *message,
								  const char *format, ...)
{
	size_t at = strlen(message->text);
	va_list args;

	if (message->n++ >= CONFIG_ERRORS_MAX)
		return CONFIG_E_INVALID;
	if (at)
		message->text[at++] = '\n';
	va_start(args, format);
	vsnprintf(message->text + at, CONFIG_ERROR_SIZE, format, args);
	va_end(args);
	return CONFIG_E_INVALID;
}

#define config_reject(reading, format, ...)                                         \
	((reading)->result = config_add_error((reading)->message, "%s:%u: " format, \
					      (reading)->name, (reading)->line, ##__VA_ARGS__))

/* The rest of @r, CONFIG_E_INVALID or another result of reading. */
static int config_end_errors(struct config_message *message, int r)
{
	size_t at = strlen(message->text);

	if (message->n > CONFIG_ERRORS_MAX)
		snprintf(message->text + at, sizeof(message->text) - at, "\n%u more errors",
			 message->n - CONFIG_ERRORS_MAX);
	return r;
}

/* Of two results the one that counts: an errno, else CONFIG_E_INVALID. */
static int config_worse(int a, int b)
{
	return a < 0 || (a && b >= 0) ? a : b;
}

/* Cuts off the blanks at both ends of @text. */
static char *config_trim(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	for (length = strlen(text); length && strchr(BLANKS, text[length - 1]);)
		length--;
	text[length] = '\0';
	return text;
}

static void config_set_key(struct config_reading *reading, const char *name, const char *text)
{
	const char *section = reading->section;
	bool section_known = false;

	if (!section)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct value v = {.key = &keys[i], .text = text};
		int r;

		if (strcmp(keys[i].section, section) != 0)
			continue;
		section_known = true;
		if (strcmp(keys[i].name, name) != 0)
			continue;
		r = value_set(reading->config, &v);
		if (r > 0)
			config_reject(reading, "%s %s", name, v.why);
		else if (r)
			reading->result = r;
		return;
	}
	if (section_known) {
		config_reject(reading, "unknown key '%s' in [%s]", name, section);
		return;
	}
	if (*section)
		config_reject(reading, "unknown section [%s]", section);
	else
		config_reject(reading, "'%s' is before any [section]", name);
	reading->section = NULL;
}

static void config_read_line(struct config_reading *reading, char *line)
{
	char *end;

	line = config_trim(line);
	if (!*line || *line == '#' || *line == ';')
		return;
	if (strstr(line, " ;") || strstr(line, "\t;")) {
		config_reject(reading, "a comment needs a line of its own");
		return;
	}
	end = *line == '[' ? strchr(line, ']') : strpbrk(line, "=:");
	if (!end && *line == '[') {
		config_reject(reading, "'%s' lacks its ]", line);
		reading->section = NULL;
	} else if (!end) {
		config_reject(reading, "'%s' is neither a [section] nor key = value", line);
	} else {
		*end = '\0';
		if (*line == '[')
			reading->section = line + 1;
		else
			config_set_key(reading, config_trim(line), config_trim(end + 1));
	}
}

static int config_apply_text(struct config *c, const char *text, const char *name,
			     struct config_message *message)
{
	struct config_reading reading = {
		.config = c, .message = message, .name = name, .section = ""};
	cleanup(freep) char *copy = NULL;
	int r = text_copy(&copy, text);
	char *rest = copy;

	if (!r && strncmp(rest, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
		rest += strlen(BYTE_ORDER_MARK);
	while (r >= 0 && rest) {
		reading.line++;
		config_read_line(&reading, strsep(&rest, "\n"));
		r = reading.result;
	}
	return r;
}

static int config_new(struct config **ret)
{
	cleanup(config_freep) struct config *c = calloc(1, sizeof(*c));

	if (!c)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct value v = {.key = &keys[i], .text = keys[i].standard};
		int r = value_set(c, &v);

		if (r)
			return r < 0 ? r : error_origin(-EINVAL);
	}
	*ret = steal_ptr(&c);
	return 0;
}

int config_parse(struct config **ret, const char *text, const char *name,
		 struct config_message *message)
{
	cleanup(config_freep) struct config *c = NULL;
	int r;

	*message = (struct config_message){.text = ""};
	r = config_new(&c) ?: config_apply_text(c, text, name, message);
	if (!r)
		*ret = steal_ptr(&c);
	return config_end_errors(message, r);
}

static int config_cannot_read(const char *path, const char *why, struct config_message *message)
{
	return config_add_error(message, "%s: cannot be read: %s", path, why);
}

static int config_apply_file(struct config *c, int directory, const char *path, const char *name,
			     struct config_message *message)
{
	cleanup(closep) int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	cleanup(freep) uint8_t *text = NULL;
	struct stat st;
	size_t size;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return config_cannot_read(name, strerrordesc_np(errno), message);
	if (!S_ISREG(st.st_mode))
		return config_cannot_read(name, "it is not a regular file", message);
	r = read_end(fd, FILE_SIZE_MAX, &text, &size);
	if (r == -ENOMEM)
		return error_origin(r);
	if (r)
		return config_cannot_read(name, strerrordesc_np(-r), message);
	if (memchr(text, '\0', size))
		return config_cannot_read(name, "it contains NUL bytes", message);
	return config_apply_text(c, (const char *)text, name, message);
}

static int is_drop_in(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 &&
	       strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static int dirent_compare_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int config_apply_dir(struct config *c, const char *path, struct config_message *message)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(freep) struct dirent **entries = NULL;
	int n, r = CONFIG_E_OK;

	if (fd < 0)
		return errno == ENOENT ? CONFIG_E_OK
				       : config_cannot_read(path, strerrordesc_np(errno), message);
	n = scandirat(fd, ".", &entries, is_drop_in, dirent_compare_name);
	if (n < 0)
		return config_cannot_read(path, strerrordesc_np(errno), message);
	for (int i = 0; i < n; i++) {
		cleanup(freep) char *name = NULL;

		if (r >= 0)
			r = config_worse(r, text_print(&name, "%s/%s", path, entries[i]->d_name)
						    ?: config_apply_file(c, fd, entries[i]->d_name,
									 name, message));
		free(entries[i]);
	}
	return r;
}

/* @path with its .d directory, or, without it, @standard, which need not exist. */
static int config_apply_all(struct config *c, const char *path, const char *standard,
			    struct config_message *message)
{
	const char *file = path ? path : standard;
	cleanup(freep) char *dir = NULL;
	int r = CONFIG_E_OK;

	if (!file)
		return CONFIG_E_OK;
	if (path || access(file, F_OK) == 0 || errno != ENOENT)
		r = config_apply_file(c, AT_FDCWD, file, file, message);
	if (r < 0)
		return r;
	return config_worse(r, text_print(&dir, "%s.d", file) ?: config_apply_dir(c, dir, message));
}

/* NULL: it stays. */
static int config_replace_text(char **text, const char *with)
{
	char *copy;
	int r = text_copy(&copy, with);

	if (!copy)
		return r;
	free(*text);
	*text = copy;
	return 0;
}

static int config_apply_user(struct config *c, const struct user_paths *user)
{
	int r = config_replace_text(&c->store_group, NO_GROUP);

	c->control_socket_mode = 0600;
	return r ?: config_set_paths(c, user->state, user->socket);
}

int config_load(struct config **ret, const char *path, const struct user_paths *user,
		struct config_message *message)
{
	cleanup(config_freep) struct config *c = NULL;
	int r = config_new(&c);

	*message = (struct config_message){.text = ""};
	if (!r && user)
		r = config_apply_user(c, user);
	if (!r)
		r = config_apply_all(c, path, user ? user->config : DEFAULT_PATH, message);
	if (!r)
		*ret = steal_ptr(&c);
	return config_end_errors(message, r);
}

int config_set_paths(struct config *c, const char *store_path, const char *control_socket)
{
	return config_replace_text(&c->store_path, store_path)
		       ?: config_replace_text(&c->control_socket, control_socket);
}

bool config_swap_restart_only(struct config *a, struct config *b)
{
	static const struct {
		size_t offset, size; /* size 0: a text */
	} fields[] = {
		{AT(store_path), 0},
		{AT(store_group), 0},
		{AT(control_socket), 0},
		{AT(control_socket_mode), sizeof(a->control_socket_mode)},
		{AT(memory_budget), sizeof(a->memory_budget)},
		{AT(exclude_self), sizeof(a->exclude_self)},
	};
	bool differ = false;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t size = fields[i].size ? fields[i].size : sizeof(char *);
		char *x = (char *)a + fields[i].offset, *y = (char *)b + fields[i].offset;
		uint64_t kept;

		differ |= fields[i].size ? memcmp(x, y, size) != 0
					 : strcmp(*(char **)(void *)x, *(char **)(void *)y) != 0;
		memcpy(&kept, x, size);
		memcpy(x, y, size);
		memcpy(y, &kept, size);
	}
	return differ;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		value_clear(c, &keys[i]);
	free(c);
}

int config_print(const struct config *c, FILE *out)
{
	const char *section = "";

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(section, keys[i].section) != 0)
			fprintf(out, "%s[%s]\n", *section ? "\n" : "", keys[i].section);
		section = keys[i].section;
		fprintf(out, "%s = ", keys[i].name);
		value_print(&keys[i], (const char *)c + keys[i].offset, out);
		fputc('\n', out);
	}
	return fflush(out) == 0 && !ferror(out) ? 0 : error_origin(-EIO);
}
