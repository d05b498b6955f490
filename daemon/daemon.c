/* SPDX-License-Identifier: MIT */
/*
 * The loop. Rings go first (drains.c), then all else in turn. Every handler does bounded work; what
 * is slow happens in the output thread.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/daemon_private.h"
#include "daemon/drains.h"
#include "daemon/resolve/container_files.h"
#include "daemon/resolve/file_copier.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/group_paths.h"
#include "daemon/resolve/proc_door.h"
#include "daemon/startup.h"

/* What a restart may miss while the last windows are being written. */
#define LONG_FLUSH_S 0.2

static const int handled_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

/* For this thread and those it starts. */
static int daemon_block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(handled_signals); i++)
		sigaddset(&set, handled_signals[i]);
	sigaddset(&set, SIGPIPE);
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? error_origin(-errno) : 0;
}

void daemon_fail(struct daemon *d, int error)
{
	if (!d->error)
		d->error = error;
	if (d->loop)
		sd_event_exit(d->loop, error);
}

static void daemon_on_stopped(void *userdata, struct flush *flush)
{
	struct daemon *d = userdata;

	if (flush->error)
		log_error("the last windows could not be written to %s: %s", d->places.store_path,
			  strerror(flush->error));
	sd_event_exit(d->loop, 0);
}

static void daemon_on_flushed(void *userdata, struct flush *flush);

/* Writes the windows; if they are the last, sampling ends, and then the loop. */
static int daemon_write_windows(struct daemon *d, bool are_last)
{
	struct flush *flush;
	int r = flush_new(&flush, are_last ? daemon_on_stopped : daemon_on_flushed, d);

	if (r)
		return r;
	if (!are_last)
		r = session_set_flush(d->sessions, NULL, flush);
	for (size_t i = 0; are_last && !r && i < d->sessions->n_sessions; i++)
		r = session_set_stop(d->sessions, d->sessions->sessions[i], flush);
	flush_release(flush);
	return r;
}

static void daemon_on_flushed(void *userdata, struct flush *flush)
{
	struct daemon *d = userdata;
	int r;

	(void)flush; /* what could not be written is in the last windows */
	r = daemon_write_windows(d, true);
	if (r)
		daemon_fail(d, r);
}

int daemon_stop(struct daemon *d)
{
	int r;

	if (d->stopping)
		return sd_event_exit(d->loop, 0);
	d->stopping = true;
	daemon_notify_stopping(d);
	r = d->listener ? listener_hand_over(d->listener) : 0;
	if (r)
		return r;
	/*
	 * Where writing takes its time, most is written while sampling goes on, so that a restart
	 * misses little: what is left then are the windows of that time.
	 */
	return daemon_write_windows(d, d->last_flush.seconds <= LONG_FLUSH_S || d->replay);
}

