/* SPDX-License-Identifier: MIT */
/* One session, one file. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/profctl/arguments.h"
#include "client/profctl/command.h"
#include "client/profctl/output.h"
#include "client/profctl/progress.h"
#include "client/profctl/record_session.h"
#include "client/symbolize/profile_file.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/packet.h"
#include "common/profile/merge.h"
#include "common/units.h"
#include "common/unixsock.h"

#define NS          UINT64_C(1000000000)
#define PROGRESS_NS (NS / 2)
#define LEDGER      "# profd ledger:"

enum {
	OPTION_FREQUENCY = OPTION_OWN,
	OPTION_EVENT,
	OPTION_DURATION,
	OPTION_OUTPUT,
	OPTION_ALL,
	OPTION_PID,
	OPTION_SERVICE,
};

/* --- arguments -------------------------------------------------------------------------------- */

static int take_number(const char *what, const char *text, uint64_t max, uint64_t *ret,
		       struct usage_message *message)
{
	uint64_t value;

	if (units_parse_number(text, &value) || value == 0 || value > max)
		return usage_error(message, "%s, not '%s'", what, text);
	*ret = value;
	return 0;
}

static int take_target(struct record_arguments *a, Profd__Control__TargetKind kind, bool *has_one,
		       struct usage_message *message)
{
	if (*has_one)
		return usage_error(message, "one of -a, -p, -s and COMMAND");
	*has_one = true;
	a->target = kind;
	return 0;
}

static int parse_option(int id, const char *argument, struct record_arguments *a, bool *has_target,
			struct usage_message *message)
{
	uint64_t pid = 0;
	int r;

	switch (id) {
	case OPTION_FREQUENCY:
		return take_number("-F takes a number of samples per second", argument, UINT32_MAX,
				   &a->frequency, message);
	case OPTION_EVENT:
		a->event = argument;
		return *argument ? 0 : usage_error(message, "the event's name is empty");
	case OPTION_DURATION:
		if (units_parse_duration(argument, &a->duration_ns) || a->duration_ns == 0)
			return usage_error(message,
					   "-d takes a duration such as 500ms, 10s or 5m, not '%s'",
					   argument);
		return 0;
	case OPTION_OUTPUT:
		a->output = argument;
		return *argument ? 0 : usage_error(message, "the output file's name is empty");
	case OPTION_ALL:
		return take_target(a, PROFD__CONTROL__TARGET_KIND__ALL, has_target, message);
	case OPTION_PID:
		r = take_number("-p takes a process id", argument, INT32_MAX, &pid, message);
		a->pid = (int64_t)pid;
		return r ? r
			 : take_target(a, PROFD__CONTROL__TARGET_KIND__PID, has_target, message);
	case OPTION_SERVICE:
		a->service = argument;
		return *argument ? take_target(a, PROFD__CONTROL__TARGET_KIND__SERVICE, has_target,
					       message)
				 : usage_error(message, "the service's name is empty");
	default:
		return id;
	}
}

static int check(struct record_arguments *a, bool has_target, struct usage_message *message)
{
	if (!has_target || (a->command && !**a->command))
		return usage_error(message, "what is to be recorded: -a, -p PID, -s SERVICE, or a "
					    "COMMAND?");
	a->format = output_format(a->output);
	if (a->format == RUN_LEGACY && !a->command && !a->pid)
		return usage_error(message, "a legacy profile (.prof) is of one process: -p PID, "
					    "or a COMMAND");
	if (a->command && strcmp(a->output, "-") == 0)
		return usage_error(message, "standard output is the command's: -o FILE");
	return 0;
}

