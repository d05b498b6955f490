/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_OPTIONS_H
#define PROFD_REPORT_OPTIONS_H

/*
 * What can be set about a report, in one table: the command line reads it (`--focus=RE`, `-focus
 * RE`), and so do the prompt (`focus=RE`, `o`, `help focus`) and the help text. The names are
 * pprof's. Pure; texts are borrowed from the caller.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "client/analysis/shape.h"
#include "client/analysis/view.h"
#include "client/report/outcome.h"
#include "client/report/symbolize_mode.h"
#include "client/report/views.h"
#include "common/profile/pprof.h" /* struct profile_message */

#define REPORT_VIEW_NUMBER(number, ...) REPORT_##number

enum report_view { REPORT_NO_VIEW, REPORT_VIEWS(REPORT_VIEW_NUMBER) };

/* Texts that are not set are "". */
struct report_options {
	int view; /* enum report_view */
	const char *output;
	struct shape_options shape; /* but for what views and inputs make of it */
	struct view_options print;
	const char *sample_index;
	bool mean, relative_percentages;
	bool idle; /* with the waiting time of idle threads */
};

/* What is about where the samples come from: not to be changed at the prompt. */
struct report_inputs {
	const char **profiles; /* owned array of borrowed texts, and so the others */
	size_t n_profiles;
	const char **bases;
	size_t n_bases;
	bool is_diff; /* the bases are those of --diff_base */
	bool normalize, interactive, all_frames;
	bool url; /* of the page, instead of the report */
	const char *symbolize, *buildid, *comment;
	struct symbolize_mode mode; /* what `symbolize` says */
	int seconds, timeout;       /* of what is fetched; 0: as usual */
	const char *tls_cert, *tls_key, *tls_ca;
	const char *service, *store;
	bool is_store;                   /* of the store: a service's windows, or all */
	const char *since[2], *until[2]; /* moments, of one word or two; "" where there is none */
};

struct report_arguments {
	struct report_options options;
	struct report_inputs inputs;
};

enum report_option_kind {
	REPORT_OPTION_VIEW,         /* sets `view` to `value` */
	REPORT_OPTION_VIEW_PATTERN, /* and `pattern` */
	REPORT_OPTION_CHOICE,       /* sets an int to `value` */
	REPORT_OPTION_FLAG,
	REPORT_OPTION_TEXT,
	REPORT_OPTION_MOMENT, /* as two texts: its time of day may be a word of its own */
	REPORT_OPTION_INTEGER,
	REPORT_OPTION_NUMBER,
	REPORT_OPTION_LIST, /* may be given several times */
	REPORT_OPTION_HELP,
};

enum report_option_group {
	REPORT_GROUP_VIEWS,
	REPORT_GROUP_CONVERSIONS,
	REPORT_GROUP_GRANULARITY,
	REPORT_GROUP_ORDER,
	REPORT_GROUP_FILTERS,
	REPORT_GROUP_VALUES,
	REPORT_GROUP_COMPARISON,
	REPORT_GROUP_SOURCES,
	REPORT_N_GROUPS,
};

struct report_option {
	const char *name;
	const char *alias; /* or NULL */
	enum report_option_kind kind;
	enum report_option_group group;
	bool is_input;        /* lies in struct report_inputs: of the command line alone */
	size_t offset;        /* in struct report_options or _inputs */
	int value;            /* of a view or a choice */
	const char *argument; /* what stands for it in help texts, or NULL */
	const char *summary;  /* a line */
	const char *details;  /* more lines, or NULL */
};

/* All of them; the last has no name. */
extern const struct report_option report_options_all[];

/* As they are where nothing was said; of the inputs, all texts are "". */
void report_options_init(struct report_options *o);
void report_inputs_init(struct report_inputs *in);
const struct report_option *report_option_find(const char *name, size_t length);
bool report_option_is_view(const struct report_option *option);
/* Whether the prompt can set it, and `o` shows it. */
bool report_option_is_setting(const struct report_option *option);
/*
 * Sets what is no view and no list in @object, struct report_options or _inputs. @value NULL is a
 * flag or choice without one: true. The text is kept as it is, not copied. REPORT_E_OK or
 * _BAD.
 */
int report_option_set(void *object, const struct report_option *option, const char *value,
		      struct profile_message *message);
/* What a setting has by now, as it would be set; of a choice, the name of what is chosen. */
void report_option_print(const struct report_options *o, const struct report_option *option,
			 FILE *out);
const char *report_view_name(int view);
/* The whole of @text, in decimal digits, perhaps with a minus. */
bool report_parse_integer(const char *text, int *ret);

/*
 * A command line as pprof's users type it: one dash or two, `-name`, `-name=value`, `-name value`
 * for what takes a text or a number; flags take only `-name=false`. @argv from the verb on. *ret is
 * written in any case, to be freed with report_arguments_deinit(). @is_diff: the last two operands
 * are the base of a comparison and a profile. REPORT_E_* or negative errno.
 */
int report_parse(int argc, char *const *argv, bool is_diff, struct report_arguments *ret,
		 struct profile_message *message);
void report_arguments_deinit(struct report_arguments *a);
/* The options, a line each, for the help text. */
void report_options_help(FILE *out);

#endif
