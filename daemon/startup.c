/* SPDX-License-Identifier: MIT */
/*
 * The order of a start: configuration, lock, what forks (the unwinder, for reading memory), what
 * starts threads, store, source (process events begin to gather, an image worker comes up),
 * processes from /proc, sessions, and last the control socket: an answer is always that of a
 * daemon that samples.
 */
#include "daemon/startup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/helper/enclose.h"
#include "common/log.h"
#include "common/own_file.h"
#include "common/privileges.h"
#include "daemon/ingest/perf_admin.h"
#include "daemon/operations.h"
#include "daemon/resolve/container_files.h"
#include "daemon/resolve/file_copier.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/group_paths.h"
#include "daemon/resolve/keeper.h"
#include "daemon/resolve/proc_door.h"

/* How long samples may wait in a ring. */
#define DRAIN_MS 100

/*
 * The budget in sixteenths. One is left for what is not counted: processes, images, the encoders,
 * profd itself, and the code objects of interpreters, of which there are few as a rule.
 */
enum {
	RING_SHARE = 2,       /* ring buffers, which are BPF or locked memory */
	TABLE_SHARE = 4,      /* unwind tables and mappings for the kernel's walks: BPF memory */
	UNWINDER_SHARE = 2,   /* waiting samples with their stacks, tables being made */
	WINDOW_SHARE = 3,     /* open windows and windows being written */
	SYMBOLS_SHARE = 2,    /* symbol tables */
	MAPPINGS_SHARE = 1,   /* what processes have mapped */
	BACKGROUND_SHARE = 1, /* profiles being merged: rolled up, or collected for a client */
	CODES_SHARE = 1,      /* code objects: the most of what is left */
	ALL_SHARES = 16,
};

_Static_assert(RING_SHARE + TABLE_SHARE + UNWINDER_SHARE + WINDOW_SHARE + SYMBOLS_SHARE +
			       MAPPINGS_SHARE + BACKGROUND_SHARE <
		       ALL_SHARES,
	       "something is left");

#define LARGE_BLOCK_BYTES (256 * 1024)

/* What a sampler's last samples may wait for tables when it is stopped. */
#define SETTLE_MS 300
/* What root and the group may cost, more than another user. */
#define PRIVILEGED_TIMES 16

static uint64_t budget_share(const struct daemon *d, unsigned sixteenths)
{
	return d->config->memory_budget / ALL_SHARES * sixteenths;
}

int daemon_load_config(struct daemon *d, struct config **ret, struct config_message *message)
{
	cleanup(config_freep) struct config *config = NULL;
	int r;

	r = config_load(&config, d->options.config_path, d->options.user ? &d->places.user : NULL,
			message);
	/* At the start they are not chosen yet. */
	if (!r)
		r = config_set_paths(config,
				     d->options.state_directory ? d->places.store_path : NULL,
				     d->options.runtime_directory ? d->places.socket_path : NULL);
	if (!r)
		*ret = steal_ptr(&config);
	return r;
}

static int load_config(struct daemon *d)
{
	struct config_message message;
	char *rest = message.text, *line;
	int r;

	r = daemon_load_config(d, &d->config, &message);
	if (r != CONFIG_E_INVALID)
		return r;
	while ((line = strsep(&rest, "\n")))
		log_error("%s", line);
	return DAEMON_E_REFUSED;
}

#define LIMIT_COPY(key, field, ...) .field = c->field,

