/* SPDX-License-Identifier: MIT */
/*
 * profctl report, and diff, which is a short form of it: the command line (options.h), the inputs
 * (load.h), the report (produce.h), and where it goes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/memory.h"
#include "client/profctl/output.h"
#include "client/profctl/page_address.h"
#include "client/profctl/progress.h"
#include "client/profctl/report.h"
#include "client/profctl/services.h"
#include "client/profctl/telling.h"
#include "client/report/load.h"
#include "client/report/produce.h"
#include "client/report/prompt.h"
#include "client/symbolize/profile_file.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/profile/pprof.h"
#include "common/units.h"

#define OPEN_WINDOW_MAX ((size_t)1 << 30) /* of an open window, unpacked */

/* --- where it goes ---------------------------------------------------------------------------- */

/* Before anything is read, or fetched. */
static int check_output(const struct context *context, const struct report_options *o)
{
	if (*o->output && strcmp(o->output, "-") != 0)
		return output_check(context, STATUS_FAILED, o->output, false);
	if (produce_needs(o).binary && context->terminal)
		return profctl_complain(
			context, STATUS_USAGE,
			"not writing --%s to a terminal: redirect it, or use -o FILE",
			report_view_name(o->view));
	return STATUS_DONE;
}

int report_once(struct context *context, const struct listener *listener, struct load *l,
		const struct report_options *o)
{
	bool to_file = *o->output && strcmp(o->output, "-") != 0;
	struct profile_message message, of_file;
	struct profile_file_saving saving = {.out = context->out};
	int r;

	if (to_file && profile_file_begin(&saving, o->output, &of_file))
		return profctl_complain(context, STATUS_FAILED, "%s: %s", o->output, of_file.text);
	r = produce_report(l, o, listener, saving.out, &message);
	listener->progress(listener->context, 1, NULL);
	if (to_file && profile_file_end(&saving, r == 0, &of_file))
		return profctl_complain(context, STATUS_FAILED, "%s: %s", o->output, of_file.text);
	return report_exit_status(context, r, &message);
}

/* --- the verb --------------------------------------------------------------------------------- */

static int report_parse_moment(const char *name, const char *const texts[2], uint64_t now_ns,
			       uint64_t *ret_ns, struct usage_message *message)
{
	char joined[UNITS_TEXT_MAX];

	if (!*texts[0])
		return 0;
	snprintf(joined, sizeof(joined), "%s %s", texts[0], texts[1]);
	return option_moment(name, *texts[1] ? joined : texts[0],
			     &(struct option_moment){now_ns, ret_ns}, message);
}

/* Of the store. Returns 0 or an exit status. */
static int report_parse_range(struct context *context, const struct report_inputs *in,
			      struct load_options *ret)
{
	struct usage_message message;
	int r = report_parse_moment("--since", in->since, context->now_ns, &ret->stored.since_ns,
				    &message)
		?: report_parse_moment("--until", in->until, context->now_ns, &ret->stored.until_ns,
				       &message)
		?: check_time_range(ret->stored.since_ns, ret->stored.until_ns, &message);

	return r ? parse_ended(context, r, &message) : 0;
}

/*
 * Where the profd that answers us has its store, for who does not say; *ret is malloc'ed. Returns
 * whether it is the one that is meant.
 */
static bool report_find_store(const struct context *quiet, const struct report_inputs *in,
			      char **ret)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;

	if (call_daemon(quiet, PROFD__CONTROL__REQUEST__VERB_STATUS, NULL, &response) ||
	    !response->status->store)
		return false;
	if (*in->store)
		return strcmp(in->store, response->status->store->path) == 0;
	*ret = strdup(response->status->store->path);
	return *ret;
}

/*
 * What is not written yet, from profd, if it answers us: of a new service that may be all. Windows
 * that it writes meanwhile are told apart by when they began. *ret_store is the caller's. Returns
 * the exit status: not 0, after a complaint, if profd has nothing of such a service.
 */
