/* SPDX-License-Identifier: MIT */
/*
 * A status is gathered (struct status_stats), then each part of it is filled into the message that
 * struct status_message has room for, then that is packed: protobuf-c's messages are plain structs
 * with pointers, and packing copies.
 */
#include "daemon/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/daemon_private.h"
#include "daemon/ingest/source_shim.h"
#include "daemon/operations.h"
#include "daemon/resolve/proc_door.h"

static const char *const dropped_names[] = {DROP_REASONS(REASON_NAME)};

#define COUNTER_NAME(n)   #n,
#define UNWINDER_VALUE(n) stats->n,
#define SOURCE_VALUE(n)   source->n,

static const char *const unwinding_names[] = {UNWINDER_COUNTERS(COUNTER_NAME) SOURCE_ROOT_COUNTERS(
	COUNTER_NAME) SOURCE_CLOCK_COUNTERS(COUNTER_NAME)};

#define REASONS_MAX 32

_Static_assert(N_TRUNCATED <= REASONS_MAX && N_BROKEN <= REASONS_MAX && N_LOST <= REASONS_MAX &&
		       N_DROPPED <= REASONS_MAX && ARRAY_SIZE(unwinding_names) <= REASONS_MAX,
	       "room for every reason");

/* A repeated Reason field: the messages and the pointers to them. */
struct reasons {
	Profd__Control__Reason messages[REASONS_MAX];
	Profd__Control__Reason *pointers[REASONS_MAX];
};

static void fill_reasons(struct reasons *r, const char *const *names, const uint64_t *counts,
			 size_t n, size_t *ret_n, Profd__Control__Reason ***ret)
{
	for (size_t i = 0; i < n; i++) {
		profd__control__reason__init(&r->messages[i]);
		r->messages[i].name = (char *)names[i];
		r->messages[i].count = counts[i];
		r->pointers[i] = &r->messages[i];
	}
	*ret_n = n;
	*ret = r->pointers;
}

/* What the parts of profd say of themselves. */
struct status_stats {
	struct process_table_stats processes;
	struct output_state output;
	struct unwinder_stats unwinder;
	struct source_stats source;
	struct ledger ledger;
};

struct status_session {
	Profd__Control__Session message;
	struct reasons dropped, truncated, broken;
	char target[512];
};

struct status_message {
	Profd__Control__Status status;
	Profd__Control__Ledger ledger;
	Profd__Control__Memory memory;
	Profd__Control__Cpu cpu;
	Profd__Control__Store store;
	Profd__Control__StoreShare shares[OUTPUT_SHARES_MAX];
	Profd__Control__StoreShare *share_pointers[OUTPUT_SHARES_MAX];
	Profd__Control__LastFlush last_flush;
	Profd__Control__Lateness lateness;
	Profd__Control__Unwinding unwinding;
	Profd__Control__Names names;
	Profd__Control__Control control;
	struct reasons truncated, broken, lost, counters;
	struct utsname host;
	struct status_session *sessions;
	Profd__Control__Session **pointers; /* to those */
};

static void status_message_deinit(struct status_message *m)
{
	free(m->sessions);
	free(m->pointers);
}

static void fill_ledger(struct status_message *m, const struct ledger *l,
			const struct source_stats *source)
{
	profd__control__ledger__init(&m->ledger);
	m->ledger.expected = l->expected;
	m->ledger.seen = l->seen;
	m->ledger.complete = l->stacks.complete;
	m->ledger.guessed = l->stacks.guessed;
	m->ledger.no_user = l->stacks.no_user;
	m->ledger.in_flight = l->in_flight;
	m->ledger.outside = source->outside;
	fill_reasons(&m->truncated, truncated_names, l->stacks.truncated, N_TRUNCATED,
		     &m->ledger.n_truncated, &m->ledger.truncated);
	fill_reasons(&m->broken, broken_names, l->stacks.broken, N_BROKEN, &m->ledger.n_broken,
		     &m->ledger.broken);
	fill_reasons(&m->lost, lost_names, l->lost, N_LOST, &m->ledger.n_lost, &m->ledger.lost);
	m->status.ledger = &m->ledger;
}

