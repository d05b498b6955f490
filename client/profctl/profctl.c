/* SPDX-License-Identifier: MIT */
/*
 * The program around the verbs: options before the verb, which socket and store are meant, help,
 * and what is said of a verb that there is none.
 */
#include "client/profctl/profctl.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "client/profctl/arguments.h"
#include "client/report/options.h"
#include "client/report/slip.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/options.h"
#include "common/utf8.h"

#define LIKE_MIN 3 /* characters of a verb that may be mistyped */

static const struct verb *find_verb(const char *name)
{
	for (const struct verb *verb = verbs; verb->name; verb++)
		if (strcmp(verb->name, name) == 0)
			return verb;
	return NULL;
}

int profctl_complain(const struct context *context, int status, const char *format, ...)
{
	char text[COMPLAINT_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	utf8_make_harmless(text, "");
	if (context->kept)
		strcpy(context->kept, text);
	else
		fprintf(context->err, "profctl%s%s: %s\n", context->verb ? " " : "",
			context->verb ? context->verb : "", text);
	return status;
}

static void print_verb_help(const struct verb *verb, FILE *out)
{
	const char *example = strstr(verb->help, "\nExample");
	int before = example ? (int)(example - verb->help) : (int)strlen(verb->help);
	char text[4096];

	fprintf(out, "usage: profctl %s%s%s\n\n", verb->name, *verb->synopsis ? " " : "",
		verb->synopsis);
	snprintf(text, sizeof(text), "%c%s.\n%.*s",
		 verb->summary[0] - ('a' <= verb->summary[0]) * ('a' - 'A'), verb->summary + 1,
		 before, verb->help);
	help_print(out, text);
	if (verb->run == report_run) {
		fputc('\n', out);
		report_options_help(out);
	}
	help_print(out, verb->help + before);
}

static void print_verb_row(const struct verb *verb, FILE *out)
{
	char row[128];

	snprintf(row, sizeof(row), "  %-9s  %s\n", verb->name, verb->summary);
	help_print(out, row);
}

static void print_task_help(enum verb_task task, FILE *out)
{
	static const char *const headings[] = {
		[TASK_SEE] = "See where the time went",
		[TASK_RECORD] = "Record",
		[TASK_FILES] = "Work on files",
		[TASK_PROFD] = "Run profd",
	};

	fprintf(out, "%s%s:\n", task ? "\n" : "", headings[task]);
	for (const struct verb *verb = verbs; verb->name; verb++)
		if (verb->task == task)
			print_verb_row(verb, out);
}

static void print_main_help(FILE *out)
{
	help_print(out, "usage: profctl [--socket PATH | --user] VERB ...\n\n"
			"Controls profd, the always-on profiler, and analyses profiles.\n\n");
	for (enum verb_task task = 0; task < N_TASKS; task++)
		print_task_help(task, out);
	help_print(
		out,
		"  help       print the verbs, or the help of one verb\n\n"
		"  --socket PATH  profd's socket (default: $PROFD_SOCKET, or " SYSTEM_SOCKET ")\n"
		"  --user         your own profd's socket, in $XDG_RUNTIME_DIR\n"
		"  --version\n\n"
		"Exit status: 0 done, 1 failed, 2 wrong usage, 3 no daemon answers, 4 denied.\n");
}

int parse_ended(const struct context *context, int r, const struct usage_message *message)
{
	if (r == VERB_HELP) {
		print_verb_help(find_verb(context->verb), context->out);
		return STATUS_DONE;
	}
	return profctl_complain(context, STATUS_USAGE, "%s; see profctl help %s", message->text,
				context->verb);
}

static int complain_unknown_verb(const struct context *context, const char *name)
{
	size_t length = strlen(name);

	for (const struct verb *verb = verbs; verb->name; verb++)
		if (length >= LIKE_MIN && slip_is(name, length, verb->name, strlen(verb->name)))
			return profctl_complain(context, STATUS_USAGE,
						"there is no verb '%s'; try: profctl %s", name,
						verb->name);
	return profctl_complain(context, STATUS_USAGE,
				"there is no verb '%s' in profctl " PROFD_VERSION
				"; profctl help lists those there are",
				name);
}

static int help_run(struct context *context, int argc, char **argv)
{
	static const char *const own[] = {"help", "-h", "--help"};
	const struct verb *verb = argc > 1 ? find_verb(argv[1]) : NULL;
	bool is_own = argc == 1;

	context->verb = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(own) && !is_own; i++)
		is_own = strcmp(argv[1], own[i]) == 0;
	if (!is_own && !verb)
		return complain_unknown_verb(context, argv[1]);
	if (verb)
		print_verb_help(verb, context->out);
	else
		print_main_help(context->out);
	return STATUS_DONE;
}

