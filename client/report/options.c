/* SPDX-License-Identifier: MIT */
/*
 * Values are written through the table's offsets into the struct that they belong to; what excludes
 * each other is remembered while a line is read. The table itself is options_table.c.
 */
#include "client/report/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/report/slip.h"
#include "client/report/source_url.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/options.h"
#include "common/profile/pprof.h"
#include "common/units.h"

#define BAD(message, ...) profile_refuse(message, REPORT_E_BAD_OPTION, __VA_ARGS__)
#define LIKE_MIN          4 /* bytes that two names of options begin with alike */

static void report_clear_texts(void *object, bool is_input)
{
	for (const struct report_option *option = report_options_all; option->name; option++)
		if (option->is_input == is_input &&
		    (option->kind == REPORT_OPTION_TEXT || option->kind == REPORT_OPTION_MOMENT)) {
			const char **texts = (const char **)((char *)object + option->offset);

			for (int i = 0; i <= (option->kind == REPORT_OPTION_MOMENT); i++)
				texts[i] = "";
		}
}

void report_options_init(struct report_options *o)
{
	*o = (struct report_options){0};
	view_options_init(&o->print);
	report_clear_texts(o, false);
	o->print.unit = "minimum";
}

void report_inputs_init(struct report_inputs *in)
{
	*in = (struct report_inputs){0};
	report_clear_texts(in, true);
	(void)symbolize_mode_parse("", &in->mode);
}

const struct report_option *report_option_find(const char *name, size_t length)
{
	for (const struct report_option *o = report_options_all; o->name; o++)
		if (word_is(name, length, o->name) || (o->alias && word_is(name, length, o->alias)))
			return o;
	return NULL;
}

bool report_option_is_view(const struct report_option *option)
{
	return option->kind == REPORT_OPTION_VIEW || option->kind == REPORT_OPTION_VIEW_PATTERN;
}

bool report_option_is_setting(const struct report_option *option)
{
	return !option->is_input && !report_option_is_view(option);
}

const char *report_view_name(int view)
{
	for (const struct report_option *o = report_options_all; o->name; o++)
		if (report_option_is_view(o) && o->value == view)
			return o->name;
	return "text";
}

/* --- one value -------------------------------------------------------------------------------- */

/* The words that pprof takes. */
static bool report_parse_flag(const char *text, bool *ret)
{
	static const struct {
		const char *no, *yes;
	} words[] = {{"false", "true"}, {"f", "t"}, {"no", "yes"},
		     {"n", "y"},        {"0", "1"}, {"0", ""}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		*ret = strcasecmp(text, words[i].yes) == 0;
		if (*ret || strcasecmp(text, words[i].no) == 0)
			return true;
	}
	return false;
}

bool report_parse_integer(const char *text, int *ret)
{
	char *end;
	long long value;

	if (!isdigit((unsigned char)text[*text == '-']))
		return false;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || *end || value < INT32_MIN || value > INT32_MAX)
		return false;
	*ret = (int)value;
	return true;
}

static bool report_parse_number(const char *text, double *ret)
{
	char *end;
	double value;

	if (!*text || isspace((unsigned char)*text))
		return false;
	errno = 0;
	value = strtod(text, &end);
	if (errno || *end || !isfinite(value))
		return false;
	*ret = value;
	return true;
}

int report_option_set(void *object, const struct report_option *option, const char *value,
		      struct profile_message *message)
{
	void *at = (char *)object + option->offset;
	bool flag = true;
	double number;

	if (option->kind == REPORT_OPTION_TEXT || option->kind == REPORT_OPTION_MOMENT) {
		*(const char **)at = value ? value : "";
	} else if (option->kind == REPORT_OPTION_INTEGER) {
		if (!value || !report_parse_integer(value, at))
			return BAD(message, "%s takes a whole number, not '%.60s'", option->name,
				   value ? value : "");
	} else if (option->kind == REPORT_OPTION_NUMBER) {
		if (!value || !report_parse_number(value, &number) || number < 0)
			return BAD(message, "%s takes a number of 0 or more, not '%.60s'",
				   option->name, value ? value : "");
		if (number == 0 &&
		    option->offset == offsetof(struct report_options, print.divide_by))
			return BAD(message, "divide_by cannot be 0");
		*(double *)at = number;
	} else {
		if (value && !report_parse_flag(value, &flag))
			return BAD(message, "%s is true or false, not '%.60s'", option->name,
				   value);
		if (option->kind == REPORT_OPTION_FLAG)
			*(bool *)at = flag;
		else if (flag)
			*(int *)at = option->value;
	}
	return REPORT_E_OK;
}

