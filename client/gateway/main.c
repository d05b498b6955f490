/* SPDX-License-Identifier: MIT */
/*
 * profd-gateway: what speaks to networks for profd and profctl. Whatever it was started with, it
 * gives up before it reads or hears anything: root becomes the user profd-gateway, if there is one,
 * else nobody; capabilities go. All that is done before is that root makes the cache's directory
 * and gives it to that user.
 *
 * As a service it does what the configuration asks for; by now that is debug files (debuginfo.h).
 * It is set up as a whole, at the start and on SIGHUP, beside what there is; only if all of it is
 * good it takes its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "client/gateway/debug_cache.h"
#include "client/gateway/debuginfo.h"
#include "client/gateway/fetch/fetch.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/error.h"
#include "common/log.h"
#include "common/options.h"
#include "common/privileges.h"

#define USER            "profd-gateway"
#define CACHE_DIRECTORY "/var/cache/profd"
#define GROUPS_MAX      32
#define NOTHING_TO_DO   "debuginfod is not enabled in profd.conf: nothing to do"

enum { EXIT_USAGE = 2 };

static const char usage[] =
	"usage: profd-gateway [OPTIONS]\n"
	"\n"
	"Fetches the debug files that profd wants from the debuginfod servers that profd.conf "
	"names.\n"
	"\n"
	"  -c, --config FILE          configuration (default /etc/profd/profd.conf)\n"
	"      --cache-directory DIR  where they are kept (default $CACHE_DIRECTORY, "
	"else " CACHE_DIRECTORY ")\n"
	"      --fetch                fetch for the program that started this one\n"
	"      --http                 make HTTP requests for the program that started this one\n"
	"      --version              print the version\n"
	"  -h, --help                 print this\n"
	"\n"
	"SIGTERM and SIGINT end it; SIGHUP reads the configuration again.\n";

struct gateway_arguments {
	const char *config_path, *cache_directory;
	bool fetch, http, version;
};

static int gateway_parse_arguments(int argc, char **argv, struct gateway_arguments *a,
				   struct usage_message *message)
{
	const struct option_row rows[] = {
		{'c', "config", option_text, &a->config_path, NULL},
		{0, "cache-directory", option_text, &a->cache_directory, NULL},
		{0, "fetch", option_flag, &a->fetch, NULL},
		{0, "http", option_flag, &a->http, NULL},
		{0, "version", option_flag, &a->version, NULL},
		{0},
	};

	return options_parse(rows, argc, argv, message);
}

static int gateway_report_error(const char *what, const char *why)
{
	fprintf(stderr, "profd-gateway: %s: %s\n", what, why);
	return EXIT_FAILURE;
}

/* Whom root becomes; @groups is where its groups are kept. */
static struct privileges_user find_user(gid_t groups[GROUPS_MAX])
{
	const struct passwd *entry = getpwnam(USER);
	struct privileges_user user = privileges_nobody;
	int n = GROUPS_MAX;

	if (!entry || !entry->pw_uid)
		return user;
	user.uid = entry->pw_uid;
	user.gid = entry->pw_gid;
	if (getgrouplist(USER, entry->pw_gid, groups, &n) > 0) {
		user.groups = groups;
		user.n_groups = (size_t)n;
	}
	return user;
}

/*
 * Root makes the directory if there is none. One that is there is left as it is: who can write it
 * then is for its owner to say.
 */
static int make_cache_directory(const char *path, const struct privileges_user *user)
{
	cleanup(closep) int fd = -1;

	if (mkdir(path, 0755) < 0)
		return errno == EEXIST ? 0 : gateway_report_error(path, strerrordesc_np(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0755) < 0 ||
	    (geteuid() == 0 && fchown(fd, user->uid, user->gid) < 0))
		return gateway_report_error(path, strerrordesc_np(errno));
	return 0;
}

static int give_up_privileges(const struct privileges_user *user)
{
	int r = privileges_drop(user);

	if (r < 0)
		return gateway_report_error("cannot give up its privileges", error_describe(r));
	if (r == PRIVILEGES_E_ROOT)
		return gateway_report_error("cannot become another user",
					    "there is no CAP_SETUID, or no user");
	if (!privileges_are_dropped())
		return gateway_report_error("cannot give up its privileges",
					    "capabilities are left");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return gateway_report_error("cannot be hidden", strerrordesc_np(errno));
	return 0;
}

