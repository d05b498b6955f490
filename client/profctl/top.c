/* SPDX-License-Identifier: MIT */
/*
 * A live session, whose samples are taken every interval: profd hands out each of them once, so
 * that a look costs it what was sampled since the last one, whatever there was before.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "client/analysis/wall.h"
#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "client/profctl/page_address.h"
#include "client/profctl/services.h"
#include "client/top/characters.h"
#include "client/top/keys.h"
#include "client/top/screen.h"
#include "client/top/terminal.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/units.h"

#define INTERVAL_NS    (2 * NS_PER_S)
#define INTERVAL_MIN   (NS_PER_S / 10)
#define INTERVAL_MAX   (3600 * NS_PER_S)
#define ROWS_DEFAULT   20
#define CURSOR_TO_HOME "\x1b[H"
/* Windows that are taken at once: profd keeps two, and the open one. What comes meanwhile waits. */
#define WINDOWS_MAX 4
/* After a refusal, and how many of them in a row end what is no screen. */
#define RETRY_NS     NS_PER_S
#define REFUSALS_MAX 5
/* How long the rest of a key may take, on a slow line; after that ESC was one. */
#define KEY_PATIENCE_NS (50 * NS_PER_MS)

/* --- the command line ------------------------------------------------------------------------- */

static int option_top_delay(const char *name, const char *text, void *to,
			    struct usage_message *message)
{
	uint64_t *ns = to;
	int r = option_seconds(name, text, to, message);

	return r || (*ns >= INTERVAL_MIN && *ns <= INTERVAL_MAX)
		       ? r
		       : usage_error(message, "%s is 0.1 to 3600 seconds, not '%s'", name, text);
}

int top_parse(int argc, char *const *argv, struct top_arguments *ret, struct usage_message *message)
{
	static const char only[] = "only one of -s and -p";
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{'s', "service", option_service, &ret->service, only},
		{'p', "pid", option_pid, &ret->pid, only},
		{'d', "delay", option_top_delay, &ret->interval_ns, NULL},
		{0, "wall", option_flag, &ret->wall, NULL},
		{0, "idle", option_flag, &ret->idle, NULL},
		{0, "rows", option_number, &ret->rows, NULL},
		{0, "once", option_flag, &ret->once, NULL},
		{0, "url", option_flag, &ret->url, NULL},
		{0, NULL, option_no_operand, ret, NULL},
		{0},
	};
	int r;

	*ret = (struct top_arguments){.service = "", .interval_ns = INTERVAL_NS};
	r = options_parse(rows, argc, argv, message);
	if (!r && ret->idle && !ret->wall)
		return usage_error(message, "--idle is of --wall");
	if (!r && ret->url && ret->wall)
		return usage_error(message, "--url has no --wall: the page shows CPU time first");
	return r;
}

/* --- what is known ---------------------------------------------------------------------------- */

struct top {
	struct context *context;
	const struct top_arguments *arguments;
	struct held held;
	int signals; /* signalfd(2) */
	struct top_functions *functions;
	struct top_view view;
	struct top_facts facts;
	struct top_table table; /* as it was sorted last */
	char target[320], trouble[COMPLAINT_SIZE];
	uint64_t begin_ns, taken_ns, retry_ns; /* CLOCK_MONOTONIC */
	unsigned n_refused;                    /* in a row */
	struct keys keys;
	uint64_t keys_ns; /* when the last of them came */
	bool on_screen, is_new;
};

/* "": there is none. */
static void top_set_trouble(struct top *t, const char *text)
{
	snprintf(t->trouble, sizeof(t->trouble), "%s", text);
	t->facts.trouble = *t->trouble ? t->trouble : NULL;
}

static int top_sort(struct top *t)
{
	int r = top_functions_sort(t->functions, t->view.order, t->view.filter, &t->table.functions,
				   &t->table.n);

	return r ? profctl_complain(t->context, STATUS_FAILED, "%s", error_describe(r))
		 : STATUS_DONE;
}

