/* SPDX-License-Identifier: MIT */
/* profd: the command line; everything else is daemon.c's. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "common/config/config.h"
#include "common/error.h"
#include "common/log.h"
#include "common/units.h"
#include "daemon/daemon.h"
#include "daemon/user_paths.h"

enum { EXIT_USAGE = 2 };

/*
 * What a failure at work ends with, which no person can be blamed for: a failure like any other,
 * but for a service manager, which starts again what ended so (sysexits(3); the unit's
 * RestartPreventExitStatus=).
 */
static int failure_exit_status(void)
{
	return getenv("NOTIFY_SOCKET") ? EX_TEMPFAIL : EXIT_FAILURE;
}

static const char usage[] =
	"usage: profd [OPTIONS]\n"
	"\n"
	"Samples the CPUs of this machine and writes profiles, until told to stop.\n"
	"\n"
	"  -c, --config FILE          configuration (default /etc/profd/profd.conf)\n"
	"      --state-directory DIR  where profiles are kept (default /var/lib/profd)\n"
	"      --runtime-directory DIR  where the control socket is made (default /run/profd)\n"
	"      --cache-directory DIR  where profd-gateway puts what it fetched (default\n"
	"                             /var/cache/profd)\n"
	"      --source SOURCE        bpf, perf, shim (programs with libprofd.so alone) or\n"
	"                             replay:FILE (default: the best there is)\n"
	"      --user                 without privileges, for your own processes: state in\n"
	"                             $XDG_STATE_HOME/profd, socket in $XDG_RUNTIME_DIR/profd\n"
	"      --duration TIME        stop after TIME, e.g. 10s or 5m\n"
	"      --record-replay FILE   record everything that is sampled, for --source replay:FILE\n"
	"      --check-config         read the configuration and say what is wrong with it\n"
	"      --version              print the version\n"
	"  -h, --help                 print this\n"
	"\n"
	"SIGTERM and SIGINT write what was sampled and end; SIGHUP reads the configuration again;\n"
	"SIGUSR1 writes the open windows now. `profctl status` shows what profd does.\n";

enum {
	OPTION_STATE = 256,
	OPTION_RUNTIME,
	OPTION_CACHE,
	OPTION_SOURCE,
	OPTION_USER,
	OPTION_DURATION,
	OPTION_RECORD,
	OPTION_CHECK,
	OPTION_VERSION,
};

static const struct option options[] = {
	{"config", required_argument, NULL, 'c'},
	{"state-directory", required_argument, NULL, OPTION_STATE},
	{"runtime-directory", required_argument, NULL, OPTION_RUNTIME},
	{"cache-directory", required_argument, NULL, OPTION_CACHE},
	{"source", required_argument, NULL, OPTION_SOURCE},
	{"user", no_argument, NULL, OPTION_USER},
	{"duration", required_argument, NULL, OPTION_DURATION},
	{"record-replay", required_argument, NULL, OPTION_RECORD},
	{"check-config", no_argument, NULL, OPTION_CHECK},
	{"version", no_argument, NULL, OPTION_VERSION},
	{"help", no_argument, NULL, 'h'},
	{},
};

struct arguments {
	struct daemon_options daemon;
	bool check_config;
	int status; /* >= 0: exit with it now */
};

static bool is_known_source(const char *name)
{
	return strcmp(name, "bpf") == 0 || strcmp(name, "perf") == 0 || strcmp(name, "shim") == 0 ||
	       (strncmp(name, "replay:", 7) == 0 && name[7]);
}

static int profd_usage_error(const char *option, const char *value, const char *expected)
{
	fprintf(stderr, "profd: %s: \"%s\" is not %s\n", option, value, expected);
	return EXIT_USAGE;
}

static void profd_parse_option(struct arguments *a, int option)
{
	switch (option) {
	case 'c':
		a->daemon.config_path = optarg;
		return;
	case OPTION_STATE:
		a->daemon.state_directory = optarg;
		return;
	case OPTION_RUNTIME:
		a->daemon.runtime_directory = optarg;
		return;
	case OPTION_CACHE:
		a->daemon.cache_directory = optarg;
		return;
	case OPTION_SOURCE:
		a->daemon.source = optarg;
		if (!is_known_source(optarg))
			a->status = profd_usage_error("--source", optarg,
						      "bpf, perf, shim or replay:FILE");
		return;
	case OPTION_USER:
		a->daemon.user = true;
		return;
	case OPTION_DURATION:
		if (units_parse_duration(optarg, &a->daemon.duration_ns) != UNITS_E_OK ||
		    !a->daemon.duration_ns)
			a->status = profd_usage_error("--duration", optarg,
						      "a time such as 10s or 5m");
		return;
	case OPTION_RECORD:
		a->daemon.record_replay = optarg;
		return;
	case OPTION_CHECK:
		a->check_config = true;
		return;
	case OPTION_VERSION:
		printf("profd %s\n", PROFD_VERSION);
		a->status = EXIT_SUCCESS;
		return;
	case 'h':
		fputs(usage, stdout);
		a->status = EXIT_SUCCESS;
		return;
	default: /* getopt_long() has said what is wrong */
		fputs("Try: profd --help\n", stderr);
		a->status = EXIT_USAGE;
		return;
	}
}

static void profd_parse_arguments(struct arguments *a, int argc, char **argv)
{
	int option;

	*a = (struct arguments){.status = -1};
	while (a->status < 0 && (option = getopt_long(argc, argv, "c:h", options, NULL)) != -1)
		profd_parse_option(a, option);
	if (a->status < 0 && optind < argc)
		a->status = profd_usage_error("arguments", argv[optind], "an option");
	if (a->status < 0 && a->daemon.user && a->daemon.source &&
	    strcmp(a->daemon.source, "bpf") == 0)
		a->status = profd_usage_error("--source", "bpf", "to be had with --user");
}

static int check_config(const struct daemon_options *daemon)
{
	cleanup(config_freep) struct config *config = NULL;
	cleanup(user_paths_deinit) struct user_paths paths = {};
	struct user_environment environment;
	struct config_message message;
	int r;

	user_environment_get(&environment);
	r = user_paths_find(&paths, &environment);
	if (!r && daemon->user)
		r = user_paths_load_config(&config, &paths, daemon->config_path, &message);
	else if (!r)
		r = config_load(&config, daemon->config_path, &message);
	if (r == CONFIG_E_INVALID)
		fprintf(stderr, "profd: %s\n", message.text);
	else if (r)
		fprintf(stderr, "profd: %s\n", error_describe(r));
	else
		config_print(config, stdout);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	cleanup(daemon_freep) struct daemon *daemon = NULL;
	struct arguments arguments;
	int r;

	profd_parse_arguments(&arguments, argc, argv);
	if (arguments.status >= 0)
		return arguments.status;
	if (arguments.check_config)
		return check_config(&arguments.daemon);
	r = daemon_block_signals();
	if (!r)
		r = daemon_new(&daemon, &arguments.daemon);
	if (!r)
		r = daemon_run(daemon);
	if (r < 0) {
		log_error("stopped by an error: %s", error_describe(r));
		return failure_exit_status();
	}
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}
