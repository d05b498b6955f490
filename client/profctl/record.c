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
#include "client/profctl/command.h"
#include "client/profctl/held.h"
#include "client/profctl/output.h"
#include "client/profctl/progress.h"
#include "client/profctl/table.h"
#include "client/record/private_profd.h"
#include "client/run/launch.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/profile/merge.h"
#include "common/profile/value_types.h"

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

static int record_check_arguments(struct record_arguments *a, struct usage_message *message)
{
	bool has_target = a->all || a->pid || *a->service;

	if (a->command && has_target)
		return usage_error(message, "%s", one_target);
	if (a->command ? !**a->command : !has_target)
		return usage_error(message, "nothing to record: use -a, -p PID, -s SERVICE, or a "
					    "COMMAND");
	a->format = output_format_of(a->output);
	if (a->format == OUTPUT_LEGACY && !a->command && !a->pid)
		return usage_error(message, "a legacy profile (.prof) has one process: use -p PID, "
					    "or a COMMAND");
	if (a->frequency > UINT32_MAX)
		return usage_error(message, "-F is at most %" PRIu32, UINT32_MAX);
	if (a->command && strcmp(a->output, "-") == 0)
		return usage_error(message, "standard output is used by the command: use -o FILE");
	return 0;
}

int record_parse(int argc, char *const *argv, struct record_arguments *ret,
		 struct usage_message *message)
{
	const struct option_row rows[] = {
		{'F', "frequency", option_number, &ret->frequency, NULL},
		{'e', "event", option_text, &ret->event, NULL},
		{'d', "duration", option_duration, &ret->duration_ns, NULL},
		{'o', "output", option_text, &ret->output, NULL},
		{'a', "all", option_flag, &ret->all, one_target},
		{'p', "pid", option_pid, &ret->pid, one_target},
		{'s', "service", option_text, &ret->service, one_target},
		{0},
	};
	int r;

	*ret = (struct record_arguments){.service = "", .event = "", .output = OUTPUT_DEFAULT};
	r = options_parse_command(rows, argc, argv, &ret->command, message);
	return r ? r : record_check_arguments(ret, message);
}

/* --- the session ------------------------------------------------------------------------------ */

/*
 * Where samples come from: a live session, held, of the profd that there is. It is tried first; if
 * it is not there, or may not sample what is wanted, a private one is started for as long as the
 * recording takes. What the first complained of is told only if there is no other. A command waits
 * to be executed until it is sampled.
 */
struct record_session {
	struct context context; /* with the socket of the profd that records */
	const struct record_arguments *arguments;
	const sigset_t *mask;     /* of signals, and */
	const struct rlimit *fds; /* RLIMIT_NOFILE: for the command, as they were */
	struct private_profd *profd;
	struct held held;
	struct launched command;
};

/* Not one of profctl's: whoever answers cannot sample what we want; a profd of our own might. */
#define STATUS_OTHER (-1)

/*
 * A source of programs that sample themselves has no events of the kernel's: so the command is made
 * to. Its processes are then all that a profd of our own knows; another's may know more.
 */
static int record_session_prepare(struct record_session *s, bool is_shim,
				  Profd__Control__Start *start)
{
	cleanup(freep) char *library = NULL;
	int r;

	if (!s->arguments->command) {
		if (is_shim && s->profd)
			return profctl_complain(
				&s->context, STATUS_DENIED,
				"you may not use perf events here, so only a COMMAND "
				"can be recorded; see profctl doctor");
		return STATUS_DONE;
	}
	if (is_shim && !s->profd)
		return STATUS_OTHER;
	r = is_shim ? command_preload(&s->context,
				      program_find(s->arguments->command[0], getenv("PATH")),
				      &library)
		    : STATUS_DONE;
	if (r)
		return r;
	r = launch_begin(&(struct launch){s->arguments->command, library,
					  library ? s->context.socket : NULL, s->mask, s->fds},
			 &s->command);
	if (r)
		return profctl_complain(&s->context, STATUS_FAILED, "%s", error_describe(r));
	start->number = s->command.pid;
	start->children = s->arguments->format != OUTPUT_LEGACY;
	if (is_shim)
		start->target = PROFD__CONTROL__TARGET_KIND__ALL;
	return STATUS_DONE;
}