/* Adds what was @taken to the interval. Returns 0 or negative errno. */
static int top_add_window(struct top *t, const struct taken *taken)
{
	struct profile *p = taken->profile;
	const struct profile_value_type *type;

	t->facts.n_lost = taken->lost;
	if (!p || !p->n_sample_types)
		return 0;
	type = &p->sample_types[profile_default_type(p)];
	t->facts.is_time = !strcmp(profile_string(p, type->unit), "nanoseconds");
	t->facts.is_wall = t->arguments->wall && wall_is_possible(p);
	return top_functions_add(t->functions, p);
}

/*
 * What happened since the last time: all that waits, as one interval; is_new: something came. A
 * profd that has gone is the end; where it refuses, because it is busy, the next time may be
 * better. What has ended is let go: there is no next time. Returns an exit status.
 */
static int top_take_interval(struct top *t)
{
	struct taken taken;
	unsigned n = 0;
	uint64_t now_ns;
	int r;

	do {
		r = take_window(t->context, t->held.id, &taken);
		if (r)
			break;
		if (n++ == 0)
			top_functions_next(t->functions);
		r = top_add_window(t, &taken);
		profile_free(taken.profile);
	} while (!r && taken.more && n < WINDOWS_MAX);
	now_ns = clock_ns(CLOCK_MONOTONIC);
	t->is_new = n;
	if (r < 0)
		return profctl_complain(t->context, STATUS_FAILED, "%s", error_describe(r));
	if (r == TAKE_E_GONE)
		return profctl_complain(t->context, STATUS_NO_DAEMON, "%s", taken.trouble);
	if (n) {
		top_functions_sums(t->functions, &t->facts.sums);
		t->facts.interval_ns = now_ns - t->taken_ns;
		t->facts.all_ns = now_ns - t->begin_ns;
		t->taken_ns = now_ns;
		t->n_refused = 0;
	}
	top_set_trouble(t, r ? taken.trouble : taken.over ? "the process has ended; q quits" : "");
	if (!r && taken.over)
		held_deinit(&t->held);
	if (!r)
		return STATUS_DONE;
	t->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
	if (++t->n_refused >= REFUSALS_MAX && !t->on_screen)
		return profctl_complain(t->context, STATUS_FAILED, "%s", t->trouble);
	return STATUS_DONE;
}

/* When the next interval is to be taken; UINT64_MAX: never. */
static uint64_t top_next_due_ns(const struct top *t)
{
	uint64_t ns = t->taken_ns + t->view.interval_ns;

	if (t->view.is_paused || t->held.fd < 0)
		return UINT64_MAX;
	return ns > t->retry_ns ? ns : t->retry_ns;
}

/* For poll(2), up to @ns. */
static int top_poll_timeout_ms(uint64_t ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (ns == UINT64_MAX)
		return -1;
	return ns > now_ns ? (int)((ns - now_ns) / 1000000 + 1) : 0;
}

/* --- on a screen ------------------------------------------------------------------------------ */

static int top_draw_screen(struct top *t)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int fd = fileno(t->context->out), r = top_sort(t);
	unsigned rows, columns;

	/* Others have it: it is drawn when we have it again. */
	if (r || !terminal_is_taken())
		return r;
	if (memory_text_open(&text))
		return profctl_complain(t->context, STATUS_FAILED, "%s", strerror(ENOMEM));
	terminal_size(fd, &rows, &columns);
	top_settle(&t->view, rows, t->table.n);
	fputs(CURSOR_TO_HOME, text.out);
	top_draw(&t->view, &t->table, rows, columns, text.out);
	if (memory_text_close(&text))
		return profctl_complain(t->context, STATUS_FAILED, "%s", strerror(ENOMEM));
	/* At once: halves would flicker. */
	fwrite(text.text, 1, text.length, t->context->out);
	fflush(t->context->out);
	return STATUS_DONE;
}

