/* SPDX-License-Identifier: MIT */
/*
 * The order of a start: configuration, lock, store, source (process events begin to gather),
 * processes from /proc, sessions, and last the control socket: whoever gets an answer talks to a
 * daemon that samples.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/error.h"
#include "common/log.h"
#include "daemon/daemon_private.h"
#include "daemon/resolve/proc.h"
#include "daemon/session_ids.h"

/* How long samples may wait in a ring. */
#define DRAIN_MS 100

/* The budget in parts; what is left is for processes, images and the encoders. */
#define RING_SHARE     8 /* 1/8: ring buffers, which are BPF or locked memory */
#define WINDOW_SHARE   4 /* 1/4: open windows and windows being written */
#define SYMBOLS_SHARE  4 /* 1/4: symbol tables */
#define MAPPINGS_SHARE 8 /* 1/8: what processes have mapped */

void daemon_warn(struct daemon *d, const char *format, ...)
{
	cleanup(freep) char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return;
	log_warning("%s", text);
	for (size_t i = 0; i < DAEMON_WARNINGS_MAX; i++) {
		if (d->warnings[i])
			continue;
		d->warnings[i] = steal_ptr(&text);
		return;
	}
}

static int load_config(struct daemon *d)
{
	struct config_message message;
	int r;

	r = config_load(&d->config, d->options.config_path, &message);
	if (r == CONFIG_E_INVALID) {
		log_error("%s", message.text);
		return DAEMON_E_REFUSED;
	}
	return r;
}

static int choose_paths(struct daemon *d)
{
	const char *path = d->config->store_path;
	const char *given = d->options.state_directory;

	if (given) {
		mkdir(given, 0751);
		d->store_path = realpath(given, NULL);
		if (!d->store_path) {
			log_error("cannot use the state directory %s: %s", given, strerror(errno));
			return DAEMON_E_REFUSED;
		}
	} else {
		d->store_path = strdup(path);
	}
	if (d->options.runtime_directory) {
		if (asprintf(&d->socket_path, "%s/control.sock", d->options.runtime_directory) < 0)
			return error_origin(-ENOMEM);
	} else {
		d->socket_path = strdup(d->config->control_socket);
	}
	return d->store_path && d->socket_path ? 0 : error_origin(-ENOMEM);
}

/* The store's group, inherited by all that is made below through the set-group-id bit. */
static void give_to_group(struct daemon *d)
{
	const struct group *group = getgrnam(d->config->store_group);
	struct stat st;

	if (!group || fstat(d->store_fd, &st) < 0 || st.st_gid == group->gr_gid)
		return;
	if (fchown(d->store_fd, (uid_t)-1, group->gr_gid) == 0)
		fchmod(d->store_fd, 02751);
}

/* The directory itself carries the lock: nothing else has to lie in it. */
static int open_store(struct daemon *d)
{
	mkdir(d->store_path, 0751);
	d->store_fd = open(d->store_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->store_fd < 0) {
		log_error("cannot open the state directory %s: %s", d->store_path, strerror(errno));
		return DAEMON_E_REFUSED;
	}
	if (flock(d->store_fd, LOCK_EX | LOCK_NB) < 0) {
		log_error("another profd uses the state directory %s; stop it, or choose another "
			  "one with --state-directory",
			  d->store_path);
		return DAEMON_E_REFUSED;
	}
	if (faccessat(d->store_fd, ".", W_OK, AT_EACCESS) < 0) {
		log_error("cannot write to the state directory %s: %s", d->store_path,
			  strerror(errno));
		return DAEMON_E_REFUSED;
	}
	give_to_group(d);
	return DAEMON_E_OK;
}

static void output_options_of(const struct daemon *d, struct output_options *ret)
{
	const struct config *c = d->config;

	*ret = (struct output_options){
		.store_fd = d->store_fd,
		.store_path = d->store_path,
		.max_size = c->store_max_size,
		.min_free = c->store_min_free,
		.max_age_s = c->store_max_age_ns / 1000000000u,
		.legacy_keep_s = c->store_legacy_keep_ns / 1000000000u,
		.keep_windows = c->store_keep_windows,
		.legacy_max_processes = c->store_legacy_max_processes,
		.symbol_cache_bytes = c->memory_budget / SYMBOLS_SHARE,
	};
}

static void sink_sample(void *userdata, const struct sample *sample)
{
	struct daemon *d = userdata;
	int r;

	r = session_set_route(d->sessions, sample);
	if (r)
		daemon_fail(d, r);
}

static void sink_event(void *userdata, const struct process_event *event)
{
	struct daemon *d = userdata;
	int r;

	r = process_table_apply(d->processes, event);
	if (r)
		daemon_fail(d, r);
}

/* Images stay open, and each CPU has its events: as many fds as the host allows. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int start_recorder(struct daemon *d)
{
	int fd;

	if (!d->options.record_replay)
		return 0;
	fd = open(d->options.record_replay, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		log_error("cannot write %s: %s", d->options.record_replay, strerror(errno));
		return DAEMON_E_REFUSED;
	}
	return recorder_new(&d->recorder, fd, &d->sink);
}

static int open_replay(struct daemon *d, const struct source_options *options, const char *path,
		       struct source_message *message)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0) {
		snprintf(message->text, sizeof(message->text), "cannot read %s: %s", path,
			 strerror(errno));
		return SOURCE_E_UNSUPPORTED;
	}
	d->replay = true;
	r = source_replay_new(&d->source, options, fd, message);
	if (r == SOURCE_E_OK)
		steal_fd(&fd);
	return r;
}

/* The source that was asked for; else BPF, and where that cannot be had, plain perf events. */
static int choose_source(struct daemon *d, const struct source_options *options,
			 struct source_message *message)
{
	const char *wanted = d->options.source;
	struct source_message why = {};
	int r;

