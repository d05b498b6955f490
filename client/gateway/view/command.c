/* SPDX-License-Identifier: MIT */
/*
 * `profctl report` reads the store by service and range; of a process, and of what is compared,
 * `profctl collect` makes files first. Labels are what --tagfocus has: all its expressions,
 * separated by commas, have to match; a number it only knows as KEY=N, by itself: each gets a pipe
 * to the next command.
 */
#include "client/gateway/view/command.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/gateway/view/tags.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/units.h"

#define PLAIN "@%+=:,./-_"

static const char *const command_views[N_QUESTION_VIEWS] = {
	[QUESTION_FLAME] = "--flame -o flame.html",
	[QUESTION_TOP] = "--text",
	[QUESTION_SANDWICH] = "--peek",
	[QUESTION_SOURCE] = "--list",
	[QUESTION_LABELS] = "--tags",
};

static void command_put_quoted(FILE *out, const char *text)
{
	const char *c = text;

	while (isalnum((unsigned char)*c) || (*c && strchr(PLAIN, *c)))
		c++;
	if (*text && !*c) {
		fputs(text, out);
		return;
	}
	fputc('\'', out);
	for (c = text; *c; c++)
		if (*c == '\'')
			fputs("'\\''", out);
		else
			fputc(*c, out);
	fputc('\'', out);
}

static void command_put_option(FILE *out, const char *option, const char *value)
{
	fprintf(out, " %s", option);
	command_put_quoted(out, value);
}

/* Windows are of whole seconds. */
static void command_put_range(FILE *out, const struct question_range *range)
{
	char text[UNITS_TEXT_MAX];

	fprintf(out, " --since %s", units_print_moment(text, sizeof(text), range->since_ns, true));
	fprintf(out, " --until %s",
		units_print_moment(text, sizeof(text), range->until_ns + NS_PER_S - 1, true));
}

/* "collect": everything that is asked for as a file. */
static void command_put_collect(FILE *out, const struct question *q, uint16_t service,
				const struct question_range *range, const char *file)
{
	fputs("profctl collect", out);
	if (q->scope == QUESTION_PID)
		fprintf(out, " -p %" PRId64, q->pid);
	else if (service)
		command_put_option(out, "-s ", question_text(q, service));
	command_put_range(out, range);
	fprintf(out, " -o %s", file);
}

/* --- filters ---------------------------------------------------------------------------------- */

/* @length bytes of @text, which match themselves; a comma would begin another expression. */
static void command_put_literal(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == ',')
			fputs("\\x2c", out);
		else
			fprintf(out, c < 0x80 && !isalnum(c) && c != '_' ? "\\%c" : "%c", c);
	}
}

/* Labels of profd that are numbers; a text may look like one, too. */
static bool command_is_number(const struct tag *tag)
{
	return tag->is_number && tag->key_length == 3 &&
	       (strncmp(tag->key, "pid", 3) == 0 || strncmp(tag->key, "tid", 3) == 0);
}

static bool command_is_same_key(const struct tag *a, const struct tag *b)
{
	return a->key_length == b->key_length && memcmp(a->key, b->key, a->key_length) == 0;
}

/* Whether a filter of the same key precedes the one that ends at @end. */
static bool command_is_key_known(const struct question *q, const struct tag *tag, size_t end)
{
	const char *text;
	size_t i = 0;

	while ((text = question_next_filter(q, QUESTION_TAG, &i)) && i < end) {
		const struct tag other = tag_parse(text);

		if (command_is_same_key(&other, tag))
			return true;
	}
	return false;
}

/* All values of a key that were asked for. */
static void command_put_key(FILE *out, const struct question *q, const struct tag *key)
{
	const char *text, *separator = "^";
	size_t i = 0;

	fputs("(?:", out);
	while ((text = question_next_filter(q, QUESTION_TAG, &i))) {
		const struct tag tag = tag_parse(text);

		if (!command_is_same_key(&tag, key))
			continue;
		fputs(separator, out);
		command_put_literal(out, text, strlen(text));
		fputc('$', out);
		separator = "|^";
	}
	fputc(')', out);
}

static int command_put_tags(FILE *out, const struct question *q)
{
	cleanup(memory_text_deinit) struct memory_text value = {0};
	const char *text, *separator = "";
	size_t i = 0;
	int r = memory_text_open(&value);

	while (!r && (text = question_next_filter(q, QUESTION_TAG, &i))) {
		const struct tag tag = tag_parse(text);

		if (command_is_number(&tag) || command_is_key_known(q, &tag, i))
			continue;
		fputs(separator, value.out);
		command_put_key(value.out, q, &tag);
		separator = ",";
	}
	r = r ?: memory_text_close(&value);
	if (!r && *value.text)
		command_put_option(out, "--tagfocus=", value.text);
	return r;
}

