/* SPDX-License-Identifier: MIT */
/* profd-gateway sends: nothing else speaks to servers. What it says is what profctl says. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/program_path.h"

int export_parse(int argc, char *const *argv, uint64_t now_ns, struct export_arguments *ret,
		 struct usage_message *message)
{
	const struct option_row rows[] = {
		{0, "to", option_text, &ret->target, NULL},
		{'s', "service", option_text, &ret->services, NULL},
		{0, "since", option_moment, &(struct option_moment){now_ns, &ret->since_ns}, NULL},
		{0, "until", option_moment, &(struct option_moment){now_ns, &ret->until_ns}, NULL},
		{0, "config", option_text, &ret->config_path, NULL},
		{0},
	};
	int r;

	*ret = (struct export_arguments){0};
	r = options_parse(rows, argc, argv, message);
	if (r)
		return r;
	if (!ret->target)
		return usage_error(message,
				   "--to says where: a NAME of [export NAME] in profd.conf");
	if (!ret->since_ns)
		return usage_error(message, "--since says from when: what a server has already is "
					    "counted twice there");
	if (!ret->until_ns)
		ret->until_ns = now_ns;
	return check_time_range(ret->since_ns, ret->until_ns, message);
}

int export_run(struct context *context, int argc, char **argv)
{
	struct export_arguments arguments;
	struct usage_message message;
	cleanup(freep) char *path = NULL;
	char range[64];
	const char *words[] = {
		"profd-gateway", "--export", NULL, "--range", range, NULL, NULL, NULL, NULL, NULL};
	size_t n = 5;
	int r = export_parse(argc, argv, clock_ns(CLOCK_REALTIME), &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	r = program_path("PROFD_GATEWAY", "profd-gateway", &path);
	if (r)
		return profctl_complain(context, STATUS_FAILED, "%s", error_describe(r));
	snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, arguments.since_ns,
		 arguments.until_ns);
	words[2] = arguments.target;
	if (arguments.services) {
		words[n++] = "--service";
		words[n++] = arguments.services;
	}
	if (arguments.config_path) {
		words[n++] = "--config";
		words[n++] = arguments.config_path;
	}
	fflush(NULL);
	execv(path, (char *const *)words);
	return profctl_complain(context, STATUS_FAILED, "cannot start %s: %s", path,
				strerrordesc_np(errno));
}
