/* SPDX-License-Identifier: MIT */
/*
 * Samples are counted in an aggregate by the stay of their process; the members are the processes,
 * each with its unit then. A snapshot gets copies of what the members say, or of what an earlier
 * snapshot said that came back, and the aggregate itself when the window is closed.
 */
#include "daemon/session/window.h"

#include <errno.h>
#include <string.h>
#include <uthash.h>

#include "common/error.h"
#include "common/order.h"
#include "common/store/names.h"
#include "daemon/aggregate/latency.h"
#include "daemon/ingest/sample.h"
#include "daemon/resolve/jit_files.h"
#include "daemon/resolve/user_room.h"

#define AGGREGATE_COPY_MIN (256u * 1024)
/* Wake-ups whose waits have not come yet: those of the time that threads are in run queues. */
#define WINDOW_WOKEN 2048

/*
 * A CPU's clock ticks once in each period, at a random place (bpf/cpu_clock.bpf.h): two ticks are
 * hardly ever further apart than two periods.
 */
#define LATENCY_PERIODS 2

/* A process in one unit that the window counts: of the table, or taken back from a snapshot. */
struct window_member {
	uint64_t serial; /* its stay there */
	struct process *process;
	struct process_unit *unit;          /* with process */
	struct snapshot_process taken_back; /* if there is no process */
	/* Into the snapshot that is being made: it, and what it counts. */
	bool is_copied, is_chosen;
	UT_hash_handle hh;
};

/* The wait that has this number was ended by the aggregate's waker. */
struct window_woken {
	uint64_t id;
	uint32_t waker;
};

struct window {
	struct aggregate *aggregate;
	size_t max_bytes; /* of the aggregate */
	bool is_divided;
	struct user_room room;      /* what of it users have, if it is divided */
	struct latency *latency;    /* or NULL: nobody asked */
	struct window_woken *woken; /* WINDOW_WOKEN; later ones replace earlier ones; or NULL */
	struct window_member *members;
	size_t n_members;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	/* From CLOCK_MONOTONIC to Unix time, when it was opened; what passes 2^64 wraps. */
	uint64_t to_wall_ns;
	struct ledgers ledgers_then;
	struct ledgers carried; /* of windows that were taken back */
};

int window_new(struct window **ret, const struct moment *start, size_t max_bytes,
	       const struct ledgers *ledgers)
{
	cleanup(window_freep) struct window *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_origin(-ENOMEM);
	w->start_ns = start->monotonic_ns;
	w->to_wall_ns = start->wall_ns - start->monotonic_ns;
	w->ledgers_then = *ledgers;
	w->max_bytes = max_bytes;
	r = aggregate_new(&w->aggregate, max_bytes);
	if (r)
		return r;
	*ret = steal_ptr(&w);
	return 0;
}

void window_free(struct window *w)
{
	struct window_member *m, *next;

	if (!w)
		return;
	HASH_ITER (hh, w->members, m, next) {
		HASH_DEL(w->members, m);
		process_unref(m->process);
		process_unit_unref(m->unit);
		snapshot_process_deinit(&m->taken_back);
		free(m);
	}
	user_room_reset(&w->room);
	aggregate_free(w->aggregate);
	latency_free(w->latency);
	free(w->woken);
	free(w);
}

static int window_get_member(struct window *w, uint64_t serial, struct window_member **ret)
{
	struct window_member *m;

	HASH_FIND(hh, w->members, &serial, sizeof(serial), m);
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return error_origin(-ENOMEM);
		m->serial = serial;
		HASH_ADD(hh, w->members, serial, sizeof(m->serial), m);
		w->n_members++;
	}
	*ret = m;
	return 0;
}

/* @serial: a stay of @p. */
static int window_add_member(struct window *w, struct process *p, uint64_t serial)
{
	struct window_member *m;
	int r = window_get_member(w, serial, &m);

	if (r || m->process)
		return r;
	m->process = process_ref(p);
	m->unit = process_unit_ref(p->unit);
	return 0;
}

void window_divide(struct window *w, uid_t self)
{
	w->is_divided = true;
	w->room.self = self;
	/* The rest is for times. */
	w->room.max_bytes = w->max_bytes / 8 * 7;
}

bool window_has_had_share(const struct window *w, const struct process *p)
{
	return w->is_divided && user_room_is_full(&w->room, p->uid);
}

