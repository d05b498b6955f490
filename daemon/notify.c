/* SPDX-License-Identifier: MIT */
/*
 * What the service manager is told (sd_notify(3)): readiness, what profd does at the moment, that a
 * stop takes longer, and by the watchdog's messages that it lives. The loop sends these by itself
 * (sd_event_set_watchdog(3)); they end when the output thread is found hung.
 */
#include "daemon/notify.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/proc.h"
#include "common/units.h"
#include "daemon/daemon_private.h"

/* A stop may take as long as this while the last windows are being written. */
#define STOP_MAX_NS    (300 * NS_PER_S)
#define STOP_MORE_USEC UINT64_C(15000000)

static const char *describe_store(const struct daemon *d, char *text, size_t size)
{
	char bytes[UNITS_TEXT_MAX];
	struct output_state output;

	output_get_state(d->output, &output);
	if (d->last_flush.error)
		snprintf(text, size, "cannot write to %s: %s", d->places.store_path,
			 strerrordesc_np(d->last_flush.error));
	else
		snprintf(text, size, "%" PRIu64 " files, %s", output.store.n_files,
			 units_print_size_short(bytes, sizeof(bytes), output.store.bytes));
	return text;
}

const char *daemon_describe_pause(const struct daemon *d, char text[PAUSE_TEXT_SIZE])
{
	uint64_t until_ns = session_set_paused_until(d->sessions);
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (until_ns == UINT64_MAX) {
		snprintf(text, PAUSE_TEXT_SIZE, "profctl resume");
		return text;
	}
	return units_print_moment(text, PAUSE_TEXT_SIZE,
				  clock_ns(CLOCK_REALTIME) + until_ns - now_ns, false);
}

void daemon_notify_state(struct daemon *d)
{
	struct process_table_stats processes;
	struct source_stats source;
	struct ledger ledger = {0};
	const char *trouble = session_set_trouble(d->sessions);
	char store[512], pause[PAUSE_TEXT_SIZE];

	if (d->stopping)
		return;
	if (trouble) {
		sd_notifyf(0, "STATUS=Not sampling: %s", trouble);
		return;
	}
	if (session_set_paused_until(d->sessions)) {
		sd_notifyf(0, "STATUS=Paused until %s; other sessions continue",
			   daemon_describe_pause(d, pause));
		return;
	}
	process_table_get_stats(d->processes, &processes);
	session_set_total(d->sessions, &ledger, &source);
	sd_notifyf(0,
		   "STATUS=Sampling %s at %" PRIu64 " Hz with %s: %" PRIu64
		   " samples, %zu processes, %zu sessions; %s",
		   d->event.name, daemon_rate(d), d->source->ops->name, ledger.seen,
		   processes.n_processes, d->sessions->n_sessions,
		   describe_store(d, store, sizeof(store)));
}

void daemon_notify_ready(struct daemon *d)
{
	daemon_notify_state(d);
	sd_notify(0, "READY=1");
}

void daemon_notify_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nSTATUS=Reading the configuration",
		   clock_ns(CLOCK_MONOTONIC) / 1000);
}

void daemon_notify_stopping(struct daemon *d)
{
	d->watch.stopping_ns = clock_ns(CLOCK_MONOTONIC);
	sd_notify(0, "STOPPING=1\nSTATUS=Writing the last windows");
}

void daemon_notify_init(struct daemon *d)
{
	uint64_t usec;

	d->watch.patience_ns = WATCH_PATIENCE_NS;
	if (sd_watchdog_enabled(false, &usec) > 0 && usec <= UINT64_MAX / 1000)
		d->watch.patience_ns = usec * 1000;
}

enum watch watch_judge(uint64_t busy_ns, uint64_t own_ns, uint64_t patience_ns)
{
	if (busy_ns < patience_ns)
		return WATCH_WELL;
	return own_ns / WATCH_HUNG_TIMES < patience_ns ? WATCH_SLOW : WATCH_HUNG;
}

/* Without an allocation: where memory has run out, the disk may be what profd waits for, too. */
static char thread_state(pid_t tid)
{
	char path[64], text[512];
	cleanup(closep) int fd = -1;
	struct proc_stat stat;
	ssize_t n = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return proc_parse_stat(text, &stat) ? '?' : stat.state;
}

static enum watch look_at_output(struct daemon *d, uint64_t now_ns, uint64_t *ret_busy_ns)
{
	struct output_state output;
	uint64_t since, own;

	output_get_state(d->output, &output);
	since = output.busy_since_ns;
	*ret_busy_ns = since && since < now_ns ? now_ns - since : 0;
	if (*ret_busy_ns >= d->watch.patience_ns && thread_state(output.tid) == 'D')
		d->watch.disk_wait_ns = now_ns;
	own = now_ns - d->watch.disk_wait_ns;
	return watch_judge(*ret_busy_ns, own < *ret_busy_ns ? own : *ret_busy_ns,
			   d->watch.patience_ns);
}

/* Each state once, when it begins. */
static void follow_output(struct daemon *d, uint64_t now_ns)
{
	uint64_t busy_ns;
	enum watch state = look_at_output(d, now_ns, &busy_ns);
	char span[UNITS_TEXT_MAX];

	if (state == d->watch.output_state)
		return;
	units_print_span(span, sizeof(span), (double)busy_ns / 1e9);
	if (state == WATCH_SLOW)
		log_warning("%s: writing a window has taken %s so far; the disk is slow or "
			    "stuck, and windows are kept in memory until then",
			    d->places.store_path, span);
	if (state == WATCH_HUNG) {
		log_error("%s: writing a window has taken %s so far without waiting for the "
			  "disk; stopping the watchdog notifications, so that profd is restarted",
			  d->places.store_path, span);
	}
	if (state == WATCH_WELL)
		log_info("%s: windows are written on time again", d->places.store_path);
	if (state == WATCH_HUNG || d->watch.output_state == WATCH_HUNG)
		sd_event_set_watchdog(d->loop, state != WATCH_HUNG);
	d->watch.output_state = state;
}

void daemon_notify_tick(struct daemon *d, uint64_t now_ns)
{
	follow_output(d, now_ns);
	if (d->stopping && now_ns - d->watch.stopping_ns < STOP_MAX_NS)
		sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, STOP_MORE_USEC);
}
