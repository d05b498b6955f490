/* SPDX-License-Identifier: MIT */
/*
 * Everything lies in one frame on the stack or in one arena until the reply is packed: protobuf-c
 * messages are plain structs with pointers, and packing copies.
 */
#include "daemon/session/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "control.pb-c.h"
#include "daemon/resolve/proc.h"
#include "daemon/session/status_cpu.h"

static const char *const truncated_names[] = {TRUNCATED_REASONS(REASON_NAME)};
static const char *const broken_names[] = {BROKEN_REASONS(REASON_NAME)};
static const char *const lost_names[] = {LOSS_REASONS(REASON_NAME)};
static const char *const dropped_names[] = {DROP_REASONS(REASON_NAME)};

#define COUNTER_NAME(n)   #n,
#define UNWINDER_VALUE(n) stats->n,
#define SOURCE_VALUE(n)   source->n,

static const char *const unwinding_names[] = {UNWINDER_COUNTERS(COUNTER_NAME)
						      SOURCE_ROOT_COUNTERS(COUNTER_NAME)};

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
		r->messages[i] = (Profd__Control__Reason)PROFD__CONTROL__REASON__INIT;
		r->messages[i].name = (char *)names[i];
		r->messages[i].count = counts[i];
		r->pointers[i] = &r->messages[i];
	}
	*ret_n = n;
	*ret = r->pointers;
}

struct ledger_message {
	Profd__Control__Ledger ledger;
	struct reasons truncated, broken, lost;
};

static void fill_ledger(struct ledger_message *m, const struct ledger *l)
{
	m->ledger = (Profd__Control__Ledger)PROFD__CONTROL__LEDGER__INIT;
	m->ledger.expected = l->expected;
	m->ledger.seen = l->seen;
	m->ledger.complete = l->stacks.complete;
	m->ledger.no_user = l->stacks.no_user;
	m->ledger.in_flight = l->in_flight;
	fill_reasons(&m->truncated, truncated_names, l->stacks.truncated, N_TRUNCATED,
		     &m->ledger.n_truncated, &m->ledger.truncated);
	fill_reasons(&m->broken, broken_names, l->stacks.broken, N_BROKEN, &m->ledger.n_broken,
		     &m->ledger.broken);
	fill_reasons(&m->lost, lost_names, l->lost, N_LOST, &m->ledger.n_lost, &m->ledger.lost);
}

