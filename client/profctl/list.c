/* SPDX-License-Identifier: MIT */
/*
 * profd answers with rows, of services or of the windows of one. As JSON each row is an object; for
 * people the files of one window that are of a process each become one line.
 */
#include <inttypes.h>
#include <string.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "client/profctl/services.h"
#include "client/profctl/table.h"
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

int list_parse(int argc, char *const *argv, uint64_t now_ns, Profd__Control__List *ret,
	       bool *ret_json, struct usage_message *message)
{
	const struct option_row rows[] = {
		{0, "json", option_flag, ret_json, NULL},
		{'s', "service", option_text, &ret->service, NULL},
		{0, "since", option_moment, &(struct option_moment){now_ns, &ret->since_ns}, NULL},
		{0, "until", option_moment, &(struct option_moment){now_ns, &ret->until_ns}, NULL},
		{0, NULL, option_no_operand, NULL, NULL},
		{0},
	};
	int r;

	*ret = (Profd__Control__List)PROFD__CONTROL__LIST__INIT;
	*ret_json = false;
	r = options_parse(rows, argc, argv, message);
	return r ? r : check_time_range(ret->since_ns, ret->until_ns, message);
}

static uint64_t length_ns(const Profd__Control__ListingRow *row)
{
	return row->end_ns > row->start_ns ? row->end_ns - row->start_ns : 0;
}

static void list_print_json(const Profd__Control__Listing *listing, bool windows, FILE *out)
{
	struct json j = {.out = out};

	json_begin_array(&j, NULL);
	for (size_t i = 0; i < listing->n_rows; i++) {
		const Profd__Control__ListingRow *row = listing->rows[i];

		json_begin_object(&j, NULL);
		json_text(&j, "service", row->service);
		if (windows) {
			json_text(&j, "file", row->file);
			json_text(&j, "format", row->format);
			json_moment(&j, "started", row->start_ns);
			json_real(&j, "duration_seconds", (double)length_ns(row) / 1e9);
			json_number(&j, "samples", row->samples);
		} else {
			json_moment(&j, "oldest", row->start_ns);
			json_moment(&j, "newest", row->end_ns);
			json_number(&j, "files", row->n_files);
		}
		json_number(&j, "size_bytes", row->bytes);
		json_close(&j);
	}
	json_end(&j);
}

static void print_window(struct table *t, const Profd__Control__ListingRow *row, uint64_t n_files)
{
	const char *slash = strrchr(row->file, '/');
	size_t length = strlen(row->file);
	char buffer[UNITS_TEXT_MAX];

	/* <start>-<seconds>s.<comm>-<pid>.prof, in which comm has no slash */
	if (n_files > 1)
		length = (size_t)(strchrnul(slash ? slash : row->file, '.') - row->file);
	table_cell(t, "%s", TEXT_OF_MOMENT(row->start_ns));
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

static int print_windows(const Profd__Control__Listing *listing, FILE *out)
{
	cleanup(table_deinit) struct table t = TABLE_OF("TIME", ">LENGTH", "FORMAT", ">SAMPLES",
							">SIZE", ">FILES", "FILE");

	for (size_t i = 0, end; i < listing->n_rows; i = end) {
		for (end = i + 1; end < listing->n_rows &&
				  listing->rows[end]->start_ns == listing->rows[i]->start_ns &&
				  listing->rows[end]->end_ns == listing->rows[i]->end_ns;)
			end++;
		print_group(&t, listing->rows + i, end - i);
	}
	return table_print(&t, out);
}

static int print_services(const Profd__Control__Listing *listing, FILE *out)
{
	cleanup(table_deinit) struct table t = TABLE_OF("SERVICE", "OLDEST", "NEWEST", ">FILES",
							">SIZE");

	for (size_t i = 0; i < listing->n_rows; i++) {
		const Profd__Control__ListingRow *row = listing->rows[i];

		table_cell(&t, "%s", row->service);
		table_cell(&t, "%s", TEXT_OF_MOMENT(row->start_ns));
		table_cell(&t, "%s", TEXT_OF_MOMENT(row->end_ns));
		table_cell(&t, "%" PRIu64, row->n_files);
		table_cell(&t, "%s", TEXT_OF_SIZE(row->bytes));
	}
	return table_print(&t, out);
}

/*
 * A heading with nothing below it would look as if something had gone wrong. Nothing has, unless
 * there is no such service: the exit status.
 */
static int list_report_empty(const struct context *context, const Profd__Control__List *a)
{
	const char *range = a->since_ns || a->until_ns ? " in this range" : "";

	if (!*a->service)
		return profctl_complain(context, 0, "the store has no windows%s", range);
	if (services_check_sampled(context, a->service))
		return STATUS_FAILED;
	return profctl_complain(context, 0, "no windows for %s%s; see profctl list", a->service,
				range);
}

int list_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__List request;
	struct usage_message message;
	bool json;
	int r = list_parse(argc, argv, context->now_ns, &request, &json, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = (json ? call_daemon_exact : call_daemon)(context, PROFD__CONTROL__REQUEST__VERB_LIST,
						     &request, &response);
	if (r)
		return r;
	if (json)
		list_print_json(response->listing, *request.service, context->out);
	else if (!response->listing->n_rows)
		return list_report_empty(context, &request);
	else if (*request.service)
		r = print_windows(response->listing, context->out);
	else
		r = print_services(response->listing, context->out);
	return r ? profctl_complain(context, STATUS_FAILED, "no memory") : STATUS_DONE;
}
