/* SPDX-License-Identifier: MIT */
/*
 * One session, one file: where the samples come from, how they come here, what there is to be
 * waited for, and what comes of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/command.h"
#include "client/profctl/output.h"
#include "client/profctl/progress.h"
#include "client/profctl/services.h"
#include "client/profctl/table.h"
#include "client/record/private_profd.h"
#include "client/run/launch.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/profile/merge.h"
#include "common/profile/value_types.h"
#include "common/units.h"

#define PROGRESS_NS (NS_PER_S / 2)

#define INTERVAL_MIN (NS_PER_S / 10)
#define INTERVAL     (NS_PER_S / 4)
#define INTERVAL_MAX (4 * NS_PER_S)
/* As long as a session waits, nearly. */
#define PATIENCE_NS (8 * NS_PER_S)
#define RETRY_NS    (NS_PER_S / 5)
#define FREQUENCY   99

/* --- the command line ------------------------------------------------------------------------- */

static const char one_target[] = "only one of -a, -p, -s and COMMAND; the duration is -d TIME";

static const char one_event[] = "only one of --wall, --off-cpu and -e";

static int record_check_arguments(struct record_arguments *a, struct usage_message *message)
{
	bool has_target = a->all || a->pid || *a->service;

	if (a->command && has_target)
		return usage_error(message, "%s", one_target);
	if (a->command ? !**a->command : !has_target)
		return usage_error(message, "nothing to record: use -a, -p PID, -s SERVICE, or a "
					    "COMMAND");
	a->output.format = output_format_of(a->output.path);
	if (a->output.format == ANY_CPUPROFILE && !a->command && !a->pid)
		return usage_error(message, "a legacy profile (.prof) has one process: use -p PID, "
					    "or a COMMAND");
	if (a->wakers && !event_has_waits(a->event))
		return usage_error(message, "--wakers needs --wall or --off-cpu");
	if (a->latency && strcmp(a->event, "off-cpu") == 0)
		return usage_error(message, "--latency cannot be used with --off-cpu");
	if (a->output.format == ANY_CPUPROFILE && (event_has_waits(a->event) || a->latency))
		return usage_error(message,
				   "a legacy profile (.prof) has CPU time alone: %s needs another "
				   "name",
				   a->latency ? "latency" : "waiting time");
	if (a->frequency > UINT32_MAX)
		return usage_error(message, "-F is at most %" PRIu32, UINT32_MAX);
	if (a->command && strcmp(a->output.path, "-") == 0)
		return usage_error(message, "standard output is used by the command: use -o FILE");
	return 0;
}

int record_parse(int argc, char *const *argv, struct record_arguments *ret,
		 struct usage_message *message)
{
	bool wall = false, off_cpu = false;
	const struct option_row rows[] = {
		{'F', "frequency", option_number, &ret->frequency, NULL},
		{'e', "event", option_text, &ret->event, one_event},
		{0, "wall", option_flag, &wall, one_event},
		{0, "off-cpu", option_flag, &off_cpu, one_event},
		{0, "wakers", option_flag, &ret->wakers, NULL},
		{0, "latency", option_flag, &ret->latency, NULL},
		{'d', "duration", option_seconds, &ret->duration_ns, NULL},
		{'o', "output", option_text, &ret->output.path, NULL},
		{'a', "all", option_flag, &ret->all, one_target},
		{'p', "pid", option_pid, &ret->pid, one_target},
		{'s', "service", option_service, &ret->service, one_target},
		{0},
	};
	int r;

	*ret = (struct record_arguments){.service = "", .event = "", .output.path = ""};
	r = options_parse_command(rows, argc, argv, &ret->command, message);
	if (wall || off_cpu)
		ret->event = wall ? "wall" : "off-cpu";
	return r ? r : record_check_arguments(ret, message);
}

/*
 * Samples come from a live session, held, of the profd that there is. It is tried first; if it is
 * not there, or may not sample what is wanted, a private one is started for as long as the
 * recording takes. What the first complained of is told only if there is no other. A command waits
 * to be executed until it is sampled.
 *
 * They are taken as they come, and merged here: so profd holds no more than two windows of a
 * recording, and no file, however long that is, and what was taken is there whatever becomes of
 * profd. How often is a matter of how much comes: more often as soon as a window was full before it
 * was taken.
 */