static void fill_costs(struct status_message *m, const struct daemon *d,
		       const struct status_stats *stats)
{
	daemon_used_cpu(d, &stats->source, &stats->unwinder, &m->cpu);
	m->cpu.recent_share = d->pace.share;
	m->status.cpu = &m->cpu;
	profd__control__memory__init(&m->memory);
	m->memory.workers_bytes = memory_descendants_bytes(NULL);
	m->memory.rss_bytes = memory_resident_bytes(getpid()) + m->memory.workers_bytes;
	m->memory.bpf_bytes = source_memory_bytes(d->source);
	m->memory.budget_bytes = d->config->memory_budget;
	m->memory.evicted_images = stats->unwinder.tables_evicted;
	m->status.memory = &m->memory;
}

static void fill_lateness(struct status_message *m, const struct lateness *l)
{
	profd__control__lateness__init(&m->lateness);
	m->lateness.count = l->n;
	m->lateness.p50_seconds = (double)lateness_quantile(l, 0.5) / 1e9;
	m->lateness.p99_seconds = (double)lateness_quantile(l, 0.99) / 1e9;
	m->lateness.p999_seconds = (double)lateness_quantile(l, 0.999) / 1e9;
	m->lateness.max_seconds = (double)l->max_ns / 1e9;
	m->status.drain_lateness = &m->lateness;
}

static void fill_unwinding(struct status_message *m, const struct unwinder_stats *stats,
			   const struct source_stats *source)
{
	const uint64_t counts[] = {UNWINDER_COUNTERS(UNWINDER_VALUE) SOURCE_ROOT_COUNTERS(
		SOURCE_VALUE) SOURCE_CLOCK_COUNTERS(SOURCE_VALUE)};

	profd__control__unwinding__init(&m->unwinding);
	m->unwinding.tables = stats->tables;
	m->unwinding.rows = stats->rows;
	m->unwinding.table_bytes = stats->table_bytes;
	m->unwinding.waiting = stats->waiting;
	fill_reasons(&m->counters, unwinding_names, counts, ARRAY_SIZE(counts),
		     &m->unwinding.n_counters, &m->unwinding.counters);
	m->status.unwinding = &m->unwinding;
}

/* Of both workers. Which programs others run is not for everybody. */
static void fill_names(struct status_message *m, const struct table_loader_stats *tables,
		       const struct symbols_stats *symbols, const struct peer *peer)
{
	const char *last = symbols->last_bad_ns > tables->last_bad_ns ? symbols->last_bad_image
								      : tables->last_bad_image;

	profd__control__names__init(&m->names);
	m->names.workers_died = tables->workers_died + symbols->workers_died;
	m->names.bad_images = tables->bad_images + symbols->bad_images;
	m->names.slow_directories = symbols->slow_directories;
	m->names.openers_lost = symbols->openers_lost;
	m->names.cut = symbols->cut;
	if (peer->privileged)
		m->names.last_bad_image = (char *)last;
	m->names.trouble = (char *)(*tables->trouble ? tables->trouble : symbols->trouble);
	m->status.names = &m->names;
}

static void fill_control(struct status_message *m, const struct listener *listener)
{
	struct listener_stats stats;

	listener_get_stats(listener, &stats);
	profd__control__control__init(&m->control);
	m->control.requests = stats.requests[false];
	m->control.delayed = stats.delayed[false];
	m->control.refused_connections = stats.refused[false];
	m->control.privileged_requests = stats.requests[true];
	m->control.privileged_delayed = stats.delayed[true];
	m->control.privileged_refused_connections = stats.refused[true];
	m->status.control = &m->control;
}

