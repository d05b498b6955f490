/* SPDX-License-Identifier: MIT */
/*
 * A name is put together from the parts that a frame has: address, function, file with its line, or
 * else the object. For a box the function is shortened first, by the rules of the language that it
 * looks like: the package's path of Go, the packages of Java, the namespaces of C++.
 */
#include "client/analysis/node_name.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/analysis/frame.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/room.h"
#include "common/utf8.h"

const char *node_name_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *node_name_program(const struct profile *p)
{
	return p->n_mappings ? node_name_base(profile_string(p, p->mappings[0].path)) : "";
}

char *node_name_plain(const char *text)
{
	char *plain = strdup(text);

	if (plain)
		utf8_make_harmless(plain, "");
	return plain;
}

/* The parts of a name, each after @separator but the first. */
static int node_name_join(const struct profile *p, const struct frame *f, const char *function,
			  const char *file, char separator, char **ret)
{
	cleanup(freep) char *object = node_name_plain(node_name_base(profile_string(p, f->object)));
	char address[20] = "", line[40] = "";
	const char *first, *second, *third;
	bool has_object;
	int r;

	if (!object)
		return error_origin(-ENOMEM);
	has_object = !*file && !f->line && !*function && *object;
	if (f->address)
		snprintf(address, sizeof(address), "%016" PRIx64, f->address);
	if (f->line && f->column)
		snprintf(line, sizeof(line), ":%" PRId64 ":%" PRId32, f->line, f->column);
	else if (f->line)
		snprintf(line, sizeof(line), ":%" PRId64, f->line);
	first = address;
	second = function;
	third = has_object ? object : file;
	if (!*third && !*line && !*function)
		third = "<unknown>";
	r = asprintf(ret, "%s%.*s%s%.*s%s%s%s%s", first, *first && *second, &separator, second,
		     (*first || *second) && (*third || *line), &separator, has_object ? "[" : "",
		     third, line, has_object ? "]" : "");
	return r < 0 ? error_origin(-ENOMEM) : 0;
}

struct frame node_name_bare(const struct frame *frame)
{
	struct frame bare = *frame;

	if (bare.name)
		bare.filename = 0;
	if (bare.name || bare.filename)
		bare.line = 0;
	return bare;
}

int node_name(const struct profile *p, const struct frame *f, char **ret)
{
	cleanup(freep) char *function = node_name_plain(profile_string(p, f->name));
	cleanup(freep) char *file = node_name_plain(profile_string(p, f->filename));

	if (!function || !file)
		return error_origin(-ENOMEM);
	return node_name_join(p, f, function, file, ' ', ret);
}

void node_names_deinit(struct node_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->all[i]);
	free(names->all);
}

int node_names_make(struct node_names *names, const struct profile *p, const struct frame *frame,
		    uint32_t i)
{
	size_t n = names->n;
	int r = room_make(&names->all, &names->n, (size_t)i + 1, sizeof(*names->all));

	if (!r && names->n > n)
		memset(names->all + n, 0, (names->n - n) * sizeof(*names->all));
	return r || names->all[i] ? r : node_name(p, frame, &names->all[i]);
}

static bool node_name_is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char *text, const char *also)
{
	size_t n = 0;

	while (node_name_is_word_char(text[n]) || (text[n] && strchr(also, text[n])))
		n++;
	return n;
}

/* "example.com/a/v2/b.F" is "example.com/a/b.F": a module's major version tells nothing. */
static void drop_version(char *name)
{
	for (char *slash = strstr(name, "/v"); slash; slash = strstr(slash + 1, "/v")) {
		size_t digits = strspn(slash + 2, "0123456789");
		char after = slash[2 + digits];

		if (!digits || slash[2] == '0' || (digits == 1 && slash[2] == '1') ||
		    (after != '/' && after != '.'))
			continue;
		memmove(slash, slash + 2 + digits, strlen(slash + 2 + digits) + 1);
		return;
	}
}

