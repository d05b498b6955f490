/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_ARGUMENTS_H
#define PROFD_PROFCTL_ARGUMENTS_H

/*
 * What each verb's command line says. The parse functions are pure, take argv from the verb on,
 * and return 0, OPTIONS_BAD with a message, or VERB_HELP for `--help`; only with 0 all of *ret is
 * of use. Texts are borrowed from argv.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "client/profctl/output.h"
#include "common/options.h"
#include "control.pb-c.h"

#define TARGETS_MAX 32

struct start_target {
	Profd__Control__TargetKind kind;
	int64_t number;
	const char *text; /* "" for none */
};

struct start_arguments {
	struct start_target targets[TARGETS_MAX]; /* one session each */
	size_t n_targets;
	Profd__Control__Format formats[3];
	Profd__Control__Start request; /* but for the target; it borrows the formats */
	bool json;
};

int start_parse(int argc, char *const *argv, struct start_arguments *ret,
		struct usage_message *message);

struct stop_arguments {
	Profd__Control__Stop request;
	bool all, json;
};

int stop_parse(int argc, char *const *argv, struct stop_arguments *ret,
	       struct usage_message *message);

int flush_parse(int argc, char *const *argv, Profd__Control__Flush *ret, bool *ret_json,
		struct usage_message *message);

enum list_order {
	LIST_BY_CPU,
	LIST_BY_WAITS,
	LIST_BY_NAME,
	LIST_BY_SIZE,
	LIST_BY_TIME,
	N_LIST_ORDERS
};

struct list_arguments {
	Profd__Control__List request;
	int order; /* of services: enum list_order */
	bool json, url;
};

int list_parse(int argc, char *const *argv, uint64_t now_ns, struct list_arguments *ret,
	       struct usage_message *message);

struct export_arguments {
	const char *target, *services, *config_path; /* NULL: not given */
	uint64_t since_ns, until_ns;
};

int export_parse(int argc, char *const *argv, uint64_t now_ns, struct export_arguments *ret,
		 struct usage_message *message);

struct collect_arguments {
	Profd__Control__Collect request;
	struct output_file output;
	bool json;
};

int collect_parse(int argc, char *const *argv, uint64_t now_ns, struct collect_arguments *ret,
		  struct usage_message *message);

int vacuum_parse(int argc, char *const *argv, Profd__Control__Vacuum *ret, bool *ret_json,
		 struct usage_message *message);

struct run_arguments {
	uint64_t frequency;        /* Hz */
	struct output_file output; /* its format: as its name ends */
	char *const *command;      /* up to NULL; not empty */
};

/* @argv ends in NULL. */
int run_parse(int argc, char *const *argv, struct run_arguments *ret,
	      struct usage_message *message);

struct record_arguments {
	bool all;
	int64_t pid;                     /* or 0 */
	const char *service;             /* or "" */
	uint64_t frequency, duration_ns; /* 0: not given */
	const char *event;               /* "": not given */
	bool wakers, latency;
	struct output_file output; /* its format: as its name ends */
	char *const *command;      /* up to NULL; NULL: none */
};

/* Whether @event, as it is given, samples the time that threads wait. */
static inline bool event_has_waits(const char *event)
{
	return strcmp(event, "wall") == 0 || strcmp(event, "off-cpu") == 0;
}

/* @argv ends in NULL. Of what is refused, @ret has the command, where it has come to that. */
int record_parse(int argc, char *const *argv, struct record_arguments *ret,
		 struct usage_message *message);

struct top_arguments {
	int64_t pid;         /* or 0 */
	const char *service; /* or "" */
	uint64_t interval_ns;
	uint64_t rows; /* 0: not given */
	bool wall, idle, once, json, url;
};

int top_parse(int argc, char *const *argv, struct top_arguments *ret,
	      struct usage_message *message);

#define SYMBOLIZE_URLS_MAX 16

struct symbolize_arguments {
	const char *profile;
	const char *output; /* "-": standard output */
	const char *urls[SYMBOLIZE_URLS_MAX];
	size_t n_urls;
	bool want_lines;
};

int symbolize_parse(int argc, char *const *argv, struct symbolize_arguments *ret,
		    struct usage_message *message);

struct status_arguments {
	bool watch, verbose, json;
};

int status_parse(int argc, char *const *argv, struct status_arguments *ret,
		 struct usage_message *message);

struct web_arguments {
	const char *store, *listen, *source_path, *trim_path; /* NULL: not given */
	bool no_browser;
	const char **files; /* room for as many as there are words; borrowed */
	size_t n_files;
};

/* ret->files is there already. */
int web_parse(int argc, char *const *argv, struct web_arguments *ret,
	      struct usage_message *message);

int pause_parse(int argc, char *const *argv, Profd__Control__Pause *ret,
		struct usage_message *message);

/* Verbs without arguments of their own: resume, epoch, config, doctor. */
int plain_parse(int argc, char *const *argv, bool *ret_json, struct usage_message *message);

/* For operands where there are none: names the option for a service, or, with @to, a process. */
int option_no_operand(const char *name, const char *word, void *to, struct usage_message *message);
/* As option_text(), for sessions, which are of one service each: a pattern is refused. */
int option_service(const char *name, const char *text, void *to, struct usage_message *message);
/* Whether a range, once both ends are known, is one. Returns 0 or OPTIONS_BAD. */
int check_time_range(uint64_t since_ns, uint64_t until_ns, struct usage_message *message);

#endif