int record_parse(int argc, char *const *argv, struct record_arguments *ret,
		 struct usage_message *message)
{
	static const struct option_spec specs[] = {
		{OPTION_HELP, 'h', "help", false},    {OPTION_FREQUENCY, 'F', "frequency", true},
		{OPTION_EVENT, 'e', "event", true},   {OPTION_DURATION, 'd', "duration", true},
		{OPTION_OUTPUT, 'o', "output", true}, {OPTION_ALL, 'a', "all", false},
		{OPTION_PID, 'p', "pid", true},       {OPTION_SERVICE, 's', "service", true},
	};
	struct options o = {.argc = argc,
			    .argv = argv,
			    .specs = specs,
			    .n_specs = ARRAY_SIZE(specs),
			    .message = message};
	struct record_arguments a = {.service = "", .event = "", .output = OUTPUT_DEFAULT};
	bool has_target = false;
	const char *argument;
	int id, r = 0;

	while (!r && !a.command && (id = options_next(&o, &argument)) != OPTIONS_END) {
		if (id == OPTION_HELP)
			return VERB_HELP;
		if (id == OPTIONS_OPERAND) {
			/* What follows is the command's. */
			r = take_target(&a, PROFD__CONTROL__TARGET_KIND__PID, &has_target, message);
			a.command = argv + o.at - 1;
		} else {
			r = parse_option(id, argument, &a, &has_target, message);
		}
	}
	if (!r)
		r = check(&a, has_target, message);
	if (r)
		return r;
	*ret = a;
	return 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

struct recording {
	struct record_session session;
	const struct record_arguments *arguments;
	struct progress progress;
	int signals; /* signalfd(2) */
	int command; /* pidfd, or -1 */
	bool has_ended;
	int status; /* of the command, when it has; waitpid(2) */
	uint64_t start_ns, counted, dropped;
};

enum { WAIT_ENDED, WAIT_LOST };

static void record_signals(sigset_t *ret)
{
	static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

	sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaddset(ret, numbers[i]);
}

/* A command gets what is meant for it; a terminal has sent it that already. True: it is ours. */
static bool take_signal(struct recording *r)
{
	struct signalfd_siginfo info;

	if (read(r->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (r->command < 0)
		return info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2;
	if (info.ssi_code <= 0)
		kill(r->session.command.pid, (int)info.ssi_signo);
	return false;
}

static void take_end(struct recording *r)
{
	if (waitpid(r->session.command.pid, &r->status, WNOHANG) == r->session.command.pid)
		r->has_ended = true;
}

static void show(struct recording *r, uint64_t now_ns)
{
	double seconds = (double)(now_ns - r->start_ns) / (double)NS;
	double all = (double)r->arguments->duration_ns / (double)NS;
	char elapsed[UNITS_TEXT_MAX], whole[UNITS_TEXT_MAX], text[160];

	/* A terminal is the command's while that runs. */
	if (!r->progress.out || r->arguments->command)
		return;
	record_session_count(&r->session, &r->counted, &r->dropped);
	units_print_span(elapsed, sizeof(elapsed), seconds);
	units_print_span(whole, sizeof(whole), all);
	if (r->arguments->duration_ns)
		snprintf(text, sizeof(text), "%s of %s, %" PRIu64 " samples", elapsed, whole,
			 r->counted);
	else
		snprintf(text, sizeof(text), "%s, %" PRIu64 " samples; Ctrl-C ends and writes",
			 elapsed, r->counted);
	progress_show(&r->progress, all > 0 ? seconds / all : PROGRESS_UNKNOWN, text);
}

/* Milliseconds to wait for what is next: the end, or another look at the progress. */
static int patience_ms(const struct recording *r, uint64_t now_ns)
{
	uint64_t end_ns = r->start_ns + r->arguments->duration_ns, ns = UINT64_MAX;

	if (r->arguments->duration_ns)
		ns = end_ns > now_ns ? end_ns - now_ns : 0;
	if (r->progress.out && ns > PROGRESS_NS)
		ns = PROGRESS_NS;
	return ns == UINT64_MAX ? -1 : ns / 1000000 > 3600000 ? 3600000 : (int)(ns / 1000000 + 1);
}

/* The session has ended by itself, as its process has; or profd has gone. */
static int hear_of_session(struct recording *r)
{
	cleanup(freep) uint8_t *answer = NULL;
	size_t size;

	if (unixsock_receive(r->session.held.fd, PACKET_RESPONSE_MAX, CALL_SHORT_MS, &answer,
			     &size))
		return WAIT_LOST;
	held_deinit(&r->session.held);
	return WAIT_ENDED;
}

static int wait_for_end(struct recording *r)
{
	for (;;) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		struct pollfd fds[] = {{.fd = r->signals, .events = POLLIN},
				       {.fd = r->session.held.fd, .events = POLLIN},
				       {.fd = r->command, .events = POLLIN}};

		show(r, now_ns);
		if (r->arguments->duration_ns && now_ns >= r->start_ns + r->arguments->duration_ns)
			return WAIT_ENDED;
		if (poll(fds, ARRAY_SIZE(fds), patience_ms(r, now_ns)) < 0 && errno != EINTR)
			return WAIT_LOST;
		if (fds[0].revents && take_signal(r))
			return WAIT_ENDED;
		if (fds[2].revents)
			take_end(r);
		if (r->has_ended)
			return WAIT_ENDED;
		if (fds[1].revents) {
			int outcome = hear_of_session(r);

			if (outcome == WAIT_LOST || r->command < 0)
				return outcome;
		}
	}
}

static void wait_for_command(struct recording *r)
{
	while (r->command >= 0 && !r->has_ended) {
		struct pollfd fds[] = {{.fd = r->signals, .events = POLLIN},
				       {.fd = r->command, .events = POLLIN}};

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents)
			take_signal(r);
		if (fds[1].revents)
			take_end(r);
	}
}

/* --- the file --------------------------------------------------------------------------------- */

/* What a ledger line says was lost. Pure. */
static uint64_t lost_of(const char *line)
{
	uint64_t lost = 0;

	for (const char *at = strstr(line, " lost."); at; at = strstr(at + 1, " lost.")) {
		const char *number = strchr(at, '=');

		lost += number ? strtoull(number + 1, NULL, 10) : 0;
	}
	return lost;
}

static uint64_t count_lost(const struct profile *p)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < p->n_comments; i++) {
		const char *text = profile_string(p, p->comments[i]);

		if (strncmp(text, LEDGER, strlen(LEDGER)) == 0)
			lost += lost_of(text);
	}
	return lost;
}

