/* SPDX-License-Identifier: MIT */
/*
 * One table, keys[], says for every key where it is written, what values it takes and what it is
 * by default. Reading, printing and the defaults go by it.
 *
 * The text goes through inih, fed line by line by config_read_line(), which knows the line number
 * for the messages and refuses what inih would read otherwise than the writer of the file meant:
 * lines longer than its buffer (it would split them), text behind " ;" (it would drop it) and NUL
 * bytes. Leading blanks are taken off, so no line continues another.
 *
 * A list key may be given several times and grows; an empty value empties it. This is how a file
 * in profd.conf.d/ adds to the main one, and how a long list fits into lines.
 */
#include "common/config/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <ini.h>

#include "common/clock.h"
#include "common/config/config_value.h"
#include "common/error.h"
#include "common/read_end.h"
#include "common/store/contents.h"
#include "common/text_print.h"
#include "common/user_paths.h"

#define DEFAULT_PATH  "/etc/profd/profd.conf"
#define NO_GROUP      "none" /* no name of one */
#define FILE_SIZE_MAX (1024 * 1024)
#define LINE_MAX_SIZE 190 /* inih's buffer has 200 with line end and NUL */
#define DAY           (86400 * NS_PER_S)

#define AT(field) offsetof(struct config, field)

#define LABEL_KEY(label, key, is_on)                                            \
	{                                                                       \
		"labels", #key, KIND_LABEL, AT(labels), LABEL_##label, 0, is_on \
	}

static const struct key keys[] = {
	{"sampling", "event", KIND_TEXT, AT(event), 1, 31, "auto"},
	{"sampling", "frequency", KIND_U64, AT(frequency), 1, 100000, "99"},
	{"sampling", "kernel_stacks", KIND_BOOL, AT(kernel_stacks), 0, 0, "yes"},
	{"sampling", "max_depth", KIND_U32, AT(max_depth), 1, 1024, "1024"},
	{"sampling", "exclude_self", KIND_BOOL, AT(exclude_self), 0, 0, "yes"},
	{"sampling", "max_cpu", KIND_SHARE, AT(max_cpu), 0, 0, "1%"},
	{"system", "enabled", KIND_BOOL, AT(system_enabled), 0, 0, "yes"},
	{"system", "exclude_services", KIND_LIST, AT(exclude_services), 0, 0, ""},
	{"system", "exclude_comms", KIND_LIST, AT(exclude_comms), 0, 0, ""},
	{"flush", "interval", KIND_DURATION, AT(interval_ns), NS_PER_S, DAY, "60s"},
	{"flush", "formats", KIND_FORMATS, AT(formats), 0, 0, "pprof,legacy,images"},
	{"flush", "symbolize", KIND_SYMBOLIZE, AT(symbolize), 0, 0, "functions"},
	LABELS(LABEL_KEY),
	{"store", "path", KIND_PATH, AT(store_path), 1, 180, "/var/lib/profd"},
	{"store", "max_size", KIND_SIZE, AT(store_max_size), 1 << 20, UINT64_MAX, "2G"},
	{"store", "min_free", KIND_SIZE, AT(store_min_free), 0, UINT64_MAX, "1G"},
	{"store", "max_age", KIND_DURATION, AT(store_max_age_ns), 60 * NS_PER_S, 36500 * DAY, "7d"},
	{"store", "keep_windows", KIND_U32, AT(store_keep_windows), 0, 100000, "3"},
	{"store", "rollup_after", KIND_DURATION, AT(store_rollup_after_ns), 60 * NS_PER_S,
	 36500 * DAY, "6h"},
	{"store", "legacy_keep", KIND_DURATION, AT(store_legacy_keep_ns), 0, 36500 * DAY, "1h"},
	{"store", "legacy_max_processes", KIND_U32, AT(store_legacy_max_processes), 0, 1000000,
	 "64"},
	{"store", "group", KIND_TEXT, AT(store_group), 1, 31, "profd"},
	{"memory", "budget", KIND_SIZE, AT(memory_budget), 16 << 20, UINT64_C(1) << 40, "128M"},
	{"control", "socket", KIND_PATH, AT(control_socket), 1, 107, "/run/profd/control.sock"},
	{"control", "socket_mode", KIND_MODE, AT(control_socket_mode), 0, 0777, "0666"},
	{"control", "max_sessions", KIND_U32, AT(control_max_sessions), 1, 1024, "64"},
	{"debuginfod", "enabled", KIND_BOOL, AT(debuginfod_enabled), 0, 0, "no"},
	{"debuginfod", "urls", KIND_LIST, AT(debuginfod_urls), 0, 0, ""},
};

/* One text on its way through inih. */
struct config_reading {
	struct config *config;
	struct config_message *message;
	const char *name, *next;
	unsigned line;
	int result; /* 0, CONFIG_E_INVALID or negative errno; the first one stays */
};

