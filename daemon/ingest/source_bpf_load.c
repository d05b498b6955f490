/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/source_bpf_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "profile.skel.h"

/*
 * libbpf's messages go to one function for all its users, without any context of the caller's: so
 * the place for one is the thread's, for as long as a call lasts. The first is the one that names
 * the cause; those that follow only say who gave up because of it.
 */
static _Thread_local struct source_message *libbpf_says;

__attribute__((format(printf, 2, 0))) static int
capture_libbpf_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level != LIBBPF_WARN || !libbpf_says || libbpf_says->text[0])
		return 0;
	vsnprintf(libbpf_says->text, sizeof(libbpf_says->text), format, args);
	libbpf_says->text[strcspn(libbpf_says->text, "\n")] = '\0';
	return 0;
}

DEFINE_CLEANUP(struct profile_bpf *, profile_bpf__destroy)

#define PROGRAMS_MAX       8
#define VERIFIER_SAYS      1024
#define VERIFIER_LOG_STATS 4 /* BPF_LOG_STATS of include/linux/bpf_verifier.h */

/* What the kernel's verifier says of each program: how long it looked at it. */
static void verifier_attach_logs(char says[PROGRAMS_MAX][VERIFIER_SAYS],
				 struct profile_bpf *skeleton)
{
	struct bpf_program *program;
	unsigned i = 0;

	bpf_object__for_each_program(program, skeleton->obj)
	{
		if (i >= PROGRAMS_MAX)
			break;
		bpf_program__set_log_level(program, VERIFIER_LOG_STATS);
		bpf_program__set_log_buf(program, says[i++], VERIFIER_SAYS);
	}
}

static void verifier_report(char says[PROGRAMS_MAX][VERIFIER_SAYS], struct profile_bpf *skeleton,
			    uint64_t us)
{
	struct bpf_prog_info info = {0};
	unsigned long sum = 0, one;
	__u32 size = sizeof(info);

	for (unsigned i = 0; i < PROGRAMS_MAX; i++)
		if (sscanf(says[i], "verification time %lu usec", &one) == 1)
			sum += one;
	bpf_obj_get_info_by_fd(bpf_program__fd(skeleton->progs.profile_tick), &info, &size);
	log_info("BPF programs loaded in %" PRIu64 " ms (verifier %lu us, %u instructions of the "
		 "tick's program)",
		 us / 1000, sum, info.verified_insns);
}

static void configure_skeleton(struct profile_bpf *skeleton, const struct source_options *options,
			       unsigned n_cpus)
{
	skeleton->rodata->self_pid = options->exclude_self ? (__u32)getpid() : 0;
	skeleton->rodata->exclude_children = options->exclude_children;
	skeleton->rodata->witness_one_in = options->witness_one_in;
	skeleton->rodata->measure_cost = options->measure_cost;
	bpf_map__set_max_entries(skeleton->maps.scratches, n_cpus);
	if (!options->measure_cost)
		bpf_map__set_max_entries(skeleton->maps.costs, 1);
	bpf_unwind_size(skeleton, options->unwind_bytes);
}

/* Programs of causes are attached when a sampler begins. */
static bool is_of_cause(const struct bpf_program *program)
{
	for (size_t i = 0; i < N_CAUSES; i++)
		if (!strcmp(bpf_program__name(program), bpf_causes[i]->program))
			return true;
	return false;
}

static int load_skeleton(struct profile_bpf **ret, const struct source_options *options,
			 unsigned n_cpus, bool with_tracepoints)
{
	cleanup(profile_bpf__destroyp) struct profile_bpf *skeleton = profile_bpf__open();
	struct bpf_program *program;
	char says[PROGRAMS_MAX][VERIFIER_SAYS] = {{0}};
	uint64_t began;
	int r;

	if (!skeleton)
		return -errno;
	configure_skeleton(skeleton, options, n_cpus);
	bpf_object__for_each_program(program, skeleton->obj)
	{
		if (program != skeleton->progs.profile_tick)
			bpf_program__set_autoload(program, with_tracepoints);
		bpf_program__set_autoattach(program, !is_of_cause(program));
	}
	verifier_attach_logs(says, skeleton);
	began = clock_ns(CLOCK_MONOTONIC) / 1000;
	r = profile_bpf__load(skeleton);
	if (r == 0)
		verifier_report(says, skeleton, clock_ns(CLOCK_MONOTONIC) / 1000 - began);
	/* The tracepoints. Whatever the reason, it does without them. */
	if (r == 0 && with_tracepoints && profile_bpf__attach(skeleton) < 0)
		r = -ENOENT;
	if (r < 0)
		return r;
	*ret = steal_ptr(&skeleton);
	return 0;
}

int source_bpf_load(struct profile_bpf **ret, const struct source_options *options, unsigned n_cpus,
		    bool *ret_follows_children, struct source_message *message)
{
	struct source_message said = {""};
	bool with_tracepoints = true;
	int r;

	libbpf_set_print(capture_libbpf_warning);
	libbpf_says = &said;
	r = load_skeleton(ret, options, n_cpus, true);
	if (r < 0 && r != -EPERM && r != -ENOMEM) {
		/* A kernel that lacks the tracepoints still samples, but follows no children. */
		with_tracepoints = false;
		r = load_skeleton(ret, options, n_cpus, false);
	}
	libbpf_says = NULL;
	*ret_follows_children = with_tracepoints;
	if (r == 0)
		return SOURCE_E_OK;
	if (r == -ENOMEM)
		return error_origin(r);
	if (r == -EPERM)
		return source_refuse(
			message, SOURCE_E_DENIED,
			"the kernel does not let profd load BPF programs: it needs CAP_BPF and "
			"CAP_PERFMON; or use the perf source");
	return source_refuse(message, SOURCE_E_UNSUPPORTED,
			     "the BPF programs cannot be loaded (%.150s): use the perf source",
			     said.text);
}
