/* SPDX-License-Identifier: MIT */
#include "client/gateway/service.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "client/gateway/debug_cache.h"
#include "client/gateway/debuginfo.h"
#include "client/gateway/export/exports.h"
#include "client/gateway/front.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/error.h"
#include "common/log.h"

#define NOTHING_TO_DO "profd.conf enables neither debuginfod nor http, and no export: nothing to do"

struct gateway {
	const char *config_path; /* NULL: the default one */
	const char *cache_directory, *state_directory;
	sd_event *loop;
	struct config *config; /* the one in use */
	struct debug_cache *cache;
	struct debuginfo *debuginfo; /* NULL: it is not enabled */
	struct front *front;
	struct exports *exports;
};

enum {
	SETUP_DONE,
	SETUP_NOTHING, /* the configuration asks for nothing */
	SETUP_FAILED,  /* logged; a person is needed */
	SETUP_FATAL,   /* logged; it may pass */
};

static int gateway_fail(int r)
{
	log_error("%s", error_describe(r));
	return SETUP_FATAL;
}

static int service_load_config(const char *path, struct config **ret)
{
	cleanup(config_freep) struct config *config = NULL;
	struct config_message message;
	char *rest = message.text, *line;
	int r = config_load(&config, path, NULL, &message);

	if (r == CONFIG_E_INVALID) {
		while ((line = strsep(&rest, "\n")))
			log_error("%s", line);
		return SETUP_FAILED;
	}
	if (r)
		return gateway_fail(r);
	if (!config->debuginfod_enabled && !*config->http_listen && !config->n_exports)
		return SETUP_NOTHING;
	*ret = steal_ptr(&config);
	return SETUP_DONE;
}

static int open_cache(struct gateway *g)
{
	const char *directory = g->cache_directory;
	int r = debug_cache_open(&g->cache, directory, DEBUG_CACHE_MAX_BYTES);

	if (r < 0)
		return gateway_fail(r);
	if (r == DEBUG_CACHE_E_IN_USE)
		log_error("%s is in use by another profd-gateway", directory);
	else if (r)
		log_error("%s cannot be written: %s; it must be a directory of the user that this "
			  "runs as",
			  directory, strerrordesc_np(errno));
	return r ? SETUP_FAILED : SETUP_DONE;
}

/* *ret stays NULL where it is not enabled. */
static int service_set_up_debuginfo(struct gateway *g, const struct config *config,
				    struct debuginfo **ret)
{
	cleanup(freep) char *urls = NULL;
	struct debuginfo_options options = {.cache_directory = g->cache_directory,
					    .socket = config->control_socket};
	struct debuginfo_message fault;
	int r;

	if (!config->debuginfod_enabled)
		return SETUP_DONE;
	r = urls_join(config->debuginfod_urls, &urls, &fault);
	if (r < 0)
		return gateway_fail(r);
	if (r) {
		log_error("urls in [debuginfod]: %s", fault.text);
		return SETUP_FAILED;
	}
	if (!g->cache)
		r = open_cache(g);
	if (r)
		return r;
	options.urls = urls;
	r = debuginfo_new(ret, g->loop, g->cache, &options);
	return r ? gateway_fail(r) : SETUP_DONE;
}

static int service_set_up_front(struct gateway *g, const struct config *config)
{
	struct http_message message;
	int r = front_configure(g->front, config, &message);

	if (r < 0)
		return gateway_fail(r);
	if (r)
		log_error("[http]: %s", message.text);
	if (r == FRONT_E_ABSENT)
		return SETUP_FATAL;
	return r ? SETUP_FAILED : SETUP_DONE;
}

static int service_report_exports(int r)
{
	return r < 0 ? gateway_fail(r) : r ? SETUP_FAILED : SETUP_DONE;
}

/* In place of what there is, if the configuration is good. */
static int gateway_set_up(struct gateway *g)
{
	cleanup(config_freep) struct config *config = NULL;
	cleanup(debuginfo_freep) struct debuginfo *debuginfo = NULL;
	int r = service_load_config(g->config_path, &config);

	if (!r)
		r = service_set_up_debuginfo(g, config, &debuginfo);
	if (!r)
		r = service_report_exports(exports_check(config));
	if (!r)
		r = service_set_up_front(g, config);
	if (r)
		return r;
	debuginfo_free(g->debuginfo);
	g->debuginfo = steal_ptr(&debuginfo);
	r = service_report_exports(exports_configure(g->exports, config));
	config_free(g->config);
	g->config = steal_ptr(&config);
	if (*g->config->http_listen)
		log_info("HTTP is served at %s", g->config->http_listen);
	return r;
}

static int handle_reload(sd_event_source *source, const struct signalfd_siginfo *info,
			 void *userdata)
{
	struct gateway *g = userdata;
	int r;

	(void)source, (void)info;
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_ns(CLOCK_MONOTONIC) / 1000);
	r = gateway_set_up(g);
	if (r == SETUP_FAILED || r == SETUP_FATAL)
		log_warning("the old configuration stays in use");
	sd_notify(0, "READY=1");
	if (r != SETUP_NOTHING)
		return 0;
	log_info(NOTHING_TO_DO);
	return sd_event_exit(g->loop, 0);
}

static int gateway_run_loop(struct gateway *g)
{
	int r = sd_event_new(&g->loop);

	if (r >= 0)
		r = sd_event_set_signal_exit(g->loop, true);
	if (r >= 0)
		r = sd_event_add_signal(g->loop, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK,
					handle_reload, g);
	if (r >= 0)
		r = exports_new(&g->exports, g->loop, g->state_directory)
			    ?: front_new(&g->front, g->loop, g->exports);
	if (r < 0)
		return gateway_fail(error_origin(r));
	r = gateway_set_up(g);
	if (r == SETUP_NOTHING) {
		sd_notify(0, "READY=1\nSTATUS=" NOTHING_TO_DO);
		log_info(NOTHING_TO_DO);
		return SETUP_DONE;
	}
	if (r)
		return r;
	(void)!sd_event_set_watchdog(g->loop, 1);
	sd_notify(0, "READY=1");
	r = sd_event_loop(g->loop);
	sd_notify(0, "STOPPING=1");
	return r < 0 ? gateway_fail(r) : SETUP_DONE;
}

int service_run(const char *config_path, const char *cache_directory, const char *state_directory)
{
	struct gateway g = {.config_path = config_path,
			    .cache_directory = cache_directory,
			    .state_directory = state_directory};
	int r;

	signal(SIGPIPE, SIG_IGN);
	r = gateway_run_loop(&g);
	debuginfo_free(g.debuginfo);
	front_free(g.front);
	exports_free(g.exports);
	config_free(g.config);
	if (g.cache)
		debug_cache_sweep(g.cache);
	debug_cache_close(g.cache);
	sd_event_unref(g.loop);
	if (r == SETUP_FATAL)
		return getenv("NOTIFY_SOCKET") ? EX_TEMPFAIL : EXIT_FAILURE; /* daemon/main.c */
	return r == SETUP_DONE ? EXIT_SUCCESS : EXIT_FAILURE;
}