static const char *choice_name(const struct report_options *o, const struct report_option *option)
{
	int value = *(const int *)((const char *)o + option->offset);

	for (const struct report_option *other = report_options_all; other->name; other++)
		if (other->kind == REPORT_OPTION_CHOICE && other->offset == option->offset &&
		    other->value == value)
			return other->name;
	return "";
}

void report_option_print(const struct report_options *o, const struct report_option *option,
			 FILE *out)
{
	const void *at = (const char *)o + option->offset;

	if (option->kind == REPORT_OPTION_CHOICE)
		fputs(choice_name(o, option), out);
	else if (option->kind == REPORT_OPTION_FLAG)
		fputs(*(const bool *)at ? "true" : "false", out);
	else if (option->kind == REPORT_OPTION_INTEGER)
		fprintf(out, "%d", *(const int *)at);
	else if (option->kind == REPORT_OPTION_NUMBER)
		fprintf(out, "%g", *(const double *)at);
	else
		fputs(*(const char *const *)at, out);
}

/* --- a command line --------------------------------------------------------------------------- */

struct options_line {
	char *const *argv;
	int argc, at;
	struct report_arguments *a;
	struct profile_message *message;
	const struct report_option *view;        /* the one that was given */
	const struct report_option *granularity; /* and so these */
	const struct report_option *order;
	const struct report_option *base;
};

static int report_append_text(const char ***texts, size_t *n, const char *text)
{
	const char **grown = reallocarray(*texts, *n + 1, sizeof(*grown));

	if (!grown)
		return error_origin(-ENOMEM);
	*texts = grown;
	grown[(*n)++] = text;
	return 0;
}

/* Of what excludes each other, one is given. */
static int report_set_exclusive(struct options_line *l, const struct report_option **set,
				const struct report_option *option)
{
	if (*set && *set != option)
		return BAD(l->message, "either --%s or --%s", (*set)->name, option->name);
	*set = option;
	return 0;
}

static int report_parse_view(struct options_line *l, const struct report_option *option,
			     const char *value)
{
	struct report_options *o = &l->a->options;
	bool flag = true;

	if (option->kind == REPORT_OPTION_VIEW && value && !report_parse_flag(value, &flag))
		return BAD(l->message, "--%s takes no argument", option->name);
	if (!flag)
		return 0;
	if (option->kind == REPORT_OPTION_VIEW_PATTERN) {
		if (!*value)
			return BAD(l->message, "--%s needs a regular expression", option->name);
		o->print.pattern = value;
	}
	o->view = option->value;
	return report_set_exclusive(l, &l->view, option);
}

static int report_parse_list(struct options_line *l, const struct report_option *option,
			     const char *value)
{
	struct report_inputs *in = &l->a->inputs;
	int r;

	if (!*value)
		return BAD(l->message, "--%s needs a file", option->name);
	r = report_set_exclusive(l, &l->base, option);
	if (r)
		return r;
	in->is_diff = strcmp(option->name, "diff_base") == 0;
	return report_append_text(&in->bases, &in->n_bases, value);
}

static int report_parse_option(struct options_line *l, const struct report_option *option,
			       const char *value)
{
	struct report_arguments *a = l->a;
	bool flag = true;
	int r = 0;

	if (option->kind == REPORT_OPTION_HELP)
		return REPORT_E_HELP;
	if (report_option_is_view(option))
		return report_parse_view(l, option, value);
	if (option->kind == REPORT_OPTION_LIST)
		return report_parse_list(l, option, value);
	/* Choices exclude each other; one that is false is none of them. */
	if (option->kind == REPORT_OPTION_CHOICE &&
	    (!value || (report_parse_flag(value, &flag) && flag)))
		r = report_set_exclusive(l,
					 option->group == REPORT_GROUP_ORDER ? &l->order
									     : &l->granularity,
					 option);
	return r ? r
		 : report_option_set(option->is_input ? (void *)&a->inputs : (void *)&a->options,
				     option, value, l->message);
}