/* Users see their own. */
static void fill_store_shares(struct status_message *m, const struct output_store_status *store,
			      const struct peer *peer)
{
	m->store.shares = m->share_pointers;
	for (size_t i = 0; i < store->n_shares; i++) {
		const struct index_share *share = &store->shares[i];
		Profd__Control__StoreShare *to = &m->shares[m->store.n_shares];

		if (!policy_may_control(peer, share->uid))
			continue;
		profd__control__store_share__init(to);
		to->uid = share->uid;
		to->bytes = share->bytes;
		to->files = share->n_files;
		to->max_bytes = store->share_max.bytes;
		to->max_files = store->share_max.n_files;
		m->share_pointers[m->store.n_shares++] = to;
	}
}

static void fill_store(struct status_message *m, const struct daemon *d,
		       const struct output_store_status *store, const struct peer *peer)
{
	const struct daemon_last_flush *flush = &d->last_flush;

	profd__control__store__init(&m->store);
	m->store.path = (char *)d->places.store_path;
	m->store.bytes = store->bytes;
	m->store.files = store->n_files;
	m->store.oldest_ns = store->oldest_ns;
	m->store.newest_ns = store->newest_ns;
	m->store.full = store->full;
	fill_store_shares(m, store, peer);
	m->status.store = &m->store;
	if (!flush->started_ns)
		return;
	profd__control__last_flush__init(&m->last_flush);
	m->last_flush.started_ns = flush->started_ns;
	m->last_flush.seconds = flush->seconds;
	m->last_flush.files = flush->n_files;
	m->last_flush.error = (char *)(flush->error ? strerrordesc_np(flush->error) : "");
	m->status.last_flush = &m->last_flush;
}

static void fill_session(struct status_session *to, const struct session *s)
{
	const struct session_counts *counts = &s->counts;
	Profd__Control__Session *m = &to->message;

	session_describe_target(s, to->target, sizeof(to->target));
	profd__control__session__init(m);
	m->id = s->id;
	m->name = s->name;
	m->target = to->target;
	m->event = (char *)session_event(s);
	m->frequency = s->samplings[0].spec.is_period ? 0 : s->samplings[0].spec.rate;
	m->owner_uid = s->owner;
	m->started_ns = s->started_ns;
	m->routed = counts->routed;
	m->counted = counts->counted;
	m->filtered = counts->filtered;
	m->windows_written = counts->windows_written;
	m->complete = counts->stacks.complete;
	m->guessed = counts->stacks.guessed;
	m->no_user = counts->stacks.no_user;
	fill_reasons(&to->dropped, dropped_names, counts->dropped, N_DROPPED, &m->n_dropped,
		     &m->dropped);
	fill_reasons(&to->truncated, truncated_names, counts->stacks.truncated, N_TRUNCATED,
		     &m->n_truncated, &m->truncated);
	fill_reasons(&to->broken, broken_names, counts->stacks.broken, N_BROKEN, &m->n_broken,
		     &m->broken);
}

static int fill_sessions(struct status_message *m, const struct session_set *set,
			 const struct peer *peer)
{
	m->sessions = calloc(set->n_sessions + 1, sizeof(*m->sessions));
	m->pointers = calloc(set->n_sessions + 1, sizeof(*m->pointers));
	if (!m->sessions || !m->pointers)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *s = set->sessions[i];

		if (s->state == SESSION_ENDED || !policy_may_control(peer, s->owner))
			continue;
		fill_session(&m->sessions[m->status.n_sessions], s);
		m->pointers[m->status.n_sessions] = &m->sessions[m->status.n_sessions].message;
		m->status.n_sessions++;
	}
	m->status.sessions = m->pointers;
	return 0;
}

void daemon_warn_of_early_closes(const struct session_set *sessions, struct texts *ret)
{
	uint64_t n = 0, n_of_users = 0;

	for (size_t i = 0; i < sessions->n_sessions; i++) {
		const struct session *s = sessions->sessions[i];

		*(s->privileged || !s->id ? &n : &n_of_users) += s->counts.early_closes;
	}
	if (n)
		texts_printf(ret,
			     "%" PRIu64 " windows were closed early for lack of memory: raise "
			     "[memory] budget",
			     n);
	if (n_of_users)
		texts_printf(ret,
			     "%" PRIu64 " windows of users' sessions were closed early: all "
			     "sessions of a user share the memory of one",
			     n_of_users);
}

