/* SPDX-License-Identifier: MIT */
/*
 * Twice over the files of the range: first each service's sum, which says which of them are listed,
 * and which parts of the range are covered (usage_covered.h); then the steps of those that are
 * listed, and those of all others together. Memory is that of the answer, and a row per service.
 *
 * A window's busiest second (peak.h) is in the step in which it begins. Of the open window it is
 * not known yet.
 */
#include "daemon/output/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/order.h"
#include "common/text_print.h"
#include "daemon/output/file_counts.h"
#include "daemon/output/snapshot.h"
#include "daemon/output/store.h"
#include "daemon/output/usage_covered.h"
#include "daemon/output/usage_events.h"
#include "daemon/output/usage_peaks.h"
#include "daemon/output/view.h"

struct usage_service {
	char *name;
	const struct index_shelf *shelf; /* NULL: it is in the open window only */
	uint64_t open_ns;                /* CPU time in that */
	double cpu_ns;                   /* in the range */
	bool has_samples;                /* the same, if not of CPU time */
};

struct usage {
	const struct usage_options *options;
	struct file_counts counts;
	uint64_t since_ns, until_ns;
	double step_ns;
	struct usage_service *services;
	size_t n, max;
	struct usage_covered covered;
	double *steps;     /* of the service in work; NULL: in the first round */
	bool has_samples;  /* that service */
	double spanned_ns; /* by its windows, in the range */
	struct usage_peaks peaks;
	struct usage_events events;
};

void usage_free(Profd__Control__UsageTable *table)
{
	profd__control__usage_table__free_unpacked(table, NULL);
}

static void usage_deinit(struct usage *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->services[i].name);
	free(u->services);
	usage_covered_deinit(&u->covered);
	free(u->steps);
	usage_peaks_deinit(&u->peaks);
	usage_events_deinit(&u->events);
}

/* --- one window ------------------------------------------------------------------------------- */

/* Spreads @cpu_ns over [@start_ns, @end_ns), of which a part is in the range: returns that. */
static double usage_spread(struct usage *u, uint64_t start_ns, uint64_t end_ns, uint64_t cpu_ns)
{
	uint64_t from_ns = start_ns > u->since_ns ? start_ns : u->since_ns;
	uint64_t to_ns = end_ns < u->until_ns ? end_ns : u->until_ns;
	double per_ns = (double)cpu_ns / (double)(end_ns - start_ns);
	double at = (double)(from_ns - u->since_ns), end = (double)(to_ns - u->since_ns);

	if (from_ns >= to_ns)
		return 0;
	u->spanned_ns += (double)(to_ns - from_ns);
	for (size_t step = (size_t)(at / u->step_ns); u->steps && step < u->options->steps;
	     step++) {
		double step_end = u->step_ns * (double)(step + 1);
		double next = step_end < end ? step_end : end;

		if (next <= at)
			break;
		u->steps[step] += (next - at) * per_ns;
		at = next;
	}
	return (double)(to_ns - from_ns) * per_ns;
}

static double usage_add_hours(struct usage *u, const struct index_file *file,
			      const struct index_counts *hours)
{
	double sum = 0;

	for (size_t i = 0; i < STORE_HOURS; i++) {
		uint64_t start_ns = (file->start_s + i * NAMES_ROLLED_HOUR_S) * NS_PER_S;

		sum += usage_spread(u, start_ns, start_ns + NAMES_ROLLED_HOUR_S * NS_PER_S,
				    hours[i].cpu_ns);
		if (u->steps)
			usage_peaks_add(&u->peaks, hours[i].peak, start_ns / NS_PER_S);
	}
	return sum;
}

/* In the first round, which is over the files of all services. */
static int usage_add_events(struct usage *u, const char *path, const struct index_file *file,
			    const char *service)
{
	cleanup(freep) char *events = !u->steps && file->counts.has_events
					      ? file_counts_events(u->counts.store, path)
					      : NULL;
	const char *text = u->options->text;
	const bool is_asked_for = !text || strcasestr(service, text);

	return events ? usage_events_add(&u->events, events, file->start_s,
					 is_asked_for ? service : NULL)
		      : 0;
}

