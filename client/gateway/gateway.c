/* SPDX-License-Identifier: MIT */
/*
 * What the configuration asks for is set up as a whole, at the start and on SIGHUP, beside what
 * there is; only if all of it is good it takes its place.
 */
#include "client/gateway/gateway.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "client/gateway/debug_cache.h"
#include "client/gateway/debuginfo.h"
#include "client/gateway/urls.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/error.h"
#include "common/log.h"

#define NOTHING_TO_DO "debuginfod is not enabled in profd.conf: nothing to do"

struct gateway {
	const struct gateway_options *options;
	sd_event *loop;
	struct debug_cache *cache;
	struct debuginfo *debuginfo;
};

enum {
	SETUP_DONE,
	SETUP_NOTHING, /* the configuration asks for nothing */
	SETUP_FAILED,  /* logged; a person is needed */
	SETUP_FATAL,   /* logged */
};

static int gateway_fail(int r)
{
	log_error("%s", error_describe(r));
	return SETUP_FATAL;
}

/* What the configuration says. SETUP_DONE: *ret_urls is malloc'ed. */
static int gateway_load_config(const char *path, struct config **ret, char **ret_urls)
{
	cleanup(config_freep) struct config *config = NULL;
	struct config_message message;
	struct urls_message fault;
	int r = config_load(&config, path, NULL, &message);

	if (r == CONFIG_E_INVALID) {
		log_error("%s", message.text);
		return SETUP_FAILED;
	}
	if (r)
		return gateway_fail(r);
	if (!config->debuginfod_enabled)
		return SETUP_NOTHING;
	r = urls_join(config->debuginfod_urls, ret_urls, &fault);
	if (r < 0)
		return gateway_fail(r);
	if (r == URLS_E_NONE)
		log_error("debuginfod is enabled, but names no server: set urls in [debuginfod]");
	else if (r == URLS_E_BAD)
		log_error("urls in [debuginfod]: %s", fault.text);
	if (r)
		return SETUP_FAILED;
	*ret = steal_ptr(&config);
	return SETUP_DONE;
}

static int open_cache(struct gateway *g)
{
	const char *directory = g->options->cache_directory;
	int r = debug_cache_open(&g->cache, directory, DEBUG_CACHE_MAX_BYTES);

	switch (r) {
	case DEBUG_CACHE_E_OK:
		return SETUP_DONE;
	case DEBUG_CACHE_E_IN_USE:
		log_error("%s is another profd-gateway's", directory);
		return SETUP_FAILED;
	case DEBUG_CACHE_E_UNUSABLE:
		log_error("%s cannot be written: %s; it has to be a folder of the user that this "
			  "runs as",
			  directory, strerrordesc_np(errno));
		return SETUP_FAILED;
	}
	return gateway_fail(r);
}

/* In place of what there is, if the configuration is good. */
static int gateway_set_up(struct gateway *g)
{
	cleanup(config_freep) struct config *config = NULL;
	cleanup(debuginfo_freep) struct debuginfo *debuginfo = NULL;
	cleanup(freep) char *urls = NULL;
	struct debuginfo_options options = {.cache_directory = g->options->cache_directory};
	int r = gateway_load_config(g->options->config_path, &config, &urls);

	if (!r && !g->cache)
		r = open_cache(g);
	if (r)
		return r;
	options.socket = config->control_socket;
	options.urls = urls;
	r = debuginfo_new(&debuginfo, g->loop, g->cache, &options);
	if (r)
		return gateway_fail(r);
	debuginfo_free(g->debuginfo);
	g->debuginfo = steal_ptr(&debuginfo);
	return SETUP_DONE;
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

/* Signals that end the loop have no handler: sd_event_add_signal(3). */
static int gateway_add_signals(struct gateway *g)
{
	int r = sd_event_add_signal(g->loop, NULL, SIGHUP, handle_reload, g);

	if (r >= 0)
		r = sd_event_add_signal(g->loop, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(g->loop, NULL, SIGINT, NULL, NULL);
	return r < 0 ? error_origin(r) : 0;
}

/* What gateway_run() leaves behind, it has opened. */
static int gateway_run_loop(struct gateway *g)
{
	int r = sd_event_new(&g->loop);

	if (r < 0)
		return gateway_fail(error_origin(r));
	r = gateway_add_signals(g);
	if (r)
		return gateway_fail(r);
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

int gateway_run(const struct gateway_options *options)
{
	struct gateway g = {.options = options};
	sigset_t mask;
	int r;

	sigemptyset(&mask);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = gateway_run_loop(&g);
	debuginfo_free(g.debuginfo);
	if (g.cache)
		debug_cache_sweep(g.cache);
	debug_cache_close(g.cache);
	sd_event_unref(g.loop);
	if (r == SETUP_FATAL)
		return getenv("NOTIFY_SOCKET") ? EX_TEMPFAIL : EXIT_FAILURE; /* daemon/main.c */
	return r == SETUP_DONE ? EXIT_SUCCESS : EXIT_FAILURE;
}
