/* SPDX-License-Identifier: MIT */
/*
 * The ledger is shown as the sum that it is: every tick that was due, then what became of it, and
 * whether the parts add up. Percentages are of the line that the indentation makes them part of.
 */
#include "client/profctl/status.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/profctl/table.h"
#include "common/cleanup.h"

/* Where it goes, and what colors are there: texts, empty ones where there are none. */
struct view {
	FILE *out;
	const char *bold, *red, *yellow, *green, *plain;
};

double status_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

uint64_t status_sum(Profd__Control__Reason *const *reasons, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += reasons[i]->count;
	return sum;
}

uint64_t status_reason(Profd__Control__Reason *const *reasons, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(reasons[i]->name, name) == 0)
			return reasons[i]->count;
	return 0;
}

static void print_heading(const struct view *v, const char *name)
{
	fprintf(v->out, "\n%s%s%s\n", v->bold, name, v->plain);
}

static void begin_warning(const struct view *v)
{
	fprintf(v->out, "%swarning:%s ", v->yellow, v->plain);
}

static void print_worker_warnings(const struct view *v, const Profd__Control__Names *n)
{
	if (*n->trouble) {
		begin_warning(v);
		fprintf(v->out,
			"no image worker at the moment, so no unwind rules or names for new "
			"images: %s\n",
			n->trouble);
	}
	if (n->slow_directories) {
		begin_warning(v);
		fprintf(v->out,
			"%" PRIu64 " debug file directories did not answer in time; they are "
			"skipped for ten minutes\n",
			n->slow_directories);
	}
	if (n->cut) {
		begin_warning(v);
		fprintf(v->out,
			"%" PRIu64 " places in profiles have no name: their files have more or "
			"longer names than a window has room for\n",
			n->cut);
	}
	if (!n->workers_died && !n->bad_images)
		return;
	begin_warning(v);
	fprintf(v->out, "%" PRIu64 " image workers died and were replaced", n->workers_died);
	if (n->bad_images)
		fprintf(v->out, "; %" PRIu64 " images killed one and are skipped from now on",
			n->bad_images);
	if (*n->last_bad_image)
		fprintf(v->out, ", the last one %s", n->last_bad_image);
	fputc('\n', v->out);
}

static void print_warnings(const struct view *v, const Profd__Control__Status *s)
{
	for (size_t i = 0; i < s->n_warnings; i++) {
		begin_warning(v);
		fprintf(v->out, "%s\n", s->warnings[i]);
	}
	if (s->names)
		print_worker_warnings(v, s->names);
}

static void print_sampling(const struct view *v, const Profd__Control__Status *s)
{
	fprintf(v->out, "sampling %s", s->event);
	if (s->frequency)
		fprintf(v->out, " at %" PRIu64 " Hz", s->frequency);
	if (s->off_cpu_frequency)
		fprintf(v->out, ", waits at %" PRIu64 " Hz", s->off_cpu_frequency);
	fprintf(v->out, " through %s; %" PRIu64 " processes, %" PRIu64 " images known", s->source,
		s->processes, s->images);
	if (s->attached)
		fprintf(v->out, "; %" PRIu64 " %s libprofd", s->attached,
			s->attached == 1 ? "process has" : "processes have");
	if (s->avoided_files)
		fprintf(v->out, "; %" PRIu64 " not opened, on FUSE or an unknown device",
			s->avoided_files);
	if (s->refused_jit_files)
		fprintf(v->out, "; %" PRIu64 " perf maps and jitdumps rejected",
			s->refused_jit_files);
	fputc('\n', v->out);
}

static void print_head(const struct view *v, const Profd__Control__Status *s)
{
	fprintf(v->out, "%sprofd %s%s  pid %" PRId32 ", up %s, on %s, Linux %s\n", v->bold,
		s->version, v->plain, s->pid, TEXT_OF_SPAN(s->uptime_seconds), s->host, s->kernel);
	if (s->read_only)
		fputs("nothing is sampled: it only reads its store\n", v->out);
	else
		print_sampling(v, s);
	print_warnings(v, s);
}

void status_print_warnings(const Profd__Control__Status *status, FILE *out)
{
	print_warnings(&(struct view){out, "", "", "", "", ""}, status);
}