int daemon_rearm(sd_event_source *timer, uint64_t usec)
{
	int r = sd_event_source_set_time(timer, usec);

	return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static int daemon_on_unwinder(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct daemon *d = userdata;
	enum cpu_cause before = cpu_causes_switch(&d->cpu_causes, CPU_SAMPLING);
	int r;

	(void)source, (void)fd, (void)events;
	r = unwinder_dispatch(d->unwinder, clock_ns(CLOCK_MONOTONIC));
	cpu_causes_switch(&d->cpu_causes, before);
	return r ? r : unwinder_error(d->unwinder);
}

/* Forgets the dead. */
static int daemon_sweep(struct daemon *d, uint64_t now)
{
	enum cpu_cause before = cpu_causes_switch(&d->cpu_causes, CPU_EVENTS);
	int r;

	process_table_look_at_containers(d->processes);
	process_table_sweep(d->processes, now);
	/* What this gave back counts from now on, however long it took. */
	r = unwinder_sweep(d->unwinder, clock_ns(CLOCK_MONOTONIC));
	cpu_causes_switch(&d->cpu_causes, before);
	return r;
}

static int arm_window_timer(struct daemon *d)
{
	return daemon_rearm(d->window_timer, session_set_next_boundary(d->sessions) / 1000);
}

/* A wall clock that was set back would leave the windows open until it comes around again. */
static int follow_wall_clock(struct daemon *d)
{
	uint64_t armed_usec;
	int r;

	r = sd_event_source_get_time(d->window_timer, &armed_usec);
	if (r < 0)
		return r;
	if (armed_usec * 1000 <= session_set_next_boundary(d->sessions))
		return 0;
	return arm_window_timer(d);
}

/* A host may refuse tomorrow what it allows today: perf events, fds. */
static void daemon_log_trouble(struct daemon *d, bool was_paused)
{
	const char *trouble = session_set_trouble(d->sessions);
	const char *waits = session_set_waits_trouble(d->sessions);

	if (waits && !d->lacks_waits)
		log_warning("waiting time is not sampled: %s", waits);
	d->lacks_waits = waits != NULL;
	if (was_paused && !trouble && !session_set_paused_until(d->sessions)) {
		log_info("sampling resumed: the pause is over");
		daemon_notify_state(d);
	}
	if (trouble && !d->in_trouble)
		log_error("sampling stopped, retrying every minute: %s", trouble);
	if (!trouble && d->in_trouble)
		log_info("sampling resumed");
	d->in_trouble = trouble != NULL;
	for (size_t i = 0; i < d->sessions->stopped.n; i++)
		log_info("%s", d->sessions->stopped.all[i]);
	texts_deinit(&d->sessions->stopped);
}

static int daemon_on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool was_paused = session_set_paused_until(d->sessions);
	int r;

	r = source_follow_cpus(d->source);
	if (r >= 0)
		r = daemon_rescan(d, now);
	if (r >= 0)
		r = session_set_tick(d->sessions, now);
	if (r >= 0)
		r = follow_wall_clock(d);
	if (r >= 0)
		r = daemon_pace(d, false);
	if (r < 0)
		return r;
	/* Helpers hardly grow, and twelve of them take 140 system calls to look at. */
	if (!d->helpers_bytes || usec / 1000000 % 10 == 0)
		d->helpers_bytes = memory_descendants_bytes(&d->memory);
	d->memory.other_bytes = source_memory_bytes(d->source) + d->helpers_bytes;
	memory_budget_give_back(&d->memory);
	daemon_log_trouble(d, was_paused);
	r = daemon_sweep(d, now);
	if (r < 0)
		return r;
	daemon_notify_tick(d, now);
	if (usec / 1000000 % 10 == 0)
		daemon_notify_state(d);
	return daemon_rearm(source, now / 1000 + 1000000);
}

static int daemon_on_window_end(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;
	int r;

	(void)source, (void)usec;
	r = session_set_close_windows(d->sessions) ?: daemon_pace(d, true);
	return r ? r : arm_window_timer(d);
}

static int daemon_on_duration(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source, (void)usec;
	return daemon_stop(userdata);
}

static int daemon_on_output(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct daemon *d = userdata;
	struct output_result *result;
	int r;

	(void)source, (void)fd, (void)events;
	while ((result = output_take_result(d->output))) {
		struct flush_item *item = result->request;

		if (item->session && !item->session->is_live)
			d->last_flush = (struct daemon_last_flush){
				.started_ns = result->started_ns,
				.seconds = result->seconds,
				.n_files = (uint32_t)result->paths.n,
				.error = result->error,
			};
		r = session_set_take_result(result);
		if (r)
			return r;
	}
	daemon_notify_state(d);
	return 0;
}

/* Puts a configuration into force; the one before it is in *config then. */
static int daemon_swap_config(struct daemon *d, struct config **config, struct event *event)
{
	struct event event_before = d->event;
	struct config *before = d->config;
	int r = 0;

	d->config = *config;
	d->event = *event;
	*config = before; /* freed when nothing refers to it any more */
	*event = event_before;
	if (d->config->max_cpu != before->max_cpu || d->config->frequency != before->frequency ||
	    d->config->off_cpu != before->off_cpu ||
	    d->config->off_cpu_frequency != before->off_cpu_frequency)
		r = daemon_pace_restart(d);
	if (!r)
		r = daemon_apply_config(d);
	return r ? r : arm_window_timer(d);
}

