/* SPDX-License-Identifier: MIT */
#include "client/profctl/profctl.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/profctl/arguments.h"
#include "client/profctl/table.h"
#include "client/report/options.h"
#include "client/report/slip.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define SOCKET_SIZE 256
#define LIKE_MIN    3 /* characters of a verb that may be mistyped */

const struct verb verbs[] = {
	{"start",
	 "TARGET... [-F HZ | -c N] [-e EVENT] [-d TIME] [--name NAME] [--formats LIST]\n"
	 "                     [--children] [--no-kernel] [--json]",
	 "open a session for a process, a service or more",
	 "Prints the session's id. Each TARGET opens a session of its own:\n"
	 "  PID                  a process\n"
	 "  -t, --tid TID        a thread\n"
	 "  -s, --service S      a service, by its systemd unit; it need not run yet\n"
	 "      --cgroup PATH    a cgroup, as in /proc/PID/cgroup\n"
	 "      --uid UID        the processes of a user\n"
	 "      --comm NAME      the threads of that name\n"
	 "  -C, --cpus LIST      CPUs, such as 0-3,8\n"
	 "      --all            everything\n"
	 "Options:\n"
	 "  -F, --frequency HZ   samples per second and CPU (profd.conf's, else 99)\n"
	 "  -c, --period N       one sample every N events\n"
	 "  -e, --event EVENT    cpu-clock, cycles ...; :u or :k for one side only\n"
	 "  -d, --duration TIME  stop by itself, e.g. after 30s\n"
	 "      --name NAME      part of the folder's name\n"
	 "      --formats LIST   pprof, legacy or both\n"
	 "      --children       what the process has forked and will fork, too\n"
	 "      --no-kernel      without kernel frames\n"
	 "Without privileges: processes of your own, at most 1000 Hz and 4 sessions.\n"
	 "\nExample: id=$(profctl start -F 999 1234); sleep 10; profctl stop $id\n",
	 start_run},
	{"stop", "ID|PID|--all [--json]", "end a session and print its files",
	 "Writes what the session has counted since its last window, then prints every file\n"
	 "that it wrote, a path a line.\n"
	 "\nExample: profctl report $(profctl stop s1 | grep pb.gz)\n",
	 stop_run},
	{"pause", "", "pause the system session",
	 "Samples stop until `profctl resume`; sessions from `profctl start` go on.\n"
	 "\nExample: profctl pause && make benchmark; profctl resume\n",
	 pause_run},
	{"resume", "", "resume the system session", "\nExample: profctl resume\n", resume_run},
	{"status", "[-w] [--json]", "what profd does and how well",
	 "Shows where every tick went (the ledger), how many stacks are whole, what profd costs,\n"
	 "the store, warnings and sessions.\n"
	 "  -w, --watch   again every two seconds\n"
	 "\nExample: profctl status --json | jq .ledger\n",
	 status_run},
	{"flush", "[ID] [--json]", "write the open window now and print its files",
	 "Returns when the files are durable. Without ID: all sessions that are yours to control.\n"
	 "\nExample: profctl flush\n",
	 flush_run},
	{"epoch", "[--json]", "begin a new epoch of image profiles and print its name",
	 "\nExample: profctl epoch && systemctl restart myservice\n", epoch_run},
	{"list", "[-s SERVICE] [--since T] [--until T] [--json]",
	 "the services in the store, or the windows of one",
	 "  -s, --service S   the windows of S; nginx is nginx.service\n"
	 "      --since T     from then on: -10m (ago), 14:30, today, yesterday, RFC 3339\n"
	 "      --until T     up to then\n"
	 "Times are local unless they end in Z.\n"
	 "\nExample: profctl list -s cron.service --since -1h\n",
	 list_run},
	{"collect",
	 "[-s SERVICE | --session ID | -p PID] [--since T] [--until T]\n"
	 "                       [--format pprof|legacy|collapsed] [-o FILE] [--stored] [--json]",
	 "merge what is stored, and the open window, into one profile",
	 "Windows that overlap the range are merged; without -s, --session and -p those of the "
	 "whole\nmachine. Prints the file's name.\n"
	 "  -s, --service S     a service\n"
	 "      --session ID    a session such as s1\n"
	 "  -p, --pid PID       a process, in whatever service it was\n"
	 "      --since T       from then on: -10m (ago), 14:30, today, yesterday, RFC 3339\n"
	 "      --until T       up to then\n"
	 "      --format F      pprof (the default), legacy (needs -p) or collapsed\n"
	 "  -o, --output FILE   instead of ./profd.pb.gz (.prof, .collapsed); - is standard "
	 "output\n"
	 "      --stored        without the open window\n"
	 "Without privileges: sessions of your own, and programs of your own that run now.\n"
	 "\nExample: profctl report --top $(profctl collect -s nginx.service --since -1h)\n",
	 collect_run},
	{"vacuum", "[--max-age T] [--max-size S] [--json]", "delete old profiles now",
	 "Limits that are not given are the configured ones; the newest windows of each service\n"
	 "stay. Prints what was freed.\n"
	 "      --max-age T    what is older goes, e.g. 12h or 3d\n"
	 "      --max-size S   the oldest goes until the store is no bigger, e.g. 500M\n"
	 "\nExample: profctl vacuum --max-size 500M\n",
	 vacuum_run},
	{"config", "[--json]", "the configuration in force",
	 "Prints a file that profd would read back to the same.\n"
	 "\nExample: profctl config --json | jq .sampling.frequency\n",
	 config_run},
	{"doctor", "[--json]", "what this host offers to profd, and what to do about the rest",
	 "Looks by itself, so it works without a running profd. A line each: ok, warn (profd "
	 "works,\n"
	 "but not at its best) or bad, with the remedy. Exit status 1 if anything is bad.\n"
	 "\nExample: sudo profctl doctor\n",
	 doctor_run},
	{"symbolize", "[--lines] [--debuginfod URL]... -o FILE PROFILE",
	 "give the addresses of a profile names",
	 "Reads PROFILE (profile.proto, or a legacy CPU profile; - is standard input) and writes "
	 "it,\n"
	 "as gzip'ed profile.proto, with the names that the programs and libraries on this host\n"
	 "have for its addresses. Files with other build ids than the profile's are not used.\n"
	 "Needs no profd.\n"
	 "      --lines            source lines and inlined functions, too\n"
	 "      --debuginfod URL   ask this server for debug files that are not here\n"
	 "  -o, --output FILE      - is standard output\n"
	 "\nExample: profctl symbolize --lines -o named.pb.gz profile.pb.gz\n",
	 symbolize_run},
	{"images",
	 "[IMAGE] [--db DIR] [--epoch E|all] [-e EVENT] [--json]\n"
	 "                      [--list=RE | --top=N | --diff EPOCH]\n"
	 "       profctl images --cat FILE",
	 "samples of each program and library, from the image profiles of the store",
	 "Without IMAGE: a line for each image that was sampled. With it: a line for each of its\n"
	 "procedures. IMAGE is a path, a name, or an id (its first eight digits do). Names and "
	 "code\n"
	 "come from the file here, if it is the one that was sampled. Needs no profd.\n"
	 "      --db DIR          instead of /var/lib/profd/images (--user: your own profd's)\n"
	 "      --epoch E         YYMMDDHHMM, UTC, instead of the newest; or all\n"
	 "  -e, --event EVENT     where an epoch has more than one\n"
	 "      --list=RE         source lines and instructions of the procedures that match RE\n"
	 "      --top=N           the N hottest instructions, of IMAGE or of all\n"
	 "      --diff EPOCH      what changed since then\n"
	 "      --intel_syntax    instructions as Intel writes them\n"
	 "      --source_path P   folders in which sources are looked for, : between them\n"
	 "      --trim_path P     what is taken off the front of their names\n"
	 "      --cat FILE        one image profile as text: its header, then address and count\n"
	 "The store's profiles are for root and the members of the group profd.\n"
	 "\nExample: profctl images --top=10; profctl images libc.so.6 --list=malloc\n",
	 images_run},
	{"report",
	 "[OPTIONS] [PROGRAM] PROFILE...\n"
	 "       profctl report [OPTIONS] -s SERVICE [--since T] [--until T]",
	 "where the time went: text, graphs, flame graphs, annotated source",
	 "Reads profile.proto, legacy CPU profiles, image profiles, what perf script prints and\n"
	 "collapsed stacks, gzip'ed or not; several are merged, and a folder stands for all in "
	 "it.\n"
	 "- is standard input. http://, https:// and HOST:PORT are fetched. PROGRAM, when given\n"
	 "first, is where names come from. With -s it is what the store holds of a service. Needs\n"
	 "no profd. On a terminal, without a view, it asks for commands; else it is --text. One\n"
	 "dash is as good as two.\n"
	 "\nExample: profctl report --text profile.pb.gz\n"
	 "         profctl report --flame -o flame.html -s nginx.service --since -1h\n"
	 "         profctl report --peek=malloc ./program program.prof\n"
	 "         profctl report --seconds=10 localhost:6060\n"
	 "         profctl report --diff_base=before.pb.gz --cum after.pb.gz\n",
	 report_run},
	{"diff", "[OPTIONS] BASE NEW", "what a profile has more, and less, than another",
	 "The short form of report --diff_base=BASE NEW, and takes its options: percentages are\n"
	 "of BASE's total. --normalize scales NEW to it first.\n"
	 "\nExample: profctl diff --cum before.pb.gz after.pb.gz\n",
	 diff_run},
	{"convert", "--to FORMAT [-o FILE] PROFILE...", "write profiles in another format, merged",
	 "  -t, --to FORMAT     pprof, legacy, collapsed or speedscope\n"
	 "  -o, --output FILE   instead of standard output\n"
	 "Legacy profiles have user frames only; collapsed stacks have names only.\n"
	 "\nExample: perf script | profctl convert --to pprof -o perf.pb.gz -\n",
	 convert_run},
	{"run", "[-F HZ] [-o FILE] [--] COMMAND...",
	 "run a command and profile it and its children: no profd, no privileges",
	 "Runs COMMAND with libprofd.so loaded into it and every program that it starts, until it "
	 "ends.\n"
	 "What was gathered is written then, however it ended; what it leaves running in the\n"
	 "background is not sampled any longer. The exit status is COMMAND's, and a signal that "
	 "ended\n"
	 "it ends this, too; 125, 126 and 127 are as env(1) has them.\n"
	 "  -F, --frequency HZ   samples per second of each thread's CPU time, 1 to 4000 (99)\n"
	 "  -o, --output FILE    instead of ./profd.pb.gz; a name in .prof: a legacy CPU profile, "
	 "in\n"
	 "                       .collapsed: collapsed stacks\n"
	 "Programs that are linked statically, use musl, or run with other rights than yours are "
	 "run,\n"
	 "but not sampled; of much CPU time that was not, the last lines tell.\n"
	 "\nExample: profctl run -o sort.pb.gz -- sort -u words && profctl report sort.pb.gz\n",
	 run_run},
	{"top", "[-s SERVICE | -p PID] [-d SECONDS] [--rows N] [--once] [--json]",
	 "the hottest functions, as they run",
	 "Shares of the last interval and since the beginning: flat is what functions cost "
	 "themselves,\n"
	 "cum what they cost with all that they call. On a terminal it fills the screen, h shows "
	 "the\n"
	 "keys; otherwise, and with TERM=dumb, a plain table an interval. Nothing of it is "
	 "stored.\n"
	 "  -s, --service S   a service, by its systemd unit\n"
	 "  -p, --pid PID     a process\n"
	 "  -d, --delay TIME  the interval: seconds, or e.g. 500ms (2 s)\n"
	 "      --rows N      as many functions at most, where it is no screen (20)\n"
	 "      --once        one table, of one interval\n"
	 "      --json        each interval an object\n"
	 "Without privileges: -p with a process of your own, or profctl --user top.\n"
	 "\nExample: profctl top -s nginx.service --once -d 10\n",
	 top_run},
	{"record",
	 "[-F HZ] [-e EVENT] [-d TIME] [-o FILE] (-a | -p PID | -s SERVICE |\n"
	 "                      [--] COMMAND...)",
	 "record into one file what runs now, or a command",
	 "A session of the profd that runs, else of one that runs for as long as this takes. Ends\n"
	 "after -d, on Ctrl-C, with the process or with COMMAND, and writes the file then, whole\n"
	 "or not at all; nothing is in profd's store. COMMAND is sampled from its first\n"
	 "instruction, with what it starts; the exit status is COMMAND's then, and 125, 126 and\n"
	 "127 are as env(1) has them.\n"
	 "  -a, --all            everything; where profd is one of your own, your own processes\n"
	 "  -p, --pid PID        a process\n"
	 "  -s, --service S      a service, by its systemd unit\n"
	 "  -F, --frequency HZ   samples per second and CPU (profd.conf's, else 99)\n"
	 "  -e, --event EVENT    cpu-clock, cycles ...; :u or :k for one side only\n"
	 "  -d, --duration TIME  e.g. 30s; a COMMAND goes on after that\n"
	 "  -o, --output FILE    instead of ./profd.pb.gz; a name in .prof: a legacy CPU profile, "
	 "of\n"
	 "                       one process; in .collapsed: collapsed stacks; - is standard "
	 "output\n"
	 "\nExample: profctl record -d 10s -a && profctl report profd.pb.gz\n",
	 record_run},
	{0},
};

