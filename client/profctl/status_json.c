/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "client/profctl/json.h"
#include "client/profctl/status_view.h"
#include "common/units.h"

static void status_put_moment(struct json *j, const char *key, uint64_t ns)
{
	char buffer[UNITS_TEXT_MAX];

	if (ns)
		json_text(j, key, units_print_moment(buffer, sizeof(buffer), ns, true));
	else
		json_null(j, key);
}

static void status_put_reasons(struct json *j, const char *key,
			       Profd__Control__Reason *const *reasons, size_t n)
{
	json_begin_object(j, key);
	for (size_t i = 0; i < n; i++)
		json_number(j, reasons[i]->name, reasons[i]->count);
	json_end_object(j);
}

static void put_ledger(struct json *j, const Profd__Control__Ledger *ledger)
{
	Profd__Control__Ledger none = PROFD__CONTROL__LEDGER__INIT;
	const Profd__Control__Ledger *l = ledger ? ledger : &none;

	json_begin_object(j, "ledger");
	json_number(j, "expected", l->expected);
	json_number(j, "seen", l->seen);
	json_number(j, "complete", l->complete);
	json_number(j, "no_user", l->no_user);
	status_put_reasons(j, "truncated", l->truncated, l->n_truncated);
	status_put_reasons(j, "broken", l->broken, l->n_broken);
	status_put_reasons(j, "lost", l->lost, l->n_lost);
	json_number(j, "in_flight", l->in_flight);
	json_end_object(j);
}

static void put_costs(struct json *j, const Profd__Control__Status *s)
{
	Profd__Control__Memory no_memory = PROFD__CONTROL__MEMORY__INIT;
	Profd__Control__Cpu no_cpu = PROFD__CONTROL__CPU__INIT;
	const Profd__Control__Memory *memory = s->memory ? s->memory : &no_memory;
	const Profd__Control__Cpu *cpu = s->cpu ? s->cpu : &no_cpu;

	json_begin_object(j, "memory");
	json_number(j, "rss_bytes", memory->rss_bytes);
	json_number(j, "bpf_bytes", memory->bpf_bytes);
	json_number(j, "budget_bytes", memory->budget_bytes);
	json_number(j, "evicted_images", memory->evicted_images);
	json_number(j, "workers_bytes", memory->workers_bytes);
	json_end_object(j);
	json_begin_object(j, "cpu");
	json_real(j, "user_seconds", cpu->user_seconds);
	json_real(j, "system_seconds", cpu->system_seconds);
	json_real(j, "bpf_seconds", cpu->bpf_seconds);
	json_real(j, "workers_seconds", cpu->workers_seconds);
	json_end_object(j);
}

static void put_store(struct json *j, const Profd__Control__Status *s)
{
	Profd__Control__Store none = PROFD__CONTROL__STORE__INIT;
	const Profd__Control__Store *store = s->store ? s->store : &none;

	json_begin_object(j, "store");
	json_text(j, "path", store->path);
	json_number(j, "bytes", store->bytes);
	json_number(j, "files", store->files);
	status_put_moment(j, "oldest", store->oldest_ns);
	json_bool(j, "full", store->full);
	json_end_object(j);
	if (!s->last_flush) {
		json_null(j, "last_flush");
		return;
	}
	json_begin_object(j, "last_flush");
	status_put_moment(j, "started", s->last_flush->started_ns);
	json_real(j, "seconds", s->last_flush->seconds);
	json_number(j, "files", s->last_flush->files);
	if (*s->last_flush->error)
		json_text(j, "error", s->last_flush->error);
	else
		json_null(j, "error");
	json_end_object(j);
}

