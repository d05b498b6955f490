/* SPDX-License-Identifier: MIT */
/*
 * profctl symbolize: reads a profile, has it named (client/symbolize), writes it. Memory is bounded
 * while strangers' bytes are unpacked and packed again, by a limit on our own data: what a profile
 * takes in memory cannot be told from its size.
 */
#include "client/symbolize/symbolize.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/fetch/fetcher.h"
#include "client/profctl/arguments.h"
#include "client/profctl/memory.h"
#include "client/profctl/output.h"
#include "client/profctl/profctl.h"
#include "client/profctl/progress.h"
#include "client/report/input.h"
#include "common/cleanup.h"
#include "common/memory_text.h"

#define FAILURES_MAX 3 /* in a row: each may have taken minutes */

static int option_debuginfod(const char *name, const char *url, void *to,
			     struct usage_message *message)
{
	struct symbolize_arguments *a = to;

	(void)name;
	if (!strstr(url, "://") || strpbrk(url, " \t\r\n"))
		return usage_error(message, "--debuginfod takes a URL, not '%s'", url);
	if (a->n_urls == SYMBOLIZE_URLS_MAX)
		return usage_error(message, "more than %d debuginfod servers", SYMBOLIZE_URLS_MAX);
	a->urls[a->n_urls++] = url;
	return 0;
}

int symbolize_parse(int argc, char *const *argv, struct symbolize_arguments *ret,
		    struct usage_message *message)
{
	const struct option_row rows[] = {
		{0, "lines", option_flag, &ret->want_lines, NULL},
		{0, "debuginfod", option_debuginfod, ret, NULL},
		{'o', "output", option_text, &ret->output, "-o is given twice"},
		{0, NULL, option_text, &ret->profile, "only one PROFILE can be given"},
		{0},
	};
	int r;

	*ret = (struct symbolize_arguments){0};
	r = options_parse(rows, argc, argv, message);
	if (r)
		return r;
	if (!ret->profile)
		return usage_error(message, "no PROFILE given; - is standard input");
	if (!ret->output)
		return usage_error(message, "no output file: use -o FILE");
	return 0;
}

/* --- debuginfod ------------------------------------------------------------------------------- */

struct source {
	struct context *context;
	struct fetcher *fetcher;
	unsigned n_failed; /* in a row; said once */
	struct progress progress;
};

static int symbolize_fetch(void *context, const uint8_t *id, size_t length, const char *path)
{
	struct source *s = context;
	struct fetcher_message message;
	char text[160];
	int fd = -1, r;

	if (s->n_failed >= FAILURES_MAX)
		return -1;
	snprintf(text, sizeof(text), "fetching debug files for %.100s", path);
	progress_show(&s->progress, PROGRESS_UNKNOWN, text);
	r = fetcher_send(s->fetcher, id, length, &message)
		    ?: fetcher_receive(s->fetcher, &fd, &message);
	progress_clear(&s->progress);
	if (r > FETCH_NONE && !s->n_failed)
		profctl_complain(s->context, STATUS_FAILED, "%s", message.text);
	s->n_failed = r > FETCH_NONE ? s->n_failed + 1 : 0;
	return r ? -1 : fd;
}

static void symbolize_show_progress(void *context, double done, const char *text)
{
	struct source *s = context;

	progress_update(&s->progress, done, text);
}

/* Returns 0 or negative errno. */
static int open_debuginfod(struct source *s, const struct symbolize_arguments *arguments)
{
	cleanup(memory_text_deinit) struct memory_text urls = {0};
	int r = memory_text_open(&urls);

	if (r)
		return r;
	for (size_t i = 0; i < arguments->n_urls; i++)
		fprintf(urls.out, "%s%s", i ? " " : "", arguments->urls[i]);
	r = memory_text_close(&urls);
	return r ? r : fetcher_new(&s->fetcher, &(struct fetcher_options){.urls = urls.text});
}

/* --- the verb --------------------------------------------------------------------------------- */

/* Returns an exit status; *ret only with STATUS_DONE. */
static int symbolize_read_input(const struct context *context, const char *path,
				struct profile **ret)
{
	cleanup(input_freep) struct input *in = NULL;
	struct reading reading = {0};
	struct profile_message message;
	int r = input_open(&in, path, &reading, &message) ?: input_hold(in, ret, &message);

	if (r < 0)
		return memory_complain(context, r);
	if (r)
		return profctl_complain(context,
					r == REPORT_E_DENIED ? STATUS_DENIED : STATUS_FAILED,
					"%s: %s", path, message.text);
	return STATUS_DONE;
}

static void print_result(const struct context *context, const struct symbolize_result *result)
{
	for (size_t i = 0; i < result->notes.n; i++)
		profctl_complain(context, 0, "%s", result->notes.lines[i]);
	if (result->notes.n_more)
		profctl_complain(context, 0, "%zu more like these", result->notes.n_more);
	profctl_complain(context, 0, "%zu of %zu locations have names, %zu of them new",
			 result->n_named, result->n_locations, result->n_new);
}

/* Returns an exit status. */
static int symbolize_add_names(struct context *context, const struct symbolize_arguments *arguments,
			       struct profile *p, struct symbolize_result *ret)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct source source = {.context = context};
	struct symbolize_options options = {
		.want_lines = arguments->want_lines,
		.root_fd = root_fd,
		.fetch = arguments->n_urls ? symbolize_fetch : NULL,
		.progress = symbolize_show_progress,
		.context = &source,
	};
	int r = arguments->n_urls ? open_debuginfod(&source, arguments) : 0;

	progress_init(&source.progress, context);
	if (!r)
		r = symbolize_profile(p, &options, ret);
	progress_clear(&source.progress);
	fetcher_free(source.fetcher);
	if (r < 0)
		return memory_complain(context, r);
	if (r)
		return profctl_complain(
			context, STATUS_FAILED,
			"profd-image-worker, which reads programs, cannot be run: %s",
			ret->trouble);
	return STATUS_DONE;
}

int symbolize_run(struct context *context, int argc, char **argv)
{
	cleanup(symbolize_result_deinit) struct symbolize_result result = {0};
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(memory_unboundp) struct rlimit bound;
	struct symbolize_arguments arguments;
	struct usage_message message;
	struct output_file output = {.format = ANY_PPROF};
	int status, r = symbolize_parse(argc, argv, &arguments, &message);

	memory_bound(&bound);
	if (r)
		return parse_ended(context, r, &message);
	output.path = arguments.output;
	status = output_begin(context, STATUS_FAILED, &output);
	if (!status)
		status = symbolize_read_input(context, arguments.profile, &p);
	if (!status)
		status = symbolize_add_names(context, &arguments, p, &result);
	if (!status)
		status = output_save(context, STATUS_FAILED, &output, p);
	/* Where it fails, why is all there is to say: of standard output main() says it. */
	if (!status && fflush(context->out) == 0 && !ferror(context->out))
		print_result(context, &result);
	return status;
}