/* A profile of nothing, as it would be written if there were something. */
static int make_empty(const struct recording *r, struct profile **ret)
{
	cleanup(profile_freep) struct profile *p = NULL;
	uint64_t frequency = r->arguments->frequency ? r->arguments->frequency : 99;
	int error = profile_new(&p);

	if (!error)
		error = profile_add_sample_type(p, "samples", "count");
	if (!error)
		error = profile_add_sample_type(p, "cpu", "nanoseconds");
	if (error)
		return error;
	p->period_type = p->sample_types[1];
	p->period = (int64_t)(NS / frequency);
	p->time_ns = (int64_t)r->session.context.now_ns;
	p->duration_ns = (int64_t)(clock_ns(CLOCK_MONOTONIC) - r->start_ns);
	*ret = steal_ptr(&p);
	return 0;
}

static int add_file(const struct context *context, struct merge *m, const char *path,
		    int64_t *ret_samples)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;
	int r = profile_file_read(path, &p, &message);

	if (!r)
		r = merge_add(m, p, NULL, ret_samples, &message);
	if (r > 0)
		return complain(context, STATUS_FAILED, "%s: %s", path, message.text);
	return r ? complain(context, STATUS_FAILED, "%s: %s", path, error_describe(r)) : 0;
}

/* The windows of the session, one after the other. */
static int merge_files(struct recording *r, const Profd__Control__Paths *paths,
		       struct profile **ret, uint64_t *ret_samples)
{
	const struct context *context = &r->session.context;
	cleanup(merge_freep) struct merge *m = NULL;
	int error = merge_new(&m, MERGE_WINDOWS_DROPPED);