static void put_session(struct json *j, const Profd__Control__Session *session)
{
	char id[32];

	snprintf(id, sizeof(id), session->id ? "s%" PRIu64 : "system", session->id);
	json_begin_object(j, NULL);
	json_text(j, "id", id);
	json_text(j, "name", session->name);
	json_text(j, "target", session->target);
	json_text(j, "event", session->event);
	json_number(j, "frequency", session->frequency);
	json_number(j, "owner_uid", session->owner_uid);
	status_put_moment(j, "started", session->started_ns);
	json_number(j, "routed", session->routed);
	json_number(j, "counted", session->counted);
	json_number(j, "filtered", session->filtered);
	status_put_reasons(j, "dropped", session->dropped, session->n_dropped);
	json_number(j, "windows_written", session->windows_written);
	json_number(j, "complete", session->complete);
	json_number(j, "no_user", session->no_user);
	status_put_reasons(j, "truncated", session->truncated, session->n_truncated);
	status_put_reasons(j, "broken", session->broken, session->n_broken);
	json_end_object(j);
}

/* This and what follows: only when the daemon tells. */
static void put_unwinding(struct json *j, const Profd__Control__Unwinding *u)
{
	if (!u)
		return;
	json_begin_object(j, "unwinding");
	json_number(j, "tables", u->tables);
	json_number(j, "rows", u->rows);
	json_number(j, "table_bytes", u->table_bytes);
	json_number(j, "waiting", u->waiting);
	for (size_t i = 0; i < u->n_counters; i++)
		json_number(j, u->counters[i]->name, u->counters[i]->count);
	json_end_object(j);
}

static void put_names(struct json *j, const Profd__Control__Names *n)
{
	if (!n)
		return;
	json_begin_object(j, "names");
	json_number(j, "workers_died", n->workers_died);
	json_number(j, "bad_images", n->bad_images);
	json_number(j, "slow_folders", n->slow_folders);
	json_number(j, "openers_lost", n->openers_lost);
	if (*n->last_bad_image)
		json_text(j, "last_bad_image", n->last_bad_image);
	else
		json_null(j, "last_bad_image");
	if (*n->trouble)
		json_text(j, "trouble", n->trouble);
	else
		json_null(j, "trouble");
	json_end_object(j);
}

static void put_lateness(struct json *j, const Profd__Control__Lateness *lateness)
{
	if (!lateness)
		return;
	json_begin_object(j, "drain_lateness");
	json_number(j, "count", lateness->count);
	json_real(j, "p50_seconds", lateness->p50_seconds);
	json_real(j, "p99_seconds", lateness->p99_seconds);
	json_real(j, "p999_seconds", lateness->p999_seconds);
	json_real(j, "max_seconds", lateness->max_seconds);
	json_end_object(j);
}

void status_print_json(const Profd__Control__Status *s, bool compact, FILE *out)
{
	struct json j = {.out = out, .compact = compact};

	json_begin_object(&j, NULL);
	json_text(&j, "version", s->version);
	json_number(&j, "pid", (uint64_t)s->pid);
	json_real(&j, "uptime_seconds", s->uptime_seconds);
	json_text(&j, "host", s->host);
	json_text(&j, "kernel", s->kernel);
	json_text(&j, "source", s->source);
	json_text(&j, "event", s->event);
	json_number(&j, "frequency", s->frequency);
	json_begin_array(&j, "warnings");
	for (size_t i = 0; i < s->n_warnings; i++)
		json_text(&j, NULL, s->warnings[i]);
	json_end_array(&j);
	put_ledger(&j, s->ledger);
	json_number(&j, "throttled", s->throttled);
	put_costs(&j, s);
	json_number(&j, "processes", s->processes);
	json_number(&j, "attached", s->attached);
	json_number(&j, "images", s->images);
	json_number(&j, "avoided_files", s->avoided_files);
	json_number(&j, "refused_jit_files", s->refused_jit_files);
	put_store(&j, s);
	json_begin_array(&j, "sessions");
	for (size_t i = 0; i < s->n_sessions; i++)
		put_session(&j, s->sessions[i]);
	json_end_array(&j);
	put_unwinding(&j, s->unwinding);
	put_names(&j, s->names);
	put_lateness(&j, s->drain_lateness);
	json_end_object(&j);
	json_end(&j);
}