	if (wanted && strncmp(wanted, "replay:", 7) == 0)
		return open_replay(d, options, wanted + 7, message);
	if (wanted && strcmp(wanted, "perf") == 0)
		return source_perf_new(&d->source, options, message);
	r = source_bpf_new(&d->source, options, message);
	if (r <= 0 || wanted)
		return r;
	why = *message;
	r = source_perf_new(&d->source, options, message);
	if (r == SOURCE_E_OK)
		daemon_warn(d, "sampling by plain perf events, stacks are poorer: %s", why.text);
	return r;
}

static int start_source(struct daemon *d)
{
	struct source_options options = {
		.sink = &d->sink,
		.exclude_self = d->config->exclude_self,
		.drain_ms = DRAIN_MS,
		.memory_bytes = d->config->memory_budget / RING_SHARE,
	};
	struct source_message message = {};
	int r;

	d->sink = (struct source_sink){.sample = sink_sample,
				       .process_event = sink_event,
				       .userdata = d};
	r = start_recorder(d);
	if (r)
		return r;
	if (d->recorder)
		options.sink = recorder_sink(d->recorder);
	r = choose_source(d, &options, &message);
	if (r > 0) {
		log_error("%s", message.text);
		return DAEMON_E_REFUSED;
	}
	if (r)
		return r;
	message = (struct source_message){};
	r = event_parse(d->config->event, &d->event, &message);
	if (r > 0) {
		log_error("event=%s: %s", d->config->event, message.text);
		return DAEMON_E_REFUSED;
	}
	if (!r && message.text[0])
		daemon_warn(d, "%s", message.text);
	return r;
}

static int start_processes(struct daemon *d)
{
	int r;

	if (!d->replay) {
		d->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (d->proc_fd < 0)
			return error_origin(-errno);
	}
	r = process_table_new(&d->processes, d->proc_fd, d->config->memory_budget / MAPPINGS_SHARE);
	if (r)
		return r;
	return 0;
}

int daemon_apply_config(struct daemon *d)
{
	const struct config *c = d->config;
	struct source_message message = {};
	struct output_options output;
	int r;

	output_options_of(d, &output);
	r = output_configure(d->output, &output);
	if (r)
		return r;
	session_set_configure(d->sessions, &(struct session_defaults){
						   .interval_ns = c->interval_ns,
						   .formats = c->formats,
						   .labels = c->labels,
						   .symbolize = c->symbolize,
						   .event = d->event,
						   .frequency = c->frequency,
						   .kernel_stacks = c->kernel_stacks,
						   .max_depth = c->max_depth,
						   .max_sessions = c->control_max_sessions,
						   .memory_bytes = c->memory_budget / WINDOW_SHARE,
						   .exclude_services = c->exclude_services,
						   .exclude_comms = c->exclude_comms,
					   });
	if (!c->system_enabled)
		return session_set_stop_system(d->sessions);
	r = session_set_start_system(d->sessions, &message);
	if (r > 0) {
		log_error("%s", message.text);
		return DAEMON_E_REFUSED;
	}
	return r;
}

static int start_sessions(struct daemon *d)
{
	const struct source_sink *sink = d->recorder ? recorder_sink(d->recorder) : &d->sink;
	int r;

	r = session_set_new(&d->sessions, d->source, d->processes, d->output, d->proc_fd,
			    session_ids_next(d->store_fd));
	if (r)
		return r;
	samplers_record(session_set_samplers(d->sessions), d->recorder);
	if (!d->replay) {
		r = process_table_scan(d->processes, sink);
		if (r)
			return r;
	}
	return daemon_apply_config(d);
}

/* sd_listen_fds(3): the socket that profd.socket keeps open over restarts, if there is one. */
static int passed_socket(void)
{
	return sd_listen_fds(1) == 1 ? SD_LISTEN_FDS_START : -1;
}

static int start_listener(struct daemon *d)
{
	const struct listener_options options = {
		.path = d->socket_path,
		.mode = d->config->control_socket_mode,
		.fd = passed_socket(),
		.group = d->config->store_group,
		.ops = &daemon_control_ops,
		.userdata = d,
	};
	char *slash = strrchr(d->socket_path, '/');
	int r;

	if (slash && slash != d->socket_path) {
		*slash = '\0';
		mkdir(d->socket_path, 0755);
		*slash = '/';
	}
	r = listener_new(&d->listener, d->loop, &options);
	if (r > 0) {
		log_error("cannot listen on %s: somebody else does, or it may not be made there",
			  d->socket_path);
		return DAEMON_E_REFUSED;
	}
	return r;
}

int daemon_start(struct daemon *d)
{
	struct output_options output;
	int r;

	raise_file_limit();
	r = load_config(d);
	if (!r)
		r = choose_paths(d);
	if (!r)
		r = open_store(d);
	if (r)
		return r;
	output_options_of(d, &output);
	r = output_new(&d->output, &output);
	if (!r)
		r = start_processes(d);
	if (!r)
		r = start_source(d);
	if (!r)
		r = start_sessions(d);
	if (!r)
		r = start_listener(d);
	if (r)
		return r;
	log_info("sampling %s at %lu Hz by %s into %s", d->event.name,
		 (unsigned long)d->config->frequency, d->source->ops->name, d->store_path);
	return DAEMON_E_OK;
}