/* Returns TOP_*. */
static int top_handle_keys(struct top *t, bool is_all)
{
	unsigned rows, columns;
	int key, outcome = TOP_GOES_ON;

	terminal_size(fileno(t->context->out), &rows, &columns);
	while ((key = keys_next(&t->keys, is_all)) != KEY_INCOMPLETE) {
		int what = top_key(&t->view, key, rows, t->table.n);

		if (what == TOP_QUITS)
			return what;
		if (what == TOP_REDRAWS)
			outcome = what;
	}
	return outcome;
}

/* Returns TOP_*; a terminal that has been hung up is the end. */
static int top_read_keys(struct top *t, bool is_hung_up)
{
	struct keys *k = &t->keys;
	ssize_t n = read(STDIN_FILENO, k->bytes + k->n, sizeof(k->bytes) - k->n);

	if (n <= 0)
		return is_hung_up || (n < 0 && errno != EINTR && errno != EAGAIN) ? TOP_QUITS
										  : TOP_GOES_ON;
	k->n += (size_t)n;
	t->keys_ns = clock_ns(CLOCK_MONOTONIC);
	return top_handle_keys(t, false);
}

/* Does what signal @number, which is blocked, does to those that leave it alone; true: it stopped.
 */
static bool stop_by_signal(int number)
{
	sigset_t set, before, pending;

	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigpending(&pending);
	return sigismember(&pending, SIGCONT) == 1;
}

/*
 * Returns TOP_*; a terminal that is not to be had any more is its end. In the background it waits,
 * stopped, as others do that would use the terminal there; but not within terminal_take(), where
 * SIGTERM would wait, too.
 */
static int top_regain_terminal(struct top *t)
{
	if (!terminal_is_for_us(STDIN_FILENO)) {
		stop_by_signal(SIGTTOU);
		return TOP_GOES_ON;
	}
	/* Others have had it meanwhile. */
	terminal_give_back();
	return terminal_take(STDIN_FILENO, fileno(t->context->out)) ? TOP_QUITS : TOP_REDRAWS;
}

/* Returns TOP_*. */
static int top_read_signal(struct top *t)
{
	struct signalfd_siginfo info;

	if (read(t->signals, &info, sizeof(info)) != sizeof(info))
		return TOP_GOES_ON;
	switch (info.ssi_signo) {
	case SIGWINCH:
		return TOP_REDRAWS;
	case SIGTSTP:
		terminal_give_back();
		/* SIGCONT is next. Where nobody could send it, the kernel stops nothing. */
		return stop_by_signal(SIGTSTP) ? TOP_GOES_ON : top_regain_terminal(t);
	case SIGCONT:
		return top_regain_terminal(t);
	default:
		return TOP_QUITS;
	}
}

/* The session has ended: its process has, and the rest is shown and stays, or profd has. */
static int end_session(struct top *t)
{
	if (!held_has_ended(&t->held))
		return profctl_complain(t->context, STATUS_NO_DAEMON, "profd at %s has exited",
					t->context->socket);
	held_deinit(&t->held);
	return top_take_interval(t);
}

/*
 * Waits, and does what came; what was taken is to be drawn or printed. *ret_outcome: TOP_*. Returns
 * an exit status.
 */