static int report_ask_profd(const struct context *context, const struct report_inputs *in,
			    struct load_stored *ret, char **ret_store)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	cleanup(profile_freep) struct profile *profile = NULL;
	cleanup(freep) uint8_t *data = NULL;
	cleanup(closep) int fd = -1;
	struct context quiet = *context;
	struct profile_message message;
	char complaint[COMPLAINT_SIZE];
	size_t size;
	int r;

	quiet.kept = complaint;
	if (!report_find_store(&quiet, in, ret_store))
		return STATUS_DONE;
	if (*ret_store)
		ret->store = *ret_store;
	r = strchr(in->service, ',') ? services_check_sampled(context, in->service) : 0;
	if (r)
		return r;
	collect.open = true;
	collect.since_ns = ret->since_ns;
	collect.until_ns = ret->until_ns;
	if (*in->service) {
		collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SERVICE;
		collect.service = (char *)(uintptr_t)in->service;
	}
	if (call_collect(&quiet, &collect, &response, &data))
		return *in->service ? services_check_sampled(context, in->service) : STATUS_DONE;
	size = (size_t)response->collected->bytes;
	if (pprof_read(data, size, OPEN_WINDOW_MAX, &profile, &message) || profile->time_ns <= 0)
		return STATUS_DONE;
	fd = memfd_create("profctl-open", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		return STATUS_DONE;
	ret->open_fd = steal_fd(&fd);
	ret->open_s = (uint64_t)profile->time_ns / NS_PER_S;
	return STATUS_DONE;
}

/*
 * Loads what @a names, and reports on it: asks for commands where nothing else is said and somebody
 * sits at a terminal. Returns the exit status, after a line to the user if that is not 0.
 */
static int report_on(struct context *context, const struct report_arguments *a)
{
	struct report_options o = a->options;
	struct report_inputs inputs = a->inputs;
	struct telling telling;
	bool asks = a->inputs.interactive ||
		    (!o.view && !*o.output && context->terminal && isatty(STDIN_FILENO));
	const struct produce_needs needs = produce_needs(&o);
	struct load_options options = {
		.inputs = &inputs,
		.stored = {.store = *inputs.store ? inputs.store : context->store, .open_fd = -1},
		.hold = asks || needs.held,
		.want_lines = asks || needs.lines,
		.want_code = asks || needs.code,
	};
	cleanup(load_freep) struct load *l = NULL;
	cleanup(freep) char *store = NULL;
	cleanup(memory_unboundp) struct rlimit bound;
	struct profile_message message;
	int status = report_parse_range(context, &inputs, &options), r;

	options.listener = telling_init(&telling, context);
	memory_bound(&bound);
	if (!o.view && !asks)
		o.view = REPORT_TEXT;
	if (o.view == REPORT_COMMENTS)
		inputs.mode = (struct symbolize_mode){0}; /* there is nothing to name */
	if (!status && inputs.url)
		return page_address_print(context, &(struct page_question){
							   .options = &o,
							   .inputs = &inputs,
							   .since_ns = options.stored.since_ns,
							   .until_ns = options.stored.until_ns,
						   });
	if (!status && o.view)
		status = report_exit_status(context, produce_check(&o, &message), &message);
	if (!status && !asks)
		status = check_output(context, &o);
	if (!status && inputs.is_store)
		status = report_ask_profd(context, &inputs, &options.stored, &store);
	if (!status)
		status = report_exit_status(context, load_new(&l, &options, &message), &message);
	if (status)
		return status;
	if (!asks)
		return report_once(context, &options.listener, l, &o);
	r = prompt_run(l, &o,
		       &(struct prompt_streams){.in = stdin,
						.out = context->out,
						.err = context->err,
						.is_terminal = context->terminal});
	return r ? memory_complain(context, r) : STATUS_DONE;
}

static int report_run_line(struct context *context, int argc, char **argv, bool is_diff)
{
	struct usage_message usage = {0};
	struct profile_message message;
	struct report_arguments a;
	int status, r = report_parse(argc, argv, is_diff, &a, &message);

	if (r < 0)
		status = memory_complain(context, r);
	else if (r == REPORT_E_HELP)
		status = parse_ended(context, VERB_HELP, &usage);
	else if (r)
		status = parse_ended(context, usage_error(&usage, "%s", message.text), &usage);
	else
		status = report_on(context, &a);
	report_arguments_deinit(&a);
	return status;
}

int report_run(struct context *context, int argc, char **argv)
{
	return report_run_line(context, argc, argv, false);
}

/* profctl diff BASE NEW: report --diff_base=BASE NEW. */
int diff_run(struct context *context, int argc, char **argv)
{
	return report_run_line(context, argc, argv, true);
}
