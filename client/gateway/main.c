/* SPDX-License-Identifier: MIT */
/*
 * profd-gateway: what speaks to networks for profd and profctl. Whatever it was started with, it
 * gives up before it reads or hears anything: root becomes the user profd-gateway, if there is one,
 * else nobody; capabilities go. All that is done before is that root makes the cache's directory
 * and gives it to that user, or, for profctl web, listens where root wants it to.
 * What it does then is the service (service.h), or what the program asks for that started it
 * (fetch/, private.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/gateway/export/once.h"
#include "client/gateway/fetch/fetch.h"
#include "client/gateway/private.h"
#include "client/gateway/service.h"
#include "client/gateway/view/view_protocol.h"
#include "client/gateway/view/view_serve.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/options.h"
#include "common/privileges.h"
#include "common/units.h"

#define USER            "profd-gateway"
#define CACHE_DIRECTORY "/var/cache/profd"
#define STATE_DIRECTORY "/var/lib/profd-gateway"
#define GROUPS_MAX      32

enum { EXIT_USAGE = 2 };

static const char usage[] =
	"usage: profd-gateway [OPTIONS]\n"
	"\n"
	"Fetches the debug files that profd wants from debuginfod servers, serves metrics and\n"
	"profiles over HTTP, and sends profiles to servers that keep them, as profd.conf says.\n"
	"\n"
	"  -c, --config FILE          configuration (default /etc/profd/profd.conf)\n"
	"      --cache-directory DIR  where they are kept (default $CACHE_DIRECTORY, "
	"else " CACHE_DIRECTORY ")\n"
	"      --state-directory DIR  where it is noted what was sent (default $STATE_DIRECTORY, "
	"else " STATE_DIRECTORY ")\n"
	"      --export TARGET        send what is stored of a range, for profctl export\n"
	"      --range FROM-UNTIL     the range, in nanoseconds since 1970\n"
	"  -s, --service S            services in place of the target's\n"
	"      --fetch                fetch for the program that started this one\n"
	"      --http                 make HTTP requests for the program that started this one\n"
	"      --private ADDRESS      serve one user, at ADDRESS, for the program that started "
	"this one\n"
	"      --view                 look into profiles for the program that started this one\n"
	"      --version              print the version\n"
	"  -h, --help                 print this\n"
	"\n"
	"SIGTERM and SIGINT end it; SIGHUP reads the configuration again.\n";

struct gateway_arguments {
	const char *config_path, *cache_directory, *state_directory, *private;
	struct once_options once; /* without a target: none */
	bool fetch, http, view, version;
};

/* FROM-UNTIL, Unix time in nanoseconds. */
static int option_range(const char *name, const char *text, void *to, struct usage_message *message)
{
	struct once_options *once = to;
	char from[32];

	snprintf(from, sizeof(from), "%.*s", (int)strcspn(text, "-"), text);
	text += strcspn(text, "-");
	if (!*text || units_parse_number(from, &once->since_ns) ||
	    units_parse_number(text + 1, &once->until_ns) || !once->until_ns)
		return usage_error(message, "%s takes FROM-UNTIL in nanoseconds", name);
	return 0;
}