static int open_session_at_socket(struct record_session *s)
{
	const struct record_arguments *a = s->arguments;
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	int r = call_status(&s->context, &response);

	if (r)
		return r;
	start.target = a->all        ? PROFD__CONTROL__TARGET_KIND__ALL
		       : *a->service ? PROFD__CONTROL__TARGET_KIND__SERVICE
				     : PROFD__CONTROL__TARGET_KIND__PID;
	start.number = a->pid;
	start.text = (char *)(uintptr_t)a->service;
	start.event = (char *)(uintptr_t)a->event;
	start.rate = a->frequency;
	start.name = (char[]){"record"};
	start.live = true;
	r = record_session_prepare(s, !strcmp(response->status->source, "shim"), &start);
	if (!r)
		r = held_start(&s->context, &start, &s->held);
	if (r)
		launch_cancel(&s->command);
	return r;
}

static int open_private_session(struct record_session *s)
{
	struct private_profd_message message;
	int r = private_profd_new(&s->profd, &message);

	if (r)
		return profctl_complain(&s->context, STATUS_FAILED,
					"cannot start a profd for the recording: %s",
					r > 0 ? message.text : error_describe(r));
	s->context.socket = private_profd_socket(s->profd);
	return open_session_at_socket(s);
}

/*
 * @s has the first four members set. Returns STATUS_DONE, with the command waiting for
 * launch_go(), or an exit status after a complaint.
 */
static int record_session_open(struct record_session *s)
{
	FILE *err = s->context.err, *said;
	cleanup(freep) char *text = NULL;
	size_t length;
	int r;

	s->held = HELD_NONE;
	s->command = LAUNCHED_NONE;
	/* What is wrong with one profd is not told if another one will do. */
	said = open_memstream(&text, &length);
	if (!said)
		return profctl_complain(&s->context, STATUS_FAILED, "no memory");
	s->context.err = said;
	r = open_session_at_socket(s);
	s->context.err = err;
	if (fclose(said))
		return profctl_complain(&s->context, STATUS_FAILED, "no memory");
	if ((r == STATUS_NO_DAEMON || r == STATUS_DENIED || r == STATUS_OTHER) &&
	    !s->context.named_socket)
		return open_private_session(s);
	if (r == STATUS_OTHER)
		return profctl_complain(&s->context, STATUS_FAILED,
					"the profd at %s samples only programs with libprofd.so",
					s->context.socket);
	fputs(text, err);
	return r;
}

/* Ends what is still there: the private profd, and a command that was not told to go. */
static void record_session_deinit(struct record_session *s)
{
	held_deinit(&s->held);
	launch_cancel(&s->command);
	private_profd_free(s->profd);
}

/* What the session has counted by now, if profd tells. */
static void record_session_count(const struct record_session *s, uint64_t *ret_counted)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	struct context quiet = s->context;

	quiet.err = NULL;
	if (call_status(&quiet, &response))
		return;
	for (size_t i = 0; i < response->status->n_sessions; i++)
		if (response->status->sessions[i]->id == s->held.id)
			*ret_counted = response->status->sessions[i]->counted;
}

/* --- the samples ------------------------------------------------------------------------------ */

/*
 * What was recorded by now. Samples are taken from a live session as they come, and merged here: so
 * profd holds no more than two windows of a recording, and no file, however long that is, and what
 * was taken is there whatever becomes of profd. How often is a matter of how much comes: more often
 * as soon as a window was full before it was taken.
 */
struct record_samples {
	struct merge *merge;
	uint64_t count;
	uint64_t lost;                /* that there were, and that profd cannot give any more */
	uint64_t interval_ns, due_ns; /* CLOCK_MONOTONIC: when to take again */
	bool over;                    /* the session has ended, and all was taken */
	char trouble[256]; /* a line without its end: why there is less than there might be */
};

/* Returns 0 or negative errno. */
static int record_samples_init(struct record_samples *s)
{
	*s = (struct record_samples){.interval_ns = INTERVAL};
	s->due_ns = clock_ns(CLOCK_MONOTONIC) + s->interval_ns;
	return merge_new(&s->merge, MERGE_WINDOWS_DROPPED);
}

