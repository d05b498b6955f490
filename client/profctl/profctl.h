/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_PROFCTL_H
#define PROFD_PROFCTL_PROFCTL_H

/*
 * The verbs, what they share, and the exit statuses. A verb parses its arguments with a pure
 * function (arguments.h), asks the daemon (call.h) or looks itself, and prints.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/user_paths.h"

#define SYSTEM_SOCKET "/run/profd/control.sock"
#define SYSTEM_STORE  "/var/lib/profd"

enum {
	STATUS_DONE = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_NO_DAEMON = 3,
	STATUS_DENIED = 4,
	/* Of `run`, and `record` of a command, as env(1) has them; else that is the command's. */
	STATUS_RUN_FAILED = 125,
	STATUS_RUN_CANNOT = 126,
	STATUS_RUN_NOT_FOUND = 127,
};

/* With its NUL. */
#define COMPLAINT_SIZE 1024

struct context {
	const char *verb;
	const char *socket;
	bool user;         /* that of a user's own profd */
	const char *store; /* that profd's, unless it is configured otherwise */
	bool named_socket; /* with --socket: no other will do */
	FILE *out, *err;
	char *kept;      /* the last complaint, COMPLAINT_SIZE; NULL: they are told instead */
	uint64_t now_ns; /* Unix time, when profctl was started */
	bool terminal;   /* out is one */
	bool screen;     /* the same, and it knows control sequences */
	bool color;
	bool progress; /* err is a terminal, and nobody minds what moves there */
};

/* @argv from the verb on. Returns the exit status. */
typedef int verb_run(struct context *context, int argc, char **argv);

/* What somebody wants, as in profctl(1). */
enum verb_task { TASK_SEE, TASK_RECORD, TASK_FILES, TASK_PROFD, N_TASKS };

struct verb {
	enum verb_task task;
	const char *name;
	const char *synopsis; /* behind "profctl VERB " */
	const char *summary;  /* one line, for the list of verbs */
	const char *help;     /* the rest, with an example */
	verb_run *run;
};

/* All of them, of each task in the order of the help text; the last has no name. */
extern const struct verb verbs[];

verb_run start_run, stop_run, pause_run, plain_run, flush_run, vacuum_run, export_run, status_run,
	list_run, collect_run;
verb_run doctor_run, symbolize_run, images_run;
verb_run report_run, diff_run, convert_run, run_run, record_run, top_run, web_run;

/* What the program is told by its environment: injected for tests. */
struct environment {
	const char *socket; /* $PROFD_SOCKET, or NULL */
	struct user_environment user;
	bool no_color; /* $NO_COLOR is set and not empty */
	bool is_dumb;  /* $TERM does not say that the terminal can do anything */
};

/* The whole program but for the environment: returns the exit status. */
int profctl_main(int argc, char **argv, const struct environment *environment, FILE *out,
		 FILE *err);

/* One line to the user: "profctl VERB: ...", without control characters. Returns @status. */
int profctl_complain(const struct context *context, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct usage_message;

/*
 * What a verb does when parsing returned @r instead of 0: prints its help, or the complaint and the
 * way to the help. Returns the exit status.
 */
int parse_ended(const struct context *context, int r, const struct usage_message *message);

#endif
