/* SPDX-License-Identifier: MIT */
/*
 * profd answers with rows, of services or of the windows of one; of several services it is asked
 * for all, which the shares are of. As JSON each row is an object; for people the files of one
 * window that are of a process each become one line.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "client/profctl/page_address.h"
#include "client/profctl/services.h"
#include "client/profctl/table.h"
#include "client/top/terminal.h"
#include "common/clock.h"
#include "common/order.h"
#include "common/store/names.h"
#include "common/units.h"

int check_time_range(uint64_t since_ns, uint64_t until_ns, struct usage_message *message)
{
	if (until_ns && until_ns < since_ns)
		return usage_error(message, "--until is before --since");
	return 0;
}

int option_no_operand(const char *name, const char *word, void *to, struct usage_message *message)
{
	bool is_pid = to && *word && strspn(word, "0123456789") == strlen(word);

	(void)name;
	return usage_error(message, "unexpected argument '%s': a %s is -%c %s", word,
			   is_pid ? "process" : "service", is_pid ? 'p' : 's', word);
}

int option_service(const char *name, const char *text, void *to, struct usage_message *message)
{
	if (names_is_pattern(text))
		return usage_error(message, "%s takes one service here, not '%s'", name, text);
	return option_text(name, text, to, message);
}

static int option_list_order(const char *name, const char *text, void *to,
			     struct usage_message *message)
{
	static const char *const names[N_LIST_ORDERS] = {
		[LIST_BY_CPU] = "cpu",   [LIST_BY_WAITS] = "off-cpu", [LIST_BY_NAME] = "name",
		[LIST_BY_SIZE] = "size", [LIST_BY_TIME] = "time",
	};

	for (int i = 0; i < N_LIST_ORDERS; i++) {
		*(int *)to = i;
		if (strcmp(text, names[i]) == 0)
			return 0;
	}
	return usage_error(message, "%s takes cpu, off-cpu, name, size or time, not '%s'", name,
			   text);
}

int list_parse(int argc, char *const *argv, uint64_t now_ns, struct list_arguments *ret,
	       struct usage_message *message)
{
	Profd__Control__List *request = &ret->request;
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{0, "url", option_flag, &ret->url, NULL},
		{'s', "service", option_text, &request->service, NULL},
		{0, "since", option_moment, &(struct option_moment){now_ns, &request->since_ns},
		 NULL},
		{0, "until", option_moment, &(struct option_moment){now_ns, &request->until_ns},
		 NULL},
		{0, "sort", option_list_order, &ret->order, NULL},
		{0, NULL, option_no_operand, NULL, NULL},
		{0},
	};
	int r;

	*ret = (struct list_arguments){.request = PROFD__CONTROL__LIST__INIT};
	r = options_parse(rows, argc, argv, message);
	return r ? r : check_time_range(request->since_ns, request->until_ns, message);
}

static uint64_t length_ns(const Profd__Control__ListingRow *row)
{
	return row->end_ns > row->start_ns ? row->end_ns - row->start_ns : 0;
}

/* What a service's share is of, and whether anything is known of waits. */
struct list_total {
	uint64_t cpu_ns, off_cpu_ns, samples;
};

static struct list_total list_sum(const Profd__Control__Listing *listing)
{
	struct list_total total = {0};

	for (size_t i = 0; i < listing->n_rows; i++) {
		total.cpu_ns += listing->rows[i]->cpu_ns;
		total.off_cpu_ns += listing->rows[i]->off_cpu_ns;
		total.samples += listing->rows[i]->samples;
	}
	return total;
}

/* Of CPU time; where other events are counted, of samples. */
static double list_share(const struct list_total *total, const Profd__Control__ListingRow *row)
{
	uint64_t all = total->cpu_ns ? total->cpu_ns : total->samples;

	return all ? (double)(total->cpu_ns ? row->cpu_ns : row->samples) / (double)all : 0;
}

/* The most first; equal ones by name. */
static int list_compare(const void *a, const void *b, void *order)
{
	const Profd__Control__ListingRow *x = *(Profd__Control__ListingRow *const *)a;
	const Profd__Control__ListingRow *y = *(Profd__Control__ListingRow *const *)b;
	int r = 0;

	if (*(int *)order == LIST_BY_CPU)
		r = order_of(y->cpu_ns, x->cpu_ns) ?: order_of(y->samples, x->samples);
	else if (*(int *)order == LIST_BY_WAITS)
		r = order_of(y->off_cpu_ns, x->off_cpu_ns);
	else if (*(int *)order == LIST_BY_SIZE)
		r = order_of(y->bytes, x->bytes);
	else if (*(int *)order == LIST_BY_TIME)
		r = order_of(y->end_ns, x->end_ns);
	return r ?: strcmp(x->service, y->service);
}

