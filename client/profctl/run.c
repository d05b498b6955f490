/* SPDX-License-Identifier: MIT */
/* A command under libprofd.so, from its start to the file. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client/profctl/arguments.h"
#include "client/profctl/command.h"
#include "client/profctl/output.h"
#include "client/profctl/profctl.h"
#include "client/run/family.h"
#include "client/run/gather.h"
#include "client/run/launch.h"
#include "client/run/program.h"
#include "client/symbolize/build_ids.h"
#include "client/symbolize/symbolize.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/program_path.h"
#include "common/shim/ring_layout.h"
#include "common/units.h"

#define FREQUENCY_DEFAULT 99
/* CPU time that was not sampled is worth a line when it is more than both, the latter of all. */
#define UNSAMPLED_SECONDS 0.1
#define UNSAMPLED_SHARE   0.1

int run_parse(int argc, char *const *argv, struct run_arguments *ret, struct usage_message *message)
{
	const struct option_row rows[] = {
		{'F', "frequency", option_number, &ret->frequency, NULL},
		{'o', "output", option_text, &ret->output.path, NULL},
		{0},
	};
	int r;

	*ret = (struct run_arguments){.frequency = FREQUENCY_DEFAULT, .output.path = ""};
	r = options_parse_command(rows, argc, argv, &ret->command, message);
	if (r)
		return r;
	if (ret->frequency > RING_FREQUENCY_MAX)
		return usage_error(message, "-F takes 1 to %d Hz", RING_FREQUENCY_MAX);
	if (strcmp(ret->output.path, "-") == 0)
		return usage_error(message, "standard output is used by the command: use -o FILE");
	if (!ret->command || !**ret->command)
		return usage_error(message, "no COMMAND given");
	ret->output.format = output_format_of(ret->output.path);
	return 0;
}

/* --- before ----------------------------------------------------------------------------------- */

static int run_find_id(void *ids, const char *path, uint64_t device, uint64_t inode,
		       char ret[GATHER_ID_SIZE])
{
	_Static_assert(GATHER_ID_SIZE >= ELF_BUILD_ID_TEXT, "room for a build id");
	return build_ids_find(ids, path, device, inode, ret);
}

static int run_open_perf_map(void *ids, int pid, uint64_t start_ns)
{
	(void)ids;
	return gather_open_perf_map("/tmp", pid, start_ns);
}

/* --- after ------------------------------------------------------------------------------------ */

static int run_find_perf_map(void *gather, uint32_t mapping)
{
	return gather_find_names(gather, mapping);
}

static void run_symbolize(const struct context *context, struct profile *p, struct gather *g)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(symbolize_result_deinit) struct symbolize_result result = {0};
	const struct symbolize_options options = {
		.root_fd = root_fd,
		.perf_map = run_find_perf_map,
		.context = g,
	};
	int r = symbolize_profile(p, &options, &result);

	if (r < 0)
		profctl_complain(context, 0, "functions have no names: %s", error_describe(r));
	else if (r)
		profctl_complain(
			context, 0,
			"functions have no names: profd-image-worker, which reads programs, "
			"cannot be run: %s",
			result.trouble);
}

struct ended {
	enum program_kind kind;
	double cpu_s; /* of the command, and of all that it and its children waited for */
	struct gather_totals gather;
	struct family_totals family;
};

static double children_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Which program it was nobody knows, when another one that was sampled started it. */
static void report_unsampled(const struct context *context, const struct ended *ended,
			     uint64_t frequency)
{
	uint64_t n = ended->gather.samples + ended->gather.lost;
	double unsampled_s = ended->cpu_s - (double)n / (double)frequency;

	if (unsampled_s < UNSAMPLED_SECONDS || unsampled_s < ended->cpu_s * UNSAMPLED_SHARE)
		return;
	profctl_complain(
		context, 0,
		"CPU time not sampled: %.1f of %.1f s; programs that are statically linked, "
		"use another C library than glibc, or exit at once are not sampled",
		unsampled_s, ended->cpu_s);
}