static void print_status_row(const struct view *v, unsigned depth, const char *name, uint64_t count,
			     uint64_t whole)
{
	int width = 26 - (int)depth * 2;

	fprintf(v->out, "  %*s%-*s %14" PRIu64, (int)depth * 2, "", width, name, count);
	if (whole)
		fprintf(v->out, "  %6.2f %%", status_percent(count, whole));
	fputc('\n', v->out);
}

/* One row each, those that never happened left out; `skip` is shown elsewhere. */
static void print_reason_rows(const struct view *v, const char *kind,
			      Profd__Control__Reason *const *reasons, size_t n, const char *skip,
			      uint64_t whole)
{
	char name[64];

	for (size_t i = 0; i < n; i++) {
		if (!reasons[i]->count || strcmp(reasons[i]->name, skip) == 0)
			continue;
		snprintf(name, sizeof(name), "%s: %s", kind, reasons[i]->name);
		print_status_row(v, 1, name, reasons[i]->count, whole);
	}
}

static void print_check(const struct view *v, uint64_t got, uint64_t expected, const char *what)
{
	if (got == expected)
		fprintf(v->out, "  %sadds up%s: %s\n", v->green, v->plain, what);
	else
		fprintf(v->out, "  %sdoes not add up%s, off by %" PRId64 ": %s\n", v->red, v->plain,
			(int64_t)(expected - got), what);
}

static void print_ledger(const struct view *v, const Profd__Control__Ledger *l, uint64_t throttled)
{
	uint64_t truncated = status_sum(l->truncated, l->n_truncated);
	uint64_t broken = status_sum(l->broken, l->n_broken);
	uint64_t lost = status_sum(l->lost, l->n_lost);
	uint64_t skipped = status_reason(l->lost, l->n_lost, "skipped");

	print_heading(v, "Ticks");
	print_status_row(v, 0, "expected", l->expected, 0);
	print_status_row(v, 0, "lost: skipped", skipped, l->expected);
	print_status_row(v, 0, "seen", l->seen, l->expected);
	print_status_row(v, 1, "complete", l->complete, l->seen);
	if (l->guessed)
		print_status_row(v, 1, "guessed", l->guessed, l->seen);
	print_status_row(v, 1, "no user stack", l->no_user, l->seen);
	print_reason_rows(v, "truncated", l->truncated, l->n_truncated, "", l->seen);
	print_reason_rows(v, "broken", l->broken, l->n_broken, "", l->seen);
	print_reason_rows(v, "lost", l->lost, l->n_lost, "skipped", l->seen);
	print_status_row(v, 1, "in flight", l->in_flight, l->seen);
	print_check(v, l->seen + skipped, l->expected, "expected = seen + skipped");
	print_check(v,
		    l->complete + l->guessed + truncated + broken + l->no_user + (lost - skipped) +
			    l->in_flight,
		    l->seen, "seen = sum of its parts");
	if (l->outside)
		fprintf(v->out,
			"  %" PRIu64 " more were in processes outside profd's pid namespace\n",
			l->outside);
	if (throttled)
		fprintf(v->out, "  the kernel throttled the event %" PRIu64 " times\n", throttled);
}

static void print_stack_parts(const struct view *v, const char *kind,
			      Profd__Control__Reason *const *reasons, size_t n, uint64_t whole)
{
	for (size_t i = 0; i < n; i++)
		if (reasons[i]->count)
			fprintf(v->out, ", %s: %s %" PRIu64 " (%.2f %%)", kind, reasons[i]->name,
				reasons[i]->count, status_percent(reasons[i]->count, whole));
}

/* Of the samples that a session counts: how their stacks ended, those ways that occurred. */
static void print_session_stacks(const struct view *v, const Profd__Control__Session *s)
{
	uint64_t all = s->complete + s->guessed + s->no_user +
		       status_sum(s->truncated, s->n_truncated) +
		       status_sum(s->broken, s->n_broken);
	char id[32] = "system";

	if (s->id)
		snprintf(id, sizeof(id), "s%" PRIu64, s->id);
	fprintf(v->out, "  %-8s", id);
	if (!all) {
		fputs(" none yet\n", v->out);
		return;
	}
	fprintf(v->out, " complete %" PRIu64 " (%.2f %%)", s->complete,
		status_percent(s->complete, all));
	if (s->guessed)
		fprintf(v->out, ", guessed %" PRIu64 " (%.2f %%)", s->guessed,
			status_percent(s->guessed, all));
	if (s->no_user)
		fprintf(v->out, ", no user stack %" PRIu64 " (%.2f %%)", s->no_user,
			status_percent(s->no_user, all));
	print_stack_parts(v, "truncated", s->truncated, s->n_truncated, all);
	print_stack_parts(v, "broken", s->broken, s->n_broken, all);
	fputc('\n', v->out);
}