static int run_verb(struct context *context, int argc, char **argv)
{
	const struct verb *verb;

	if (strcmp(argv[0], "help") == 0)
		return help_run(context, argc, argv);
	verb = find_verb(argv[0]);
	if (!verb)
		return complain_unknown_verb(context, argv[0]);
	context->verb = verb->name;
	return verb->run(context, argc, argv);
}

struct global_arguments {
	const char *socket;
	bool user, version;
	char *const *verb; /* with its own arguments; NULL: none */
};

static int parse_globals(int argc, char **argv, struct global_arguments *ret,
			 struct usage_message *message)
{
	const struct option_row rows[] = {
		{0, "socket", option_text, &ret->socket, NULL},
		{0, "user", option_flag, &ret->user, NULL},
		{'V', "version", option_flag, &ret->version, NULL},
		{0},
	};

	return options_parse_command(rows, argc, argv, &ret->verb, message);
}

/* Which profd is meant, and where its store is. Returns 0, or an exit status after a complaint. */
static int context_set_profd(struct context *context, const struct global_arguments *arguments,
			     const struct environment *environment, struct user_paths *paths)
{
	context->socket = SYSTEM_SOCKET;
	context->store = SYSTEM_STORE;
	if (arguments->socket && arguments->user)
		return profctl_complain(context, STATUS_USAGE, "either --socket or --user");
	if (arguments->user) {
		if (user_paths_find(paths, &environment->user))
			return profctl_complain(context, STATUS_FAILED, "no memory");
		if (!paths->socket)
			return profctl_complain(
				context, STATUS_USAGE,
				"--user needs XDG_RUNTIME_DIR, which is not set; use --socket");
		context->socket = paths->socket;
		/* Where nothing is known of the user, nothing is found. */
		context->store = paths->state ? paths->state : "/nonexistent";
		context->user = true;
	} else if (arguments->socket) {
		context->socket = arguments->socket;
		context->named_socket = true;
	} else if (environment->socket && *environment->socket) {
		context->socket = environment->socket;
	}
	return 0;
}

/* Returns @status, or another after a complaint if what was printed got lost. */
static int profctl_end_output(const struct context *context, int status)
{
	if ((fflush(context->out) || ferror(context->out)) && status == STATUS_DONE)
		return profctl_complain(context, STATUS_FAILED,
					"standard output cannot be written");
	return status;
}

int profctl_main(int argc, char **argv, const struct environment *environment, FILE *out, FILE *err)
{
	struct context context = {.out = out, .err = err, .now_ns = clock_ns(CLOCK_REALTIME)};
	cleanup(user_paths_deinit) struct user_paths paths = {0};
	struct global_arguments arguments = {0};
	struct usage_message message;
	ptrdiff_t n_before;
	int status;

	context.terminal = fileno(out) >= 0 && isatty(fileno(out));
	context.screen = context.terminal && !environment->is_dumb;
	context.color = context.screen && !environment->no_color;
	context.progress = fileno(err) >= 0 && isatty(fileno(err)) && !environment->no_color &&
			   !environment->is_dumb;
	status = parse_globals(argc, argv, &arguments, &message);
	if (status == OPTIONS_BAD)
		return profctl_complain(&context, STATUS_USAGE, "%s; see profctl help",
					message.text);
	if (status == VERB_HELP)
		print_main_help(out);
	else if (arguments.version)
		fputs("profctl " PROFD_VERSION "\n", out);
	if (status == VERB_HELP || arguments.version)
		return profctl_end_output(&context, STATUS_DONE);
	if (!arguments.verb) {
		print_main_help(err);
		return STATUS_USAGE;
	}
	status = context_set_profd(&context, &arguments, environment, &paths);
	if (status)
		return status;
	n_before = arguments.verb - argv;
	return profctl_end_output(&context,
				  run_verb(&context, argc - (int)n_before, argv + n_before));
}
