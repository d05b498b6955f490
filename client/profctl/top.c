/* SPDX-License-Identifier: MIT */
/*
 * A live session, whose samples are taken every interval: profd hands out each of them once, so
 * that a look costs it what was sampled since the last one, whatever there was before.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/held.h"
#include "client/profctl/take.h"
#include "client/profctl/top_json.h"
#include "client/top/keys.h"
#include "client/top/screen.h"
#include "client/top/terminal.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/packet.h"
#include "common/units.h"
#include "common/unixsock.h"

#define NS             UINT64_C(1000000000)
#define ROWS_DEFAULT   20
#define TROUBLE_SIZE   256
#define CURSOR_TO_HOME "\x1b[H"

/* --- what is known ---------------------------------------------------------------------------- */

struct top {
	const struct context *context;
	const struct top_arguments *arguments;
	struct held held;
	int signals; /* signalfd(2) */
	struct top_functions *functions;
	struct top_view view;
	struct top_facts facts;
	char target[320], trouble[TROUBLE_SIZE];
	const struct top_function *const *sorted;
	size_t n_sorted;
	uint64_t begin_ns, taken_ns; /* CLOCK_MONOTONIC */
	bool on_screen;
};

/* "": there is none. */
static void note_trouble(struct top *t, const char *text)
{
	snprintf(t->trouble, sizeof(t->trouble), "%s", text);
	t->facts.trouble = *t->trouble ? t->trouble : NULL;
}

static int sort(struct top *t)
{
	int r = top_functions_sort(t->functions, t->view.order, t->view.filter, &t->sorted,
				   &t->n_sorted);

	return r ? complain(t->context, STATUS_FAILED, "%s", error_describe(r)) : STATUS_DONE;
}

static int add(struct top *t, struct profile *p)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int r = top_functions_next(t->functions, p);

	if (r)
		return complain(t->context, STATUS_FAILED, "%s", error_describe(r));
	top_functions_sums(t->functions, &t->facts.sums);
	t->facts.interval_ns = now_ns - t->taken_ns;
	t->facts.all_ns = now_ns - t->begin_ns;
	t->taken_ns = now_ns;
	if (p && p->n_sample_types)
		t->facts.is_time =
			strcmp(profile_string(p, p->sample_types[profile_default_type(p)].unit),
			       "nanoseconds") == 0;
	return sort(t);
}

/*
 * What happened since the last time. A profd that has gone is the end; where it refuses, because it
 * is busy, the next time may be better.
 */
static int take(struct top *t)
{
	struct taken taken;
	int r = take_window(t->context, t->held.id, &taken);
	cleanup(profile_freep) struct profile *p = taken.profile;

	if (r > 0 && r != TAKE_E_GONE && t->on_screen) {
		note_trouble(t, taken.trouble);
		return STATUS_DONE;
	}
	note_trouble(t, "");
	if (!r) {
		t->facts.n_lost = taken.lost;
		return add(t, p);
	}
	terminal_give_back();
	return complain(t->context, r == TAKE_E_GONE ? STATUS_NO_DAEMON : STATUS_FAILED, "%s",
			r < 0 ? error_describe(r) : taken.trouble);
}

/* The session has ended. Its process has, or profd. */
static int hear_of_end(struct top *t)
{
	cleanup(freep) uint8_t *answer = NULL;
	size_t size;

	if (unixsock_receive(t->held.fd, PACKET_RESPONSE_MAX, CALL_SHORT_MS, &answer, &size)) {
		terminal_give_back();
		return complain(t->context, STATUS_NO_DAEMON, "profd at %s has gone",
				t->context->socket);
	}
	held_deinit(&t->held);
	note_trouble(t, "it has ended; q quits");
	return STATUS_DONE;
}

/* --- on a screen ------------------------------------------------------------------------------ */

static void draw(struct top *t)
{
	int fd = fileno(t->context->out);
	unsigned rows, columns;
	cleanup(freep) char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return;
	terminal_size(fd, &rows, &columns);
	fputs(CURSOR_TO_HOME, out);
	top_draw(&t->view, &t->facts, t->sorted, t->n_sorted, rows, columns, out);
	if (fclose(out))
		return;
	/* At once: halves would flicker. */
	fwrite(text, 1, length, t->context->out);
	fflush(t->context->out);
}

/* Returns TOP_*. */
static int take_keys(struct top *t)
{
	unsigned rows, columns;
	char bytes[64];
	int outcome = TOP_GOES_ON;
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	/* It has been hung up. */
	if (n <= 0)
		return TOP_QUITS;
	terminal_size(fileno(t->context->out), &rows, &columns);
	for (size_t at = 0, used; at < (size_t)n; at += used) {
		int key = key_parse(bytes + at, (size_t)n - at, &used);
		int what = key == KEY_NONE ? TOP_GOES_ON
					   : top_key(&t->view, key, rows, t->n_sorted);

		if (what == TOP_QUITS)
			return what;
		if (what == TOP_REDRAWS)
			outcome = what;
	}
	return outcome;
}

/* Returns TOP_*; a terminal that is not to be had any more is its end. */
static int take_signal(struct top *t)
{
	struct signalfd_siginfo info;

	if (read(t->signals, &info, sizeof(info)) != sizeof(info))
		return TOP_GOES_ON;
	switch (info.ssi_signo) {
	case SIGWINCH:
		return TOP_REDRAWS;
	case SIGTSTP:
		terminal_give_back();
		raise(SIGSTOP);
		/* fall through */
	case SIGCONT:
		/* Others have had it meanwhile. */
		terminal_give_back();
		return terminal_take(STDIN_FILENO, fileno(t->context->out)) ? TOP_QUITS
									    : TOP_REDRAWS;
	default:
		return TOP_QUITS;
	}
}

