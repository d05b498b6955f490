/* SPDX-License-Identifier: MIT */
#include "client/gateway/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/memory_text.h"
#include "common/reasons.h"
#include "common/utf8.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO };

struct metric_row;

struct metrics_out {
	FILE *out;
	const struct metric_row *row;
};

struct metric_row {
	const char *name; /* without the suffix of its kind */
	enum metric_kind kind;
	const char *help;
	void (*print)(const struct metrics_out *o, const struct metrics_source *from);
};

static const char *const metric_suffixes[] = {
	[METRIC_COUNTER] = "_total",
	[METRIC_GAUGE] = "",
	[METRIC_INFO] = "_info",
};

/* --- samples ---------------------------------------------------------------------------------- */

static void metric_print_label(const struct metrics_out *o, const char *key, const char *value)
{
	fprintf(o->out, "%s=\"", key);
	while (*value) {
		bool is_harmless;
		size_t n = utf8_next(value, &is_harmless);

		if (!utf8_character(value, n))
			fputs(UTF8_REPLACEMENT, o->out);
		else if (!is_harmless)
			fputc('?', o->out);
		else
			fprintf(o->out, "%s%.*s", strchr("\\\"", *value) ? "\\" : "", (int)n,
				value);
		value += n;
	}
	fputc('"', o->out);
}

/* Behind a name: its label, if @key is not NULL. */
static void metric_print_head(const struct metrics_out *o, const char *key, const char *value)
{
	fprintf(o->out, "%s%s", o->row->name, metric_suffixes[o->row->kind]);
	if (key) {
		fputc('{', o->out);
		metric_print_label(o, key, value);
		fputc('}', o->out);
	}
	fputc(' ', o->out);
}

static void metric_put(const struct metrics_out *o, const char *key, const char *value, uint64_t n)
{
	metric_print_head(o, key, value);
	fprintf(o->out, "%" PRIu64 "\n", n);
}

static void metric_put_seconds(const struct metrics_out *o, const char *key, const char *value,
			       double seconds)
{
	metric_print_head(o, key, value);
	fprintf(o->out, "%.9f\n", seconds);
}

/* --- rows ------------------------------------------------------------------------------------- */

static uint64_t metrics_sum(Profd__Control__Reason *const *reasons, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += reasons[i]->count;
	return sum;
}

static void put_build(const struct metrics_out *o, const struct metrics_source *from)
{
	metric_put(o, "version", from->status->version, 1);
}

static void put_uptime(const struct metrics_out *o, const struct metrics_source *from)
{
	metric_put_seconds(o, NULL, NULL, from->status->uptime_seconds);
}

static void put_samples(const struct metrics_out *o, const struct metrics_source *from)
{
	const Profd__Control__Ledger *l = from->status->ledger;

	if (!l)
		return;
	metric_put(o, "outcome", "counted",
		   l->complete + l->guessed + l->no_user +
			   metrics_sum(l->truncated, l->n_truncated) +
			   metrics_sum(l->broken, l->n_broken));
	metric_put(o, "outcome", "lost", metrics_sum(l->lost, l->n_lost));
}

static void metric_put_reasons(const struct metrics_out *o, Profd__Control__Reason *const *reasons,
			       size_t n)
{
	for (size_t i = 0; i < n; i++)
		metric_put(o, "reason", reasons[i]->name, reasons[i]->count);
}

static void put_lost(const struct metrics_out *o, const struct metrics_source *from)
{
	const Profd__Control__Ledger *l = from->status->ledger;

	if (l)
		metric_put_reasons(o, l->lost, l->n_lost);
}

static void put_truncated(const struct metrics_out *o, const struct metrics_source *from)
{
	const Profd__Control__Ledger *l = from->status->ledger;

	if (l)
		metric_put_reasons(o, l->truncated, l->n_truncated);
}

static void put_broken(const struct metrics_out *o, const struct metrics_source *from)
{
	const Profd__Control__Ledger *l = from->status->ledger;

	if (l)
		metric_put_reasons(o, l->broken, l->n_broken);
}

static void put_stacks(const struct metrics_out *o, const struct metrics_source *from)
{
	const Profd__Control__Ledger *l = from->status->ledger;

	if (!l)
		return;
	metric_put(o, "outcome", "complete", l->complete);
	metric_put(o, "outcome", "guessed", l->guessed);
	metric_put(o, "outcome", "no_user", l->no_user);
	metric_put(o, "outcome", "truncated", metrics_sum(l->truncated, l->n_truncated));
	metric_put(o, "outcome", "broken", metrics_sum(l->broken, l->n_broken));
}