/* systemd.exec(5): one of several, separated by colons. malloc'ed; NULL: no memory. */
static char *cache_directory(const struct gateway_arguments *a)
{
	const char *given = getenv("CACHE_DIRECTORY");

	if (a->cache_directory)
		return strdup(a->cache_directory);
	if (given && given[0] == '/')
		return strndup(given, strcspn(given, ":"));
	return strdup(CACHE_DIRECTORY);
}

/*
 * For who started us. Signals to the whole terminal or unit are for that one, and it closes the
 * socket then. @as_root: the home in the environment is not ours.
 */
static int gateway_serve_parent(const struct gateway_arguments *a, bool as_root)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};
	struct stat st;
	int r;

	if (fstat(FETCH_SOCKET_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		fprintf(stderr, "profd-gateway --%s is started by other programs\n",
			a->http ? "http" : "fetch");
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	umask(022);
	r = a->http ? requests_serve(FETCH_SOCKET_FD)
		    : fetch_serve(FETCH_SOCKET_FD, a->cache_directory,
				  !as_root && user_cache_is_usable());
	return r ? gateway_report_error("fetching", error_describe(r)) : EXIT_SUCCESS;
}

/* --- the service ------------------------------------------------------------------------------ */

struct gateway {
	const char *config_path; /* NULL: the default one */
	const char *cache_directory;
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
	char *rest = message.text, *line;
	struct debuginfo_message fault;
	int r = config_load(&config, path, NULL, &message);

	if (r == CONFIG_E_INVALID) {
		while ((line = strsep(&rest, "\n")))
			log_error("%s", line);
		return SETUP_FAILED;
	}
	if (r)
		return gateway_fail(r);
	if (!config->debuginfod_enabled)
		return SETUP_NOTHING;
	r = urls_join(config->debuginfod_urls, ret_urls, &fault);
	if (r < 0)
		return gateway_fail(r);
	if (r) {
		log_error("urls in [debuginfod]: %s", fault.text);
		return SETUP_FAILED;
	}
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

/* In place of what there is, if the configuration is good. */
static int gateway_set_up(struct gateway *g)
{
	cleanup(config_freep) struct config *config = NULL;
	cleanup(debuginfo_freep) struct debuginfo *debuginfo = NULL;
	cleanup(freep) char *urls = NULL;
	struct debuginfo_options options = {.cache_directory = g->cache_directory};
	int r = gateway_load_config(g->config_path, &config, &urls);

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

static int gateway_run_loop(struct gateway *g)
{
	int r = sd_event_new(&g->loop);

	if (r >= 0)
		r = sd_event_set_signal_exit(g->loop, true);
	if (r >= 0)
		r = sd_event_add_signal(g->loop, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK,
					handle_reload, g);
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

/*
 * Runs until SIGTERM or SIGINT; SIGHUP reads the configuration again, and keeps the old one if the
 * new one is bad. Where the configuration asks for nothing, it says so and is done: for systemd, a
 * start that succeeded. Logs. Returns an exit status.
 */
static int gateway_run(const char *config_path, const char *cache_directory)
{
	struct gateway g = {.config_path = config_path, .cache_directory = cache_directory};
	int r;

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

/* --- all -------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	cleanup(freep) char *directory = NULL;
	bool as_root = !getuid() || !geteuid();
	struct privileges_user user = privileges_nobody;
	struct gateway_arguments arguments = {0};
	struct usage_message message;
	gid_t groups[GROUPS_MAX];
	int status = gateway_parse_arguments(argc, argv, &arguments, &message);

	if (status == OPTIONS_BAD) {
		fprintf(stderr, "profd-gateway: %s; see profd-gateway --help\n", message.text);
		return EXIT_USAGE;
	}
	if (status == VERB_HELP || arguments.version) {
		help_print(stdout,
			   status == VERB_HELP ? usage : "profd-gateway " PROFD_VERSION "\n");
		return EXIT_SUCCESS;
	}
	directory = cache_directory(&arguments);
	if (!directory)
		return gateway_report_error("starting", "no memory");
	if (as_root)
		user = find_user(groups);
	if (!arguments.fetch && !arguments.http)
		status = make_cache_directory(directory, &user);
	if (!status)
		status = give_up_privileges(&user);
	if (status)
		return status;
	if (arguments.fetch || arguments.http)
		return gateway_serve_parent(&arguments, as_root);
	umask(022);
	return gateway_run(arguments.config_path, directory);
}