static int record_samples_add(struct record_samples *s, const struct profile *p)
{
	struct profile_message message;
	int64_t samples = 0;
	int r = merge_add(s->merge, p, NULL, &samples, &message);

	if (r > 0) {
		snprintf(s->trouble, sizeof(s->trouble), "profd sent an unusable profile: %s",
			 message.text);
		return TAKE_E_BAD;
	}
	s->count += (uint64_t)samples;
	return r;
}

/*
 * Takes what there is of @session; blocks as long as profd takes to answer. The interval until the
 * next time adapts: halved when more waited already, a quarter longer when not. TAKE_E_* or
 * negative errno, and but for 0 what is the trouble.
 */
static int record_samples_take(struct record_samples *s, const struct context *context,
			       uint64_t session)
{
	uint64_t interval_ns = s->interval_ns + s->interval_ns / 4;
	struct taken taken;
	int r;

	do {
		r = take_window(context, session, &taken);
		if (r) {
			memcpy(s->trouble, taken.trouble, sizeof(s->trouble));
			break;
		}
		s->lost = taken.lost;
		s->over = taken.over;
		r = taken.profile ? record_samples_add(s, taken.profile) : 0;
		profile_free(taken.profile);
		if (!r && taken.more)
			interval_ns = s->interval_ns / 2;
	} while (!r && taken.more);
	s->interval_ns = interval_ns < INTERVAL_MIN   ? INTERVAL_MIN
			 : interval_ns > INTERVAL_MAX ? INTERVAL_MAX
						      : interval_ns;
	s->due_ns = clock_ns(CLOCK_MONOTONIC) + s->interval_ns;
	if (r < 0)
		snprintf(s->trouble, sizeof(s->trouble), "%s", error_describe(r));
	return r;
}

/* The same for the last of it, with patience: a session that has ended waits ten seconds. */
static int record_samples_take_rest(struct record_samples *s, const struct context *context,
				    uint64_t session)
{
	const struct timespec while_ = {.tv_nsec = RETRY_NS};
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	int r = TAKE_E_OK;

	while (!s->over && (r = record_samples_take(s, context, session)) == TAKE_E_LATER &&
	       clock_ns(CLOCK_MONOTONIC) < end_ns)
		nanosleep(&while_, NULL);
	return r;
}

static int make_empty_profile(uint64_t frequency, uint64_t start_ns, uint64_t duration_ns,
			      struct profile **ret)
{
	cleanup(profile_freep) struct profile *p = NULL;
	int r = profile_new(&p);

	if (!r)
		r = value_types_add(p, "cpu-clock");
	if (r)
		return r;
	p->period = (int64_t)(NS_PER_S / (frequency ? frequency : FREQUENCY));
	p->time_ns = (int64_t)start_ns;
	p->duration_ns = (int64_t)duration_ns;
	*ret = steal_ptr(&p);
	return 0;
}

/*
 * All of it, the caller's. Without a sample it is a profile as it would be with some, of one of
 * @frequency (0: the usual one) that began at @start_ns (Unix time) and took @duration_ns. 0 or
 * negative errno.
 */
static int record_samples_profile(struct record_samples *s, uint64_t frequency, uint64_t start_ns,
				  uint64_t duration_ns, struct profile **ret)
{
	int r;

	if (!merge_profile(s->merge))
		return make_empty_profile(frequency, start_ns, duration_ns, ret);
	r = merge_finish(s->merge);
	if (!r)
		*ret = merge_steal_profile(s->merge);
	return r;
}

/* --- waiting ---------------------------------------------------------------------------------- */

struct recording {
	struct record_session session;
	struct record_samples samples;
	const struct record_arguments *arguments;
	struct progress progress;
	int signals; /* signalfd(2) */
	int command; /* pidfd, or -1 */
	bool has_ended;
	int status;        /* of the command, when it has; waitpid(2) */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
};

enum {
	WAIT_ENDED,
	WAIT_GONE,   /* profd has */
	WAIT_FAILED, /* see the samples' trouble */
};

