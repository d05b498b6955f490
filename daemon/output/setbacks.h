/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SETBACKS_H
#define PROFD_OUTPUT_SETBACKS_H

/*
 * Hours that could not be rolled up. Why is often the hour's own affair, a directory that nobody
 * can write to, say: so they wait, each time it fails twice as long as before, from ten minutes up
 * to six hours.
 *
 * Memory only. Time is an argument, Unix time: a clock that jumped back ends the waiting.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETBACKS_MAX         1000u /* beyond them the one that is due first is forgotten */
#define SETBACKS_PAUSE_S     600u
#define SETBACKS_PAUSE_MAX_S 21600u

struct setback {
	char *dir; /* the shelf's */
	uint64_t hour_s;
	uint64_t due_s;
	uint64_t pause_s; /* the last one */
};

/* All zero: none. */
struct setbacks {
	struct setback *all;
	size_t n;
};

void setbacks_deinit(struct setbacks *s);
/* It failed at @now_s, perhaps once more. Returns 0 or -ENOMEM. */
int setbacks_add(struct setbacks *s, const char *dir, uint64_t hour_s, uint64_t now_s);
/* It is done, or gone. */
void setbacks_remove(struct setbacks *s, const char *dir, uint64_t hour_s);
bool setbacks_has(const struct setbacks *s, const char *dir, uint64_t hour_s);
bool setbacks_has_dir(const struct setbacks *s, const char *dir);
/* The one that has been due for longest; NULL: none is. Valid until one is added or removed. */
const struct setback *setbacks_due(const struct setbacks *s, uint64_t now_s);

#endif
