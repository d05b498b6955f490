/* SPDX-License-Identifier: MIT */
/* Which source there is: what was asked for, else the best that this host lets profd have. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/log.h"
#include "common/proc.h"
#include "daemon/ingest/source_shim.h"
#include "daemon/startup.h"

#define REPLAY "replay:"

/* Of the rings' memory, while another source has the rest. */
#define IDLE_RINGS_PART 8

const char *daemon_replay_path(const struct daemon *d)
{
	const char *wanted = d->options.source;

	return wanted && strncmp(wanted, REPLAY, strlen(REPLAY)) == 0 ? wanted + strlen(REPLAY)
								      : NULL;
}

static int open_replay(struct daemon *d, const struct source_options *options, const char *path,
		       struct source_message *message)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return source_refuse(message, SOURCE_E_UNSUPPORTED, "cannot read %s: %s", path,
				     strerror(errno));
	return source_replay_new(&d->source, options, fd, message);
}

/* What the source of programs with libprofd.so needs of the process table. */
static int tell_begin(void *userdata, pid_t pid, uint64_t *ret_start_ns)
{
	struct daemon *d = userdata;
	int r;

	r = process_table_begin(d->processes, pid, unwinder_sink(d->unwinder), ret_start_ns);
	return r == PROCESS_E_GONE ? SOURCE_E_GONE : r;
}

static int tell_mappings(void *userdata, pid_t pid, uint64_t time_ns)
{
	struct daemon *d = userdata;

	return process_table_look(d->processes, pid, time_ns, unwinder_sink(d->unwinder));
}

int daemon_make_shim(struct daemon *d, const struct source_options *options, bool is_idle)
{
	struct source_shim_options made = {
		.source = *options,
		.host = {.begin = tell_begin, .look = tell_mappings, .userdata = d},
		.is_idle = is_idle,
	};

	/* What the kernel's walks would need is the rings', too: each process has its own. */
	if (is_idle)
		made.source.memory_bytes /= IDLE_RINGS_PART;
	else
		made.source.memory_bytes += made.source.unwind_bytes;
	return source_shim_new(&d->shim, &made);
}

static int use_shim(struct daemon *d, const struct source_options *options)
{
	int r = daemon_make_shim(d, options, false);

	d->source = d->shim;
	return r;
}

/* Perf events of the user's own processes. Where the kernel withholds them: what has libprofd. */
static int choose_user_source(struct daemon *d, const struct source_options *options,
			      struct source_message *message)
{
	int r = source_perf_new(&d->source, options, message);

	if (message->text[0] && (r == SOURCE_E_OK || r == SOURCE_E_DENIED))
		daemon_warn(d, "%s", message->text);
	return r == SOURCE_E_DENIED ? use_shim(d, options) : r;
}

/* What samples has the pids that perf events and peers have: those of our own namespace. */
static int choose_live_source(struct daemon *d, const struct source_options *options,
			      struct source_message *message)
{
	const char *wanted = d->options.source;
	struct source_message why = {};
	int r;

	if (wanted && strcmp(wanted, "shim") == 0)
		return use_shim(d, options);
	if (d->options.user)
		return choose_user_source(d, options, message);
	if (wanted && strcmp(wanted, "perf") == 0)
		return source_perf_new(&d->source, options, message);
	r = source_bpf_new(&d->source, options, message);
	if (r <= 0 || wanted)
		return r;
	why = *message;
	r = source_perf_new(&d->source, options, message);
	if (r == SOURCE_E_OK)
		daemon_warn(d, "sampling with plain perf events, fewer stacks are complete: %s",
			    why.text);
	return r;
}

int daemon_choose_source(struct daemon *d, const struct source_options *options,
			 struct source_message *message)
{
	struct source_options made = *options;
	enum proc_pids pids;

	if (d->options.read_only)
		return source_none_new(&d->source, options);
	if (d->replay)
		return open_replay(d, options, daemon_replay_path(d), message);
	pids = proc_pids(d->places.proc_fd);
	if (pids == PROC_PIDS_FOREIGN)
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "/proc is that of another pid namespace: " PROC_PIDS_MOUNT
				     ", or " PROC_PIDS_REMEDY);
	made.pids_translated = pids == PROC_PIDS_INNER;
	if (made.pids_translated && !d->options.user)
		log_info("processes outside profd's pid namespace are not sampled; for the whole "
			 "machine, " PROC_PIDS_REMEDY);
	return choose_live_source(d, &made, message);
}

int daemon_parse_event(const struct daemon *d, const char *name, struct event *ret,
		       struct source_message *message)
{
	const bool has_counters = !d->options.read_only && !(d->shim && d->source == d->shim);

	if (!has_counters && strcmp(name, "auto") == 0)
		name = "cpu-clock";
	return event_parse(name, ret, message);
}
