/* SPDX-License-Identifier: MIT */
/* profd: the command line; everything else is daemon.c's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "common/config/config.h"
#include "common/error.h"
#include "common/log.h"
#include "common/options.h"
#include "common/user_paths.h"
#include "daemon/daemon.h"
#include "daemon/ingest/sources.h"

/* hostname(7) */
#define HOST_NAME_LENGTH_MAX 253
#define HOST_NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."

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
	"Samples the CPUs of this machine and writes profiles until it is stopped.\n"
	"\n"
	"  -c, --config FILE          configuration (default /etc/profd/profd.conf)\n"
	"      --state-directory DIR  the store (default /var/lib/profd)\n"
	"      --runtime-directory DIR  for the control socket (default /run/profd)\n"
	"      --cache-directory DIR  for debug files from profd-gateway (default "
	"/var/cache/profd)\n"
	"      --host-name NAME       this machine's name, where that of the container is another\n"
	"      --source SOURCE        bpf, perf, shim (only programs with libprofd.so) or "
	"replay:FILE (default: the best available)\n"
	"      --user                 without privileges, for your own processes: state in "
	"$XDG_STATE_HOME/profd, socket in $XDG_RUNTIME_DIR/profd\n"
	"      --read-only            answer from the store only: sample, write and change "
	"nothing\n"
	"      --duration TIME        stop after TIME, e.g. 10s or 5m\n"
	"      --record-replay FILE   record all samples, for --source replay:FILE\n"
	"      --check-config         check the configuration and print it\n"
	"  -q, --quiet                with --check-config: print errors only\n"
	"      --version              print the version\n"
	"  -h, --help                 print this\n"
	"\n"
	"SIGTERM and SIGINT write the open windows and exit; SIGHUP reloads the configuration;\n"
	"SIGUSR1 writes the open windows now. `profctl status` shows what profd does.\n";

struct daemon_arguments {
	struct daemon_options daemon;
	bool check_config, quiet, version;
};

static int option_source(const char *name, const char *argument, void *to,
			 struct usage_message *message)
{
	*(const char **)to = argument;
	if (strcmp(argument, "bpf") == 0 || strcmp(argument, "perf") == 0 ||
	    strcmp(argument, "shim") == 0 || (strncmp(argument, "replay:", 7) == 0 && argument[7]))
		return 0;
	return usage_error(message, "%s takes bpf, perf, shim or replay:FILE, not '%s'", name,
			   argument);
}

/* As other hosts know it: it becomes a directory's name, and a label for servers. */
static int option_host_name(const char *name, const char *argument, void *to,
			    struct usage_message *message)
{
	size_t length = strlen(argument);

	*(const char **)to = argument;
	if (length && length <= HOST_NAME_LENGTH_MAX && argument[0] != '.' && argument[0] != '-' &&
	    strspn(argument, HOST_NAME_CHARACTERS) == length)
		return 0;
	return usage_error(message, "%s takes a host name, not '%s'", name, argument);
}

static int profd_parse_arguments(int argc, char **argv, struct daemon_arguments *a,
				 struct usage_message *message)
{
	struct daemon_options *d = &a->daemon;
	const struct option_row rows[] = {
		{'c', "config", option_text, &d->config_path, NULL},
		{0, "state-directory", option_text, &d->state_directory, NULL},
		{0, "runtime-directory", option_text, &d->runtime_directory, NULL},
		{0, "cache-directory", option_text, &d->cache_directory, NULL},
		{0, "host-name", option_host_name, &d->host_name, NULL},
		{0, "source", option_source, &d->source, NULL},
		{0, "user", option_flag, &d->user, NULL},
		{0, "read-only", option_flag, &d->read_only, NULL},
		{0, "duration", option_seconds, &d->duration_ns, NULL},
		{0, "record-replay", option_text, &d->record_replay, NULL},
		{0, "check-config", option_flag, &a->check_config, NULL},
		{'q', "quiet", option_flag, &a->quiet, NULL},
		{0, "version", option_flag, &a->version, NULL},
		{0},
	};
	int r = options_parse(rows, argc, argv, message);

	if (!r && d->user && d->source && strcmp(d->source, "bpf") == 0)
		r = usage_error(message, "--source bpf is not available with --user");
	if (!r && d->read_only && (d->source || d->record_replay))
		r = usage_error(message, "with --read-only, nothing is sampled");
	if (!r && a->quiet && !a->check_config && !a->version)
		r = usage_error(message, "--quiet goes with --check-config");
	return r;
}

static int check_config(const struct daemon_options *daemon, bool quiet)
{
	cleanup(config_freep) struct config *config = NULL;
	cleanup(user_paths_deinit) struct user_paths paths = {};
	struct user_environment environment;
	struct source_message why;
	struct config_message message;
	char *rest = message.text, *line;
	struct event event;
	int r;

	user_environment_get(&environment);
	r = user_paths_find(&paths, &environment)
		    ?: config_load(&config, daemon->config_path, daemon->user ? &paths : NULL,
				   &message);
	if (r < 0)
		fprintf(stderr, "profd: %s\n", error_describe(r));
	while (r == CONFIG_E_INVALID && (line = strsep(&rest, "\n")))
		fprintf(stderr, "profd: %s\n", line);
	if (!r && (r = event_parse(config->event, &event, &why)))
		fprintf(stderr, "profd: event=%s: %s\n", config->event, why.text);
	if (!r && !quiet)
		config_print(config, stdout);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	cleanup(daemon_freep) struct daemon *daemon = NULL;
	struct daemon_arguments arguments = {0};
	struct usage_message message;
	int r = profd_parse_arguments(argc, argv, &arguments, &message);

	if (r == OPTIONS_BAD) {
		fprintf(stderr, "profd: %s; see profd --help\n", message.text);
		return EXIT_USAGE;
	}
	if (r == VERB_HELP || arguments.version) {
		help_print(stdout, r == VERB_HELP ? usage : "profd " PROFD_VERSION "\n");
		return EXIT_SUCCESS;
	}
	if (arguments.check_config)
		return check_config(&arguments.daemon, arguments.quiet);
	r = daemon_new(&daemon, &arguments.daemon) ?: daemon_run(daemon);
	if (r < 0) {
		log_error("stopped by an error: %s", error_describe(r));
		return failure_exit_status();
	}
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}