static int top_handle_events(struct top *t, int *ret_outcome)
{
	struct pollfd fds[] = {{.fd = t->on_screen ? STDIN_FILENO : -1, .events = POLLIN},
			       {.fd = t->signals, .events = POLLIN},
			       {.fd = t->held.fd, .events = POLLIN}};
	uint64_t take_ns = top_next_due_ns(t);
	uint64_t keys_ns = t->keys.n ? t->keys_ns + KEY_PATIENCE_NS : UINT64_MAX;
	int n = poll(fds, ARRAY_SIZE(fds),
		     top_poll_timeout_ms(keys_ns < take_ns ? keys_ns : take_ns));

	*ret_outcome = TOP_GOES_ON;
	if (n < 0)
		return errno == EINTR
			       ? STATUS_DONE
			       : profctl_complain(t->context, STATUS_FAILED, "%s", strerror(errno));
	/* Alone: after some of them another program has the terminal, and has read the keys. */
	if (fds[1].revents) {
		*ret_outcome = top_read_signal(t);
		return STATUS_DONE;
	}
	if (fds[0].revents)
		*ret_outcome = top_read_keys(t, fds[0].revents & (POLLHUP | POLLERR));
	else if (clock_ns(CLOCK_MONOTONIC) >= keys_ns)
		*ret_outcome = top_handle_keys(t, true);
	if (*ret_outcome == TOP_QUITS)
		return STATUS_DONE;
	if (fds[2].revents) {
		*ret_outcome = TOP_REDRAWS;
		return end_session(t);
	}
	if (clock_ns(CLOCK_MONOTONIC) < top_next_due_ns(t))
		return STATUS_DONE;
	*ret_outcome = TOP_REDRAWS;
	return top_take_interval(t);
}

static int run_on_screen(struct top *t)
{
	char complaint[COMPLAINT_SIZE];
	int outcome = TOP_REDRAWS;
	int r = terminal_take(STDIN_FILENO, fileno(t->context->out));

	if (r)
		return profctl_complain(t->context, STATUS_FAILED,
					"the terminal cannot be used: %s", error_describe(r));
	/* What is complained of on another screen nobody would see. */
	t->context->kept = complaint;
	while (!r && outcome != TOP_QUITS) {
		if (outcome == TOP_REDRAWS)
			r = top_draw_screen(t);
		if (!r)
			r = top_handle_events(t, &outcome);
	}
	terminal_give_back();
	t->context->kept = NULL;
	return r ? profctl_complain(t->context, r, "%s", complaint) : r;
}

/* --- as text ---------------------------------------------------------------------------------- */

/* At most @max functions: those that cost something in the interval. @compact: in one line. */
static void top_print_json(const struct top_table *t, size_t max, bool compact, FILE *out)
{
	const struct top_facts *facts = t->facts;
	const struct top_sums *sums = &facts->sums;
	struct json j = {.out = out, .compact = compact};

	json_begin_object(&j, NULL);
	json_text(&j, "target", facts->target);
	json_text(&j, "unit", facts->is_wall ? "wall_ns" : facts->is_time ? "cpu_ns" : "events");
	json_real(&j, "interval_seconds", (double)facts->interval_ns / 1e9);
	json_number(&j, "samples", (uint64_t)sums->samples);
	json_number(&j, "value", (uint64_t)sums->value);
	json_number(&j, "all_samples", (uint64_t)sums->all_samples);
	json_number(&j, "all_value", (uint64_t)sums->all_value);
	if (facts->is_wall) {
		json_number(&j, "wait", (uint64_t)sums->wait);
		json_number(&j, "all_wait", (uint64_t)sums->all_wait);
		json_number(&j, "idle", (uint64_t)sums->idle);
	}
	json_number(&j, "lost_samples", facts->n_lost);
	json_begin_array(&j, "functions");
	for (size_t i = 0; i < t->n && i < max && t->functions[i]->interval.cum; i++) {
		const struct top_function *f = t->functions[i];

		json_begin_object(&j, NULL);
		json_text(&j, "name", f->name);
		json_text(&j, "module", *f->module ? f->module : NULL);
		json_text(&j, "process", *f->who ? f->who : NULL);
		json_number(&j, "flat", (uint64_t)f->interval.flat);
		json_number(&j, "cum", (uint64_t)f->interval.cum);
		json_number(&j, "all_flat", (uint64_t)f->all.flat);
		json_number(&j, "all_cum", (uint64_t)f->all.cum);
		if (facts->is_wall) {
			json_number(&j, "wait", (uint64_t)f->interval.wait);
			json_number(&j, "all_wait", (uint64_t)f->all.wait);
		}
		json_close(&j);
	}
	json_end(&j);
}