/* What the aggregate has got since it had @used bytes is the user's of @p; NULL: nobody's. */
static void window_charge(struct window *w, const struct process *p, size_t used)
{
	const size_t now = aggregate_used_bytes(w->aggregate);

	if (w->is_divided && now != used)
		user_room_add(&w->room, p ? p->uid : 0, now - used, false);
}

static int window_count_sample(struct window *w, struct process *p, const struct aggregate_key *key,
			       uint64_t weight, bool only_known)
{
	const size_t used = aggregate_used_bytes(w->aggregate);
	int r = only_known ? aggregate_add_known(w->aggregate, key, 1, weight)
			   : aggregate_add(w->aggregate, key, 1, weight);

	window_charge(w, p, used);
	return r ?: window_add_member(w, p, key->process);
}

int window_add(struct window *w, struct process *p, const struct aggregate_key *key,
	       uint64_t time_ns, uint64_t weight)
{
	struct aggregate_key timed = *key;

	timed.time_ns = time_ns + w->to_wall_ns;
	return window_count_sample(w, p, &timed, weight, window_has_had_share(w, p));
}

int window_add_anyway(struct window *w, struct process *p, const struct aggregate_key *key,
		      uint64_t time_ns, uint64_t weight)
{
	struct aggregate_key timed = *key;

	timed.time_ns = time_ns + w->to_wall_ns;
	return window_count_sample(w, p, &timed, weight, false);
}

int window_want_latency(struct window *w, uint64_t period_ns, size_t max_bytes)
{
	return aggregate_want_latency(w->aggregate)
		       ?: latency_new(&w->latency, LATENCY_PERIODS * period_ns, max_bytes);
}

int window_add_latency(struct window *w, const struct process *p, const struct sample *sample,
		       uint64_t cpu_ns)
{
	struct latency_sample added = {.time_ns = sample->time_ns,
				       .cpu_ns = cpu_ns,
				       .tid = sample->tid,
				       .cpu = sample->cpu};

	if (!w->latency)
		return 0;
	added.service = process_unit_service(p->unit);
	added.entry = aggregate_last(w->aggregate);
	return latency_add(w->latency, w->aggregate, &added);
}

/* Numbers are a CPU's, in its topmost 16 bits, and count up. */
static struct window_woken *window_woken_of(const struct window *w, uint64_t id)
{
	return &w->woken[(id + (id >> 48) * 997) % WINDOW_WOKEN];
}

int window_add_waker(struct window *w, struct process *p, const struct aggregate_key *key,
		     bool by_interrupt, uint64_t id)
{
	struct window_woken woken = {.id = id};
	size_t used;
	int r;

	if (p && window_has_had_share(w, p))
		return AGGREGATE_E_NEW;
	if (!w->woken)
		w->woken = calloc(WINDOW_WOKEN, sizeof(*w->woken));
	if (!w->woken)
		return error_origin(-ENOMEM);
	used = aggregate_used_bytes(w->aggregate);
	r = aggregate_add_waker(w->aggregate, key, by_interrupt, &woken.waker);
	window_charge(w, p, used);
	if (!r && p)
		r = window_add_member(w, p, key->process);
	if (!r)
		*window_woken_of(w, id) = woken;
	return r;
}

uint32_t window_find_waker(const struct window *w, uint64_t id)
{
	const struct window_woken *woken = w->woken && id ? window_woken_of(w, id) : NULL;

	return woken && woken->id == id ? woken->waker : 0;
}

void window_stack_counts(const struct aggregate *aggregate, struct stack_counts *ret)
{
	const struct aggregate_entry *entries;
	size_t n;

	*ret = (struct stack_counts){0};
	entries = aggregate_entries(aggregate, &n);
	for (size_t i = 0; i < n; i++) {
		struct stack stack = aggregate_stack(aggregate, entries[i].stack);

		stack_counts_add(ret, stack.quality, stack.reason, entries[i].count);
	}
}

