/* SPDX-License-Identifier: MIT */
/*
 * Lines are copied one behind another and cut into fields there, then sorted: equal ones, which a
 * file of several windows cannot have, are one, and of those that contradict each other none
 * counts.
 */
#include "common/profile/file_ids.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/profile/profile.h"
#include "common/room.h"

#define LINES_MAX         16384u
#define HTLHASH_HEX       32u
#define HEX_DIGITS        "0123456789abcdef"
#define FILE_FIELD        " file="
#define FIELD(name, text) (*(text) ? " " name "=" : ""), (text)

char *file_ids_print(const struct file_ids *ids)
{
	char *line = NULL;

	if (asprintf(&line, FILE_IDS_LINE "%s%s%s%s%s%s" FILE_FIELD "%s",
		     FIELD("htlhash", ids->htlhash), FIELD("go", ids->go), FIELD("gnu", ids->gnu),
		     ids->path) < 0)
		return NULL;
	return line;
}

/* --- reading -----------------------------------------------------------------------------------
 */

static bool file_ids_is_line(const char *comment)
{
	return strncmp(comment, FILE_IDS_LINE, strlen(FILE_IDS_LINE)) == 0;
}

static void file_ids_take_field(const char *field, struct file_ids *ids)
{
	const char *value = strchr(field, '=');
	const struct {
		const char *name;
		const char **text;
	} fields[] = {{"htlhash=", &ids->htlhash}, {"go=", &ids->go}, {"gnu=", &ids->gnu}};

	for (size_t i = 0; value && i < ARRAY_SIZE(fields); i++)
		if (strncmp(field, fields[i].name, strlen(fields[i].name)) == 0)
			*fields[i].text = value + 1;
}

/* Cuts @line, behind its beginning, into fields. False: it is none of ours. */
static bool file_ids_parse(char *line, struct file_ids *ret)
{
	char *path = strstr(line, FILE_FIELD), *field;

	*ret = (struct file_ids){"", "", "", ""};
	if (!path)
		return false;
	*path = '\0';
	ret->path = path + strlen(FILE_FIELD);
	while ((field = strsep(&line, " ")))
		file_ids_take_field(field, ret);
	return !*ret->htlhash || (strlen(ret->htlhash) == HTLHASH_HEX &&
				  strspn(ret->htlhash, HEX_DIGITS) == HTLHASH_HEX);
}

static int file_ids_compare_files(const struct file_ids *x, const struct file_ids *y)
{
	return strcmp(x->path, y->path) ?: strcmp(x->gnu, y->gnu);
}

static int file_ids_compare_values(const struct file_ids *x, const struct file_ids *y)
{
	return strcmp(x->htlhash, y->htlhash) ?: strcmp(x->go, y->go);
}

DEFINE_ORDER(file_ids_compare, struct file_ids,
	     file_ids_compare_files(x, y) ?: file_ids_compare_values(x, y))

/* Of each file one, or none if there are several. */
static void file_ids_settle(struct file_ids_table *t)
{
	size_t n = 0;

	for (size_t i = 0, end; i < t->n; i = end) {
		for (end = i + 1; end < t->n && !file_ids_compare_files(&t->all[i], &t->all[end]);
		     end++)
			;
		if (!file_ids_compare_values(&t->all[i], &t->all[end - 1]))
			t->all[n++] = t->all[i];
	}
	t->n = n;
}

static int file_ids_copy_lines(struct file_ids_table *t, const struct profile *p)
{
	size_t size = 1;
	char *at;

	for (size_t i = 0; i < p->n_comments; i++) {
		const char *line = profile_string(p, p->comments[i]);

		size += file_ids_is_line(line) ? strlen(line) + 1 : 0;
	}
	t->text = at = malloc(size);
	if (!t->text)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < p->n_comments && t->n < LINES_MAX; i++) {
		const char *line = profile_string(p, p->comments[i]);
		struct file_ids ids;
		int r;

		if (!file_ids_is_line(line))
			continue;
		line += strlen(FILE_IDS_LINE);
		memcpy(at, line, strlen(line) + 1);
		if (file_ids_parse(at, &ids)) {
			r = room_append(&t->all, &t->max, &t->n, ids);
			if (r)
				return r;
		}
		at += strlen(line) + 1;
	}
	return 0;
}

int file_ids_read(struct file_ids_table *t, const struct profile *p)
{
	int r = file_ids_copy_lines(t, p);

	if (r || !t->n)
		return r;
	qsort(t->all, t->n, sizeof(*t->all), file_ids_compare);
	file_ids_settle(t);
	return 0;
}

const struct file_ids *file_ids_find(const struct file_ids_table *t, const struct profile *p,
				     const struct profile_mapping *m)
{
	const struct file_ids wanted = {.gnu = profile_string(p, m->build_id),
					.path = profile_string(p, m->path)};
	const size_t i = partition_point(t->n, k, file_ids_compare_files(&t->all[k], &wanted) < 0);
	return i < t->n && !file_ids_compare_files(&t->all[i], &wanted) ? &t->all[i] : NULL;
}