/* A refused configuration changes nothing. */
static int daemon_reload(struct daemon *d, const struct peer *peer)
{
	cleanup(config_freep) struct config *config = NULL;
	struct source_message event_message;
	struct config_message message;
	char *rest = message.text, *line;
	struct event event;
	bool differ;
	int r;

	r = daemon_load_config(d, &config, &message);
	if (r == CONFIG_E_INVALID) {
		while ((line = strsep(&rest, "\n")))
			log_error("configuration not reloaded: %s", line);
		return 0;
	}
	if (r)
		return r;
	r = daemon_parse_event(d, config->event, &event, &event_message);
	if (r > 0) {
		log_error("configuration not reloaded: event=%s: %s", config->event,
			  event_message.text);
		return 0;
	}
	if (r)
		return r;
	differ = config_swap_restart_only(config, d->config);
	r = daemon_swap_config(d, &config, &event);
	if (!r)
		daemon_log_asked(peer, "configuration reloaded");
	if (!r && differ)
		log_warning("changes of path, group, socket, socket_mode, budget and exclude_self "
			    "take effect when profd is restarted");
	if (r <= 0)
		return r;
	/* What this host refuses shows only when it is tried, and was logged then. */
	log_error("configuration not reloaded: the old one stays in effect");
	config_swap_restart_only(d->config, config);
	r = daemon_swap_config(d, &config, &event);
	return r < 0 ? r : 0; /* at worst the system session is off until the next reload */
}

static int daemon_reload_and_notify(struct daemon *d, const struct peer *peer)
{
	int r;

	daemon_notify_reloading();
	r = daemon_reload(d, peer);
	daemon_notify_ready(d);
	return r;
}

static int daemon_on_signal(sd_event_source *source, const struct signalfd_siginfo *info,
			    void *userdata)
{
	const struct peer sender = {.uid = info->ssi_uid, .pid = (pid_t)info->ssi_pid};
	struct daemon *d = userdata;

	(void)source;
	switch (info->ssi_signo) {
	case SIGHUP:
		return d->stopping ? 0 : daemon_reload_and_notify(d, &sender);
	case SIGUSR1:
		return session_set_flush(d->sessions, NULL, NULL);
	default:
		return daemon_stop(d);
	}
}

/*
 * Takes @source over, if sd-event has made it (@made). Without the flag it would switch a failing
 * handler off and go on.
 */
static int daemon_keep_source(struct daemon *d, int made, sd_event_source *source, int64_t priority)
{
	int r = made;

	if (r < 0)
		return error_origin(r);
	d->sources[d->n_sources++] = source;
	r = sd_event_source_set_priority(source, priority);
	if (r >= 0)
		r = sd_event_source_set_exit_on_failure(source, true);
	return r < 0 ? error_origin(r) : 0;
}

static int daemon_add_timer(struct daemon *d, clockid_t clock, uint64_t at_ns,
			    sd_event_time_handler_t handler, int64_t priority)
{
	sd_event_source *source = NULL;
	int r = sd_event_add_time(d->loop, &source, clock, at_ns / 1000, 1000, handler, d);

	return daemon_keep_source(d, r, source, priority);
}

static int daemon_add_io(struct daemon *d, int fd, sd_event_io_handler_t handler, int64_t priority)
{
	sd_event_source *source = NULL;
	int r = sd_event_add_io(d->loop, &source, fd, EPOLLIN, handler, d);

	return daemon_keep_source(d, r, source, priority);
}

static int daemon_add_signals(struct daemon *d)
{
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(handled_signals); i++) {
		sd_event_source *source = NULL;

		r = sd_event_add_signal(d->loop, &source, handled_signals[i], daemon_on_signal, d);
		r = daemon_keep_source(d, r, source, PRIORITY_OTHERS);
	}
	return r;
}

static int daemon_on_containers(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct daemon *d = userdata;
	int r = container_files_receive(d->containers);

	(void)source, (void)fd, (void)events;
	process_table_look_at_containers(d->processes);
	return r;
}

