/* SPDX-License-Identifier: MIT */
#include "common/profile/windows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/ledger_line.h"

#define LEDGER "# profd ledger: "
#define WINDOW "# profd window: "
#define NS     UINT64_C(1000000000)

void profile_windows_deinit(struct profile_windows *windows)
{
	for (size_t i = 0; i < windows->n; i++)
		free(windows->all[i].ledger);
	free(windows->all);
	*windows = (struct profile_windows){0};
}

bool profile_windows_is_line(const char *comment)
{
	return strncmp(comment, LEDGER, strlen(LEDGER)) == 0 ||
	       strncmp(comment, WINDOW, strlen(WINDOW)) == 0;
}

static bool number(const char **p, int64_t *ret)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*ret = strtoll(*p, &end, 10);
	*p = end;
	return errno == 0;
}

/* The rest of a window line; false if it is none of ours. */
static bool parse_window(const char *text, struct profile_window *ret, const char **ret_ledger)
{
	struct profile_window window = {0};

	if (!number(&text, &window.time_ns) || *text++ != '+' ||
	    !number(&text, &window.duration_ns) || (*text && *text++ != ' '))
		return false;
	*ret = window;
	*ret_ledger = text;
	return true;
}

static bool is_before(const struct profile_window *a, const struct profile_window *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->duration_ns < b->duration_ns;
}

int profile_windows_add(struct profile_windows *windows, const struct profile_window *window,
			bool *ret_added)
{
	struct profile_window copy = *window;
	size_t i = windows->n, bigger = windows->capacity ? windows->capacity * 2 : 4;
	struct profile_window *moved;

	*ret_added = false;
	/* They mostly come in order. */
	while (i && is_before(window, &windows->all[i - 1]))
		i--;
	if (i && window->ledger && windows->all[i - 1].ledger &&
	    !is_before(&windows->all[i - 1], window))
		return 0;
	if (windows->n == windows->capacity) {
		moved = reallocarray(windows->all, bigger, sizeof(*moved));
		if (!moved)
			return error_origin(-ENOMEM);
		windows->all = moved;
		windows->capacity = bigger;
	}
	if (window->ledger && !(copy.ledger = strdup(window->ledger)))
		return error_origin(-ENOMEM);
	memmove(&windows->all[i + 1], &windows->all[i], (windows->n - i) * sizeof(copy));
	windows->all[i] = copy;
	windows->n++;
	*ret_added = true;
	return 0;
}

/* The window that a file without window lines is. */
static int add_whole(const struct profile *p, char *ledger, struct profile_windows *ret)
{
	const struct profile_window window = {.time_ns = p->time_ns,
					      .duration_ns = p->duration_ns,
					      .ledger = ledger};
	bool added;

	return profile_windows_add(ret, &window, &added);
}

int profile_windows_of(const struct profile *p, struct profile_windows *ret)
{
	cleanup(freep) char *ledger = NULL;
	const char *text;
	bool added;
	int r = 0;

	profile_windows_deinit(ret);
	for (size_t i = 0; i < p->n_comments && !r; i++) {
		const char *comment = profile_string(p, p->comments[i]);
		struct profile_window window;

		if (strncmp(comment, LEDGER, strlen(LEDGER)) == 0) {
			r = ledger_line_add(&ledger, comment + strlen(LEDGER));
		} else if (strncmp(comment, WINDOW, strlen(WINDOW)) == 0 &&
			   parse_window(comment + strlen(WINDOW), &window, &text)) {
			window.ledger = (char *)(uintptr_t)text;
			r = profile_windows_add(ret, &window, &added);
			ret->is_listed = true;
		}
	}
	if (!r && !ret->is_listed)
		r = add_whole(p, ledger, ret);
	if (r)
		profile_windows_deinit(ret);
	return r;
}

int profile_windows_list(const struct profile_windows *windows, struct profile *p)
{
	for (size_t i = 0; i < windows->n; i++) {
		const struct profile_window *w = &windows->all[i];
		cleanup(freep) char *line = NULL;
		int r;

		if (asprintf(&line, WINDOW "%" PRId64 "+%" PRId64 "%s%s", w->time_ns,
			     w->duration_ns, w->ledger && *w->ledger ? " " : "",
			     w->ledger ? w->ledger : "") < 0) {
			line = NULL;
			return error_origin(-ENOMEM);
		}
		r = profile_add_comment(p, line);
		if (r)
			return r;
	}
	return 0;
}

bool profile_window_overlaps(uint64_t start_s, uint64_t seconds, uint64_t since_ns,
			     uint64_t until_ns)
{
	return (!since_ns || (start_s + seconds) * NS > since_ns) &&
	       (!until_ns || start_s * NS < until_ns);
}

uint64_t profile_window_seconds(uint64_t duration_ns)
{
	uint64_t seconds = duration_ns / NS + (duration_ns % NS >= NS / 2);

	return seconds ? seconds : 1;
}