int window_restore(struct window *w, struct snapshot *snapshot,
		   const struct window_closing *closing, struct stack_counts *ret_dropped)
{
	const struct aggregate_entry *entries;
	struct stack_counts dropped = {0};
	struct window_member *m;
	size_t n;
	int r;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		r = window_get_member(w, snapshot->processes[i].serial, &m);
		if (r)
			return r;
		snapshot_process_deinit(&m->taken_back);
		m->taken_back = snapshot->processes[i];
		snapshot->processes[i] = (struct snapshot_process){};
	}
	entries = aggregate_entries(snapshot->aggregate, &n);
	for (size_t i = 0; i < n; i++) {
		const struct aggregate_entry *e = &entries[i];
		struct stack stack = aggregate_stack(snapshot->aggregate, e->stack);

		r = aggregate_add_entry(w->aggregate, snapshot->aggregate, e);
		if (r < 0)
			return r;
		if (r == AGGREGATE_E_FULL)
			stack_counts_add(&dropped, stack.quality, stack.reason, e->count);
	}
	if (closing->start_ns < w->start_ns)
		w->start_ns = closing->start_ns;
	for (unsigned i = 0; i < LEDGERS_MAX; i++)
		ledger_add(&w->carried.all[i], &closing->since.all[i]);
	*ret_dropped = dropped;
	return 0;
}

int window_complete(struct window *w, struct process_table *processes)
{
	struct window_member *m, *next;
	int r = 0;

	process_table_look_at_containers(processes);
	HASH_ITER (hh, w->members, m, next)
		if (m->process && !r)
			r = process_table_complete(processes, m->process);
	return r;
}

/* What is known of @m, which keeps it. */
static struct snapshot_process describe_member(const struct window_member *m)
{
	static const struct container_names none;
	const struct process *p = m->process;
	const struct container_names *names;
	struct snapshot_process described;

	if (!p)
		return m->taken_back;
	names = m->unit->in ? container_names(m->unit->in) : &none;
	described = (struct snapshot_process){
		.serial = m->serial,
		.program_serial = p->serial,
		.pid = p->pid,
		.kernel_thread = p->kernel_thread,
		.service = (char *)process_unit_service(m->unit),
		.cgroup = (char *)m->unit->cgroup,
		.container = (char *)(names->container[0] ? names->container : m->unit->container),
		.pod = (char *)names->pod,
		.namespace = (char *)names->namespace,
		.image = (char *)names->image,
		.program = p->program,
		.mappings = p->mappings,
		.perf_map = p->jit ? p->jit->perf_map : NULL,
		.jitdump = p->jit ? p->jit->jitdump : NULL,
	};
	memcpy(described.comm, p->comm, sizeof(described.comm));
	return described;
}

static int window_copy_text(char **ret, const char *text)
{
	const bool has_text = text && *text;

	*ret = has_text ? strdup(text) : NULL;
	return has_text && !*ret ? error_origin(-ENOMEM) : 0;
}

static int copy_process(const struct snapshot_process *p, struct snapshot_process *ret)
{
	int r = 0;

	*ret = *p;
	ret->program = image_ref(p->program);
	ret->mappings = mappings_ref(p->mappings);
	ret->perf_map = jit_file_ref(p->perf_map);
	ret->jitdump = jit_file_ref(p->jitdump);
#define CLEAR_TEXT(text) ret->text = NULL;
	SNAPSHOT_TEXTS(CLEAR_TEXT)
#define COPY_TEXT(text) r = r ?: window_copy_text(&ret->text, p->text);
	SNAPSHOT_TEXTS(COPY_TEXT)
	return r;
}

DEFINE_ORDER(process_compare_serial, struct snapshot_process, order_of(x->serial, y->serial))

static bool window_filter_passes(const struct window_filter *f, const struct snapshot_process *p)
{
	if (!f)
		return true;
	if (f->service)
		return p->service && names_select_service(f->service, p->service);
	return !f->pid || (p->pid == f->pid && (!f->serial || p->program_serial == f->serial));
}

/* Marks those that @filter lets pass, and those of their wakers. */
static void window_choose(struct window *w, const struct window_filter *filter)
{
	const struct aggregate_entry *entries;
	struct window_member *m, *next, *of;
	size_t n;

	HASH_ITER (hh, w->members, m, next) {
		const struct snapshot_process p = describe_member(m);

		m->is_copied = m->is_chosen = window_filter_passes(filter, &p);
	}
	if (!filter || !aggregate_n_wakers(w->aggregate))
		return;
	entries = aggregate_entries(w->aggregate, &n);
	for (size_t i = 0; i < n; i++) {
		const struct aggregate_entry *e = &entries[i];

		HASH_FIND(hh, w->members, &e->process, sizeof(e->process), of);
		if (!e->waker || !of || !of->is_chosen)
			continue;
		HASH_FIND(hh, w->members, &aggregate_waker(w->aggregate, e->waker)->process,
			  sizeof(uint64_t), m);
		if (m)
			m->is_copied = true;
	}
}