void daemon_warn_of_held_up(struct proc_door *door, struct texts *ret)
{
	pid_t pids[PROC_DOOR_NAMED_MAX];
	size_t n = proc_door_held_up(door, pids), length = 0;
	char others[PROC_DOOR_NAMED_MAX * 16] = "";

	if (!n)
		return;
	for (size_t i = 1; i < n && i < PROC_DOOR_NAMED_MAX; i++)
		length += (size_t)snprintf(others + length, sizeof(others) - length, "%s%d",
					   i > 1 ? ", " : ", also ", pids[i]);
	texts_printf(ret,
		     "reading /proc/%d takes too long (%zu such%s%s): they are sampled, but files "
		     "that they map from now on may have no names",
		     pids[0], n, others, n > PROC_DOOR_NAMED_MAX ? " ..." : "");
}

/*
 * The warnings of the start, and those that numbers give at this moment; a line less, if there is
 * no memory.
 */
static void gather_warnings(const struct daemon *d, const struct status_stats *stats,
			    const struct peer *peer, struct texts *ret)
{
	const struct symbols_stats *symbols = &stats->output.symbols;
	const char *trouble = session_set_trouble(d->sessions);
	const char *waits = session_set_waits_trouble(d->sessions);
	const struct slow_down_user *slowed = slow_down_most(&d->sessions->slow_down);
	char pause[PAUSE_TEXT_SIZE];

	for (size_t i = 0; i < d->warnings.n; i++)
		texts_printf(ret, "%s", d->warnings.all[i]);
	daemon_warn_of_early_closes(d->sessions, ret);
	if (stats->processes.refused_mappings)
		texts_printf(ret,
			     "%" PRIu64 " mappings were more than fit: their addresses have no "
			     "names",
			     stats->processes.refused_mappings);
	if (stats->source.unfollowed)
		texts_printf(ret,
			     "%" PRIu64 " children could not be followed: the filter was full or "
			     "busy",
			     stats->source.unfollowed);
	if (d->door)
		daemon_warn_of_held_up(d->door, ret);
	if (symbols->copiers_left)
		texts_printf(ret,
			     "FUSE file system %" PRIu32 ":%" PRIu32 " does not answer (%" PRIu32
			     " such): programs on it have no names for now",
			     symbols->left_device_major, symbols->left_device_minor,
			     symbols->copiers_left);
	if (slowed)
		texts_printf(ret,
			     "users' sessions that have the most samples are sampled at down to "
			     "1/%u of their rates: sampling used more of the machine than "
			     "max_cpu=%g%%",
			     1u << slowed->halvings, 100 * d->config->max_cpu);
	if (d->pace.limiter.halvings[TIER_SYSTEM])
		texts_printf(ret,
			     "sampling at %" PRIu64 " Hz instead of %" PRIu64
			     ": it used more of the machine than max_cpu=%g%%",
			     daemon_rate(d), d->config->frequency, 100 * d->config->max_cpu);
	if (peer->privileged && *stats->unwinder.refused_runtime)
		texts_printf(ret,
			     "stacks of %s, the last such program, have no Python functions: it is "
			     "%s",
			     stats->unwinder.refused_runtime, stats->unwinder.refused_because);
	if (*d->pace.dear)
		texts_printf(ret, "%s", d->pace.dear);
	if (trouble)
		texts_printf(ret, "%s", trouble);
	if (waits)
		texts_printf(ret, "waiting time is not sampled: %s", waits);
	if (session_set_paused_until(d->sessions))
		texts_printf(ret, "the system session is paused until %s%s",
			     daemon_describe_pause(d, pause),
			     session_set_paused_until(d->sessions) == UINT64_MAX
				     ? ""
				     : ", or profctl resume");
	if (d->watch.output_state != WATCH_WELL)
		texts_printf(ret, "writing a window takes long: the disk is slow or stuck");
}