struct recording {
	struct context context; /* with the socket of the profd that records */
	struct record_arguments *arguments;
	int signals;       /* signalfd(2) */
	sigset_t mask;     /* of signals, and */
	struct rlimit fds; /* RLIMIT_NOFILE: for the command, as they were */
	struct private_profd *profd;
	struct held held;
	struct launched launched;
	int command; /* pidfd, or -1 */
	bool has_ended;
	int status; /* of the command, when it has; waitpid(2) */
	struct merge *merge;
	uint64_t count;
	uint64_t lost;                          /* that there were, and that profd cannot give */
	uint64_t start_ns, interval_ns, due_ns; /* CLOCK_MONOTONIC; the last: to take again */
	bool over;                              /* the session has ended, and all was taken */
	char trouble[COMPLAINT_SIZE];           /* why there is less than there might be */
	struct progress progress;
};

/* --- the session ------------------------------------------------------------------------------ */

/* Not one of profctl's: the profd that answers cannot sample what we want; a private one might. */
#define STATUS_OTHER (-1)

/*
 * A source of programs that sample themselves has no events of the kernel's: so the command is made
 * to. Its processes are then all that a profd of our own knows; another's may know more.
 */
static int record_prepare_command(struct recording *r, bool is_shim, Profd__Control__Start *start)
{
	char *const *command = r->arguments->command;
	cleanup(freep) char *library = NULL;
	int status = STATUS_DONE, error;

	if (!command && is_shim && r->profd)
		return profctl_complain(&r->context, STATUS_DENIED,
					"you may not use perf events here, so only a COMMAND "
					"can be recorded; see profctl doctor");
	if (!command)
		return STATUS_DONE;
	if (is_shim && !r->profd)
		return STATUS_OTHER;
	if (is_shim)
		status = command_preload(&r->context, program_find(command[0], getenv("PATH")),
					 &library);
	if (status)
		return status;
	error = launch_begin(&(struct launch){command, library, library ? r->context.socket : NULL,
					      &r->mask, &r->fds},
			     &r->launched);
	if (error)
		return profctl_complain(&r->context, STATUS_FAILED, "%s", error_describe(error));
	start->number = r->launched.pid;
	start->sender_pid = getpid();
	start->children = r->arguments->output.format != ANY_CPUPROFILE;
	if (is_shim)
		start->target = PROFD__CONTROL__TARGET_KIND__ALL;
	return STATUS_DONE;
}

static int open_session_at_socket(struct recording *r)
{
	const struct record_arguments *a = r->arguments;
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	int status = call_daemon(&r->context, PROFD__CONTROL__REQUEST__VERB_STATUS, NULL,
				 &response);

	if (status)
		return status;
	start.target = a->all        ? PROFD__CONTROL__TARGET_KIND__ALL
		       : *a->service ? PROFD__CONTROL__TARGET_KIND__SERVICE
				     : PROFD__CONTROL__TARGET_KIND__PID;
	start.number = a->pid;
	start.text = (char *)(uintptr_t)a->service;
	start.event = (char *)(uintptr_t)a->event;
	start.wakers = a->wakers;
	start.latency = a->latency;
	start.rate = a->frequency;
	start.name = (char[]){"record"};
	start.live = true;
	status = record_prepare_command(r, !strcmp(response->status->source, "shim"), &start);
	if (!status)
		status = held_start(&r->context, &start, &r->held);
	if (status)
		launch_cancel(&r->launched);
	return status;
}

static int open_private_session(struct recording *r)
{
	struct private_profd_message message;
	int error = private_profd_new(&r->profd, NULL, &message);

	if (error)
		return profctl_complain(&r->context, STATUS_FAILED,
					"cannot start a profd for the recording: %s",
					error > 0 ? message.text : error_describe(error));
	r->context.socket = private_profd_socket(r->profd);
	return open_session_at_socket(r);
}

/*
 * Returns STATUS_DONE, with the command waiting for launch_go(), or an exit status after a
 * complaint.
 */
