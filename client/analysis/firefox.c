/* SPDX-License-Identifier: MIT */
/*
 * Threads are found first: a number for each sample, and the samples in the order of these. Then
 * each thread has its tables and rows made and written, in memory that the next one uses again.
 */
#include "client/analysis/firefox.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/analysis/firefox_rows.h"
#include "client/analysis/firefox_tables.h"
#include "client/analysis/json_text.h"
#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/profile/coverage.h"
#include "common/profile/intern.h"
#include "common/profile/sample_times.h"
#include "common/profile/value_types.h"

#define VERSION_PROCESSED "55"
#define VERSION_GECKO     "31"
#define INTERVAL_MS       10.0 /* of profiles that have none, which is drawn only */

/* What tells it apart; without padding: compared as bytes. */
struct firefox_thread {
	int64_t pid, tid;    /* -1: no label */
	uint32_t comm, name; /* strings; 0: no label */
};

struct firefox {
	const struct profile *p;
	FILE *out;
	uint32_t pid_key, tid_key, comm_key, thread_key;
	struct firefox_thread *threads;
	struct intern threads_in;
	uint32_t *of_sample; /* thread */
	uint32_t *order;     /* samples, by thread */
	uint32_t *ranks;     /* threads, in the order in which they are written */
	double begin_ms, cpu_ns;
	struct profile_coverage covered;
	struct firefox_tables tables;
	struct firefox_rows rows;
};

static void firefox_deinit(struct firefox *f)
{
	free(f->threads);
	intern_deinit(&f->threads_in);
	free(f->of_sample);
	free(f->order);
	free(f->ranks);
	profile_coverage_deinit(&f->covered);
	firefox_tables_deinit(&f->tables);
	firefox_rows_deinit(&f->rows);
}

/* --- threads ---------------------------------------------------------------------------------- */

static int firefox_find_thread(struct firefox *f, size_t sample, uint32_t *ret)
{
	const struct profile_sample *s = &f->p->samples[sample];
	struct firefox_thread thread = {.pid = -1, .tid = -1};

	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &f->p->sample_labels[s->first_label + i];

		if (l->key == f->pid_key && !l->str)
			thread.pid = l->num;
		else if (l->key == f->tid_key && !l->str)
			thread.tid = l->num;
		else if (l->key == f->comm_key)
			thread.comm = l->str;
		else if (l->key == f->thread_key)
			thread.name = l->str;
	}
	return intern_add(&f->threads_in, &f->threads, &thread, sizeof(thread), sizeof(thread),
			  ret);
}

static int firefox_compare_samples(const void *a, const void *b, void *of_sample)
{
	const uint32_t *thread = of_sample, i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	return order_of(thread[i], thread[j]) ?: order_of(i, j);
}

/* Whether its name is its process's. */
static bool thread_is_main(const struct firefox_thread *t)
{
	return t->tid >= 0 ? t->tid == t->pid : !t->name || t->name == t->comm;
}

static int firefox_compare_threads(const void *a, const void *b, void *threads)
{
	const struct firefox_thread *all = threads;
	const struct firefox_thread *x = &all[*(const uint32_t *)a],
				    *y = &all[*(const uint32_t *)b];

	return order_of(x->pid, y->pid) ?: order_of(thread_is_main(y), thread_is_main(x))
					?: order_of(x->tid, y->tid) ?: order_of(x, y);
}

static int firefox_find_threads(struct firefox *f)
{
	const size_t n = f->p->n_samples;
	int r = 0;

	f->of_sample = calloc(n + 1, sizeof(*f->of_sample));
	f->order = calloc(n + 1, sizeof(*f->order));
	if (!f->of_sample || !f->order)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < n && !r; i++) {
		f->order[i] = i;
		r = firefox_find_thread(f, i, &f->of_sample[i]);
	}
	if (r)
		return r;
	f->ranks = calloc(f->threads_in.n + 1, sizeof(*f->ranks));
	if (!f->ranks)
		return error_origin(-ENOMEM);
	for (uint32_t i = 0; i < f->threads_in.n; i++)
		f->ranks[i] = i;
	if (n) {
		qsort_r(f->order, n, sizeof(*f->order), firefox_compare_samples, f->of_sample);
		qsort_r(f->ranks, f->threads_in.n, sizeof(*f->ranks), firefox_compare_threads,
			f->threads);
	}
	return 0;
}