/* What is switched on and off, or set to another time or priority, later on. */
static int daemon_add_changing_sources(struct daemon *d, uint64_t now)
{
	int r = daemon_add_io(d, d->source->fd, daemon_on_source, PRIORITY_RINGS)
			?: daemon_add_timer(d, CLOCK_MONOTONIC, now, daemon_on_rest_timer,
					    PRIORITY_RINGS)
			?: daemon_add_timer(d, CLOCK_MONOTONIC, now + DRAIN_NS, daemon_on_drain_timer,
 PRIORITY_RINGS)
			?: daemon_add_timer(d, CLOCK_REALTIME,
					    session_set_next_boundary(d->sessions),
					    daemon_on_window_end, PRIORITY_OTHERS)
			?: daemon_add_timer(d, CLOCK_MONOTONIC, UINT64_MAX, daemon_on_rescan_timer,
					    PRIORITY_OTHERS);

	if (r)
		return r;
	d->source_io = d->sources[0];
	d->rest_timer = d->sources[1];
	d->drain_timer = d->sources[2];
	d->window_timer = d->sources[3];
	d->rescan_timer = d->sources[4];
	return 0;
}

static int daemon_add_sources(struct daemon *d)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r = daemon_add_changing_sources(d, now);

	if (!r && d->shim && d->shim != d->source)
		r = daemon_add_io(d, d->shim->fd, daemon_on_shim, PRIORITY_OTHERS);
	if (!r && d->containers)
		r = daemon_add_io(d, container_files_fd(d->containers), daemon_on_containers,
				  PRIORITY_OTHERS);
	if (!r && d->options.duration_ns)
		r = daemon_add_timer(d, CLOCK_MONOTONIC, now + d->options.duration_ns,
				     daemon_on_duration, PRIORITY_OTHERS);
	return r ?: daemon_add_io(d, unwinder_fd(d->unwinder), daemon_on_unwinder, PRIORITY_RINGS)
		 ?: daemon_add_io(d, output_fd(d->output), daemon_on_output, PRIORITY_OTHERS)
		 ?: daemon_add_timer(d, CLOCK_MONOTONIC, now + NS_PER_S, daemon_on_tick,
				     PRIORITY_OTHERS)
		 ?: daemon_add_signals(d);
}

int daemon_new(struct daemon **ret, const struct daemon_options *options)
{
	cleanup(daemon_freep) struct daemon *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return error_origin(-ENOMEM);
	d->options = *options;
	d->places.store_fd = -1;
	d->places.proc_fd = -1;
	d->started_ns = clock_ns(CLOCK_MONOTONIC);
	r = sd_event_default(&d->loop);
	if (r < 0)
		return error_origin(r);
	r = daemon_block_signals() ?: daemon_start(d) ?: d->error ?: daemon_add_sources(d);
	if (r)
		return r;
	*ret = steal_ptr(&d);
	return DAEMON_E_OK;
}

int daemon_run(struct daemon *d)
{
	int r;

	daemon_notify_init(d);
	sd_event_set_watchdog(d->loop, true);
	daemon_notify_ready(d);
	r = sd_event_loop(d->loop);
	return d->error ? d->error : r;
}

void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	listener_free(d->listener);
	for (size_t i = 0; i < d->n_sources; i++)
		sd_event_source_unref(d->sources[i]);
	if (d->unwinder)
		unwinder_detach(d->unwinder);
	if (d->shim != d->source)
		source_free(d->shim);
	source_free(d->source);
	unwinder_free(d->unwinder);
	if (d->recorder && recorder_close(d->recorder) < 0)
		log_warning("the recording %s is incomplete", d->options.record_replay);
	output_free(d->output);
	file_opener_free(d->opener);
	file_copier_free(d->copier);
	container_files_free(d->containers);
	group_paths_free(d->groups);
	proc_door_free(d->door);
	session_set_free(d->sessions);
	process_table_free(d->processes);
	sd_event_unref(d->loop);
	config_free(d->config);
	texts_deinit(&d->warnings);
	exports_report_deinit(&d->exports);
	user_paths_deinit(&d->places.user);
	free(d->places.store_path);
	free(d->places.fetched_path);
	free(d->places.socket_path);
	closep(&d->places.store_fd);
	closep(&d->places.proc_fd);
	free(d);
}
