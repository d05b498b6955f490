/* SPDX-License-Identifier: MIT */
/*
 * The files of a configuration, in their order, line by line. An error is kept with its file and
 * line, and the rest is read: all errors are reported at once. What others take for a comment, text
 * behind " ;", is refused.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/config/config_private.h"
#include "common/error.h"
#include "common/read_end.h"
#include "common/text_print.h"
#include "common/user_paths.h"

#define DEFAULT_PATH    "/etc/profd/profd.conf"
#define FILE_SIZE_MAX   (1024 * 1024)
#define BLANKS          " \t\r"
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* One text that is being read. */
struct config_reading {
	struct config *config;
	struct config_message *message;
	const char *name;
	const char *section;          /* NULL: its keys mean nothing, and that was said */
	struct config_export *export; /* whose keys these are; NULL: the configuration's */
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

/* Once all values are accepted. */
static int config_finish(struct config *c, struct config_message *message)
{
	int r = 0;

	for (size_t i = 0; i < c->n_exports && r >= 0; i++) {
		struct config_export *e = &c->exports[i];
		const char *lacks = NULL;

		r = config_worse(r, config_export_finish(e, &lacks));
		if (lacks)
			config_add_error(message, "%s: [export %s] lacks %s", e->place, e->name,
					 lacks);
	}
	return r;
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
	const struct config_key *key = reading->export ? config_export_keys : config_keys;
	void *fields = reading->export ? (void *)reading->export : reading->config;
	const char *section = reading->section;
	bool section_known = false;

	if (!section)
		return;
	for (; key->name; key++) {
		struct config_value v = {.key = key, .text = text};
		int r;

		if (strcmp(key->section, section) != 0)
			continue;
		section_known = true;
		if (strcmp(key->name, name) != 0)
			continue;
		r = config_value_set(fields, &v);
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

static void config_begin_section(struct config_reading *reading, const char *section)
{
	size_t length = strcspn(section, BLANKS);
	struct config_export *export = NULL;
	char why[200] = "";
	int r = 0;

	reading->section = section;
	if (strncmp(section, "export", length) == 0 && length == strlen("export")) {
		reading->section = "export";
		r = config_export_begin(reading->config, section + length, reading->name,
					reading->line, &export, why);
	}
	reading->export = export;
	if (!r)
		return;
	reading->section = NULL;
	if (r < 0)
		reading->result = r;
	else
		config_reject(reading, "[%s] %s", section, why);
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
			config_begin_section(reading, line + 1);
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

int config_parse(struct config **ret, const char *text, const char *name,
		 struct config_message *message)
{
	cleanup(config_freep) struct config *c = NULL;
	int r;

	*message = (struct config_message){.text = ""};
	r = config_new(&c) ?: config_apply_text(c, text, name, message);
	if (!r)
		r = config_finish(c, message);
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
	if (r)
		return r < 0 ? r : config_cannot_read(name, strerrordesc_np(r), message);
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
		r = config_finish(c, message);
	if (!r)
		*ret = steal_ptr(&c);
	return config_end_errors(message, r);
}