static void config_reject(struct config_reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void config_reject(struct config_reading *reading, const char *format, ...)
{
	char *text = reading->message->text;
	size_t size = sizeof(reading->message->text);
	va_list args;
	int n;

	if (reading->result)
		return;
	reading->result = CONFIG_E_INVALID;
	n = snprintf(text, size, "%s:%u: ", reading->name, reading->line);
	if (n < 0 || (size_t)n >= size)
		return;
	va_start(args, format);
	vsnprintf(text + n, size - (size_t)n, format, args);
	va_end(args);
}

/* inih's reader: one line, without leading blanks; NULL at the end or after an error. */
static char *config_read_line(char *buffer, int size, void *stream)
{
	struct config_reading *reading = stream;
	const char *start = reading->next, *comment;
	size_t length;

	if (reading->result || !*start)
		return NULL;
	length = strcspn(start, "\n");
	reading->next = start + length + (start[length] == '\n');
	reading->line++;
	if (reading->line == 1 && length >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0) {
		start += 3;
		length -= 3;
	}
	while (length && (*start == ' ' || *start == '\t')) {
		start++;
		length--;
	}
	if (length && (*start == '#' || *start == ';'))
		length = 0;
	if (length > LINE_MAX_SIZE || length + 2 > (size_t)size) {
		config_reject(reading,
			      "lines are limited to %d bytes; a list may be given on several lines",
			      LINE_MAX_SIZE);
		return NULL;
	}
	memcpy(buffer, start, length);
	buffer[length] = '\0';
	comment = strpbrk(buffer, ";");
	if (comment && (comment == buffer || comment[-1] == ' ' || comment[-1] == '\t')) {
		config_reject(reading, "a comment needs a line of its own");
		return NULL;
	}
	/* What inih cannot read is told here, where the line is known. */
	if (length && buffer[0] != '[' && !strpbrk(buffer, "=:")) {
		config_reject(reading, "'%s' is neither a [section] nor key = value", buffer);
		return NULL;
	}
	if (buffer[0] == '[' && !strchr(buffer, ']')) {
		config_reject(reading, "'%s' lacks its ]", buffer);
		return NULL;
	}
	buffer[length] = '\n';
	buffer[length + 1] = '\0';
	return buffer;
}

/* inih's handler; 1: go on. */
static int handle_key(void *userdata, const char *section, const char *name, const char *text)
{
	struct config_reading *reading = userdata;
	bool section_known = false;

	if (reading->result)
		return 0;
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
		else if (r < 0)
			reading->result = r;
		return r == 0;
	}
	if (!*section)
		config_reject(reading, "'%s' is before any [section]", name);
	else if (section_known)
		config_reject(reading, "unknown key '%s' in [%s]", name, section);
	else
		config_reject(reading, "unknown section [%s]", section);
	return 0;
}

static int config_apply_text(struct config *c, const char *text, const char *name,
			     struct config_message *message)
{
	struct config_reading reading = {
		.config = c, .message = message, .name = name, .next = text};
	int r = ini_parse_stream(config_read_line, &reading, handle_key, &reading);

	if (reading.result)
		return reading.result;
	if (r < 0)
		return error_origin(-ENOMEM);
	if (r > 0) {
		reading.line = (unsigned)r;
		config_reject(&reading, "neither a [section] nor key = value");
	}
	return reading.result;
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
	int r = config_new(&c) ?: config_apply_text(c, text, name, message);

	if (!r)
		*ret = steal_ptr(&c);
	return r;
}

static int config_cannot_read(const char *path, const char *why, struct config_message *message)
{
	snprintf(message->text, sizeof(message->text), "%s: cannot be read: %s", path, why);
	return CONFIG_E_INVALID;
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

		if (r == CONFIG_E_OK)
			r = text_print(&name, "%s/%s", path, entries[i]->d_name)
				    ?: config_apply_file(c, fd, entries[i]->d_name, name, message);
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
	int r;

	if (!file)
		return CONFIG_E_OK;
	if (path || access(file, F_OK) == 0 || errno != ENOENT) {
		r = config_apply_file(c, AT_FDCWD, file, file, message);
		if (r)
			return r;
	}
	return text_print(&dir, "%s.d", file) ?: config_apply_dir(c, dir, message);
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

	if (!r && user)
		r = config_apply_user(c, user);
	if (!r)
		r = config_apply_all(c, path, user ? user->config : DEFAULT_PATH, message);
	if (!r)
		*ret = steal_ptr(&c);
	return r;
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
		value_print(c, &keys[i], out);
	}
	return fflush(out) == 0 && !ferror(out) ? 0 : error_origin(-EIO);
}