static void print_stacks(const struct view *v, const Profd__Control__Status *s)
{
	print_heading(v, "Stacks");
	fputs("  ", v->out);
	status_print_stacks(s->ledger, v->out);
	for (size_t i = 0; i < s->n_sessions; i++)
		print_session_stacks(v, s->sessions[i]);
}

/* What a counter of --json's `unwinding` counts; its name, if profd is newer than we are. */
static const char *counter_description(const char *name)
{
	static const char *const words[][2] = {
		{"finished", "stacks finished by profd instead of the kernel"},
		{"waited", "of these waited for unwind rules or memory"},
		{"gave_up", "waited too long: kept incomplete"},
		{"no_room", "could not wait: queue full"},
		{"tables_loaded", "programs and libraries whose unwind rules were compiled"},
		{"tables_evicted", "tables dropped to make room"},
		{"tables_refused", "images whose rules are too big or malformed"},
		{"images_over_4g", "of these with code past 4 GiB"},
		{"no_slot", "images without a slot for their rules"},
		{"rules_expression", "rules with DWARF expressions, which no walk can follow"},
		{"rules_unfit", "rules with numbers that are too large"},
		{"published", "times that a process's mappings were published to the kernel"},
		{"mapping_table_full", "times that the kernel's table had no room for them"},
		{"mapping_table_evicted", "processes whose mappings were evicted for others'"},
		{"stale", "walks with mappings that had just been replaced"},
		{"memory_reads", "reads of process memory that a stack copy lacked"},
		{"memory_failed", "of these failed"},
		{"fork_misses", "children that could not inherit their parent's mappings"},
		{"stale_roots",
		 "ended processes that could not be removed from the kernel's table"},
		{"chains_broken",
		 "chains of Python or JavaScript frames that could not be followed to their end"},
		{"codes_lost",
		 "times that a Python or JavaScript function's name could not be taken over"},
		{"waits_unkept", "times that ticks on a CPU had to count as waiting"},
		{"wait_ticks", "ticks of threads' clocks in waits"},
		{"cpu_ticks", "ticks of the same threads on a CPU"},
		{"excess_ticks", "ticks that libprofd reported beyond a process's CPU time"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(name, words[i][0]) == 0)
			return words[i][1];
	return name;
}

static void print_unwinding(const struct view *v, const Profd__Control__Unwinding *u)
{
	print_heading(v, "Unwinding");
	fprintf(v->out,
		"  unwind rules of %" PRIu64 " images: %" PRIu64 " rows, %s; %" PRIu64
		" samples are waiting for more\n",
		u->tables, u->rows, TEXT_OF_SIZE(u->table_bytes), u->waiting);
	for (size_t i = 0; i < u->n_counters; i++)
		if (u->counters[i]->count)
			fprintf(v->out, "  %10" PRIu64 "  %s\n", u->counters[i]->count,
				counter_description(u->counters[i]->name));
}

static void print_memory(const struct view *v, const Profd__Control__Memory *m)
{
	double share = status_percent(m->rss_bytes + m->bpf_bytes, m->budget_bytes);
	const char *color = share > 100 ? v->red : share > 90 ? v->yellow : "";

	fprintf(v->out, "  memory  %s + %s in the kernel of %s: %s%.0f %%%s of the budget",
		TEXT_OF_SIZE(m->rss_bytes), TEXT_OF_SIZE(m->bpf_bytes),
		TEXT_OF_SIZE(m->budget_bytes), color, share, *color ? v->plain : "");
	if (m->workers_bytes)
		fprintf(v->out, "; %s of it in child processes", TEXT_OF_SIZE(m->workers_bytes));
	if (m->evicted_images)
		fprintf(v->out, "; %" PRIu64 " images evicted", m->evicted_images);
	fputc('\n', v->out);
}

static void print_cpu(const struct view *v, const Profd__Control__Status *s)
{
	const Profd__Control__Cpu *c = s->cpu;
	double all = c->user_seconds + c->system_seconds + c->bpf_seconds + c->workers_seconds;

	fprintf(v->out, "  CPU     %s user + %s system", TEXT_OF_SPAN(c->user_seconds),
		TEXT_OF_SPAN(c->system_seconds));
	if (c->bpf_seconds > 0)
		fprintf(v->out, " + %s BPF", TEXT_OF_SPAN(c->bpf_seconds));
	if (c->workers_seconds > 0)
		fprintf(v->out, " + %s child processes", TEXT_OF_SPAN(c->workers_seconds));
	if (s->uptime_seconds > 0)
		fprintf(v->out, ": %.2f %% of %s",
			100 * all / s->uptime_seconds / (s->n_cpus ? s->n_cpus : 1),
			s->n_cpus ? "the machine" : "one CPU");
	fprintf(v->out, "\n  for     %s sampling + %s process events + %s names",
		TEXT_OF_SPAN(c->sampling_seconds), TEXT_OF_SPAN(c->events_seconds),
		TEXT_OF_SPAN(c->names_seconds));
	fprintf(v->out, " + %s output + %s control", TEXT_OF_SPAN(c->output_seconds),
		TEXT_OF_SPAN(c->control_seconds));
	if (c->switches_seconds > 0)
		fprintf(v->out, " + %s switches", TEXT_OF_SPAN(c->switches_seconds));
	fputc('\n', v->out);
}

static void print_control(const struct view *v, const Profd__Control__Control *c)
{
	fprintf(v->out, "  control %" PRIu64 " requests of unprivileged users", c->requests);
	if (c->delayed)
		fprintf(v->out, ", %" PRIu64 " delayed", c->delayed);
	if (c->refused_connections)
		fprintf(v->out, ", %" PRIu64 " connections refused", c->refused_connections);
	fprintf(v->out, "; %" PRIu64 " of others", c->privileged_requests);
	if (c->privileged_delayed)
		fprintf(v->out, ", %" PRIu64 " delayed", c->privileged_delayed);
	if (c->privileged_refused_connections)
		fprintf(v->out, ", %" PRIu64 " connections refused",
			c->privileged_refused_connections);
	fputc('\n', v->out);
}

static void print_costs(const struct view *v, const Profd__Control__Status *s)
{
	const Profd__Control__Lateness *l = s->drain_lateness;

	print_heading(v, "Costs");
	if (s->memory)
		print_memory(v, s->memory);
	if (s->cpu)
		print_cpu(v, s);
	if (s->control)
		print_control(v, s->control);
	if (l && l->count)
		fprintf(v->out,
			"  samples reach profd late by %s (median), %s (99 %%), %s (99.9 %%), %s "
			"at "
			"most\n",
			TEXT_OF_SPAN(l->p50_seconds), TEXT_OF_SPAN(l->p99_seconds),
			TEXT_OF_SPAN(l->p999_seconds), TEXT_OF_SPAN(l->max_seconds));
}

static void print_store(const struct view *v, const Profd__Control__Status *s)
{
	const Profd__Control__LastFlush *f = s->last_flush;

	print_heading(v, "Store");
	if (s->store) {
		fprintf(v->out, "  %s: %s in %" PRIu64 " files", s->store->path,
			TEXT_OF_SIZE(s->store->bytes), s->store->files);
		if (s->store->oldest_ns)
			fprintf(v->out, ", oldest from %s", TEXT_OF_MOMENT(s->store->oldest_ns));
		if (s->store->full)
			fprintf(v->out, ", %sdisk full%s", v->red, v->plain);
		fputc('\n', v->out);
	}
	if (!f) {
		fputs("  no window written yet\n", v->out);
		return;
	}
	fprintf(v->out, "  last flush at %s: %" PRIu64 " files in %s",
		TEXT_OF_MOMENT(f->started_ns), f->files, TEXT_OF_SPAN(f->seconds));
	if (*f->error)
		fprintf(v->out, ", %serror: %s%s", v->red, f->error, v->plain);
	fputc('\n', v->out);
}

static int print_shares(const struct view *v, const Profd__Control__Store *s)
{
	cleanup(table_deinit) struct table t = TABLE_OF("  UID", ">SIZE", ">MAX SIZE", ">FILES",
							">MAX FILES");

	if (!s->n_shares)
		return 0;
	print_heading(v, "Users' shares of the store");
	for (size_t i = 0; i < s->n_shares; i++) {
		const Profd__Control__StoreShare *share = s->shares[i];

		table_cell(&t, "  %" PRIu32, share->uid);
		table_cell(&t, "%s", TEXT_OF_SIZE(share->bytes));
		table_cell(&t, "%s", share->max_bytes ? TEXT_OF_SIZE(share->max_bytes) : "-");
		table_cell(&t, "%" PRIu64, share->files);
		table_cell(&t, share->max_bytes ? "%" PRIu64 : "-", share->max_files);
	}
	return table_print(&t, v->out);
}

static int print_exports(const struct view *v, const Profd__Control__Status *s)
{
	cleanup(table_deinit) struct table t = TABLE_OF("  TARGET", ">BEHIND", ">WAITING", ">SIZE",
							">SENT", ">REFUSED", ">DROPPED", ">TOO OLD",
							"STATE");

	if (!s->n_exports)
		return 0;
	print_heading(v, "Exports");
	for (size_t i = 0; i < s->n_exports; i++) {
		const Profd__Control__Export *x = s->exports[i];

		table_cell(&t, "  %s", x->name);
		table_cell(&t, "%s",
			   x->waiting_windows ? TEXT_OF_SPAN((double)x->lag_seconds) : "-");
		table_cell(&t, "%" PRIu64, x->waiting_windows);
		table_cell(&t, "%s", TEXT_OF_SIZE(x->waiting_bytes));
		table_cell(&t, "%" PRIu64, x->sent_windows);
		table_cell(&t, "%" PRIu64, x->refused_windows);
		table_cell(&t, "%" PRIu64, x->dropped_windows);
		table_cell(&t, "%" PRIu64, x->held_windows);
		table_cell(&t, "%s", x->failing ? "failing" : "ok");
	}
	return table_print(&t, v->out);
}

static int print_sessions(const struct view *v, const Profd__Control__Status *s)
{
	cleanup(table_deinit) struct table t = TABLE_OF("  ID", "NAME", "TARGET", "EVENT", ">HZ",
							">UID", "STARTED", ">ROUTED", ">COUNTED",
							">FILTERED", ">DROPPED", ">WINDOWS");

	print_heading(v, "Sessions");
	for (size_t i = 0; i < s->n_sessions; i++) {
		const Profd__Control__Session *n = s->sessions[i];

		if (n->id)
			table_cell(&t, "  s%" PRIu64, n->id);
		else
			table_cell(&t, "  system");
		table_cell(&t, "%s", n->name);
		table_cell(&t, "%s", n->target);
		table_cell(&t, "%s", n->event);
		table_cell(&t, n->frequency ? "%" PRIu64 : "-", n->frequency);
		table_cell(&t, "%" PRIu32, n->owner_uid);
		table_cell(&t, "%s", TEXT_OF_MOMENT(n->started_ns));
		table_cell(&t, "%" PRIu64, n->routed);
		table_cell(&t, "%" PRIu64, n->counted);
		table_cell(&t, "%" PRIu64, n->filtered);
		table_cell(&t, "%" PRIu64, status_sum(n->dropped, n->n_dropped));
		table_cell(&t, "%" PRIu64, n->windows_written);
	}
	if (s->n_sessions == 0) {
		fputs("  none\n", v->out);
		return 0;
	}
	return table_print(&t, v->out);
}

int status_print(const Profd__Control__Status *s, bool color, FILE *out)
{
	const struct view plain = {out, "", "", "", "", ""};
	const struct view colored = {out, "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[0m"};
	const struct view *v = color ? &colored : &plain;

	print_head(v, s);
	if (s->ledger) {
		print_ledger(v, s->ledger, s->throttled);
		print_stacks(v, s);
	}
	if (s->unwinding)
		print_unwinding(v, s->unwinding);
	print_costs(v, s);
	print_store(v, s);
	return (s->store ? print_shares(v, s->store) : 0)
		       ?: print_exports(v, s)
		       ?: print_sessions(v, s);
}