static const struct verb *find_verb(const char *name)
{
	for (const struct verb *verb = verbs; verb->name; verb++)
		if (strcmp(verb->name, name) == 0)
			return verb;
	return NULL;
}

int profctl_complain(const struct context *context, int status, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(context->err, "profctl%s%s: ", context->verb ? " " : "",
		context->verb ? context->verb : "");
	print_safely(context->err, text);
	fputc('\n', context->err);
	return status;
}

static void print_verb_help(const struct verb *verb, FILE *out)
{
	const char *example = strstr(verb->help, "\nExample");
	int before = example ? (int)(example - verb->help) : (int)strlen(verb->help);

	fprintf(out, "usage: profctl %s%s%s\n\n%c%s.\n%.*s", verb->name, *verb->synopsis ? " " : "",
		verb->synopsis, verb->summary[0] - ('a' <= verb->summary[0]) * ('a' - 'A'),
		verb->summary + 1, before, verb->help);
	if (verb->run == report_run) {
		fputc('\n', out);
		report_options_help(out);
	}
	fputs(verb->help + before, out);
}

static void print_main_help(FILE *out)
{
	fputs("usage: profctl [--socket PATH | --user] VERB ...\n\n"
	      "Controls profd, the always-on profiler, and works on profiles.\n\n",
	      out);
	for (const struct verb *verb = verbs; verb->name; verb++)
		fprintf(out, "  %-9s %s\n", verb->name, verb->summary);
	fputs("  help      this, or with a verb the verb's help\n\n"
	      "  --socket PATH  profd's socket; else $PROFD_SOCKET, else " SYSTEM_SOCKET "\n"
	      "  --user         your own profd's socket, in $XDG_RUNTIME_DIR\n"
	      "  --version\n\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 no daemon answers, 4 denied.\n",
	      out);
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

/* Other tools that report have no verbs. NULL: it is no view. */
static const struct report_option *find_report_view(const char *word)
{
	const char *name = word + strspn(word, "-");
	const struct report_option *option = report_option_find(name, strcspn(name, "="));

	return option && (option->kind == REPORT_OPTION_VIEW ||
			  option->kind == REPORT_OPTION_VIEW_PATTERN)
		       ? option
		       : NULL;
}

/* As parse_globals() refuses it, unless it is an option of those tools. */
static int complain_bad_globals(const struct context *context, const char *word,
				const struct usage_message *message)
{
	const char *name = word + strspn(word, "-");

	if (strncmp(name, "http", 4) == 0 && strchr("=", name[4]))
		return profctl_complain(
			context, STATUS_USAGE,
			"unknown option %s; no page is served, try: profctl report --flame "
			"-o FILE.html",
			word);
	if (find_report_view(word))
		return profctl_complain(context, STATUS_USAGE,
					"unknown option %s; try: profctl report %s", word, word);
	return profctl_complain(context, STATUS_USAGE, "%s; see profctl help", message->text);
}

/* One that was mistyped. NULL: none. */
static const struct verb *find_similar_verb(const char *name)
{
	size_t length = strlen(name);

	for (const struct verb *verb = verbs; verb->name; verb++)
		if (length >= LIKE_MIN && slip_is(name, length, verb->name, strlen(verb->name)))
			return verb;
	return NULL;
}

/*
 * It may be one of another version, one that was mistyped, what others have, or what they would
 * report on.
 */
static int complain_unknown_verb(const struct context *context, const char *name)
{
	static const struct {
		const char *name, *hint;
	} others[] = {
		{"version", "profctl --version"},
		{"reload", "systemctl reload profd"},
		{"restart", "systemctl restart profd"},
		{"enable", "systemctl enable profd"},
		{"logs", "journalctl -u profd"},
		{"stat", "profctl status"},
		{"annotate", "profctl report --list=RE, or --disasm=RE"},
		{"script", "profctl report --traces"},
		{"flamegraph", "profctl report --flame -o FILE"},
		{"merge", "profctl convert --to pprof -o FILE"},
		{"pprof", "profctl report"},
	};
	const struct report_option *view = find_report_view(name);
	const struct verb *like = find_similar_verb(name);
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(name, others[i].name) == 0)
			return profctl_complain(context, STATUS_USAGE,
						"there is no verb '%s'; try: %s", name,
						others[i].hint);
	if (stat(name, &st) == 0 && S_ISREG(st.st_mode))
		return profctl_complain(
			context, STATUS_USAGE,
			"there is no verb '%s', which is a file; try: profctl report FILE", name);
	if (view)
		return profctl_complain(context, STATUS_USAGE,
					"there is no verb '%s'; try: profctl report --%s%s%s", name,
					view->name, view->argument ? "=" : "",
					view->argument ? view->argument : "");
	if (like)
		return profctl_complain(context, STATUS_USAGE,
					"there is no verb '%s'; try: profctl %s", name, like->name);
	return profctl_complain(context, STATUS_USAGE,
				"there is no verb '%s' in profctl " PROFD_VERSION
				"; profctl help lists those there are",
				name);
}