/* --- what is said of the whole ---------------------------------------------------------------- */

/* When the first sample was, in whole milliseconds. */
static void firefox_find_begin(struct firefox *f)
{
	const struct profile *p = f->p;
	uint64_t first = p->time_ns > 0 ? (uint64_t)p->time_ns / PROFILE_BUCKET_NS : UINT64_MAX;

	for (size_t i = 0; i < p->n_times; i++)
		if (p->times[i].bucket < first)
			first = p->times[i].bucket;
	f->begin_ms = first == UINT64_MAX ? 0 : (double)first * PROFILE_BUCKET_NS / 1e6;
}

/* The time that a sample is a measure of, where the profile is one of time. */
static void firefox_find_interval(struct firefox *f)
{
	const char *unit = profile_string(f->p, f->p->period_type.unit);

	f->rows.interval_ms = INTERVAL_MS;
	/* Time without a CPU is none of what a thread used. */
	if (strcmp(unit, "nanoseconds") != 0 || f->p->period <= 0 ||
	    strcmp(profile_string(f->p, f->p->period_type.type), "off_cpu") == 0)
		return;
	f->cpu_ns = (double)f->p->period;
	f->rows.interval_ms = f->cpu_ns / 1e6;
}

#define FIREFOX_CATEGORY_JSON(number, name, colour) \
	"{\"name\":\"" name "\",\"color\":\"" colour "\",\"subcategories\":[\"Other\"]},"

