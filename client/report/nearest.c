/* SPDX-License-Identifier: MIT */
#include "client/report/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"

/* Bytes of a name without what systemctl(1) adds to it. */
static size_t nearest_length(const char *name)
{
	static const char suffix[] = ".service";
	size_t length = strlen(name), n = strlen(suffix);

	return length > n && strcmp(name + length - n, suffix) == 0 ? length - n : length;
}

static bool nearest_has(const char *text, size_t n_text, const char *part, size_t n_part)
{
	for (size_t i = 0; n_part && i + n_part <= n_text; i++)
		if (strncasecmp(text + i, part, n_part) == 0)
			return true;
	return false;
}

/* How many bytes are to be inserted, deleted or replaced (Levenshtein), row by row. */
static size_t nearest_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	size_t row[NEAREST_NAME_SIZE];

	for (size_t j = 0; j <= n_b; j++)
		row[j] = j;
	for (size_t i = 1; i <= n_a; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			size_t best = diagonal + (tolower((unsigned char)a[i - 1]) !=
						  tolower((unsigned char)b[j - 1]));

			diagonal = row[j];
			if (diagonal + 1 < best)
				best = diagonal + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n_b];
}

void nearest_add(struct nearest *n, const char *name)
{
	size_t n_asked = nearest_length(n->asked), n_name = nearest_length(name), distance, at;

	if (strlen(name) >= NEAREST_NAME_SIZE || n_asked >= NEAREST_NAME_SIZE)
		return;
	distance = nearest_has(name, n_name, n->asked, n_asked)
			   ? 1
			   : nearest_distance(n->asked, n_asked, name, n_name);
	if (distance > (n_asked + 2) / 3)
		return;
	for (at = 0; at < n->n; at++)
		if (strcmp(n->names[at], name) == 0)
			return;
	while (at && (n->distances[at - 1] > distance ||
		      (n->distances[at - 1] == distance && strcmp(n->names[at - 1], name) > 0)))
		at--;
	if (at == NEAREST_MAX)
		return;
	if (n->n < NEAREST_MAX)
		n->n++;
	for (size_t i = n->n - 1; i > at; i--) {
		memcpy(n->names[i], n->names[i - 1], sizeof(n->names[i]));
		n->distances[i] = n->distances[i - 1];
	}
	snprintf(n->names[at], sizeof(n->names[at]), "%s", name);
	n->distances[at] = distance;
}

const char *nearest_print(const struct nearest *n, char *buffer, size_t size)
{
	size_t length = 0;

	*buffer = '\0';
	for (size_t i = 0; i < n->n && length < size; i++)
		length += (size_t)snprintf(buffer + length, size - length, "%s%s%s",
					   i == 0         ? "; did you mean "
					   : i + 1 < n->n ? ", "
							  : " or ",
					   n->names[i], i + 1 < n->n ? "" : "?");
	return buffer;
}
