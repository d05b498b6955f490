/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/maps.h"

#include <string.h>
#include <sys/mman.h>

/* What is left of a line. Each take_ function moves on and returns false on anything unexpected. */
struct cursor {
	const char *at, *end;
};

static bool maps_match_char(struct cursor *c, char expected)
{
	if (c->at == c->end || *c->at != expected)
		return false;
	c->at++;
	return true;
}

static bool maps_parse_hex(struct cursor *c, uint64_t *ret)
{
	const char *start = c->at;
	uint64_t value = 0;

	for (; c->at < c->end; c->at++) {
		unsigned digit;

		if (*c->at >= '0' && *c->at <= '9')
			digit = (unsigned)(*c->at - '0');
		else if (*c->at >= 'a' && *c->at <= 'f')
			digit = (unsigned)(*c->at - 'a') + 10;
		else
			break;
		if (value >> 60)
			return false;
		value = value << 4 | digit;
	}
	*ret = value;
	return c->at > start;
}

static bool maps_parse_decimal(struct cursor *c, uint64_t *ret)
{
	const char *start = c->at;
	uint64_t value = 0;

	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
		unsigned digit = (unsigned)(*c->at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret = value;
	return c->at > start;
}

/* One letter of "rwxp": @letter sets @bit, '-' does not. */
static bool maps_parse_permission(struct cursor *c, char letter, uint32_t bit, uint32_t *prot)
{
	if (maps_match_char(c, letter)) {
		*prot |= bit;
		return true;
	}
	return maps_match_char(c, '-');
}

static bool maps_parse_fields(struct cursor *c, struct maps_line *line)
{
	uint64_t major, minor;

	if (!maps_parse_hex(c, &line->start) || !maps_match_char(c, '-') ||
	    !maps_parse_hex(c, &line->end) || !maps_match_char(c, ' ') || line->start >= line->end)
		return false;
	line->prot = 0;
	if (!maps_parse_permission(c, 'r', PROT_READ, &line->prot) ||
	    !maps_parse_permission(c, 'w', PROT_WRITE, &line->prot) ||
	    !maps_parse_permission(c, 'x', PROT_EXEC, &line->prot))
		return false;
	if (maps_match_char(c, 's'))
		line->flags = MAP_SHARED;
	else if (maps_match_char(c, 'p'))
		line->flags = MAP_PRIVATE;
	else
		return false;
	if (!maps_match_char(c, ' ') || !maps_parse_hex(c, &line->offset) ||
	    !maps_match_char(c, ' ') || !maps_parse_hex(c, &major) || !maps_match_char(c, ':') ||
	    !maps_parse_hex(c, &minor) || !maps_match_char(c, ' ') ||
	    !maps_parse_decimal(c, &line->inode))
		return false;
	if (major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	line->device_major = (uint32_t)major;
	line->device_minor = (uint32_t)minor;
	return c->at == c->end || *c->at == ' ';
}

/*
 * The kernel escapes a newline as \012 and nothing else (fs/proc/task_mmu.c, show_map_vma()), not
 * even the backslash: a name that holds these four characters reads as one with a newline.
 */
static void maps_parse_path(struct cursor *c, struct maps_line *line)
{
	static const char deleted[] = " (deleted)", escape[] = "\\012";
	size_t n = 0;

	while (maps_match_char(c, ' '))
		;
	line->deleted = (size_t)(c->end - c->at) >= sizeof(deleted) - 1 &&
			memcmp(c->end - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0;
	if (line->deleted)
		c->end -= sizeof(deleted) - 1;
	while (c->at < c->end && n < sizeof(line->path)) {
		if ((size_t)(c->end - c->at) >= sizeof(escape) - 1 &&
		    memcmp(c->at, escape, sizeof(escape) - 1) == 0) {
			line->path[n++] = '\n';
			c->at += sizeof(escape) - 1;
		} else {
			line->path[n++] = *c->at++;
		}
	}
	if (n < sizeof(line->path))
		line->path[n] = '\0';
	else
		strcpy(line->path, "//toolong");
}

void maps_reader_init(struct maps_reader *reader, const char *text, size_t length)
{
	*reader = (struct maps_reader){.text = text, .length = length};
}

bool maps_reader_next(struct maps_reader *reader, struct maps_line *ret)
{
	while (reader->position < reader->length) {
		const char *start = reader->text + reader->position;
		size_t rest = reader->length - reader->position;
		const char *newline = memchr(start, '\n', rest);
		struct cursor c = {start, newline ? newline : start + rest};

		reader->position += (size_t)(c.end - start) + (newline ? 1 : 0);
		if (!maps_parse_fields(&c, ret)) {
			reader->n_malformed++;
		} else if (ret->prot & PROT_EXEC) {
			maps_parse_path(&c, ret);
			return true;
		}
	}
	return false;
}

/* Skips @n fields, each with the space before it. */
static bool skip_fields(struct cursor *c, unsigned n)
{
	while (n-- > 0) {
		if (!maps_match_char(c, ' ') || c->at == c->end || *c->at == ' ')
			return false;
		while (c->at < c->end && *c->at != ' ')
			c->at++;
	}
	return true;
}

/*
 * "pid (comm) state ppid ..." with flags as field 9 and starttime as field 22. comm may hold
 * spaces, parentheses and newlines; no later field holds a parenthesis, so the last one ends it.
 */
int maps_parse_stat(const char *text, size_t length, struct maps_stat *ret)
{
	struct cursor c = {text, text + length};
	const char *comm, *comm_end;
	uint64_t pid, ppid, flags, n_threads, start;
	size_t n;

	if (length == 0)
		return MAPS_E_MALFORMED;
	if (!maps_parse_decimal(&c, &pid) || !maps_match_char(&c, ' ') || !maps_match_char(&c, '('))
		return MAPS_E_MALFORMED;
	comm = c.at;
	comm_end = memrchr(comm, ')', (size_t)(c.end - comm));
	if (!comm_end)
		return MAPS_E_MALFORMED;
	c.at = comm_end + 1;
	if (!maps_match_char(&c, ' ') || c.at == c.end)
		return MAPS_E_MALFORMED;
	ret->state = *c.at++;
	if (!maps_match_char(&c, ' ') || !maps_parse_decimal(&c, &ppid) || !skip_fields(&c, 4) ||
	    !maps_match_char(&c, ' ') || !maps_parse_decimal(&c, &flags) || !skip_fields(&c, 10) ||
	    !maps_match_char(&c, ' ') || !maps_parse_decimal(&c, &n_threads) ||
	    !skip_fields(&c, 1) || !maps_match_char(&c, ' ') || !maps_parse_decimal(&c, &start))
		return MAPS_E_MALFORMED;
	if (pid > INT32_MAX || ppid > INT32_MAX || flags > UINT32_MAX)
		return MAPS_E_MALFORMED;
	n = (size_t)(comm_end - comm);
	n = n < sizeof(ret->comm) ? n : sizeof(ret->comm) - 1;
	memcpy(ret->comm, comm, n);
	ret->comm[n] = '\0';
	ret->pid = (pid_t)pid;
	ret->ppid = (pid_t)ppid;
	ret->flags = (uint32_t)flags;
	ret->n_threads = n_threads < UINT32_MAX ? (uint32_t)n_threads : UINT32_MAX;
	ret->start_ticks = start;
	return MAPS_E_OK;
}