/* Leaves the rows of those services that were asked for. */
static void list_select(Profd__Control__Listing *listing, const char *services)
{
	size_t n = 0;

	for (size_t i = 0; i < listing->n_rows; i++) {
		Profd__Control__ListingRow *row = listing->rows[i];

		if (names_select_service(services, row->service))
			listing->rows[n++] = row;
		else
			profd__control__listing_row__free_unpacked(row, NULL);
	}
	listing->n_rows = n;
}

static void list_print_json(const Profd__Control__Listing *listing, const struct list_total *total,
			    FILE *out)
{
	struct json j = {.out = out};

	json_begin_array(&j, NULL);
	for (size_t i = 0; i < listing->n_rows; i++) {
		const Profd__Control__ListingRow *row = listing->rows[i];

		json_begin_object(&j, NULL);
		json_text(&j, "service", row->service);
		if (!total) {
			json_text(&j, "file", row->file);
			json_text(&j, "format", row->format);
			json_moment(&j, "started", row->start_ns);
			json_real(&j, "duration_seconds", (double)length_ns(row) / 1e9);
			json_number(&j, "samples", row->samples);
		} else {
			json_moment(&j, "oldest", row->start_ns);
			json_moment(&j, "newest", row->end_ns);
			json_number(&j, "files", row->n_files);
			json_number(&j, "samples", row->samples);
			json_real(&j, "cpu_seconds", (double)row->cpu_ns / 1e9);
			json_real(&j, "share", list_share(total, row));
			json_real(&j, "off_cpu_seconds", (double)row->off_cpu_ns / 1e9);
		}
		json_number(&j, "size_bytes", row->bytes);
		json_close(&j);
	}
	json_end(&j);
}

/* Without the year: of what is kept it tells nothing, and JSON has the rest. */
static void list_add_moment(struct table *t, uint64_t ns, bool has_seconds)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	char text[32] = "?";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), has_seconds ? "%m-%d %H:%M:%S" : "%m-%d %H:%M", &tm);
	table_cell(t, "%s", text);
}

static void print_window(struct table *t, const Profd__Control__ListingRow *row, uint64_t n_files)
{
	const char *slash = strrchr(row->file, '/');
	size_t length = strlen(row->file);
	char buffer[UNITS_TEXT_MAX];

	/* <start>-<seconds>s.<comm>-<pid>.prof, in which comm has no slash */
	if (n_files > 1)
		length = (size_t)(strchrnul(slash ? slash : row->file, '.') - row->file);
	list_add_moment(t, row->start_ns, true);
	table_cell(t, "%s", units_print_duration(buffer, sizeof(buffer), length_ns(row)));
	table_cell(t, "%s", row->format);
	table_cell(t, "%" PRIu64, row->samples);
	table_cell(t, "%s", TEXT_OF_SIZE(row->bytes));
	table_cell(t, "%" PRIu64, n_files);
	table_cell(t, "%.*s%s", (int)length, row->file, n_files > 1 ? ".*.prof" : "");
}

/*
 * One window, the @n rows from @rows on: each file of all processes, then those of one process each
 * in a line, because there may be dozens.
 */
static void print_group(struct table *t, Profd__Control__ListingRow *const *rows, size_t n)
{
	Profd__Control__ListingRow legacy;
	uint64_t n_files = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i]->format, "legacy") != 0) {
			print_window(t, rows[i], 1);
		} else if (n_files++ == 0) {
			legacy = *rows[i];
		} else {
			legacy.samples += rows[i]->samples;
			legacy.bytes += rows[i]->bytes;
		}
	}
	if (n_files)
		print_window(t, &legacy, n_files);
}

/* 0: nobody looks. */
static size_t list_columns(const struct context *context)
{
	unsigned rows, columns = 0;

	if (context->terminal)
		terminal_size(fileno(context->out), &rows, &columns);
	return columns;
}