static void firefox_write_meta(const struct firefox *f)
{
	static const char categories[] = FIREFOX_CATEGORIES(FIREFOX_CATEGORY_JSON);

	fprintf(f->out,
		"{\"meta\":{\"version\":" VERSION_GECKO
		",\"preprocessedProfileVersion\":" VERSION_PROCESSED
		",\"product\":\"profd\",\"importedFrom\":\"profd " PROFD_VERSION
		"\",\"processType\":0,\"stackwalk\":1,\"symbolicated\":true,"
		"\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		"\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
		"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
		"\"startTime\":%.0f,\"interval\":%.6f,\"categories\":[%.*s],"
		"\"markerSchema\":[]},\n",
		f->begin_ms, f->rows.interval_ms, (int)(sizeof(categories) - 2), categories);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A build id as Breakpad has it: its first 16 bytes as a GUID, whose first three parts are
 * little-endian numbers, and 0. */
static void firefox_write_breakpad_id(const char *build_id, FILE *out)
{
	static const uint8_t bytes[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	const size_t n = strlen(build_id);

	fputc('"', out);
	for (size_t i = 0;
	     i < ARRAY_SIZE(bytes) && n >= 2 && strspn(build_id, "0123456789abcdef") == n; i++)
		for (size_t j = 2 * bytes[i]; j < 2 * bytes[i] + 2u; j++)
			fputc(j < n ? toupper((unsigned char)build_id[j]) : '0', out);
	fputs(n >= 2 ? "0\"" : "\"", out);
}

static void firefox_write_library(const struct profile *p, const struct profile_mapping *m,
				  FILE *out)
{
	const char *path = profile_string(p, m->path), *build_id = profile_string(p, m->build_id);

	fputs("{\"arch\":\"\",\"name\":", out);
	json_text_write(out, base_name(path));
	fputs(",\"path\":", out);
	json_text_write(out, path);
	fputs(",\"debugName\":", out);
	json_text_write(out, base_name(path));
	fputs(",\"debugPath\":", out);
	json_text_write(out, path);
	fputs(",\"breakpadId\":", out);
	firefox_write_breakpad_id(build_id, out);
	fputs(",\"codeId\":", out);
	if (*build_id)
		json_text_write(out, build_id);
	else
		fputs("null", out);
	fputc('}', out);
}

static void firefox_write_libraries(const struct firefox *f)
{
	fputs("\"libs\":[", f->out);
	for (size_t i = 0; i < f->p->n_mappings; i++) {
		fputs(i ? ",\n" : "\n", f->out);
		firefox_write_library(f->p, &f->p->mappings[i], f->out);
	}
	fputs("],\n", f->out);
}

/* --- a thread --------------------------------------------------------------------------------- */

/* What is between the spans in which there was sampling. */
static void firefox_write_pauses(const struct firefox *f)
{
	fputs("\"pausedRanges\":[", f->out);
	for (size_t i = 1; i < f->covered.n; i++)
		fprintf(f->out,
			"%s{\"startTime\":%.3f,\"endTime\":%.3f,\"reason\":\"profiler-paused\"}",
			i > 1 ? "," : "", (double)f->covered.all[i - 1].end_ns / 1e6 - f->begin_ms,
			(double)f->covered.all[i].start_ns / 1e6 - f->begin_ms);
	fputs("],", f->out);
}

static void firefox_write_thread_head(const struct firefox *f, uint32_t rank)
{
	const struct firefox_thread *t = &f->threads[f->ranks[rank]];
	const bool is_first = !rank || f->threads[f->ranks[rank - 1]].pid != t->pid;
	const char *comm = profile_string(f->p, t->comm), *name = profile_string(f->p, t->name);

	fputs("{\"processType\":\"default\",\"processName\":", f->out);
	json_text_write(f->out, *comm ? comm : "all processes");
	fputs(",\"name\":", f->out);
	json_text_write(f->out, *name ? name : *comm ? comm : "all threads");
	fprintf(f->out, ",\"isMainThread\":%s,\"pid\":\"%" PRId64 "\",\"tid\":",
		is_first ? "true" : "false", t->pid >= 0 ? t->pid : 0);
	if (t->tid >= 0)
		fprintf(f->out, "%" PRId64 ",", t->tid);
	else
		fprintf(f->out, "\"%" PRId64 "-%" PRIu32 "\",", t->pid >= 0 ? t->pid : 0, rank);
	fputs("\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
	      "\"unregisterTime\":null,",
	      f->out);
	firefox_write_pauses(f);
	fputs("\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],"
	      "\"phase\":[],\"startTime\":[]},\n",
	      f->out);
}

/* The samples from @begin up to @end of the order. */
static int firefox_write_thread(struct firefox *f, uint32_t rank, size_t begin, size_t end)
{
	int r = 0;

	firefox_tables_clear(&f->tables);
	f->rows.n = 0;
	for (size_t i = begin; i < end && !r; i++) {
		const uint32_t sample = f->order[i];
		uint32_t stack;

		if (f->p->sample_values[(size_t)sample * f->p->n_sample_types] <= 0 ||
		    value_types_is_wait(f->p, sample))
			continue;
		r = firefox_tables_add(&f->tables, sample, &stack)
			    ?: firefox_rows_add(&f->rows, f->p, sample, stack);
	}
	if (!r)
		r = firefox_rows_arrange(&f->rows);
	if (r)
		return r;
	firefox_write_thread_head(f, rank);
	firefox_tables_write(&f->tables, f->out);
	firefox_rows_write(&f->rows, f->begin_ms, f->cpu_ns, f->out);
	fputs("\"usedInnerWindowIDs\":[]}", f->out);
	return 0;
}

static int firefox_write_threads(struct firefox *f)
{
	const size_t n = f->p->n_samples;

	fputs("\"threads\":[", f->out);
	for (uint32_t rank = 0; rank < f->threads_in.n; rank++) {
		const uint32_t thread = f->ranks[rank];
		size_t begin = partition_point(n, i, f->of_sample[f->order[i]] < thread);
		size_t end = partition_point(n, i, f->of_sample[f->order[i]] <= thread);
		int r;

		fputs(rank ? ",\n" : "\n", f->out);
		r = firefox_write_thread(f, rank, begin, end);
		if (r)
			return r;
	}
	fputs("]}\n", f->out);
	return 0;
}

int firefox_write(const struct profile *p, FILE *out)
{
	cleanup(firefox_deinit) struct firefox f = {
		.p = p,
		.out = out,
		.pid_key = profile_find_text(p, "pid"),
		.tid_key = profile_find_text(p, "tid"),
		.comm_key = profile_find_text(p, "comm"),
		.thread_key = profile_find_text(p, "thread"),
		.tables.p = p,
	};
	int r = p->n_sample_types ? firefox_find_threads(&f) : 0;

	if (!r)
		r = profile_coverage_of(p, &f.covered);
	if (r)
		return r;
	firefox_find_begin(&f);
	firefox_find_interval(&f);
	firefox_write_meta(&f);
	firefox_write_libraries(&f);
	return firefox_write_threads(&f);
}