/* proc_pid_statm(5): the second field, in pages. 0: there is no such process. */
static uint64_t process_rss_bytes(pid_t pid)
{
	cleanup(fclosep) FILE *f = NULL;
	unsigned long pages = 0;
	char path[64];

	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*s %lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void fill_cpu(Profd__Control__Cpu *cpu, uint64_t bpf_run_ns,
		     const struct unwinder_stats *unwinder, const struct symbols_stats *symbols)
{
	const pid_t workers[] = {unwinder->loader.worker, symbols->worker};
	struct rusage usage;

	*cpu = (Profd__Control__Cpu)PROFD__CONTROL__CPU__INIT;
	getrusage(RUSAGE_SELF, &usage);
	cpu->user_seconds = status_cpu_seconds(&usage.ru_utime);
	cpu->system_seconds = status_cpu_seconds(&usage.ru_stime);
	cpu->bpf_seconds = (double)bpf_run_ns / 1e9;
	cpu->workers_seconds = status_cpu_children(workers, ARRAY_SIZE(workers));
}

static void fill_lateness(Profd__Control__Lateness *m, const struct lateness *l)
{
	*m = (Profd__Control__Lateness)PROFD__CONTROL__LATENESS__INIT;
	m->count = l->n;
	m->p50_seconds = (double)lateness_quantile(l, 0.5) / 1e9;
	m->p99_seconds = (double)lateness_quantile(l, 0.99) / 1e9;
	m->p999_seconds = (double)lateness_quantile(l, 0.999) / 1e9;
	m->max_seconds = (double)l->max_ns / 1e9;
}

static void fill_last_flush(Profd__Control__LastFlush *m, const struct status_last_flush *flush)
{
	*m = (Profd__Control__LastFlush)PROFD__CONTROL__LAST_FLUSH__INIT;
	m->started_ns = flush->started_ns;
	m->seconds = flush->seconds;
	m->files = flush->n_files;
	m->error = (char *)(flush->error ? strerrordesc_np(flush->error) : "");
}

struct unwinding_message {
	Profd__Control__Unwinding unwinding;
	struct reasons counters;
};

static void fill_unwinding(struct unwinding_message *m, const struct unwinder_stats *stats,
			   const struct source_stats *source)
{
	const uint64_t counts[] = {UNWINDER_COUNTERS(UNWINDER_VALUE)
					   SOURCE_ROOT_COUNTERS(SOURCE_VALUE)};

	m->unwinding = (Profd__Control__Unwinding)PROFD__CONTROL__UNWINDING__INIT;
	m->unwinding.tables = stats->tables;
	m->unwinding.rows = stats->rows;
	m->unwinding.table_bytes = stats->table_bytes;
	m->unwinding.waiting = stats->waiting;
	fill_reasons(&m->counters, unwinding_names, counts, ARRAY_SIZE(counts),
		     &m->unwinding.n_counters, &m->unwinding.counters);
}

/* Of both workers. Which programs others run is not for everybody. */
static void fill_names(Profd__Control__Names *m, const struct table_loader_stats *tables,
		       const struct symbols_stats *symbols, const struct peer *peer)
{
	const char *last = symbols->last_bad_ns > tables->last_bad_ns ? symbols->last_bad_image
								      : tables->last_bad_image;

	*m = (Profd__Control__Names)PROFD__CONTROL__NAMES__INIT;
	m->workers_died = tables->workers_died + symbols->workers_died;
	m->bad_images = tables->bad_images + symbols->bad_images;
	m->slow_folders = symbols->slow_folders;
	m->openers_lost = symbols->openers_lost;
	if (peer->privileged)
		m->last_bad_image = (char *)last;
	m->trouble = (char *)(*tables->trouble ? tables->trouble : symbols->trouble);
}

static void fill_memory(Profd__Control__Memory *m, const struct status_facts *facts,
			const struct unwinder_stats *unwinder, const struct symbols_stats *symbols)
{
	*m = (Profd__Control__Memory)PROFD__CONTROL__MEMORY__INIT;
	m->workers_bytes = process_rss_bytes(unwinder->loader.worker) +
			   process_rss_bytes(symbols->worker);
	m->rss_bytes = process_rss_bytes(getpid()) + m->workers_bytes;
	m->bpf_bytes = source_memory_bytes(facts->source);
	m->budget_bytes = facts->budget_bytes;
	m->evicted_images = unwinder->tables_evicted;
}

static void fill_store(Profd__Control__Store *m, const struct status_facts *facts,
		       const struct output_store_status *store)
{
	*m = (Profd__Control__Store)PROFD__CONTROL__STORE__INIT;
	m->path = (char *)facts->store_path;
	m->bytes = store->bytes;
	m->files = store->n_files;
	m->oldest_ns = store->oldest_ns;
	m->full = store->full;
}

struct session_message {
	Profd__Control__Session session;
	struct reasons dropped, truncated, broken;
	char target[512];
};

static void fill_session(struct session_message *m, const struct session *s)
{
	session_describe_target(s, m->target, sizeof(m->target));
	m->session = (Profd__Control__Session)PROFD__CONTROL__SESSION__INIT;
	m->session.id = s->id;
	m->session.name = s->name;
	m->session.target = m->target;
	m->session.event = (char *)s->spec.event.name;
	m->session.frequency = s->spec.is_period ? 0 : s->spec.rate;
	m->session.owner_uid = s->owner;
	m->session.started_ns = s->started_ns;
	m->session.routed = s->routed;
	m->session.counted = s->counted;
	m->session.filtered = s->filtered;
	m->session.windows_written = s->windows_written;
	fill_reasons(&m->dropped, dropped_names, s->dropped, N_DROPPED, &m->session.n_dropped,
		     &m->session.dropped);
	m->session.complete = s->stacks.complete;
	m->session.no_user = s->stacks.no_user;
	fill_reasons(&m->truncated, truncated_names, s->stacks.truncated, N_TRUNCATED,
		     &m->session.n_truncated, &m->session.truncated);
	fill_reasons(&m->broken, broken_names, s->stacks.broken, N_BROKEN, &m->session.n_broken,
		     &m->session.broken);
}

struct sessions_message {
	struct session_message *messages;
	Profd__Control__Session **pointers;
	size_t n;
};

static void sessions_deinit(struct sessions_message *m)
{
	free(m->messages);
	free(m->pointers);
}

static int fill_sessions(struct sessions_message *m, const struct session_set *set,
			 const struct peer *peer)
{
	size_t n = session_set_count(set);

	m->messages = calloc(n ? n : 1, sizeof(*m->messages));
	m->pointers = calloc(n ? n : 1, sizeof(*m->pointers));
	if (!m->messages || !m->pointers)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++) {
		const struct session *s = session_set_get(set, i);

		if (s->state == SESSION_ENDED || !policy_may_control(peer, s->owner))
			continue;
		fill_session(&m->messages[m->n], s);
		m->pointers[m->n] = &m->messages[m->n].session;
		m->n++;
	}
	return 0;
}