static int usage_add_covered(struct usage *u, const char *path, const struct index_file *file)
{
	uint64_t start_ns = file->start_s * NS_PER_S;
	struct index_counts hours[STORE_HOURS];
	struct usage_day *day;
	int r;

	if (u->steps)
		return 0;
	if (file->seconds != NAMES_ROLLED_DAY_S) {
		usage_covered_add(&u->covered, start_ns, start_ns + file->seconds * NS_PER_S);
		return 0;
	}
	r = usage_covered_day(&u->covered, file->start_s, &day);
	if (!r && !usage_day_is_full(day))
		usage_covered_add_hours(&u->covered, day,
					file_counts_find_hours(&u->counts, path, file, hours)
						? hours
						: NULL);
	return r;
}

/* Of most files, the index has all that is asked for. */
static bool usage_needs_path(const struct index_file *file)
{
	return file->seconds == NAMES_ROLLED_DAY_S || file->counts.has_events ||
	       file->counts.samples == INDEX_SAMPLES_UNKNOWN;
}

static int usage_add_file(struct usage *u, const struct usage_service *s, struct index_file *file,
			  double *sum)
{
	uint64_t start_ns = file->start_s * NS_PER_S;
	uint64_t end_ns = start_ns + (uint64_t)file->seconds * NS_PER_S;
	bool is_whole = start_ns >= u->since_ns && end_ns <= u->until_ns;
	struct index_counts hours[STORE_HOURS];
	char path[STORE_PATH_SIZE] = "";
	int r;

	if (end_ns <= u->since_ns || start_ns >= u->until_ns || end_ns == start_ns)
		return 0;
	if (usage_needs_path(file) && !index_path(s->shelf, file, path, sizeof(path)))
		return 0;
	r = usage_add_covered(u, path, file)
		    ?: file_counts_know(&u->counts, path, CONTENTS_PPROF, file)
		    ?: usage_add_events(u, path, file, s->name);
	if (r || file->counts.samples == INDEX_SAMPLES_UNKNOWN)
		return r;
	u->has_samples |= file->counts.samples > 0;
	/* Its sum alone is known without its hours. */
	if (!(is_whole && !u->steps) && file_counts_find_hours(&u->counts, path, file, hours)) {
		*sum += usage_add_hours(u, file, hours);
		return 0;
	}
	*sum += usage_spread(u, start_ns, end_ns, file->counts.cpu_ns);
	if (u->steps)
		usage_peaks_add(&u->peaks, file->counts.peak, file->start_s);
	return 0;
}

/* --- services --------------------------------------------------------------------------------- */

/* Of @cpu_ns, in a second. */
static uint64_t usage_mean(const struct usage *u, double cpu_ns)
{
	return u->spanned_ns > 0 ? (uint64_t)(cpu_ns / u->spanned_ns * NS_PER_S) : 0;
}

/* What it has in the range; its steps are added to u->steps. */
static int usage_add_service(struct usage *u, const struct usage_service *s, double *ret)
{
	const struct snapshot *open = u->options->open;
	struct index_queue *queue = s->shelf
					    ? index_pprof((struct index_shelf *)(uintptr_t)s->shelf)
					    : NULL;
	double sum = 0;
	int r = 0;

	u->has_samples = false;
	u->spanned_ns = 0;
	for (size_t i = queue ? queue->first : 0; queue && i < queue->end && !r; i++)
		r = usage_add_file(u, s, &queue->files[i], &sum);
	if (!r && s->open_ns)
		sum += usage_spread(u, open->start_ns, open->start_ns + open->duration_ns,
				    s->open_ns);
	if (u->steps)
		usage_peaks_end_service(&u->peaks, s->name, usage_mean(u, sum));
	*ret = sum;
	return r;
}