static void fill_output_options(struct daemon *d, struct output_options *ret)
{
	const struct config *c = d->config;

	*ret = (struct output_options){
		.store_fd = d->places.store_fd,
		.store_path = d->places.store_path,
		.host_name = d->options.host_name,
		.limits = {LIMITS(LIMIT_COPY).payer_bytes = (uint64_t)(c->per_user_store *
								       (double)c->max_size)},
		.background_bytes = budget_share(d, BACKGROUND_SHARE),
		.legacy_max_processes = c->store_legacy_max_processes,
		.symbol_cache_bytes = budget_share(d, SYMBOLS_SHARE),
		.opener = d->opener,
		.copier = d->copier,
		.host_root = process_table_host_root(d->processes),
		.budget = &d->memory,
		.read_only = d->options.read_only,
		.no_kernel = d->options.user && event_paranoid_level() > 1,
		.fetched_path = c->debuginfod_enabled ? d->places.fetched_path : NULL,
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

/*
 * Large blocks go back to the kernel when they are freed: else the C library learns from the first
 * ones to keep them, and what compiling a compiler's unwind tables or encoding a window took once
 * would count against the budget for good (mallopt(3), M_MMAP_THRESHOLD).
 */
static void limit_malloc_caching(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
	mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK_BYTES);
}

static int start_recorder(struct daemon *d)
{
	int fd;

	if (!d->options.record_replay)
		return 0;
	fd = own_file_open(d->options.record_replay, 0600, false);
	if (fd < 0)
		return daemon_refuse("cannot write %s: %s", d->options.record_replay,
				     strerror(errno));
	return recorder_new(&d->recorder, fd, &d->sink);
}

static int start_source(struct daemon *d)
{
	struct source_options options = {
		.sink = unwinder_sink(d->unwinder),
		.cpu_causes = &d->cpu_causes,
		.exclude_self = d->config->exclude_self,
		.exclude_children = d->config->exclude_self,
		.drain_ms = DRAIN_MS,
		.own_only = d->options.user,
		.memory_bytes = budget_share(d, RING_SHARE),
		.unwind_bytes = budget_share(d, TABLE_SHARE),
		.code_bytes = budget_share(d, CODES_SHARE),
	};
	struct source_message message = {};
	int r;

	r = daemon_choose_source(d, &options, &message);
	if (r > 0)
		return daemon_refuse("%s", message.text);
	if (!r)
		r = unwinder_attach(d->unwinder, source_unwind_host(d->source),
				    clock_ns(CLOCK_MONOTONIC));
	if (!r && source_tells_lives(d->source))
		process_table_trust_lives(d->processes);
	if (!r && !d->shim && !d->replay)
		r = daemon_make_shim(d, &options, true);
	if (r)
		return r;
	message = (struct source_message){};
	r = daemon_parse_event(d, d->config->event, &d->event, &message);
	if (r > 0)
		return daemon_refuse("event=%s: %s", d->config->event, message.text);
	if (!r && message.text[0])
		daemon_warn(d, "%s", message.text);
	return r;
}

/*
 * The processes of a recording are none of this machine's, whatever their numbers; nor are those of
 * a store that is only read.
 */
static int start_processes(struct daemon *d)
{
	int r;

	d->replay = daemon_replay_path(d) || d->options.read_only;
	if (!d->replay) {
		d->places.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (d->places.proc_fd < 0)
			return error_origin(-errno);
		r = proc_door_new(&d->door, d->places.proc_fd)
			    ?: group_paths_new(&d->groups, d->door)
			    ?: container_files_new(&d->containers, d->door, d->places.proc_fd,
						   d->options.host_name, &d->memory);
		if (r)
			return r;
	}
	r = process_table_new(&d->processes, d->places.proc_fd, budget_share(d, MAPPINGS_SHARE));
	if (!r && d->groups)
		process_table_name_groups(d->processes, group_paths_find, d->groups);
	if (!r && d->containers)
		process_table_name_containers(d->processes, container_files_ask, d->containers);
	if (!r && d->options.user)
		process_table_scan_only(d->processes, geteuid());
	return r;
}

/* A recording is to be read by other processes, in which images have other numbers. */
static int start_unwinder(struct daemon *d)
{
	struct unwinder_options options = {
		.next = &d->sink,
		.processes = d->processes,
		.proc_fd = d->places.proc_fd,
		.cpu_causes = &d->cpu_causes,
		.memory_bytes = budget_share(d, UNWINDER_SHARE),
		.table_bytes = budget_share(d, TABLE_SHARE),
		.budget = &d->memory,
	};
	int r;

	d->memory.bytes = d->config->memory_budget;
	d->sink = (struct source_sink){.sample = sink_sample,
				       .process_event = sink_event,
				       .userdata = d};
	r = start_recorder(d);
	if (r)
		return r;
	if (d->recorder) {
		options.next = recorder_sink(d->recorder);
		options.raw_frames = true;
	}
	return unwinder_new(&d->unwinder, &options);
}

static int daemon_settle_sampler(void *userdata, unsigned sampler, bool is_last)
{
	struct daemon *d = userdata;
	enum cpu_cause before = cpu_causes_switch(&d->cpu_causes, CPU_SAMPLING);
	int r;

	r = unwinder_settle(d->unwinder, sampler, clock_ns(CLOCK_MONOTONIC), SETTLE_MS);
	if (!r && is_last)
		unwinder_release_waiters(d->unwinder, sampler);
	cpu_causes_switch(&d->cpu_causes, before);
	return r ? r : unwinder_error(d->unwinder);
}

/* Where waits have no event, those who ask for them are told so. */
static void apply_waits(const struct daemon *d, struct session_defaults *defaults)
{
	const struct config *c = d->config;
	struct source_message message;

	if (daemon_parse_event(d, EVENT_OFF_CPU, &defaults->off_cpu, &message) != SOURCE_E_OK)
		defaults->off_cpu = (struct event){0};
	defaults->off_cpu_frequency = c->off_cpu_frequency ? c->off_cpu_frequency : c->frequency;
	defaults->has_waits = c->off_cpu;
}

int daemon_apply_config(struct daemon *d)
{
	const struct config *c = d->config;
	struct source_message message = {};
	struct output_options output;
	int r;

	d->buckets[false].share = c->per_user_control;
	d->buckets[true].share = c->per_user_control * PRIVILEGED_TIMES;
	fill_output_options(d, &output);
	output_configure(d->output, &output);
	d->sessions->defaults = (struct session_defaults){
		.interval_ns = c->interval_ns,
		.writing = {.formats = c->formats,
			    .labels = c->labels,
			    .symbolize = c->symbolize,
			    .latency = c->latency},
		.event = d->event,
		.frequency = c->frequency,
		.kernel_stacks = c->kernel_stacks,
		.max_depth = c->max_depth,
		.max_sessions = c->control_max_sessions,
		.memory_bytes = budget_share(d, WINDOW_SHARE),
		.exclude_services = c->exclude_services,
		.exclude_comms = c->exclude_comms,
	};
	apply_waits(d, &d->sessions->defaults);
	if (!c->system_enabled || d->options.read_only)
		return session_set_stop_system(d->sessions);
	r = session_set_start_system(d->sessions, &message);
	if (r > 0)
		return daemon_refuse("%s", message.text);
	return r;
}

static int start_sessions(struct daemon *d)
{
	int r;

	r = session_set_new(&d->sessions, d->source, d->processes, d->output, d->places.proc_fd,
			    daemon_next_session_id(d->places.store_fd));
	if (r)
		return r;
	d->sessions->settle = daemon_settle_sampler;
	d->sessions->settle_userdata = d;
	d->sessions->buckets = &d->buckets[false];
	d->sessions->recorder = d->recorder;
	/* Of those that are never attached nobody would tell that they end. */
	if (!d->replay && d->source != d->shim) {
		r = process_table_scan(d->processes, unwinder_sink(d->unwinder));
		if (r)
			return r;
	}
	return daemon_apply_config(d);
}

/*
 * sd_listen_fds(3): the socket that profd.socket keeps open over restarts, if there is one; else
 * -1. Its path is where clients are, whatever the configuration says.
 */
static int passed_socket(struct daemon *d)
{
	struct sockaddr_un address = {};
	socklen_t size = sizeof(address) - 1; /* what is left ends the path */
	int fd = SD_LISTEN_FDS_START;

	if (sd_listen_fds(1) != 1 || sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) <= 0)
		return -1;
	if (getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
	    strcmp(address.sun_path, d->places.socket_path) != 0)
		daemon_warn(d,
			    "the control socket is %s, from profd.socket, not %s; change "
			    "ListenStream= there, or mask profd.socket",
			    address.sun_path, d->places.socket_path);
	return fd;
}