/* Where nothing can be written any more it is over, which profctl_main() tells. */
static int top_print_table(struct top *t, bool *ret_is_over)
{
	size_t rows = t->arguments->rows ? t->arguments->rows : ROWS_DEFAULT;
	unsigned lines, columns = 0;
	int r = top_sort(t);

	if (r)
		return r;
	if (t->context->terminal)
		terminal_size(fileno(t->context->out), &lines, &columns);
	if (t->arguments->json)
		top_print_json(&t->table, rows, !t->arguments->once, t->context->out);
	else
		top_print(&t->table, rows, columns, t->context->out);
	if (!t->arguments->once && !t->arguments->json)
		fputc('\n', t->context->out);
	if (fflush(t->context->out))
		*ret_is_over = true;
	return STATUS_DONE;
}

/* Waits for the next interval and prints it; *ret_is_over: it was the last. An exit status. */
static int print_next(struct top *t, bool *ret_is_over)
{
	int outcome, r = top_handle_events(t, &outcome);

	*ret_is_over = outcome == TOP_QUITS;
	if (r || outcome != TOP_REDRAWS)
		return r;
	*ret_is_over = t->held.fd < 0;
	if (!t->is_new)
		return *ret_is_over ? profctl_complain(t->context, STATUS_FAILED, "%s", t->trouble)
				    : STATUS_DONE;
	*ret_is_over |= t->arguments->once;
	r = top_print_table(t, ret_is_over);
	/* An empty table would look as if something had gone wrong. */
	if (!r && t->arguments->once && !t->facts.sums.samples)
		profctl_complain(t->context, STATUS_DONE,
				 t->arguments->wall ? "no samples: nothing to see of %s"
						    : "no samples: %s used no CPU time",
				 t->target);
	return r;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int top_start_session(struct top *t)
{
	const struct top_arguments *a = t->arguments;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	char wall[] = "wall";

	start.target = *a->service ? PROFD__CONTROL__TARGET_KIND__SERVICE
		       : a->pid    ? PROFD__CONTROL__TARGET_KIND__PID
				   : PROFD__CONTROL__TARGET_KIND__ALL;
	start.number = a->pid;
	start.text = (char *)(uintptr_t)a->service;
	start.event = a->wall ? wall : start.event;
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

static int watch_signals(struct top *t)
{
	/* The last three are of those that have a screen. */
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_SIZE(numbers) - (t->on_screen ? 0 : 3); i++)
		sigaddset(&signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	t->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return t->signals < 0 ? profctl_complain(t->context, STATUS_FAILED, "%s", strerror(errno))
			      : STATUS_DONE;
}

int top_run(struct context *context, int argc, char **argv)
{
	struct top_arguments arguments;
	struct usage_message message;
	struct top t = {.context = context, .arguments = &arguments, .held = HELD_NONE};
	bool is_over = false;
	int r = top_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	if (arguments.url)
		return page_address_print_scope(context, &(struct page_scope){
								 .service = arguments.service,
								 .pid = arguments.pid,
								 .is_table = true,
							 });
	characters_begin();
	t.on_screen = context->screen && isatty(STDIN_FILENO) && !arguments.once && !arguments.json;
	t.view.interval_ns = arguments.interval_ns;
	t.table.facts = &t.facts;
	r = top_functions_new(&t.functions,
			      &(struct top_what){.of_one = *arguments.service || arguments.pid,
						 .wall = arguments.wall,
						 .idle = arguments.idle});
	if (r)
		return profctl_complain(context, STATUS_FAILED, "%s", error_describe(r));
	r = (*arguments.service ? services_check_running(context, arguments.service) : STATUS_DONE)
		?: watch_signals(&t)
		?: top_start_session(&t);
	t.begin_ns = t.taken_ns = clock_ns(CLOCK_MONOTONIC);
	if (!r && t.on_screen)
		r = run_on_screen(&t);
	while (!r && !t.on_screen && !is_over)
		r = print_next(&t, &is_over);
	held_deinit(&t.held);
	closep(&t.signals);
	top_functions_free(t.functions);
	return r;
}