static int gateway_parse_arguments(int argc, char **argv, struct gateway_arguments *a,
				   struct usage_message *message)
{
	const struct option_row rows[] = {
		{'c', "config", option_text, &a->config_path, NULL},
		{0, "cache-directory", option_text, &a->cache_directory, NULL},
		{0, "state-directory", option_text, &a->state_directory, NULL},
		{0, "export", option_text, &a->once.target, NULL},
		{0, "range", option_range, &a->once, NULL},
		{'s', "service", option_text, &a->once.services, NULL},
		{0, "fetch", option_flag, &a->fetch, NULL},
		{0, "http", option_flag, &a->http, NULL},
		{0, "private", option_text, &a->private, NULL},
		{0, "view", option_flag, &a->view, NULL},
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
static int gateway_make_directory(const char *path, mode_t mode, const struct privileges_user *user)
{
	cleanup(closep) int fd = -1;

	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? 0 : gateway_report_error(path, strerrordesc_np(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, mode) < 0 ||
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

/*
 * @given by an option, or by a @variable (systemd.exec(5): one of several, separated by colons).
 * malloc'ed; NULL: no memory.
 */
static char *gateway_find_directory(const char *given, const char *variable, const char *usual)
{
	const char *named = getenv(variable);

	if (given)
		return strdup(given);
	if (named && named[0] == '/')
		return strndup(named, strcspn(named, ":"));
	return strdup(usual);
}

/* Whether the program that started us speaks with us; else that is said. */
static bool gateway_has_parent(const struct gateway_arguments *a)
{
	struct stat st;

	if (fstat(FETCH_SOCKET_FD, &st) == 0 && S_ISSOCK(st.st_mode))
		return true;
	fprintf(stderr, "profd-gateway --%s is started by other programs\n",
		a->private ? "private"
		: a->http  ? "http"
		: a->view  ? "view"
			   : "fetch");
	return false;
}

/*
 * For who started us. Signals to the whole terminal or unit are for that one, and it closes the
 * socket then. @as_root: the home in the environment is not ours.
 */
static int gateway_serve_parent(const struct gateway_arguments *a, bool as_root)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	umask(022);
	if (a->view)
		view_serve(VIEW_SOCKET_FD);
	r = a->http ? requests_serve(FETCH_SOCKET_FD)
		    : fetch_serve(FETCH_SOCKET_FD, a->cache_directory,
				  !as_root && user_cache_is_usable());
	return r ? gateway_report_error("fetching", error_describe(r)) : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	cleanup(private_front_freep) struct private_front *private = NULL;
	cleanup(freep) char *directory = NULL, *state = NULL;
	bool as_root = !getuid() || !geteuid();
	struct privileges_user user = privileges_nobody;
	struct gateway_arguments arguments = {0};
	struct usage_message message;
	gid_t groups[GROUPS_MAX];
	int status = gateway_parse_arguments(argc, argv, &arguments, &message);
	bool has_parent = arguments.fetch || arguments.http || arguments.view || arguments.private;

	if (status == OPTIONS_BAD) {
		fprintf(stderr, "profd-gateway: %s; see profd-gateway --help\n", message.text);
		return EXIT_USAGE;
	}
	if (status == VERB_HELP || arguments.version) {
		help_print(stdout,
			   status == VERB_HELP ? usage : "profd-gateway " PROFD_VERSION "\n");
		return EXIT_SUCCESS;
	}
	directory = gateway_find_directory(arguments.cache_directory, "CACHE_DIRECTORY",
					   CACHE_DIRECTORY);
	state = gateway_find_directory(arguments.state_directory, "STATE_DIRECTORY",
				       STATE_DIRECTORY);
	if (!directory || !state)
		return gateway_report_error("starting", "no memory");
	if (as_root)
		user = find_user(groups);
	if (arguments.once.target && !arguments.once.until_ns) {
		fprintf(stderr, "profd-gateway: --export takes --range\n");
		return EXIT_USAGE;
	}
	if (has_parent && !gateway_has_parent(&arguments))
		return EXIT_USAGE;
	if (arguments.private && private_front_new(&private, arguments.private))
		return gateway_report_error("starting", "no memory");
	if (!has_parent && !arguments.once.target)
		status = gateway_make_directory(directory, 0755, &user)
				 ?: gateway_make_directory(state, 0700, &user);
	if (!status)
		status = give_up_privileges(&user);
	if (status)
		return status;
	if (private)
		return private_run(private);
	if (has_parent)
		return gateway_serve_parent(&arguments, as_root);
	umask(022);
	if (arguments.once.target) {
		arguments.once.config_path = arguments.config_path;
		return once_run(&arguments.once);
	}
	return service_run(arguments.config_path, directory, state);
}