/* Whether it is "package.function", whatever these are. */
static bool is_go_function(const char *name)
{
	size_t n = strcspn(name, ".");

	return n && name[n] && name[n + 1];
}

/* Go: behind the last directory of the package's path. NULL: there is none. */
static const char *shorten_go(const char *name)
{
	const char *rest = NULL;

	for (size_t n = word_length(name, "-."); n && name[n] == '/' && name[n + 1];
	     n = word_length(name, "-.")) {
		name += n + 1;
		if (is_go_function(name))
			rest = name;
	}
	return rest;
}

/* Java: Class.method of package.package.Class.method(...); the end is in *ret_end. */
static const char *shorten_java(const char *name, const char **ret_end)
{
	const char *class, *end;

	while (islower((unsigned char)*name) && name[word_length(name, "")] == '.')
		name += word_length(name, "") + 1;
	class = name;
	if (!isupper((unsigned char)*class) || class[word_length(class, "$")] != '.')
		return NULL;
	end = class + word_length(class, "$") + 1;
	if (strncmp(end, "<init>", 6) == 0)
		end += 6;
	else if (islower((unsigned char)*end))
		end += word_length(end, "$");
	else
		return NULL;
	*ret_end = end;
	return !*end || *end == '(' ? class : NULL;
}

/* C++: Class::method of space::space::Class::method<...>(...), with what is in the <>. */
static const char *shorten_cpp(const char *name, const char **ret_end)
{
	const char *class = NULL, *part = name, *next, *last;
	size_t n;

	for (;; part = next) {
		n = isdigit((unsigned char)*part) ? 0 : word_length(part, "");
		if (!n || strncmp(part + n, "::", 2) != 0)
			break;
		next = part + n + 2;
		last = next + (*next == '~');
		if (part != name && isupper((unsigned char)part[strspn(part, "_")]) &&
		    node_name_is_word_char(*last) && !isdigit((unsigned char)*last)) {
			class = part;
			*ret_end = last + word_length(last, "");
		}
	}
	last = class && **ret_end == '<' ? strrchr(*ret_end, '>') : NULL;
	if (last)
		*ret_end = last + 1;
	return class;
}

/* In place. */
static void node_name_shorten(char *name)
{
	static const char anonymous[] = "(anonymous namespace)::";
	const char *from, *end;

	if (strncmp(name, anonymous, sizeof(anonymous) - 1) == 0)
		memmove(name, name + sizeof(anonymous) - 1, strlen(name) - sizeof(anonymous) + 2);
	drop_version(name);
	from = shorten_go(name);
	if (from) {
		memmove(name, from, strlen(from) + 1);
		return;
	}
	from = shorten_java(name, &end);
	if (!from)
		from = shorten_cpp(name, &end);
	if (from) {
		size_t length = (size_t)(end - from);

		memmove(name, from, length);
		name[length] = '\0';
	}
}

/* "::" and "." end a line; Go's "[...]" stays whole. In place: no line is longer than it was. */
static void break_lines(char *name)
{
	char *out = name;

	for (const char *c = name; *c;) {
		if (strncmp(c, "[...]", 5) == 0) {
			memmove(out, c, 5);
			out += 5;
			c += 5;
		} else if (strncmp(c, "::", 2) == 0) {
			*out++ = '\n';
			c += 2;
		} else {
			*out++ = *c == '.' ? '\n' : *c;
			c++;
		}
	}
	*out = '\0';
}

int node_name_lines(const struct profile *p, const struct frame *f, char **ret)
{
	cleanup(freep) char *function = node_name_plain(profile_string(p, f->name));
	cleanup(freep) char *file = node_name_plain(node_name_base(profile_string(p, f->filename)));

	if (!function || !file)
		return error_origin(-ENOMEM);
	node_name_shorten(function);
	break_lines(function);
	return node_name_join(p, f, function, file, '\n', ret);
}