static void put_cpu(const struct metrics_out *o, const struct metrics_source *from)
{
	const Profd__Control__Cpu *cpu = from->status->cpu;

	if (cpu)
		metric_put_seconds(o, NULL, NULL,
				   cpu->user_seconds + cpu->system_seconds + cpu->bpf_seconds +
					   cpu->workers_seconds);
}

static void put_resident(const struct metrics_out *o, const struct metrics_source *from)
{
	if (from->status->memory)
		metric_put(o, NULL, NULL, from->status->memory->rss_bytes);
}

static void put_bpf(const struct metrics_out *o, const struct metrics_source *from)
{
	if (from->status->memory)
		metric_put(o, NULL, NULL, from->status->memory->bpf_bytes);
}

static void put_budget(const struct metrics_out *o, const struct metrics_source *from)
{
	if (from->status->memory)
		metric_put(o, NULL, NULL, from->status->memory->budget_bytes);
}

static void put_store_bytes(const struct metrics_out *o, const struct metrics_source *from)
{
	if (from->status->store)
		metric_put(o, NULL, NULL, from->status->store->bytes);
}

static void put_store_files(const struct metrics_out *o, const struct metrics_source *from)
{
	if (from->status->store)
		metric_put(o, NULL, NULL, from->status->store->files);
}

static void put_store_full(const struct metrics_out *o, const struct metrics_source *from)
{
	if (from->status->store)
		metric_put(o, NULL, NULL, from->status->store->full);
}

static void put_window_write(const struct metrics_out *o, const struct metrics_source *from)
{
	if (from->status->last_flush)
		metric_put_seconds(o, NULL, NULL, from->status->last_flush->seconds);
}

static void put_window_failed(const struct metrics_out *o, const struct metrics_source *from)
{
	if (from->status->last_flush)
		metric_put(o, NULL, NULL, *from->status->last_flush->error != '\0');
}

/* NULL: it is not enabled. Others come and go. */
static const Profd__Control__Session *metrics_system_session(const struct metrics_source *from)
{
	for (size_t i = 0; i < from->status->n_sessions; i++)
		if (!from->status->sessions[i]->id)
			return from->status->sessions[i];
	return NULL;
}

static void put_windows(const struct metrics_out *o, const struct metrics_source *from)
{
	const Profd__Control__Session *s = metrics_system_session(from);

	if (s)
		metric_put(o, NULL, NULL, s->windows_written);
}

static void put_dropped(const struct metrics_out *o, const struct metrics_source *from)
{
	const Profd__Control__Session *s = metrics_system_session(from);

	if (s)
		metric_put_reasons(o, s->dropped, s->n_dropped);
}

static void put_sessions(const struct metrics_out *o, const struct metrics_source *from)
{
	metric_put(o, NULL, NULL, from->status->n_sessions);
}

static void put_processes(const struct metrics_out *o, const struct metrics_source *from)
{
	metric_put(o, NULL, NULL, from->status->processes);
}

static void put_warnings(const struct metrics_out *o, const struct metrics_source *from)
{
	metric_put(o, NULL, NULL, from->status->n_warnings);
}

static void put_services(const struct metrics_out *o, const struct metrics_source *from)
{
	const struct service_cpu_entry *e = NULL;

	while ((e = service_cpu_next(from->services, e)))
		metric_put_seconds(o, "service", service_cpu_name(e),
				   (double)service_cpu_ns(e) / 1e9);
}

static void put_functions(const struct metrics_out *o, const struct metrics_source *from)
{
	const struct function_cpu_entry *e = NULL;

	while (from->functions && (e = function_cpu_next(from->functions, e))) {
		fprintf(o->out, "%s%s{", o->row->name, metric_suffixes[o->row->kind]);
		metric_print_label(o, "service", function_cpu_service(e));
		fputc(',', o->out);
		metric_print_label(o, "function", function_cpu_name(e));
		fprintf(o->out, "} %.9f\n", (double)function_cpu_ns(e) / 1e9);
	}
}

static void put_functions_failed(const struct metrics_out *o, const struct metrics_source *from)
{
	if (from->functions)
		metric_put(o, NULL, NULL, from->functions_failed);
}

