/* SPDX-License-Identifier: MIT */
/*
 * A list without order: there are few, and mostly none. An hour is found by its shelf and start;
 * setbacks_due() looks for the one that has waited for longest.
 */
#include "daemon/output/setbacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

void setbacks_deinit(struct setbacks *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->all[i].dir);
	free(s->all);
	*s = (struct setbacks){0};
}

/* Where it stands, or s->n. */
static size_t setbacks_find(const struct setbacks *s, const char *dir, uint64_t hour_s)
{
	size_t i = 0;

	while (i < s->n && (s->all[i].hour_s != hour_s || strcmp(s->all[i].dir, dir) != 0))
		i++;
	return i;
}

static void setbacks_remove_at(struct setbacks *s, size_t i)
{
	free(s->all[i].dir);
	s->all[i] = s->all[--s->n];
}

static void setbacks_drop_first_due(struct setbacks *s)
{
	size_t first = 0;

	for (size_t i = 1; i < s->n; i++)
		if (s->all[i].due_s < s->all[first].due_s)
			first = i;
	setbacks_remove_at(s, first);
}

static int setbacks_append(struct setbacks *s, const char *dir, uint64_t hour_s)
{
	struct setback *moved;

	if (s->n == SETBACKS_MAX)
		setbacks_drop_first_due(s);
	moved = reallocarray(s->all, s->n + 1, sizeof(*moved));
	if (!moved)
		return error_origin(-ENOMEM);
	s->all = moved;
	moved[s->n] = (struct setback){.dir = strdup(dir), .hour_s = hour_s};
	if (!moved[s->n].dir)
		return error_origin(-ENOMEM);
	s->n++;
	return 0;
}

int setbacks_add(struct setbacks *s, const char *dir, uint64_t hour_s, uint64_t now_s)
{
	struct setback *b;
	int r = setbacks_has(s, dir, hour_s) ? 0 : setbacks_append(s, dir, hour_s);

	if (r)
		return r;
	b = &s->all[setbacks_find(s, dir, hour_s)];
	b->pause_s = b->pause_s ? 2 * b->pause_s : SETBACKS_PAUSE_S;
	if (b->pause_s > SETBACKS_PAUSE_MAX_S)
		b->pause_s = SETBACKS_PAUSE_MAX_S;
	b->due_s = now_s + b->pause_s;
	return 0;
}

void setbacks_remove(struct setbacks *s, const char *dir, uint64_t hour_s)
{
	size_t i = setbacks_find(s, dir, hour_s);

	if (i < s->n)
		setbacks_remove_at(s, i);
}

bool setbacks_has(const struct setbacks *s, const char *dir, uint64_t hour_s)
{
	return setbacks_find(s, dir, hour_s) < s->n;
}

bool setbacks_has_dir(const struct setbacks *s, const char *dir)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->all[i].dir, dir) == 0)
			return true;
	return false;
}

const struct setback *setbacks_due(const struct setbacks *s, uint64_t now_s)
{
	const struct setback *first = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct setback *b = &s->all[i];
		bool jumped = b->due_s > now_s + b->pause_s;

		if ((b->due_s <= now_s || jumped) && (!first || b->due_s < first->due_s))
			first = b;
	}
	return first;
}