uint32_t daemon_n_cpus(const struct daemon *d)
{
	struct output_state output;

	if (!d->options.read_only)
		return (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	output_get_state(d->output, &output);
	return output.origin.n_cpus;
}

/* What is copied as it stands. */
static void fill_status_head(struct status_message *m, const struct daemon *d,
			     const struct status_stats *stats)
{
	Profd__Control__Status *status = &m->status;

	uname(&m->host);
	status->host = d->options.host_name ? (char *)d->options.host_name : m->host.nodename;
	status->kernel = m->host.release;
	status->version = (char *)PROFD_VERSION;
	status->pid = getpid();
	status->uptime_seconds = (double)(clock_ns(CLOCK_MONOTONIC) - d->started_ns) / 1e9;
	status->source = (char *)d->source->ops->name;
	status->event = (char *)d->event.name;
	status->frequency = daemon_rate(d);
	status->off_cpu_frequency = session_set_waits_rate(d->sessions);
	status->throttled = stats->source.throttled;
	status->processes = stats->processes.n_processes;
	status->attached = d->shim ? source_shim_count(d->shim) : 0;
	status->images = stats->processes.n_images;
	status->avoided_files = stats->processes.avoided_files;
	status->refused_jit_files = stats->processes.refused_jit_files;
	status->window_seconds = (double)d->config->interval_ns / NS_PER_S;
	status->n_cpus = daemon_n_cpus(d);
}

/* It is about another machine, or may be. */
static void fill_origin(struct status_message *m, const struct origin *origin)
{
	Profd__Control__Status *status = &m->status;

	status->read_only = true;
	status->host = (char *)origin->host;
	status->kernel = (char *)origin->kernel;
}

static void exports_freep(Profd__Control__Exports **exports)
{
	profd__control__exports__free_unpacked(*exports, NULL);
}

/* Sessions of others are left out for the unprivileged. */
int daemon_verb_status(const struct control_call *call)
{
	cleanup(status_message_deinit) struct status_message m = {
		.status = PROFD__CONTROL__STATUS__INIT};
	cleanup(exports_freep) Profd__Control__Exports *exports = NULL;
	cleanup(texts_deinit) struct texts warnings = {};
	struct status_stats stats = {};
	struct daemon *d = call->userdata;
	int r;

	r = session_set_total(d->sessions, &stats.ledger, &stats.source)
		    ?: fill_sessions(&m, d->sessions, call->peer)
		    ?: exports_report_get(&d->exports, clock_ns(CLOCK_MONOTONIC), &exports);
	if (r)
		return daemon_answer_fatal(d, call->reply, r);
	process_table_get_stats(d->processes, &stats.processes);
	output_get_state(d->output, &stats.output);
	unwinder_get_stats(d->unwinder, &stats.unwinder);
	gather_warnings(d, &stats, call->peer, &warnings);
	m.status.warnings = warnings.all;
	m.status.n_warnings = warnings.n;
	fill_status_head(&m, d, &stats);
	if (d->options.read_only)
		fill_origin(&m, &stats.output.origin);
	fill_ledger(&m, &stats.ledger, &stats.source);
	fill_costs(&m, d, &stats);
	fill_lateness(&m, &d->lateness);
	fill_store(&m, d, &stats.output.store, call->peer);
	fill_unwinding(&m, &stats.unwinder, &stats.source);
	fill_names(&m, &stats.unwinder.loader, &stats.output.symbols, call->peer);
	fill_control(&m, d->listener);
	if (exports && call->peer->privileged) {
		m.status.n_exports = exports->n_exports;
		m.status.exports = exports->exports;
	}
	reply_send(call->reply, PROFD__CONTROL__RESPONSE__RESULT_STATUS, &m.status);
	return CONTROL_DONE;
}