/* A command gets what is meant for it; a terminal has sent it that already. True: it is ours. */
static bool record_read_signal(struct recording *r)
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

static void record_reap_command(struct recording *r)
{
	if (waitpid(r->session.command.pid, &r->status, WNOHANG) == r->session.command.pid)
		r->has_ended = true;
}

static void record_show_progress(struct recording *r, uint64_t now_ns)
{
	double seconds = (double)(now_ns - r->start_ns) / (double)NS_PER_S;
	double all = (double)r->arguments->duration_ns / (double)NS_PER_S;
	char text[160];
	uint64_t counted = r->samples.count;

	/* A terminal is the command's while that runs. */
	if (!r->progress.out || r->arguments->command)
		return;
	record_session_count(&r->session, &counted);
	if (r->arguments->duration_ns)
		snprintf(text, sizeof(text), "%s of %s, %" PRIu64 " samples", TEXT_OF_SPAN(seconds),
			 TEXT_OF_SPAN(all), counted);
	else
		snprintf(text, sizeof(text), "%s, %" PRIu64 " samples; Ctrl-C stops and writes",
			 TEXT_OF_SPAN(seconds), counted);
	progress_show(&r->progress, all > 0 ? seconds / all : PROGRESS_UNKNOWN, text);
}

/* Milliseconds to wait for what is next: samples, the end, or another look at the progress. */
static int record_poll_timeout_ms(const struct recording *r, uint64_t now_ns)
{
	uint64_t end_ns = r->start_ns + r->arguments->duration_ns, next_ns = r->samples.due_ns;

	if (r->arguments->duration_ns && next_ns > end_ns)
		next_ns = end_ns;
	if (r->progress.out && next_ns > now_ns + PROGRESS_NS)
		next_ns = now_ns + PROGRESS_NS;
	return next_ns > now_ns ? (int)((next_ns - now_ns) / 1000000 + 1) : 0;
}

static int record_wait_for_end(struct recording *r)
{
	for (;;) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		int taken = TAKE_E_OK;
		struct pollfd fds[] = {{.fd = r->signals, .events = POLLIN},
				       {.fd = r->session.held.fd, .events = POLLIN},
				       {.fd = r->command, .events = POLLIN}};

		record_show_progress(r, now_ns);
		if (r->arguments->duration_ns && now_ns >= r->start_ns + r->arguments->duration_ns)
			return WAIT_ENDED;
		if (poll(fds, ARRAY_SIZE(fds), record_poll_timeout_ms(r, now_ns)) < 0 &&
		    errno != EINTR)
			return WAIT_GONE;
		if (fds[0].revents && record_read_signal(r))
			return WAIT_ENDED;
		if (fds[2].revents)
			record_reap_command(r);
		if (r->has_ended)
			return WAIT_ENDED;
		if (fds[1].revents)
			return held_has_ended(&r->session.held) ? WAIT_ENDED : WAIT_GONE;
		if (clock_ns(CLOCK_MONOTONIC) >= r->samples.due_ns)
			taken = record_samples_take(&r->samples, &r->session.context,
						    r->session.held.id);
		/* Where profd refuses, the next time may be better; it has gone: so has who is
		 * held. */
		if (taken == TAKE_E_BAD || taken < 0)
			return WAIT_FAILED;
		if (r->samples.over)
			return WAIT_ENDED;
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

/* What profd still has of the session, which ends. WAIT_*. */
static int record_take_rest(struct recording *r)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	struct pollfd held = {.fd = r->session.held.fd, .events = POLLIN};
	struct context quiet = r->session.context;
	int outcome;

	quiet.err = NULL;
	/* One that has ended by itself need not be stopped. */
	held_stop(&quiet, &r->session.held, &response);
	outcome = record_samples_take_rest(&r->samples, &r->session.context, r->session.held.id);
	if (!outcome)
		return WAIT_ENDED;
	/* There may be another profd by now, which knows nothing of it. */
	return outcome == TAKE_E_GONE ||
			       (poll(&held, 1, 0) > 0 && !held_has_ended(&r->session.held))
		       ? WAIT_GONE
		       : WAIT_FAILED;
}