	*ret_samples = 0;
	for (size_t i = 0; !error && i < paths->n_paths; i++) {
		int64_t samples = 0;
		int status = add_file(context, m, paths->paths[i], &samples);

		if (status)
			return status;
		*ret_samples += (uint64_t)samples;
	}
	if (!error && merge_profile(m))
		error = merge_finish(m);
	if (!error && merge_profile(m))
		*ret = merge_take(m);
	else if (!error)
		error = make_empty(r, ret);
	return error ? complain(context, STATUS_FAILED, "%s", error_describe(error)) : STATUS_DONE;
}

static int write_file(struct recording *r)
{
	const struct context *context = &r->session.context;
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	cleanup(profile_freep) struct profile *profile = NULL;
	const char *output = r->arguments->output;
	uint64_t samples;
	int status;

	record_session_count(&r->session, &r->counted, &r->dropped);
	status = held_stop(context, &r->session.held, &response);
	if (!status)
		status = merge_files(r, response->paths, &profile, &samples);
	if (!status)
		status = output_save(context, STATUS_FAILED, output, r->arguments->format, profile);
	if (status)
		return status;
	if (!samples)
		complain(context, 0,
			 "no samples: so little CPU time was used; -F takes more a "
			 "second");
	complain(context, 0, "%" PRIu64 " samples, %" PRIu64 " lost, in %s", samples,
		 r->dropped + count_lost(profile),
		 strcmp(output, "-") ? output : "standard output");
	return STATUS_DONE;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int go(struct recording *r)
{
	int error = 0;

	r->start_ns = clock_ns(CLOCK_MONOTONIC);
	if (!r->arguments->command)
		return STATUS_DONE;
	if (launch_go(&r->session.command, &error) == LAUNCH_E_FAILED)
		return command_complain(&r->session.context, r->arguments->command[0], error);
	r->command = (int)syscall(SYS_pidfd_open, r->session.command.pid, 0);
	return r->command < 0 ? complain(&r->session.context, STATUS_FAILED, "%s", strerror(errno))
			      : STATUS_DONE;
}

static int record(struct recording *r)
{
	int status = record_session_open(&r->session);

	if (!status)
		status = go(r);
	if (status)
		return status;
	progress_init(&r->progress, &r->session.context);
	status = wait_for_end(r);
	progress_clear(&r->progress);
	if (status == WAIT_LOST) {
		status = complain(&r->session.context, STATUS_FAILED,
				  "profd has gone, and %s is not written", r->arguments->output);
	} else {
		/* Whoever is tired of waiting for the file may end us as usual. */
		if (r->command < 0)
			sigprocmask(SIG_SETMASK, r->session.mask, NULL);
		status = write_file(r);
	}
	wait_for_command(r);
	return status;
}

/* Failures of our own have their own statuses where others are the command's. */
static int status_beside_command(int status)
{
	return status == STATUS_DONE || status >= STATUS_RUN_FAILED ? status : STATUS_RUN_FAILED;
}

int record_run(struct context *context, int argc, char **argv)
{
	struct record_arguments arguments;
	struct usage_message message;
	struct recording r = {.arguments = &arguments, .command = -1};
	struct rlimit fds;
	sigset_t signals, mask;
	int status = record_parse(argc, argv, &arguments, &message);

	if (status)
		return parse_ended(context, status, &message);
	if (strcmp(arguments.output, "-") != 0)
		status = output_check(context, STATUS_FAILED, arguments.output);
	else if (context->terminal && arguments.format != RUN_COLLAPSED)
		status = complain(context, STATUS_USAGE,
				  "a profile is nothing for a terminal; -o FILE, or a pipe");
	if (status)
		return arguments.command ? status_beside_command(status) : status;
	getrlimit(RLIMIT_NOFILE, &fds);
	record_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	r.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r.signals < 0)
		return complain(context, STATUS_FAILED, "%s", strerror(errno));
	r.session = (struct record_session){
		.context = *context, .arguments = &arguments, .mask = &mask, .fds = &fds};
	status = record(&r);
	record_session_deinit(&r.session);
	closep(&r.command);
	close(r.signals);
	if (!arguments.command)
		return status;
	status = status_beside_command(status);
	return status ? status : command_end_as(r.status);
}
