/* SPDX-License-Identifier: MIT */
/*
 * profd merges, and hands over profile.proto; the other formats are made of that here. So the
 * samples are the same in all.
 */
#include <inttypes.h>
#include <string.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "client/profctl/services.h"
#include "client/profctl/table.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"

#define UNPACKED_MAX ((size_t)4 << 30)

static int option_format(const char *name, const char *argument, void *to,
			 struct usage_message *message)
{
	return output_find_format(argument, to)
		       ? 0
		       : usage_error(message, "%s takes pprof, legacy or collapsed, not '%s'", name,
				     argument);
}

int collect_parse(int argc, char *const *argv, uint64_t now_ns, struct collect_arguments *ret,
		  struct usage_message *message)
{
	static const char only[] = "only one of -s, --session and -p";
	char *service = NULL;
	uint64_t session = 0;
	int64_t pid = 0;
	bool stored = false, times = false;
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{'s', "service", option_text, &service, only},
		{0, "session", option_session, &session, only},
		{'p', "pid", option_pid, &pid, only},
		{0, "since", option_moment, &(struct option_moment){now_ns, &ret->request.since_ns},
		 NULL},
		{0, "until", option_moment, &(struct option_moment){now_ns, &ret->request.until_ns},
		 NULL},
		{0, "format", option_format, &ret->output.format, NULL},
		{'o', "output", option_text, &ret->output.path, NULL},
		{0, "stored", option_flag, &stored, NULL},
		{0, "times", option_flag, &times, NULL},
		{0, NULL, option_no_operand, ret, NULL},
		{0},
	};
	int r;

	*ret = (struct collect_arguments){.request = PROFD__CONTROL__COLLECT__INIT,
					  .output.path = ""};
	r = options_parse(rows, argc, argv, message);
	if (r)
		return r;
	if (service) {
		ret->request.which_case = PROFD__CONTROL__COLLECT__WHICH_SERVICE;
		ret->request.service = service;
	} else if (session) {
		ret->request.which_case = PROFD__CONTROL__COLLECT__WHICH_SESSION;
		ret->request.session = session;
	} else if (pid) {
		ret->request.which_case = PROFD__CONTROL__COLLECT__WHICH_PID;
		ret->request.pid = pid;
	}
	ret->request.stored = stored;
	ret->request.times = times;
	if (ret->output.format == ANY_CPUPROFILE && !pid)
		return usage_error(message, "a legacy profile has one process: use -p PID");
	if (ret->json && strcmp(ret->output.path, "-") == 0)
		return usage_error(message, "either --json or the profile on standard output");
	return check_time_range(ret->request.since_ns, ret->request.until_ns, message);
}

/* --- what is made of it ----------------------------------------------------------------------- */

/* From what profd sent to what the user wants; *data is replaced if that is something else. */
static int collect_convert(const struct context *context, enum any_format format, bool in_pieces,
			   uint8_t **data, size_t *length)
{
	cleanup(profile_freep) struct profile *profile = NULL;
	struct profile_message message;
	uint8_t *made;
	size_t n;
	int r;

	if (format == ANY_PPROF && !in_pieces)
		return STATUS_DONE;
	r = pprof_read(*data, *length, UNPACKED_MAX, &profile, &message);
	if (r > 0)
		return profctl_complain(context, STATUS_FAILED, "profd sent an invalid profile: %s",
					message.text);
	if (!r)
		r = any_write(profile, format, &made, &n);
	if (r)
		return profctl_complain(context, STATUS_FAILED, "cannot convert: %s",
					error_describe(r));
	free(*data);
	*data = made;
	*length = n;
	return STATUS_DONE;
}

static void collect_print_json(const struct context *context,
			       const Profd__Control__Collected *collected, const char *path,
			       size_t length)
{
	struct json j = {.out = context->out};

	json_begin_object(&j, NULL);
	json_text(&j, "file", path);
	json_number(&j, "size_bytes", length);
	json_number(&j, "samples", collected->samples);
	json_number(&j, "windows", collected->windows);
	json_number(&j, "unreadable_files", collected->unreadable_files);
	json_end(&j);
}

/* As call_collect(), which does not show whether there is such a service, or each of several. */
static int collect_call(const struct context *context, const Profd__Control__Collect *request,
			Profd__Control__Response **ret, uint8_t **ret_data)
{
	struct context quiet = *context;
	char complaint[COMPLAINT_SIZE];
	bool by_service = request->which_case == PROFD__CONTROL__COLLECT__WHICH_SERVICE;
	int r = by_service && strchr(request->service, ',')
			? services_check_sampled(context, request->service)
			: 0;

	if (r)
		return r;
	quiet.kept = complaint;
	r = call_collect(&quiet, request, ret, ret_data);
	if (r == STATUS_FAILED && by_service && services_check_sampled(context, request->service))
		return r;
	return r ? profctl_complain(context, r, "%s", complaint) : STATUS_DONE;
}

int collect_run(struct context *context, int argc, char **argv)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct collect_arguments arguments;
	struct usage_message message;
	struct output_file *output = &arguments.output;
	size_t length;
	int r = collect_parse(argc, argv, context->now_ns, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = output_begin(context, STATUS_FAILED, output)
		    ?: collect_call(context, &arguments.request, &response, &data);
	if (r)
		return r;
	length = (size_t)response->collected->bytes;
	r = collect_convert(context, output->format, response->collected->in_pieces, &data, &length)
		    ?: output_write(context, STATUS_FAILED, output, data, length);
	if (r)
		return r;
	if (arguments.json)
		collect_print_json(context, response->collected, output->path, length);
	else if (strcmp(output->path, "-") != 0)
		fprintf(context->out, "%s\n", output->path);
	if (response->collected->unreadable_files)
		profctl_complain(context, STATUS_DONE,
				 "%" PRIu64
				 " files of the store could not be read: their samples are "
				 "missing",
				 response->collected->unreadable_files);
	return STATUS_DONE;
}
