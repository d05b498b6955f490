/* SPDX-License-Identifier: MIT */
#include "client/gateway/export/once.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-event.h>

#include "client/gateway/export/exporter.h"
#include "common/config/config.h"
#include "common/error.h"

enum { EXIT_NO_TARGET = 2 };

static int once_fail(const char *what, const char *why)
{
	fprintf(stderr, "profctl export: %s: %s\n", what, why);
	return EXIT_FAILURE;
}

static struct config_export *once_find_target(struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_exports; i++)
		if (strcmp(config->exports[i].name, name) == 0)
			return &config->exports[i];
	return NULL;
}

static void once_end(void *userdata)
{
	sd_event_exit(userdata, 0);
}

static int once_report(const struct exporter *e)
{
	struct exporter_counters n;
	uint64_t n_failed;

	exporter_get_counters(e, &n);
	if (n.is_unread)
		return EXIT_FAILURE; /* that was logged */
	n_failed = n.refused + n.dropped + n.gone + n.held + n.waiting;
	printf("%" PRIu64 " windows sent to %s", n.sent_windows, n.name);
	if (n.refused)
		printf(", %" PRIu64 " refused", n.refused);
	if (n.held)
		printf(", %" PRIu64 " too old for it", n.held);
	if (n.dropped + n.gone)
		printf(", %" PRIu64 " left out", n.dropped + n.gone);
	if (n.waiting)
		printf(", %" PRIu64 " not yet", n.waiting);
	printf("\n");
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int once_send(const struct once_options *options, const struct config *config,
		     struct config_export *target)
{
	cleanup(exporter_freep) struct exporter *e = NULL;
	sd_event *loop = NULL;
	struct exporter_options what = {
		.socket = config->control_socket,
		.config = target,
		.since_ns = options->since_ns,
		.until_ns = options->until_ns,
		.done = once_end,
	};
	int r = sd_event_new(&loop), status = EXIT_FAILURE;

	if (r >= 0)
		r = sd_event_set_signal_exit(loop, true);
	what.loop = what.userdata = loop;
	if (r >= 0)
		r = exporter_new(&e, &what);
	if (!r)
		r = sd_event_loop(loop);
	if (r < 0)
		once_fail(target->name, error_describe(r));
	else if (!r)
		status = once_report(e);
	exporter_free(steal_ptr(&e));
	sd_event_unref(loop);
	return status;
}

int once_run(const struct once_options *options)
{
	cleanup(config_freep) struct config *config = NULL;
	struct config_message message;
	struct config_export *target;
	int r = config_load(&config, options->config_path, NULL, &message);

	signal(SIGPIPE, SIG_IGN);
	if (r)
		return once_fail("configuration", r < 0 ? error_describe(r) : message.text);
	target = once_find_target(config, options->target);
	if (!target) {
		fprintf(stderr, "profctl export: there is no [export %s] in profd.conf\n",
			options->target);
		return EXIT_NO_TARGET;
	}
	if (options->services) {
		char *services = strdup(options->services);

		if (!services)
			return once_fail(target->name, "no memory");
		free(target->services);
		target->services = services;
	}
	return once_send(options, config, target);
}