/* Copies of those that @filter lets pass, and of their wakers, which are marked, in their order. */
static int copy_processes(struct window *w, const struct window_filter *filter,
			  struct snapshot *snapshot)
{
	struct window_member *m, *next;
	int r;

	snapshot->processes = calloc(w->n_members ? w->n_members : 1, sizeof(*snapshot->processes));
	if (!snapshot->processes)
		return error_origin(-ENOMEM);
	window_choose(w, filter);
	HASH_ITER (hh, w->members, m, next) {
		const struct snapshot_process p = describe_member(m);

		if (!m->is_copied)
			continue;
		r = copy_process(&p, &snapshot->processes[snapshot->n_processes++]);
		if (r)
			return r;
	}
	qsort(snapshot->processes, snapshot->n_processes, sizeof(*snapshot->processes),
	      process_compare_serial);
	return 0;
}

/* The samples of those that are chosen. */
static int copy_entries(const struct window *w, struct aggregate **ret)
{
	const struct aggregate_entry *entries;
	size_t n;
	/* Enough for a part of it, also where most of it are times, which have a share. */
	int r = aggregate_new(ret, 16 * aggregate_bytes(w->aggregate) + AGGREGATE_COPY_MIN);

	if (!r && w->latency)
		r = aggregate_want_latency(*ret);
	if (r)
		return r;
	entries = aggregate_entries(w->aggregate, &n);
	for (size_t i = 0; i < n; i++) {
		const struct aggregate_entry *e = &entries[i];
		struct window_member *m;

		HASH_FIND(hh, w->members, &e->process, sizeof(e->process), m);
		if (!m || !m->is_chosen)
			continue;
		r = aggregate_add_entry(*ret, w->aggregate, e);
		if (r)
			return r < 0 ? r : error_origin(-ENOMEM);
	}
	return 0;
}

/* Of the time since the window was opened; *ret_closing with what was carried into it. */
static int window_fill_ledgers(const struct window *w, const struct ledgers *ledgers,
			       struct snapshot *snapshot, struct window_closing *ret_closing)
{
	for (unsigned i = 0; i < LEDGERS_MAX; i++) {
		ledger_since(&ledgers->all[i], &w->ledgers_then.all[i], &ret_closing->since.all[i]);
		ledger_add(&ret_closing->since.all[i], &w->carried.all[i]);
	}
	snapshot->ledger = ledger_text(&ret_closing->since.all[0], "");
	if (snapshot->off_cpu_period)
		snapshot->off_cpu_ledger = ledger_text(&ret_closing->since.all[1], "off_cpu.");
	return snapshot->ledger && (snapshot->off_cpu_ledger || !snapshot->off_cpu_period)
		       ? 0
		       : error_origin(-ENOMEM);
}

int window_fill_snapshot(struct window *w, const struct moment *end, const struct ledgers *ledgers,
			 const struct window_filter *filter, struct snapshot *snapshot,
			 struct window_closing *ret_closing)
{
	int r = copy_processes(w, filter, snapshot);

	if (w->latency)
		(filter ? latency_update : latency_settle)(w->latency, w->aggregate);
	if (!r && filter)
		r = copy_entries(w, &snapshot->aggregate);
	if (r)
		return r;
	ret_closing->start_ns = w->start_ns;
	snapshot->duration_ns = end->monotonic_ns - w->start_ns;
	/* A wall clock may have been set back to its beginning. */
	snapshot->start_ns = end->wall_ns > snapshot->duration_ns
				     ? end->wall_ns - snapshot->duration_ns
				     : 0;
	snapshot->times_moved_ns = (int64_t)(end->wall_ns - end->monotonic_ns - w->to_wall_ns);
	r = window_fill_ledgers(w, ledgers, snapshot, ret_closing);
	if (r)
		return r;
	if (!filter)
		snapshot->aggregate = steal_ptr(&w->aggregate);
	return 0;
}

uint64_t window_count(const struct window *w)
{
	return aggregate_count(w->aggregate);
}

uint64_t window_lost(const struct window *w, const struct ledgers *ledgers)
{
	struct ledger since;
	uint64_t lost = 0;

	for (unsigned of = 0; of < LEDGERS_MAX; of++) {
		ledger_since(&ledgers->all[of], &w->ledgers_then.all[of], &since);
		for (unsigned i = 0; i < N_LOST; i++)
			lost += since.lost[i];
	}
	return lost;
}