static int help_run(struct context *context, int argc, char **argv)
{
	const struct verb *verb = argc > 1 ? find_verb(argv[1]) : NULL;

	context->verb = NULL;
	if (argc > 1 && !verb)
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

	if (argc == 0) {
		print_main_help(context->err);
		return STATUS_USAGE;
	}
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
	bool user, help, version;
	int at; /* of the verb in argv, or of what is wrong */
};

enum { GLOBAL_SOCKET = 1, GLOBAL_USER, GLOBAL_HELP, GLOBAL_VERSION };

static int parse_globals(int argc, char **argv, struct global_arguments *ret,
			 struct usage_message *message)
{
	static const struct option_spec specs[] = {
		{GLOBAL_SOCKET, 0, "socket", true},
		{GLOBAL_USER, 0, "user", false},
		{GLOBAL_HELP, 'h', "help", false},
		{GLOBAL_VERSION, 'V', "version", false},
	};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	const char *argument;
	int id;

	for (;;) {
		id = options_next(&o, &argument);
		ret->at = o.at - 1;
		if (id == OPTIONS_BAD)
			return id;
		if (id == OPTIONS_END || id == OPTIONS_OPERAND) {
			ret->at = id == OPTIONS_END ? argc : ret->at;
			return 0;
		}
		ret->help |= id == GLOBAL_HELP;
		ret->version |= id == GLOBAL_VERSION;
		ret->user |= id == GLOBAL_USER;
		if (id == GLOBAL_SOCKET)
			ret->socket = argument;
	}
}