static int record_open_session(struct recording *r)
{
	char complaint[COMPLAINT_SIZE];
	int status;

	r->context.kept = complaint;
	status = open_session_at_socket(r);
	r->context.kept = NULL;
	if (!status)
		return STATUS_DONE;
	if ((status == STATUS_NO_DAEMON || status == STATUS_DENIED || status == STATUS_OTHER) &&
	    !r->context.named_socket)
		return open_private_session(r);
	if (status == STATUS_OTHER)
		return profctl_complain(&r->context, STATUS_FAILED,
					"the profd at %s samples only programs with libprofd.so",
					r->context.socket);
	return profctl_complain(&r->context, status, "%s", complaint);
}

/* --- the samples ------------------------------------------------------------------------------ */

/* TAKE_E_OK or _BAD. */
static int record_add(struct recording *r, const struct profile *p)
{
	struct profile_message message;
	int64_t samples = 0;
	int error = merge_add(r->merge, p, NULL, &samples, &message);

	if (error) {
		snprintf(r->trouble, sizeof(r->trouble), "%s%s",
			 error > 0 ? "profd sent an unusable profile: " : "",
			 error > 0 ? message.text : error_describe(error));
		return TAKE_E_BAD;
	}
	r->count += (uint64_t)samples;
	return TAKE_E_OK;
}

/*
 * Takes what there is; blocks as long as profd takes to answer. The interval until the next time
 * adapts: halved when more waited already, a quarter longer when not. TAKE_E_*, and but for _OK
 * what is the trouble.
 */