static int usage_append(struct usage *u, const char *name, struct usage_service **ret)
{
	size_t max = u->max ? 2 * u->max : 64;
	struct usage_service *grown;

	if (u->n == u->max) {
		grown = reallocarray(u->services, max, sizeof(*grown));
		if (!grown)
			return error_origin(-ENOMEM);
		u->services = grown;
		u->max = max;
	}
	*ret = &u->services[u->n];
	**ret = (struct usage_service){0};
	u->n++;
	return text_copy(&(*ret)->name, name);
}

static int usage_find_shelves(struct usage *u, const struct store *store)
{
	char name[NAMES_ESCAPED_MAX + 1];
	struct usage_service *s;
	int r = 0;

	for (const struct index_shelf *shelf = store->index.shelves; shelf && !r;
	     shelf = shelf->hh.next) {
		if (shelf->is_session ||
		    !names_unescape(strchr(shelf->dir, '/') + 1, name, sizeof(name)))
			continue;
		r = usage_append(u, name, &s);
		if (!r)
			s->shelf = shelf;
	}
	return r;
}

static int usage_compare_names(const void *a, const void *b)
{
	return strcmp(((const struct usage_service *)a)->name,
		      ((const struct usage_service *)b)->name);
}

static int usage_compare_cpu(const void *a, const void *b)
{
	const struct usage_service *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	if (x->has_samples != y->has_samples)
		return x->has_samples ? -1 : 1;
	return usage_compare_names(a, b);
}

static int usage_find_open(struct usage *u)
{
	const struct snapshot *open = u->options->open;
	cleanup(view_freep) struct view *view = NULL;
	size_t n_shelves = u->n;
	int r = open && open->duration_ns ? view_new(&view, open) : 0;

	if (r || !view)
		return r;
	usage_covered_add(&u->covered, open->start_ns, open->start_ns + open->duration_ns);
	if (n_shelves)
		qsort(u->services, n_shelves, sizeof(*u->services), usage_compare_names);
	for (size_t i = 0; i < view->n_groups && !r; i++) {
		const struct view_group *group = &view->groups[i];
		const struct usage_service wanted = {.name = (char *)(uintptr_t)group->service};
		struct usage_service *s = n_shelves ? bsearch(&wanted, u->services, n_shelves,
							      sizeof(*u->services),
							      usage_compare_names)
						    : NULL;

		if (!s)
			r = usage_append(u, group->service, &s);
		for (size_t k = group->first; k < group->first + group->n && !r; k++)
			s->open_ns += view_cpu_ns(view, &view->entries[k]);
	}
	return r;
}