/* Returns 0 or STATUS_USAGE after a complaint. */
static int context_set_socket(struct context *context, const struct global_arguments *arguments,
			      const struct environment *environment, char buffer[SOCKET_SIZE])
{
	if (arguments->socket && arguments->user)
		return profctl_complain(context, STATUS_USAGE, "either --socket or --user");
	context->socket = SYSTEM_SOCKET;
	if (arguments->user) {
		if (!environment->runtime_dir || !*environment->runtime_dir)
			return profctl_complain(
				context, STATUS_USAGE,
				"--user needs XDG_RUNTIME_DIR, which is not set; use "
				"--socket");
		snprintf(buffer, SOCKET_SIZE, "%s/profd/control.sock", environment->runtime_dir);
		context->socket = buffer;
		context->user = true;
	} else if (arguments->socket) {
		context->socket = arguments->socket;
		context->named_socket = true;
	} else if (environment->socket && *environment->socket) {
		context->socket = environment->socket;
	}
	return 0;
}

/* As the user's own profd does it; where nothing is known of the user, none is found there. */
static void context_set_store(struct context *context, const struct environment *environment,
			      char buffer[PATH_MAX])
{
	const char *state = environment->state_home, *home = environment->home;

	context->store = SYSTEM_STORE;
	if (!context->user)
		return;
	if (state && *state == '/')
		snprintf(buffer, PATH_MAX, "%s/profd", state);
	else
		snprintf(buffer, PATH_MAX, "%s/.local/state/profd", home ? home : "");
	context->store = buffer;
}