static int record_take(struct recording *r)
{
	uint64_t interval_ns = r->interval_ns + r->interval_ns / 4;
	struct taken taken;
	int outcome;

	do {
		outcome = take_window(&r->context, r->held.id, &taken);
		if (outcome) {
			memcpy(r->trouble, taken.trouble, sizeof(r->trouble));
			break;
		}
		r->lost = taken.lost;
		r->over = taken.over;
		if (taken.profile)
			outcome = record_add(r, taken.profile);
		profile_free(taken.profile);
		if (!outcome && taken.more)
			interval_ns = r->interval_ns / 2;
	} while (!outcome && taken.more);
	r->interval_ns = interval_ns < INTERVAL_MIN   ? INTERVAL_MIN
			 : interval_ns > INTERVAL_MAX ? INTERVAL_MAX
						      : interval_ns;
	r->due_ns = clock_ns(CLOCK_MONOTONIC) + r->interval_ns;
	return outcome;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* A command gets what is meant for it; a terminal has sent it that already. True: it is ours. */
static bool record_read_signal(struct recording *r)
{
	struct signalfd_siginfo info;

	if (read(r->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (r->command < 0)
		return info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2;
	if (info.ssi_code <= 0)
		kill(r->launched.pid, (int)info.ssi_signo);
	return false;
}

static void record_reap_command(struct recording *r)
{
	r->has_ended = waitpid(r->launched.pid, &r->status, WNOHANG) == r->launched.pid;
}

static void record_show_progress(struct recording *r, uint64_t now_ns)
{
	double seconds = (double)(now_ns - r->start_ns) / (double)NS_PER_S;
	double all = (double)r->arguments->duration_ns / (double)NS_PER_S;
	char text[160];

	/* A terminal is the command's while that runs. */
	if (r->arguments->command)
		return;
	if (r->arguments->duration_ns)
		snprintf(text, sizeof(text), "%s of %s, %" PRIu64 " sample%s",
			 TEXT_OF_SPAN(seconds), TEXT_OF_SPAN(all), r->count,
			 UNITS_PLURAL(r->count));
	else
		snprintf(text, sizeof(text), "%s, %" PRIu64 " sample%s; Ctrl-C stops and writes",
			 TEXT_OF_SPAN(seconds), r->count, UNITS_PLURAL(r->count));
	progress_show(&r->progress, all > 0 ? seconds / all : PROGRESS_UNKNOWN, text);
}

/* Milliseconds to wait for what is next: samples, the end, or another look at the progress. */
static int record_poll_timeout_ms(const struct recording *r, uint64_t now_ns)
{
	uint64_t end_ns = r->start_ns + r->arguments->duration_ns, next_ns = r->due_ns;

	if (r->arguments->duration_ns && next_ns > end_ns)
		next_ns = end_ns;
	if (r->progress.out && next_ns > now_ns + PROGRESS_NS)
		next_ns = now_ns + PROGRESS_NS;
	return next_ns > now_ns ? (int)((next_ns - now_ns) / 1000000 + 1) : 0;
}

static const char profd_exited[] = "profd has exited";

/* Returns NULL, or what went wrong before the end. */
static const char *record_wait_for_end(struct recording *r)
{
	for (;;) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		struct pollfd fds[] = {{.fd = r->signals, .events = POLLIN},
				       {.fd = r->held.fd, .events = POLLIN},
				       {.fd = r->command, .events = POLLIN}};

		record_show_progress(r, now_ns);
		if (r->arguments->duration_ns && now_ns >= r->start_ns + r->arguments->duration_ns)
			return NULL;
		if (poll(fds, ARRAY_SIZE(fds), record_poll_timeout_ms(r, now_ns)) < 0 &&
		    errno != EINTR)
			return strerror(errno);
		if (fds[0].revents && record_read_signal(r))
			return NULL;
		if (fds[2].revents)
			record_reap_command(r);
		if (r->has_ended)
			return NULL;
		if (fds[1].revents && !held_has_ended(&r->held))
			return profd_exited;
		if (fds[1].revents) {
			held_deinit(&r->held);
			return NULL;
		}
		/* If profd refuses, the next time may be better. Its exit makes held.fd readable.
		 */
		if (clock_ns(CLOCK_MONOTONIC) >= r->due_ns && record_take(r) == TAKE_E_BAD)
			return r->trouble;
		if (r->over)
			return NULL;
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
			record_read_signal(r);
		if (fds[1].revents)
			record_reap_command(r);
	}
}

/* --- the file --------------------------------------------------------------------------------- */

/* After @outcome, which is a TAKE_E_*. A session that has ended by itself is not held any more. */
static bool record_has_profd(struct recording *r, int outcome)
{
	struct pollfd held = {.fd = r->held.fd, .events = POLLIN};

	if (r->held.fd < 0)
		return outcome != TAKE_E_GONE;
	return poll(&held, 1, 0) == 0 || held_has_ended(&r->held);
}

/*
 * What profd still has of the session, which ends. It is asked with patience: a session that has
 * ended waits ten seconds. As record_wait_for_end().
 */
static const char *record_take_rest(struct recording *r)
{
	const struct timespec while_ = {.tv_nsec = RETRY_NS};
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	int outcome = TAKE_E_OK;

	/* One that has ended by itself need not be stopped. */
	held_stop(&r->context, &r->held);
	while (!r->over && (outcome = record_take(r)) == TAKE_E_LATER &&
	       clock_ns(CLOCK_MONOTONIC) < end_ns)
		nanosleep(&while_, NULL);
	if (!outcome)
		return NULL;
	/* There may be another profd by now, which knows nothing of it. */
	return outcome == TAKE_E_BAD || record_has_profd(r, outcome) ? r->trouble : profd_exited;
}

static int record_add_types(struct profile *p, const struct record_arguments *a)
{
	int r = value_types_add(p, strcmp(a->event, "off-cpu") == 0 ? a->event : "cpu-clock");

	if (!r && a->latency)
		r = value_types_add_latency(p);
	return r || strcmp(a->event, "wall") != 0 ? r : value_types_add_waits(p);
}

/* Without a sample it is a profile as it would be with some. Returns 0 or negative errno. */
static int record_make_profile(struct recording *r, struct profile **ret)
{
	uint64_t frequency = r->arguments->frequency ? r->arguments->frequency : FREQUENCY;
	cleanup(profile_freep) struct profile *p = NULL;
	int error;

	if (merge_profile(r->merge)) {
		error = merge_finish(r->merge);
		if (!error)
			*ret = merge_steal_profile(r->merge);
		return error;
	}
	error = profile_new(&p) ?: record_add_types(p, r->arguments);
	if (error)
		return error;
	p->period = (int64_t)(NS_PER_S / frequency);
	p->time_ns = (int64_t)r->context.now_ns;
	p->duration_ns = (int64_t)(clock_ns(CLOCK_MONOTONIC) - r->start_ns);
	*ret = steal_ptr(&p);
	return 0;
}

static int record_save(struct recording *r)
{
	cleanup(profile_freep) struct profile *profile = NULL;
	int error = record_make_profile(r, &profile);

	if (error)
		return profctl_complain(&r->context, STATUS_FAILED, "%s", error_describe(error));
	return output_save(&r->context, STATUS_FAILED, &r->arguments->output, profile);
}

/* All, or, with @why, what was recorded until something went wrong. */
static int record_write_file(struct recording *r, const char *why)
{
	const struct context *context = &r->context;
	const struct output_file *output = &r->arguments->output;

	if (!why)
		why = record_take_rest(r);
	if (why && !r->count)
		return profctl_complain(context, STATUS_FAILED,
					"%s: nothing was recorded, %s is not written", why,
					output->path);
	if (record_save(r))
		return STATUS_FAILED;
	if (why)
		return profctl_complain(context, STATUS_FAILED,
					"%s: %s is incomplete, %" PRIu64
					" sample%s until then, %" PRIu64 " lost",
					why, output->path, r->count, UNITS_PLURAL(r->count),
					r->lost);
	if (!r->count)
		profctl_complain(context, 0,
				 event_has_waits(r->arguments->event)
					 ? "no samples: too short a time; increase -F or -d"
					 : "no samples: too little CPU time was used; increase -F");
	return profctl_complain(context, STATUS_DONE,
				"%" PRIu64 " sample%s, %" PRIu64 " lost, in %s", r->count,
				UNITS_PLURAL(r->count), r->lost,
				strcmp(output->path, "-") ? output->path : "standard output");
}

/* --- the verb --------------------------------------------------------------------------------- */

static int record_start_command(struct recording *r)
{
	int error = 0;

	r->start_ns = clock_ns(CLOCK_MONOTONIC);
	if (!r->arguments->command)
		return STATUS_DONE;
	if (launch_go(&r->launched, &error) == LAUNCH_E_FAILED)
		return command_complain(&r->context, r->arguments->command[0], error);
	r->command = (int)syscall(SYS_pidfd_open, r->launched.pid, 0);
	return r->command < 0 ? profctl_complain(&r->context, STATUS_FAILED, "%s", strerror(errno))
			      : STATUS_DONE;
}

static int record_to_file(struct recording *r)
{
	int status = record_open_session(r), error;
	const char *why;

	if (!status)
		status = record_start_command(r);
	if (status)
		return status;
	error = merge_new(&r->merge, MERGE_WINDOWS_DROPPED);
	if (error)
		return profctl_complain(&r->context, STATUS_FAILED, "%s", error_describe(error));
	r->interval_ns = INTERVAL;
	r->due_ns = r->start_ns + r->interval_ns;
	progress_init(&r->progress, &r->context);
	why = record_wait_for_end(r);
	progress_clear(&r->progress);
	if (r->command < 0 || r->has_ended)
		command_release_signals(&r->mask);
	status = record_write_file(r, why);
	wait_for_command(r);
	return status;
}

/* Failures of our own have their own statuses where others are the command's. */
static int record_exit_status(const struct record_arguments *a, int status)
{
	return !a->command || status == STATUS_DONE || status >= STATUS_RUN_FAILED
		       ? status
		       : STATUS_RUN_FAILED;
}

int record_run(struct context *context, int argc, char **argv)
{
	struct record_arguments arguments = {0};
	struct usage_message message;
	struct recording r = {.context = *context,
			      .arguments = &arguments,
			      .held = HELD_NONE,
			      .launched = LAUNCHED_NONE,
			      .command = -1};
	sigset_t signals;
	int status = record_parse(argc, argv, &arguments, &message);

	if (status)
		return record_exit_status(&arguments, parse_ended(context, status, &message));
	status = output_begin(context, STATUS_FAILED, &arguments.output);
	if (!status && *arguments.service)
		status = services_check_running(context, arguments.service);
	if (status)
		return record_exit_status(&arguments, status);
	getrlimit(RLIMIT_NOFILE, &r.fds);
	launch_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &r.mask);
	r.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r.signals < 0)
		return profctl_complain(context, STATUS_FAILED, "%s", strerror(errno));
	status = record_to_file(&r);
	/* What is still there: the private profd, and a command that was not told to go. */
	held_deinit(&r.held);
	launch_cancel(&r.launched);
	private_profd_free(r.profd);
	merge_free(r.merge);
	closep(&r.command);
	close(r.signals);
	status = record_exit_status(&arguments, status);
	return status || !arguments.command ? status : command_end_as(r.status);
}