/* Of each target, a number of its counters. */
#define EXPORT_METRIC(metric, expression)                                      \
	static void put_export_##metric(const struct metrics_out *o,           \
					const struct metrics_source *from)     \
	{                                                                      \
		for (size_t i = 0; i < from->n_exports; i++) {                 \
			const struct exporter_counters *x = &from->exports[i]; \
                                                                               \
			metric_put(o, "target", x->name, expression);          \
		}                                                              \
	}

EXPORT_METRIC(sent_windows, x->sent_windows)
EXPORT_METRIC(sent_requests, x->sent_requests)
EXPORT_METRIC(sent_bytes, x->sent_bytes)
EXPORT_METRIC(retried_windows, x->retried)
EXPORT_METRIC(repeated_windows, x->repeated)
EXPORT_METRIC(refused_windows, x->refused)
EXPORT_METRIC(dropped_windows, x->dropped + x->gone)
EXPORT_METRIC(waiting_windows, x->waiting)
EXPORT_METRIC(waiting_bytes, x->waiting_bytes)
EXPORT_METRIC(held_windows, x->held)
EXPORT_METRIC(lag_seconds, x->lag_s)

static void put_requests(const struct metrics_out *o, const struct metrics_source *from)
{
	static const char *const statuses[] = {NULL, NULL, "2xx", NULL, "4xx", "5xx"};

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i])
			metric_put(o, "status", statuses[i], from->http->requests[i]);
}

static void put_refused(const struct metrics_out *o, const struct metrics_source *from)
{
	static const char *const reasons[HTTP_REFUSALS] = {
		[HTTP_REFUSED_MALFORMED] = "malformed",
		[HTTP_REFUSED_TOO_LARGE] = "too_large",
		[HTTP_REFUSED_INCOMPLETE] = "incomplete",
		[HTTP_REFUSED_NO_REQUEST] = "no_request",
		[HTTP_REFUSED_CONNECTION] = "too_many_connections",
	};

	for (size_t i = 0; i < HTTP_REFUSALS; i++)
		metric_put(o, "reason", reasons[i], from->http->refused[i]);
}

static void put_connections(const struct metrics_out *o, const struct metrics_source *from)
{
	metric_put(o, NULL, NULL, from->http->connections);
}

static void put_slow(const struct metrics_out *o, const struct metrics_source *from)
{
	metric_put(o, NULL, NULL, from->http->slow);
}