/* pprof's short forms of --sample_index. False: it is none of them. */
static bool report_parse_type(struct options_line *l, const char *name, size_t length,
			      const char *value)
{
	static const struct {
		const char *name, *type;
		bool mean;
	} types[] = {
		{"inuse_space", "inuse_space", false}, {"inuse_objects", "inuse_objects", false},
		{"alloc_space", "alloc_space", false}, {"alloc_objects", "alloc_objects", false},
		{"contentions", "contentions", false}, {"total_delay", "delay", false},
		{"mean_delay", "delay", true},
	};
	struct report_options *o = &l->a->options;
	bool flag = true;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (!word_is(name, length, types[i].name))
			continue;
		if (value && !report_parse_flag(value, &flag))
			return false;
		if (flag) {
			o->sample_index = types[i].type;
			o->mean = types[i].mean;
		}
		return true;
	}
	return false;
}

/* One that was mistyped, begun, or gone on with: --focs, --collapse, --flamegraph. NULL: none. */
static const char *report_find_similar_option(const char *name, size_t length)
{
	for (const struct report_option *o = report_options_all; o->name; o++) {
		size_t n = strlen(o->name), common = n < length ? n : length;

		if (length >= LIKE_MIN &&
		    (slip_is(name, length, o->name, n) ||
		     (common >= LIKE_MIN && memcmp(o->name, name, common) == 0)))
			return o->name;
	}
	return NULL;
}

static int report_refuse_word(struct options_line *l, const char *word, const char *name,
			      size_t length)
{
	const char *like = report_find_similar_option(name, length);
	int shown = (int)(name - word) + (int)length;

	if (word_is(name, length, "http") || word_is(name, length, "no_browser"))
		return BAD(l->message,
			   "there is no web server: --flame -o FILE.html writes a page");
	if (like)
		return BAD(l->message, "unknown option %.*s (--%s?)", shown, word, like);
	return BAD(l->message, "unknown option %.*s", shown, word);
}

static int report_parse_word(struct options_line *l, const char *word)
{
	const char *name = word + (word[1] == '-' ? 2 : 1);
	const char *value = strchr(name, '=');
	size_t length = value ? (size_t)(value - name) : strlen(name);
	const struct report_option *option = report_option_find(name, length);

	if (value)
		value++;
	if (!option)
		return report_parse_type(l, name, length, value)
			       ? 0
			       : report_refuse_word(l, word, name, length);
	if (!value && option->argument) {
		if (l->at >= l->argc)
			return BAD(l->message, "%s needs an argument", word);
		value = l->argv[l->at++];
	}
	if (option->kind == REPORT_OPTION_MOMENT && l->at < l->argc &&
	    units_moment_continues(value, l->argv[l->at]))
		((const char **)((char *)&l->a->inputs + option->offset))[1] = l->argv[l->at++];
	return report_parse_option(l, option, value);
}

static int report_check_arguments(const struct options_line *l)
{
	struct report_inputs *in = &l->a->inputs;

	if (!symbolize_mode_parse(in->symbolize, &in->mode))
		return BAD(l->message, "--symbolize takes " SYMBOLIZE_MODE_WORDS ", not '%.80s'",
			   in->symbolize);
	in->is_store = *in->service || *in->since[0] || *in->until[0] || *in->store;
	if (in->is_store && in->n_profiles)
		return BAD(l->message,
			   "-s, --since, --until and --store cannot be combined with files such as "
			   "'%.80s'",
			   in->profiles[0]);
	if (!in->is_store && !in->n_profiles)
		return BAD(l->message, "no PROFILE given; - is standard input");
	if (in->normalize && !in->n_bases)
		return BAD(l->message, "--normalize needs a --base or --diff_base");
	if (in->interactive && l->view)
		return BAD(l->message, "--interactive cannot be combined with --%s", l->view->name);
	if (in->seconds < 0 || in->seconds > SOURCE_URL_SECONDS_MAX)
		return BAD(l->message, "--seconds takes 0 to %d", SOURCE_URL_SECONDS_MAX);
	if (in->timeout < 0 || in->timeout > SOURCE_URL_SECONDS_MAX)
		return BAD(l->message, "--timeout takes 0 to %d", SOURCE_URL_SECONDS_MAX);
	if (!*in->tls_cert != !*in->tls_key)
		return BAD(l->message, "--tls_cert and --tls_key need each other");
	return 0;
}