static void run_print_summary(const struct context *context, const struct run_arguments *a,
			      const struct ended *ended)
{
	const struct gather_totals *totals = &ended->gather;
	const struct family_totals *family = &ended->family;

	if (!family->n_attached)
		profctl_complain(context, 0, "nothing was sampled: %s %s", a->command[0],
				 program_reason(ended->kind));
	else if (!totals->samples)
		profctl_complain(context, 0,
				 "no samples: too little CPU time was used; increase -F");
	if (family->n_refused)
		profctl_complain(context, 0, "processes that could not be sampled: %" PRIu64,
				 family->n_refused);
	if (family->n_broken)
		profctl_complain(context, 0,
				 "processes that overwrote their sample memory: %" PRIu64
				 "; their later samples are missing",
				 family->n_broken);
	if (family->n_held_up)
		profctl_complain(context, 0,
				 "process %d could not be read: its owner, or a file system, held "
				 "it up (%" PRIu64 " such); code loaded at run time has no names",
				 (int)family->held_up, family->n_held_up);
	if (family->n_left)
		profctl_complain(context, 0,
				 "processes still running: %" PRIu64 "; they are no longer sampled",
				 family->n_left);
	if (family->n_attached)
		report_unsampled(context, ended, a->frequency);
	if (totals->lost)
		profctl_complain(context, 0, "samples lost: %" PRIu64, totals->lost);
	profctl_complain(context, 0, "%" PRIu64 " sample%s of %zu %s in %s", totals->samples,
			 UNITS_PLURAL(totals->samples), totals->n_sampled,
			 totals->n_sampled == 1 ? "process" : "processes", a->output.path);
}

/* --- the verb --------------------------------------------------------------------------------- */

/* Returns an exit status, with STATUS_DONE that of the command in *ret_status. */
static int run_command(const struct context *context, struct run_arguments *a,
		       enum program_kind kind, struct launch *l, int *ret_status)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct gather_world world = {.find_id = run_find_id, .open_names = run_open_perf_map};
	cleanup(build_ids_freep) struct build_ids *ids = NULL;
	cleanup(gather_freep) struct gather *g = NULL;
	cleanup(family_freep) struct family *f = NULL;
	cleanup(profile_freep) struct profile *p = NULL;
	struct ended ended = {.kind = kind};
	int r, error = 0;
	struct launched launched;

	r = build_ids_new(&ids, root_fd, NULL);
	world.userdata = ids;
	r = r ?:
		gather_new(&g, (uint32_t)a->frequency, clock_ns(CLOCK_REALTIME), &world) ?:
		family_new(&f, g, (uint32_t)a->frequency);
	if (r)
		return profctl_complain(context, STATUS_RUN_FAILED, "%s", error_describe(r));
	l->socket = family_socket(f);
	r = launch_begin(l, &launched) ?: launch_go(&launched, &error);
	if (r == LAUNCH_E_FAILED)
		return command_complain(context, a->command[0], error);
	if (!r)
		r = family_serve(f, launched.pid, ret_status, &ended.family);
	/* Its directory: from now on signals may end us. */
	family_free(steal_ptr(&f));
	command_release_signals(l->mask);
	ended.cpu_s = children_seconds();
	if (!r)
		r = gather_profile(g, clock_ns(CLOCK_REALTIME), &p);
	if (r)
		return profctl_complain(context, STATUS_RUN_FAILED, "%s", error_describe(r));
	if (a->output.format != ANY_CPUPROFILE)
		run_symbolize(context, p, g);
	r = output_save(context, STATUS_RUN_FAILED, &a->output, p);
	gather_get_totals(g, &ended.gather);
	if (!r)
		run_print_summary(context, a, &ended);
	return r;
}

int run_run(struct context *context, int argc, char **argv)
{
	cleanup(freep) char *preload = NULL;
	struct run_arguments arguments;
	enum program_kind kind;
	struct usage_message message;
	struct rlimit fds, raised;
	sigset_t signals, mask;
	struct launch l;
	int status = 0, r = run_parse(argc, argv, &arguments, &message);

	if (r == VERB_HELP)
		return parse_ended(context, r, &message);
	if (r)
		return profctl_complain(context, STATUS_RUN_FAILED, "%s; see profctl help run",
					message.text);
	kind = program_find(arguments.command[0], getenv("PATH"));
	r = output_begin(context, STATUS_RUN_FAILED, &arguments.output)
		    ?: command_preload(context, kind, &preload);
	if (r)
		return r;
	getrlimit(RLIMIT_NOFILE, &fds);
	raised = (struct rlimit){fds.rlim_max, fds.rlim_max};
	setrlimit(RLIMIT_NOFILE, &raised);
	launch_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	l = (struct launch){arguments.command, preload, NULL, &mask, &fds};
	r = run_command(context, &arguments, kind, &l, &status);
	return r ? r : command_end_as(status);
}