static const struct metric_row metric_rows[] = {
	{"profd_build", METRIC_INFO, "Version of profd.", put_build},
	{"profd_uptime_seconds", METRIC_GAUGE, "Time since profd started.", put_uptime},
	{"profd_samples", METRIC_COUNTER, "Ticks that were expected, by whether they were counted.",
	 put_samples},
	{"profd_lost_samples", METRIC_COUNTER, "Ticks that left no sample, by reason.", put_lost},
	{"profd_stacks", METRIC_COUNTER, "Stacks of samples that were counted, by how they ended.",
	 put_stacks},
	{"profd_truncated_stacks", METRIC_COUNTER,
	 "Stacks whose outer frames are missing, by reason.", put_truncated},
	{"profd_broken_stacks", METRIC_COUNTER,
	 "Stacks that could not be unwound to their root, by reason.", put_broken},
	{"profd_dropped_samples", METRIC_COUNTER,
	 "Samples that the system session had no room for, by reason.", put_dropped},
	{"profd_cpu_seconds", METRIC_COUNTER,
	 "CPU time of profd, its helpers and its BPF programs.", put_cpu},
	{"profd_resident_memory_bytes", METRIC_GAUGE, "Memory of profd and its helpers.",
	 put_resident},
	{"profd_bpf_memory_bytes", METRIC_GAUGE,
	 "Kernel memory of profd's BPF programs, maps and buffers.", put_bpf},
	{"profd_memory_budget_bytes", METRIC_GAUGE, "Memory that profd may use.", put_budget},
	{"profd_store_bytes", METRIC_GAUGE, "Disk space of the store.", put_store_bytes},
	{"profd_store_files", METRIC_GAUGE, "Files in the store.", put_store_files},
	{"profd_store_full", METRIC_GAUGE, "1 if the store has no room for another window.",
	 put_store_full},
	{"profd_windows_written", METRIC_COUNTER, "Windows of the system session that were stored.",
	 put_windows},
	{"profd_window_write_seconds", METRIC_GAUGE, "Time that storing the last window took.",
	 put_window_write},
	{"profd_window_write_failed", METRIC_GAUGE, "1 if the last window could not be stored.",
	 put_window_failed},
	{"profd_sessions", METRIC_GAUGE, "Sessions, with that of the system.", put_sessions},
	{"profd_processes", METRIC_GAUGE, "Processes that profd knows.", put_processes},
	{"profd_warnings", METRIC_GAUGE, "Warnings in profd's status.", put_warnings},
	{"profd_service_cpu_seconds", METRIC_COUNTER,
	 "CPU time of a service that was sampled, since the first scrape.", put_services},
	{"profd_function_cpu_seconds", METRIC_COUNTER,
	 "CPU time that a function of a service used itself, in stored windows.", put_functions},
	{"profd_function_reads_failed", METRIC_COUNTER,
	 "Times that stored windows could not be read for functions.", put_functions_failed},
	{"profd_export_sent_windows", METRIC_COUNTER,
	 "Stored windows that a target of exports has taken.", put_export_sent_windows},
	{"profd_export_sent_requests", METRIC_COUNTER,
	 "Requests that a target has taken: a large window is several.", put_export_sent_requests},
	{"profd_export_sent_bytes", METRIC_COUNTER, "Bytes of these requests.",
	 put_export_sent_bytes},
	{"profd_export_retried_windows", METRIC_COUNTER,
	 "Times that a window has to be sent again, since the target did not take it.",
	 put_export_retried_windows},
	{"profd_export_repeated_windows", METRIC_COUNTER,
	 "Of these, times that the target may have stored what is sent again.",
	 put_export_repeated_windows},
	{"profd_export_refused_windows", METRIC_COUNTER, "Windows that a target does not take.",
	 put_export_refused_windows},
	{"profd_export_dropped_windows", METRIC_COUNTER,
	 "Windows that were not sent: more waited than spool_size, or the store has them no more.",
	 put_export_dropped_windows},
	{"profd_export_waiting_windows", METRIC_GAUGE, "Windows that are to be sent.",
	 put_export_waiting_windows},
	{"profd_export_waiting_bytes", METRIC_GAUGE, "Bytes of them in the store.",
	 put_export_waiting_bytes},
	{"profd_export_held_windows", METRIC_GAUGE,
	 "Windows that are kept, since they are too old for the target.", put_export_held_windows},
	{"profd_export_lag_seconds", METRIC_GAUGE, "Time since the oldest window that waits ended.",
	 put_export_lag_seconds},
	{"profd_gateway_requests", METRIC_COUNTER, "HTTP requests that the gateway answered.",
	 put_requests},
	{"profd_gateway_slow_connections", METRIC_COUNTER,
	 "Connections that the gateway closed because the client was too slow.", put_slow},
	{"profd_gateway_http_refused", METRIC_COUNTER,
	 "Requests that were no valid HTTP or not complete, and connections without one, by "
	 "reason.",
	 put_refused},
	{"profd_gateway_http_connections", METRIC_GAUGE, "Connections to the gateway.",
	 put_connections},
};

static void metric_print(const struct metric_row *row, const struct metrics_source *from,
			 bool is_openmetrics, FILE *out)
{
	static const char *const types[] = {
		[METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_INFO] = "info"};
	const struct metrics_out o = {out, row};
	/* To the text format, a name is what the samples have, and there is no info. */
	const char *suffix = is_openmetrics ? "" : metric_suffixes[row->kind];
	const char *type = row->kind == METRIC_INFO && !is_openmetrics ? types[METRIC_GAUGE]
								       : types[row->kind];

	fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", row->name, suffix, row->help, row->name,
		suffix, type);
	row->print(&o, from);
}

int metrics_print(const struct metrics_source *from, bool is_openmetrics, char **ret,
		  size_t *ret_length)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r = memory_text_open(&text);

	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(metric_rows); i++)
		metric_print(&metric_rows[i], from, is_openmetrics, text.out);
	if (is_openmetrics)
		fputs("# EOF\n", text.out);
	r = memory_text_close(&text);
	if (r)
		return r;
	*ret_length = text.length;
	*ret = steal_ptr(&text.text);
	return 0;
}