/* The operand before the last one. */
static int report_parse_base(struct options_line *l)
{
	struct report_inputs *in = &l->a->inputs;
	size_t at;
	int r;

	if (in->n_bases)
		return BAD(l->message, "BASE is an operand of diff: profctl diff BASE NEW");
	if (*in->service || in->n_profiles < 2 || in->n_profiles > 3)
		return BAD(l->message, "two profiles are needed: profctl diff BASE NEW");
	at = in->n_profiles - 2;
	in->is_diff = true;
	r = report_append_text(&in->bases, &in->n_bases, in->profiles[at]);
	if (r)
		return r;
	in->profiles[at] = in->profiles[at + 1];
	in->n_profiles--;
	return REPORT_E_OK;
}

static int report_parse_words(struct options_line *l)
{
	struct report_inputs *in = &l->a->inputs;
	bool only_operands = false;
	int r = 0;

	while (!r && l->at < l->argc) {
		const char *word = l->argv[l->at++];

		if (only_operands || word[0] != '-' || !word[1])
			r = report_append_text(&in->profiles, &in->n_profiles, word);
		else if (strcmp(word, "--") == 0)
			only_operands = true;
		else
			r = report_parse_word(l, word);
	}
	return r;
}

int report_parse(int argc, char *const *argv, bool is_diff, struct report_arguments *ret,
		 struct profile_message *message)
{
	struct options_line l = {.argc = argc, .argv = argv, .at = 1, .a = ret, .message = message};
	int r;

	report_options_init(&ret->options);
	report_inputs_init(&ret->inputs);
	r = report_parse_words(&l);
	if (!r && is_diff)
		r = report_parse_base(&l);
	return r ? r : report_check_arguments(&l);
}

void report_arguments_deinit(struct report_arguments *a)
{
	free(a->inputs.profiles);
	free(a->inputs.bases);
	a->inputs.profiles = a->inputs.bases = NULL;
}

/* --- the help text ---------------------------------------------------------------------------- */

void report_options_help(FILE *out)
{
	static const char *const headings[REPORT_N_GROUPS] = {
		[REPORT_GROUP_VIEWS] = "Views",
		[REPORT_GROUP_CONVERSIONS] = "Conversions",
		[REPORT_GROUP_GRANULARITY] = "Granularity",
		[REPORT_GROUP_ORDER] = "Order and limits",
		[REPORT_GROUP_FILTERS] = "Filters",
		[REPORT_GROUP_VALUES] = "Values",
		[REPORT_GROUP_COMPARISON] = "Comparison",
		[REPORT_GROUP_SOURCES] = "Sources and output",
	};

	for (int group = 0; group < REPORT_N_GROUPS; group++) {
		fprintf(out, "%s:\n", headings[group]);
		for (const struct report_option *o = report_options_all; o->name; o++) {
			char name[64], row[256];

			if ((int)o->group != group)
				continue;
			snprintf(name, sizeof(name), "%s%s%s--%s%s%s",
				 o->alias && strlen(o->alias) == 1 ? "-"
				 : o->alias                        ? "--"
								   : "",
				 o->alias ? o->alias : "", o->alias ? ", " : "", o->name,
				 o->argument ? "=" : "", o->argument ? o->argument : "");
			snprintf(row, sizeof(row), "  %-23s  %s\n", name, o->summary);
			help_print(out, row);
		}
	}
}