/* What the socket is in; that of a passed one is its maker's. */
static int prepare_runtime_directory(const struct daemon *d)
{
	cleanup(freep) char *path = strdup(d->places.socket_path);
	char *slash = path ? strrchr(path, '/') : NULL;
	cleanup(closep) int fd = -1;

	if (!path)
		return error_origin(-ENOMEM);
	if (!slash || slash == path)
		return 0;
	*slash = '\0';
	if (mkdir(path, d->options.user ? 0700 : 0755) < 0 && errno != EEXIST)
		return daemon_refuse("cannot create the directory %s for the control socket: %s",
				     path, strerror(errno));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return daemon_refuse("cannot open the runtime directory %s: %s", path,
				     strerror(errno));
	return daemon_check_directory(fd, "runtime", path);
}

static int start_listener(struct daemon *d)
{
	const struct listener_options options = {
		.path = d->places.socket_path,
		.mode = d->config->control_socket_mode,
		.fd = passed_socket(d),
		.group = d->config->store_group,
		.verbs = daemon_verbs,
		.userdata = d,
		.buckets = d->buckets,
		.read_only = d->options.read_only,
	};
	int r;

	if (options.fd < 0) {
		r = prepare_runtime_directory(d);
		if (r)
			return r;
	}
	r = listener_new(&d->listener, d->loop, &options);
	if (r > 0)
		return daemon_refuse(
			"cannot listen on %s: it is in use, or cannot be created there",
			d->places.socket_path);
	return r;
}