static int patience_ms(const struct top *t)
{
	uint64_t due_ns = t->taken_ns + t->view.interval_ns, now_ns = clock_ns(CLOCK_MONOTONIC);

	if (t->view.is_paused || t->held.fd < 0)
		return -1;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / 1000000 + 1) : 0;
}

/* Waits, and does what came. *ret_outcome: TOP_*. Returns an exit status. */
static int turn(struct top *t, int *ret_outcome)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = t->signals, .events = POLLIN},
			       {.fd = t->held.fd, .events = POLLIN}};
	int n = poll(fds, ARRAY_SIZE(fds), patience_ms(t)), r = STATUS_DONE;

	*ret_outcome = TOP_REDRAWS;
	if (n < 0)
		return errno == EINTR ? STATUS_DONE : STATUS_FAILED;
	if (n == 0)
		return take(t);
	if (fds[1].revents)
		*ret_outcome = take_signal(t);
	if (fds[2].revents)
		r = hear_of_end(t);
	if (!r && fds[0].revents && *ret_outcome != TOP_QUITS)
		*ret_outcome = take_keys(t);
	return r || *ret_outcome != TOP_REDRAWS ? r : sort(t);
}

static int run_on_screen(struct top *t)
{
	int outcome, r;

	r = terminal_take(STDIN_FILENO, fileno(t->context->out));
	if (r)
		return complain(t->context, STATUS_FAILED, "the terminal cannot be used: %s",
				error_describe(r));
	t->on_screen = true;
	r = sort(t);
	do {
		if (r)
			break;
		draw(t);
		r = turn(t, &outcome);
	} while (!r && outcome != TOP_QUITS);
	terminal_give_back();
	return r;
}

/* --- as text ---------------------------------------------------------------------------------- */

static int print(const struct top *t)
{
	size_t rows = t->arguments->rows ? t->arguments->rows : ROWS_DEFAULT;

	if (t->arguments->json)
		top_json(&t->facts, t->sorted, t->n_sorted, rows, !t->arguments->once,
			 t->context->out);
	else
		top_print(&t->facts, t->sorted, t->n_sorted, rows, t->context->out);
	if (!t->arguments->once && !t->arguments->json)
		fputc('\n', t->context->out);
	return fflush(t->context->out) ? STATUS_FAILED : STATUS_DONE;
}

static int run_as_text(struct top *t)
{
	int r = STATUS_DONE;

	while (!r) {
		struct pollfd fds[] = {{.fd = t->signals, .events = POLLIN},
				       {.fd = t->held.fd, .events = POLLIN}};
		int n = poll(fds, ARRAY_SIZE(fds), patience_ms(t));
		bool has_ended = n > 0 && fds[1].revents;

		if (has_ended)
			r = hear_of_end(t);
		/* Whoever interrupts wants no more; of what has ended there is the rest. */
		if (r || (n > 0 && !has_ended))
			return r;
		r = take(t);
		if (!r)
			r = print(t);
		/* An empty table would look as if something had gone wrong. */
		if (!r && t->arguments->once && !t->facts.sums.samples)
			complain(t->context, STATUS_DONE, "no samples: %s used no CPU time",
				 t->target);
		if (t->arguments->once || has_ended)
			return r;
	}
	return r;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int start(struct top *t)
{
	const struct top_arguments *a = t->arguments;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;

	start.target = a->target;
	start.number = a->pid;
	start.text = (char *)(uintptr_t)a->service;
	start.name = (char[]){"top"};
	start.live = true;
	if (a->pid)
		snprintf(t->target, sizeof(t->target), "pid %" PRId64, a->pid);
	else
		snprintf(t->target, sizeof(t->target), "%s",
			 *a->service ? a->service : "everything");
	t->facts.target = t->target;
	return held_start(t->context, &start, &t->held);
}

static int watch_signals(struct top *t, bool on_screen)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGQUIT);
	if (on_screen) {
		sigaddset(&signals, SIGWINCH);
		sigaddset(&signals, SIGTSTP);
		sigaddset(&signals, SIGCONT);
	}
	sigprocmask(SIG_BLOCK, &signals, NULL);
	t->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return t->signals < 0 ? complain(t->context, STATUS_FAILED, "%s", strerror(errno))
			      : STATUS_DONE;
}

int top_run(struct context *context, int argc, char **argv)
{
	struct top_arguments arguments;
	struct usage_message message;
	struct top t = {.context = context, .arguments = &arguments, .held = HELD_NONE};
	bool on_screen;
	int r = top_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	on_screen = context->terminal && isatty(STDIN_FILENO) && !arguments.once && !arguments.json;
	t.view.interval_ns = arguments.interval_ns;
	r = top_functions_new(&t.functions);
	if (r)
		return complain(context, STATUS_FAILED, "%s", error_describe(r));
	r = watch_signals(&t, on_screen);
	if (!r)
		r = start(&t);
	t.begin_ns = t.taken_ns = clock_ns(CLOCK_MONOTONIC);
	if (!r)
		r = on_screen ? run_on_screen(&t) : run_as_text(&t);
	held_deinit(&t.held);
	closep(&t.signals);
	top_functions_free(t.functions);
	return r;
}