static int record_save(struct recording *r)
{
	const struct context *context = &r->session.context;
	const struct record_arguments *a = r->arguments;
	cleanup(profile_freep) struct profile *profile = NULL;
	int error = record_samples_profile(&r->samples, a->frequency, context->now_ns,
					   clock_ns(CLOCK_MONOTONIC) - r->start_ns, &profile);

	if (error)
		return profctl_complain(context, STATUS_FAILED, "%s", error_describe(error));
	return output_save(context, STATUS_FAILED, a->output, a->format, profile);
}

/* All, or, unless @outcome is WAIT_ENDED, what was recorded until something went wrong. */
static int record_write_file(struct recording *r, int outcome)
{
	const struct context *context = &r->session.context;
	const struct record_samples *samples = &r->samples;
	const char *output = r->arguments->output, *why = "profd has exited";

	if (outcome == WAIT_ENDED)
		outcome = record_take_rest(r);
	if (outcome == WAIT_FAILED)
		why = samples->trouble;
	if (outcome != WAIT_ENDED && !samples->count)
		return profctl_complain(context, STATUS_FAILED,
					"%s: nothing was recorded, %s is not written", why, output);
	if (record_save(r))
		return STATUS_FAILED;
	if (outcome != WAIT_ENDED)
		return profctl_complain(context, STATUS_FAILED,
					"%s: %s is incomplete, %" PRIu64
					" samples until then, %" PRIu64 " lost",
					why, output, samples->count, samples->lost);
	if (!samples->count)
		profctl_complain(context, 0,
				 "no samples: too little CPU time was used; increase -F "
				 "second");
	return profctl_complain(context, STATUS_DONE,
				"%" PRIu64 " samples, %" PRIu64 " lost, in %s", samples->count,
				samples->lost, strcmp(output, "-") ? output : "standard output");
}

/* --- the verb --------------------------------------------------------------------------------- */

static int record_start_command(struct recording *r)
{
	int error = 0;

	r->start_ns = clock_ns(CLOCK_MONOTONIC);
	if (!r->arguments->command)
		return STATUS_DONE;
	if (launch_go(&r->session.command, &error) == LAUNCH_E_FAILED)
		return command_complain(&r->session.context, r->arguments->command[0], error);
	r->command = (int)syscall(SYS_pidfd_open, r->session.command.pid, 0);
	return r->command < 0
		       ? profctl_complain(&r->session.context, STATUS_FAILED, "%s", strerror(errno))
		       : STATUS_DONE;
}

static int record_to_file(struct recording *r)
{
	int status = record_session_open(&r->session), outcome;

	if (!status)
		status = record_start_command(r);
	if (status)
		return status;
	outcome = record_samples_init(&r->samples);
	if (outcome)
		return profctl_complain(&r->session.context, STATUS_FAILED, "%s",
					error_describe(outcome));
	progress_init(&r->progress, &r->session.context);
	outcome = record_wait_for_end(r);
	progress_clear(&r->progress);
	if (r->command < 0 || r->has_ended)
		command_release_signals(r->session.mask);
	status = record_write_file(r, outcome);
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
	struct recording r = {.arguments = &arguments, .command = -1};
	struct rlimit fds;
	sigset_t signals, mask;
	int status = record_parse(argc, argv, &arguments, &message);

	if (status)
		return record_exit_status(&arguments, parse_ended(context, status, &message));
	status = output_check(context, STATUS_FAILED, arguments.output,
			      output_kinds[arguments.format].is_text);
	if (status)
		return record_exit_status(&arguments, status);
	getrlimit(RLIMIT_NOFILE, &fds);
	launch_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	r.signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r.signals < 0)
		return profctl_complain(context, STATUS_FAILED, "%s", strerror(errno));
	r.session = (struct record_session){
		.context = *context, .arguments = &arguments, .mask = &mask, .fds = &fds};
	status = record_to_file(&r);
	merge_free(r.samples.merge);
	record_session_deinit(&r.session);
	closep(&r.command);
	close(r.signals);
	status = record_exit_status(&arguments, status);
	return status || !arguments.command ? status : command_end_as(r.status);
}