/* What is copied as it stands. */
static void fill_status_head(Profd__Control__Status *status, const struct status_facts *facts,
			     const struct process_table_stats *processes)
{
	status->version = (char *)PROFD_VERSION;
	status->pid = getpid();
	status->uptime_seconds = (double)(clock_ns(CLOCK_MONOTONIC) - facts->started_ns) / 1e9;
	status->source = (char *)facts->source_name;
	status->event = (char *)facts->event;
	status->frequency = facts->frequency;
	status->warnings = (char **)facts->warnings;
	while (facts->warnings[status->n_warnings])
		status->n_warnings++;
	status->processes = processes->n_processes;
	status->attached = facts->attached;
	status->images = processes->n_images;
	status->avoided_files = processes->avoided_files;
	status->refused_jit_files = processes->refused_jit_files;
	status->n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

int status_reply(const struct status_facts *facts, const struct peer *peer, struct reply *reply)
{
	Profd__Control__Status status = PROFD__CONTROL__STATUS__INIT;
	Profd__Control__Memory memory;
	Profd__Control__Store store;
	cleanup(sessions_deinit) struct sessions_message sessions = {};
	struct process_table_stats process_stats;
	struct output_store_status store_status;
	Profd__Control__LastFlush last_flush;
	Profd__Control__Lateness lateness;
	struct source_stats source_stats;
	struct ledger_message ledger_message;
	struct unwinding_message unwinding;
	struct unwinder_stats unwinder_stats;
	struct symbols_stats symbols_stats;
	Profd__Control__Names names;
	Profd__Control__Cpu cpu;
	struct ledger ledger;
	struct utsname host;
	int r;

	r = samplers_total(session_set_samplers(facts->sessions), &ledger, &source_stats);
	if (!r)
		r = fill_sessions(&sessions, facts->sessions, peer);
	if (r)
		return r;
	uname(&host);
	process_table_get_stats(facts->processes, &process_stats);
	output_get_store_status(facts->output, &store_status);
	output_get_symbols_stats(facts->output, &symbols_stats);
	unwinder_get_stats(facts->unwinder, &unwinder_stats);
	fill_ledger(&ledger_message, &ledger);
	fill_cpu(&cpu, source_stats.bpf_run_ns, &unwinder_stats, &symbols_stats);
	fill_lateness(&lateness, facts->lateness);
	fill_memory(&memory, facts, &unwinder_stats, &symbols_stats);
	fill_store(&store, facts, &store_status);
	fill_unwinding(&unwinding, &unwinder_stats, &source_stats);
	fill_names(&names, &unwinder_stats.loader, &symbols_stats, peer);

	fill_status_head(&status, facts, &process_stats);
	status.host = host.nodename;
	status.kernel = host.release;
	status.ledger = &ledger_message.ledger;
	status.throttled = source_stats.throttled;
	status.memory = &memory;
	status.cpu = &cpu;
	status.store = &store;
	if (facts->last_flush.started_ns) {
		fill_last_flush(&last_flush, &facts->last_flush);
		status.last_flush = &last_flush;
	}
	status.n_sessions = sessions.n;
	status.sessions = sessions.pointers;
	status.drain_lateness = &lateness;
	status.unwinding = &unwinding.unwinding;
	status.names = &names;
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_STATUS, &status);
	return 0;
}
