/* SPDX-License-Identifier: MIT */
#include "client/export/labels.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/utf8.h"

void export_labels_deinit(struct export_labels *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->all[i].name);
		free(l->all[i].value);
	}
	l->n = 0;
}

char *export_text_fit(struct span text, size_t max)
{
	cleanup(freep) char *copy = strndup(text.at ? text.at : "", text.length);
	char *fit = copy ? utf8_repair(copy) : NULL;
	size_t length = fit ? strlen(fit) : 0;

	if (length <= max)
		return fit;
	for (length = max; length && ((unsigned char)fit[length] & 0xc0) == 0x80;)
		length--;
	fit[length] = '\0';
	return fit;
}

static bool export_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

char *export_text_word(struct span text, size_t max)
{
	const bool begins = text.length && *text.at >= '0' && *text.at <= '9';
	size_t n = text.length + begins < max ? text.length : max - begins;
	char *word = malloc(n + 2);

	if (!word)
		return NULL;
	*word = '_';
	for (size_t i = 0; i < n; i++)
		word[begins + i] = text.at[i];
	for (size_t i = begins; i < begins + n; i++)
		word[i] = export_is_word(word[i]) ? word[i] : '_';
	word[begins + n] = '\0';
	return word;
}

static struct export_label *export_labels_find(struct export_labels *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->all[i].name, name) == 0)
			return &l->all[i];
	return NULL;
}

int export_labels_set(struct export_labels *l, struct span name, struct span value)
{
	cleanup(freep) char *word = export_text_word(name, EXPORT_LABEL_NAME_MAX);
	cleanup(freep) char *fit = export_text_fit(value, EXPORT_LABEL_VALUE_MAX);
	struct export_label *known;

	if (!word || !fit)
		return error_origin(-ENOMEM);
	if (!*word || !*fit)
		return 0;
	known = export_labels_find(l, word);
	if (known) {
		free(known->value);
		known->value = steal_ptr(&fit);
	} else if (l->n < EXPORT_LABELS_MAX) {
		l->all[l->n++] = (struct export_label){steal_ptr(&word), steal_ptr(&fit)};
	}
	return 0;
}

int export_labels_set_list(struct export_labels *l, const char *list)
{
	struct span rest = {list, strlen(list)}, value, name;
	int r = 0;

	while (!r && span_cut(&rest, ',', &value)) {
		if (span_cut(&value, '=', &name))
			r = export_labels_set(l, span_trim(name), span_trim(value));
	}
	return r;
}

static int export_compare_labels(const void *a, const void *b)
{
	const struct export_label *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void export_labels_sort(struct export_labels *l)
{
	qsort(l->all, l->n, sizeof(*l->all), export_compare_labels);
}