int question_join_filters(const struct question *q, enum question_filter_kind kind, char **ret)
{
	cleanup(memory_text_deinit) struct memory_text all = {0};
	const char *text, *separator = "";
	size_t i = 0, n = 0;
	int r = memory_text_open(&all);

	if (r)
		return r;
	for (; (text = question_next_filter(q, kind, &i)); n++) {
		fprintf(all.out, "%s(?:%s)", separator, text);
		separator = "|";
	}
	r = memory_text_close(&all);
	*ret = NULL;
	i = 0;
	if (!r && n == 1)
		*ret = strdup(question_next_filter(q, kind, &i));
	else if (!r && n)
		*ret = steal_ptr(&all.text);
	return r ? r : n && !*ret ? error_origin(-ENOMEM) : 0;
}

static int command_put_filter(FILE *out, const struct question *q, enum question_filter_kind kind,
			      const char *option)
{
	cleanup(freep) char *value = NULL;
	int r = question_join_filters(q, kind, &value);

	if (value)
		command_put_option(out, option, value);
	return r;
}

/* --- the command ------------------------------------------------------------------------------ */

/* The view, of what: one function, as an expression, of the two that show one. */
static void command_put_view(FILE *out, const struct question *q)
{
	const char *function = question_text(q, q->function);

	fprintf(out, " %s", command_views[q->view]);
	if (!*function)
		return;
	fputc('=', out);
	fputs("'^", out);
	for (; *function; function++)
		if (*function == '\'')
			fputs("'\\''", out);
		else
			command_put_literal(out, function, 1);
	fputs("$'", out);
}

/* Files first, where the store alone does not do. */
static void command_put_preparations(FILE *out, const struct question *q)
{
	if (q->has_base) {
		command_put_collect(out, q, q->base_service, &q->base, "before.pb.gz");
		fputs(" && ", out);
	}
	if (q->has_base || q->scope == QUESTION_PID) {
		command_put_collect(out, q, q->service, &q->range, "profile.pb.gz");
		fputs(" && ", out);
	}
}

static void command_put_sources(FILE *out, const struct question *q, const char *store,
				bool is_piped)
{
	if (is_piped) {
		fputs(" -", out);
	} else if (q->has_base || q->scope == QUESTION_PID) {
		fputs(q->has_base ? " --diff_base=before.pb.gz profile.pb.gz" : " profile.pb.gz",
		      out);
	} else {
		if (store)
			command_put_option(out, "--store=", store);
		if (q->service)
			command_put_option(out, "-s ", question_text(q, q->service));
		command_put_range(out, &q->range);
	}
}

/* A report that leaves the samples with a number, for each; false: profctl cannot. */
static bool command_put_pipes(FILE *out, const struct question *q, const char *store,
			      bool *ret_piped)
{
	const char *text;
	size_t i = 0;

	*ret_piped = false;
	while ((text = question_next_filter(q, QUESTION_TAG, &i))) {
		const struct tag tag = tag_parse(text);

		if (!command_is_number(&tag))
			continue;
		if (command_is_key_known(q, &tag, i))
			return false;
		fprintf(out, "profctl report --proto -o - --tagfocus=%.3s=%" PRId64, tag.key,
			tag.number);
		command_put_sources(out, q, store, *ret_piped);
		fputs(" | ", out);
		*ret_piped = true;
	}
	return true;
}

int command_print(const struct question *q, const char *store, char **ret)
{
	cleanup(memory_text_deinit) struct memory_text line = {0};
	bool is_piped, is_possible;
	int r = memory_text_open(&line);

	*ret = NULL;
	if (r)
		return r;
	store = store && *store ? store : NULL;
	/* `profctl collect` asks a running profd. */
	if (store && (q->has_base || q->scope == QUESTION_PID))
		return 0;
	command_put_preparations(line.out, q);
	is_possible = command_put_pipes(line.out, q, store, &is_piped);
	fputs("profctl report", line.out);
	command_put_view(line.out, q);
	r = command_put_tags(line.out, q)
		    ?: command_put_filter(line.out, q, QUESTION_FOCUS, "--focus=")
		?: command_put_filter(line.out, q, QUESTION_HIDE, "--hide=");
	if (q->type)
		command_put_option(line.out, "--sample_index=", question_text(q, q->type));
	if (q->idle)
		fputs(" --idle", line.out);
	command_put_sources(line.out, q, store, is_piped);
	r = r ?: memory_text_close(&line);
	if (!r && is_possible)
		*ret = steal_ptr(&line.text);
	return r;
}