/* Sums, first the services that are asked for, with the most first. Returns how many have any. */
static int usage_rank(struct usage *u, size_t *ret_n)
{
	const char *text = u->options->text;
	int r = 0;

	for (size_t i = 0; i < u->n && !r; i++) {
		r = usage_add_service(u, &u->services[i], &u->services[i].cpu_ns);
		u->services[i].has_samples = u->has_samples;
		if (text && !strcasestr(u->services[i].name, text)) {
			u->services[i].cpu_ns = 0;
			u->services[i].has_samples = false;
		}
	}
	*ret_n = 0;
	if (r || !u->n)
		return r;
	qsort(u->services, u->n, sizeof(*u->services), usage_compare_cpu);
	for (*ret_n = 0;
	     *ret_n < u->n && (u->services[*ret_n].cpu_ns > 0 || u->services[*ret_n].has_samples);)
		++*ret_n;
	return 0;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Of u->steps, which are 0 then. */
static int usage_make_row(struct usage *u, const char *name, double cpu_ns,
			  Profd__Control__UsageRow **ret)
{
	Profd__Control__UsageRow *row = malloc(sizeof(*row));

	if (!row)
		return error_origin(-ENOMEM);
	profd__control__usage_row__init(row);
	*ret = row; /* the table's */
	row->cpu_ns = (uint64_t)(cpu_ns + 0.5);
	row->step_ns = calloc(u->options->steps, sizeof(*row->step_ns));
	if (!row->step_ns)
		return error_origin(-ENOMEM);
	row->n_step_ns = u->options->steps;
	for (size_t i = 0; i < row->n_step_ns; i++) {
		row->step_ns[i] = (uint64_t)(u->steps[i] + 0.5);
		u->steps[i] = 0;
	}
	return usage_peaks_end_row(&u->peaks, row) ?: text_copy(&row->service, name);
}

static int usage_make_rows(struct usage *u, Profd__Control__UsageTable *table, size_t n)
{
	size_t n_rows = n < u->options->limit ? n : u->options->limit;
	double others = 0, sum;
	int r = 0;

	table->rows = calloc(n_rows + 1, sizeof(*table->rows));
	if (!table->rows)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n_rows && !r; i++) {
		r = usage_add_service(u, &u->services[i], &sum)
			    ?: usage_make_row(u, u->services[i].name, sum, &table->rows[i]);
		table->n_rows += table->rows[i] != NULL;
	}
	for (size_t i = n_rows; i < n && !r; i++) {
		r = usage_add_service(u, &u->services[i], &sum);
		others += sum;
	}
	table->n_others = n - n_rows;
	return r ?: usage_make_row(u, "", others, &table->others);
}

static int usage_make_covered(const struct usage *u, Profd__Control__UsageTable *table)
{
	table->covered = calloc(u->options->steps, sizeof(*table->covered));
	if (!table->covered)
		return error_origin(-ENOMEM);
	table->n_covered = u->options->steps;
	usage_covered_list(&u->covered, table->covered);
	return 0;
}

static int usage_prepare(struct usage *u, const struct store *store)
{
	uint64_t oldest_s, newest_s;

	u->since_ns = u->options->since_ns;
	u->until_ns = u->options->until_ns;
	index_span(&store->index, &oldest_s, &newest_s);
	if (!u->since_ns)
		u->since_ns = oldest_s * NS_PER_S;
	if (u->since_ns >= u->until_ns)
		u->since_ns = u->until_ns ? u->until_ns - 1 : 0;
	u->step_ns = (double)(u->until_ns - u->since_ns) / u->options->steps;
	u->events = (struct usage_events){.since_ns = u->since_ns,
					  .until_ns = u->until_ns,
					  .step_ns = u->step_ns};
	return usage_covered_init(&u->covered, u->since_ns, u->until_ns, u->options->steps);
}

int usage_new(Profd__Control__UsageTable **ret, struct store *store,
	      const struct usage_options *options)
{
	cleanup(usage_freep) Profd__Control__UsageTable *table = malloc(sizeof(*table));
	cleanup(usage_deinit) struct usage u = {.options = options, .counts = {.store = store}};
	size_t n = 0;
	int r;

	if (!table)
		return error_origin(-ENOMEM);
	profd__control__usage_table__init(table);
	r = usage_prepare(&u, store)
		?: usage_find_shelves(&u, store)
		?: usage_find_open(&u)
		?: usage_rank(&u, &n);
	if (r)
		return r;
	u.steps = calloc(options->steps, sizeof(*u.steps));
	r = u.steps ? usage_make_covered(&u, table) : error_origin(-ENOMEM);
	r = r	?: usage_peaks_init(&u.peaks, u.since_ns, u.step_ns, options->steps)
		?: usage_make_rows(&u, table, n)
		?: usage_peaks_list(&u.peaks, table);
	if (r)
		return r;
	usage_events_list(&u.events, table);
	table->since_ns = u.since_ns;
	table->until_ns = u.until_ns;
	table->step_ns = (uint64_t)u.step_ns;
	table->unread_files = u.counts.n_unread;
	*ret = steal_ptr(&table);
	return 0;
}