/*
 * A better priority (Nice=) is one within our session alone where the kernel groups processes by
 * that (sched(7), "The autogroup feature"): sixteen loops with a session each would leave us a
 * seventeenth of the machine. So the group gets it, too. In the unit its file is root's until we
 * may be dumped. Failing to is no error.
 */
static void give_priority_to_group(void)
{
	cleanup(closep) int fd = -1;
	int nice = getpriority(PRIO_PROCESS, 0), dumpable;

	if (nice >= 0)
		return;
	dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!dprintf(fd, "%d", nice);
	if (dumpable != 1) /* 2 cannot be asked for, and allows no more than 0 but for cores */
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* All that needs no privilege but to read what belongs to others, which root's keeps. */
static int start_reader(struct daemon *d)
{
	struct output_options output;
	int r = privileges_keep(UINT64_C(1) << CAP_DAC_READ_SEARCH);

	if (r)
		return error_origin(r);
	r = daemon_find_user_paths(d)
		    ?: load_config(d)
		    ?: daemon_choose_paths(d)
		    ?: daemon_open_store(d)
		    ?: start_processes(d)
		    ?: start_unwinder(d)
		    ?: start_listener(d)
		    ?: enclose_deny_changes(); /* before there are threads */
	if (r)
		return r;
	fill_output_options(d, &output);
	r = output_new(&d->output, &output) ?: start_source(d) ?: start_sessions(d);
	if (r)
		return r;
	log_info("reading %s; socket %s", d->places.store_path, d->places.socket_path);
	return DAEMON_E_OK;
}

int daemon_start(struct daemon *d)
{
	struct output_options output;
	int r;

	give_priority_to_group();
	raise_file_limit();
	limit_malloc_caching();
	if (!keeper_is_confined())
		daemon_warn(d, "the kernel has no seccomp filters: there are no image workers, so "
			       "no names and few unwind rules, and other helpers are not confined");
	if (d->options.read_only)
		return start_reader(d);
	r = perf_admin_set_aside()
		    ?: daemon_find_user_paths(d)
		    ?: load_config(d)
		    ?: daemon_choose_paths(d)
		    ?: daemon_open_store(d)
		    ?: start_processes(d)
		    ?: start_unwinder(d)
		    ?: file_opener_new(&d->opener, 0)
		    ?: file_copier_new(&d->copier, 0)
		    ?: perf_admin_give_up()
		    ?: file_copier_forbid_others();
	if (r)
		return r;
	fill_output_options(d, &output);
	r = output_new(&d->output, &output) ?: start_source(d) ?: start_sessions(d)
	    ?: start_listener(d);
	if (r)
		return r;
	daemon_warn_of_privileges(d);
	log_info("sampling %s at %lu Hz with %s into %s; socket %s; ready after %lu ms",
		 d->event.name, (unsigned long)d->config->frequency, d->source->ops->name,
		 d->places.store_path, d->places.socket_path,
		 (unsigned long)((clock_ns(CLOCK_MONOTONIC) - d->started_ns) / 1000000));
	return DAEMON_E_OK;
}
