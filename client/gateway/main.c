/* SPDX-License-Identifier: MIT */
/*
 * profd-gateway: what speaks to networks for profd and profctl. Whatever it was started with, it
 * gives up before it reads or hears anything: root becomes the user profd-gateway, if there is one,
 * else nobody; capabilities go. All that is done before is that root makes the cache's folder and
 * gives it to that user.
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

#include "client/gateway/fetch/fetch.h"
#include "client/gateway/gateway.h"
#include "client/gateway/user_cache.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/help.h"
#include "common/options.h"
#include "common/privileges.h"

#define USER            "profd-gateway"
#define CACHE_DIRECTORY "/var/cache/profd"
#define GROUPS_MAX      32

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

struct arguments {
	const char *config_path, *cache_directory;
	bool fetch, http, version;
};

static int gateway_parse_arguments(int argc, char **argv, struct arguments *a,
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
 * Root makes the folder if there is none. One that is there is left as it is: who can write it then
 * is for its owner to say.
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
static char *cache_directory(const struct arguments *a)
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
static int gateway_serve_parent(const struct arguments *a, bool as_root)
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

int main(int argc, char **argv)
{
	cleanup(freep) char *directory = NULL;
	bool as_root = !getuid() || !geteuid();
	struct privileges_user user = privileges_nobody;
	struct arguments arguments = {0};
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
	return gateway_run(&(struct gateway_options){.config_path = arguments.config_path,
						     .cache_directory = directory});
}