static int print_windows(const struct context *context, const Profd__Control__Listing *listing)
{
	cleanup(table_deinit) struct table t = TABLE_OF("TIME", ">LENGTH", "FORMAT", ">SAMPLES",
							">SIZE", ">FILES", "~FILE");

	t.max = list_columns(context);
	for (size_t i = 0, end; i < listing->n_rows; i = end) {
		for (end = i + 1; end < listing->n_rows &&
				  listing->rows[end]->start_ns == listing->rows[i]->start_ns &&
				  listing->rows[end]->end_ns == listing->rows[i]->end_ns;)
			end++;
		print_group(&t, listing->rows + i, end - i);
	}
	return table_print(&t, context->out);
}

static int print_services(const struct context *context, const Profd__Control__Listing *listing,
			  const struct list_total *total)
{
	static const char *const columns[] = {"~SERVICE", ">CPU s", ">SHARE", "FROM",
					      "TO",       ">SIZE",  NULL};
	static const char *const with_waits[] = {"~SERVICE", ">CPU s", ">SHARE", ">OFF-CPU s",
						 "FROM",     "TO",     ">SIZE",  NULL};
	cleanup(table_deinit) struct table t = {.columns = total->off_cpu_ns ? with_waits
									     : columns};

	t.max = list_columns(context);
	for (size_t i = 0; i < listing->n_rows; i++) {
		const Profd__Control__ListingRow *row = listing->rows[i];

		table_cell(&t, "%s", row->service);
		if (total->cpu_ns)
			table_cell(&t, "%.1f", (double)row->cpu_ns / 1e9);
		else
			table_cell(&t, "-");
		table_cell(&t, "%.1f%%", list_share(total, row) * 100);
		if (total->off_cpu_ns)
			table_cell(&t, "%.1f", (double)row->off_cpu_ns / 1e9);
		list_add_moment(&t, row->start_ns, false);
		list_add_moment(&t, row->end_ns, false);
		table_cell(&t, "%s", TEXT_OF_SIZE(row->bytes));
	}
	return table_print(&t, context->out);
}

/*
 * A heading with nothing below it would look as if something had gone wrong. Nothing has, unless
 * there is no such service: the exit status.
 */
static int list_report_empty(const struct context *context, const Profd__Control__List *a,
			     const char *service)
{
	const char *range = a->since_ns || a->until_ns ? " in this range" : "";

	if (!*service)
		return profctl_complain(context, 0, "the store has no windows%s", range);
	return services_check_sampled(context, service)
		       ?: profctl_complain(context, 0, "no windows for %s%s; see profctl list",
					   service, range);
}

int list_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Listing *listing;
	struct usage_message message;
	struct list_arguments a;
	struct list_total total;
	const char *several;
	int r = list_parse(argc, argv, context->now_ns, &a, &message);

	if (r)
		return parse_ended(context, r, &message);
	if (a.url)
		return page_address_print_scope(context, &(struct page_scope){
								 .service = a.request.service,
								 .since_ns = a.request.since_ns,
								 .until_ns = a.request.until_ns,
							 });
	several = names_is_pattern(a.request.service) ? a.request.service : NULL;
	r = several ? services_check_sampled(context, several) : 0;
	if (r)
		return r;
	if (several)
		a.request.service = (char *)(uintptr_t) "";
	r = (a.json ? call_daemon_exact : call_daemon)(context, PROFD__CONTROL__REQUEST__VERB_LIST,
						       &a.request, &response);
	if (r)
		return r;
	listing = response->listing;
	total = list_sum(listing);
	if (several)
		list_select(listing, several);
	if (!*a.request.service && listing->n_rows)
		qsort_r(listing->rows, listing->n_rows, sizeof(*listing->rows), list_compare,
			&a.order);
	if (a.json)
		list_print_json(listing, *a.request.service ? NULL : &total, context->out);
	else if (!listing->n_rows)
		return list_report_empty(context, &a.request, several ?: a.request.service);
	else if (*a.request.service)
		r = print_windows(context, listing);
	else
		r = print_services(context, listing, &total);
	if (!r && listing->unread_files)
		profctl_complain(context, 0,
				 "%" PRIu64 " files were not counted yet: CPU times are too low; "
				 "list again",
				 listing->unread_files);
	return r ? profctl_complain(context, STATUS_FAILED, "no memory") : STATUS_DONE;
}