int profctl_main(int argc, char **argv, const struct environment *environment, FILE *out, FILE *err)
{
	struct context context = {.out = out, .err = err, .now_ns = clock_ns(CLOCK_REALTIME)};
	struct global_arguments arguments = {0};
	struct usage_message message;
	char socket[SOCKET_SIZE], store[PATH_MAX];
	int status;

	context.terminal = fileno(out) >= 0 && isatty(fileno(out));
	context.screen = context.terminal && !environment->is_dumb;
	context.color = context.screen && !environment->no_color;
	context.progress = fileno(err) >= 0 && isatty(fileno(err)) && !environment->no_color &&
			   !environment->is_dumb;
	status = parse_globals(argc, argv, &arguments, &message);
	if (status)
		return complain_bad_globals(&context, argv[arguments.at], &message);
	if (arguments.help || arguments.version) {
		if (arguments.help)
			print_main_help(out);
		else
			fputs("profctl " PROFD_VERSION "\n", out);
		return STATUS_DONE;
	}
	status = context_set_socket(&context, &arguments, environment, socket);
	if (status)
		return status;
	context_set_store(&context, environment, store);
	status = run_verb(&context, argc - arguments.at, argv + arguments.at);
	if ((fflush(out) || ferror(out)) && status == STATUS_DONE)
		return profctl_complain(&context, STATUS_FAILED,
					"standard output cannot be written");
	return status;
}
