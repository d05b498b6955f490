/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/source_bpf_load.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "common/error.h"
#include "profile.skel.h"

/*
 * libbpf's messages go to one function for all its users, without any context of the caller's: so
 * the place for one is the thread's, for as long as a call lasts. The first is the one that names
 * the cause; those that follow only say who gave up because of it.
 */
static _Thread_local struct source_message *libbpf_says;

__attribute__((format(printf, 2, 0))) static int print_libbpf(enum libbpf_print_level level,
							      const char *format, va_list args)
{
	if (level != LIBBPF_WARN || !libbpf_says || libbpf_says->text[0])
		return 0;
	vsnprintf(libbpf_says->text, sizeof(libbpf_says->text), format, args);
	libbpf_says->text[strcspn(libbpf_says->text, "\n")] = '\0';
	return 0;
}

DEFINE_CLEANUP(struct profile_bpf *, profile_bpf__destroy)

static int attach_tracepoints(struct profile_bpf *skeleton)
{
	skeleton->links.filter_fork = bpf_program__attach(skeleton->progs.filter_fork);
	skeleton->links.filter_free = bpf_program__attach(skeleton->progs.filter_free);
	return skeleton->links.filter_fork && skeleton->links.filter_free ? 0 : -ENOENT;
}

static int load(struct profile_bpf **ret, pid_t self, bool with_tracepoints)
{
	cleanup(profile_bpf__destroyp) struct profile_bpf *skeleton = profile_bpf__open();
	int r;

	if (!skeleton)
		return -errno;
	skeleton->rodata->self_pid = (__u32)self;
	bpf_program__set_autoload(skeleton->progs.filter_fork, with_tracepoints);
	bpf_program__set_autoload(skeleton->progs.filter_free, with_tracepoints);
	r = profile_bpf__load(skeleton);
	if (r == 0 && with_tracepoints)
		r = attach_tracepoints(skeleton);
	if (r < 0)
		return r;
	*ret = steal_ptr(&skeleton);
	return 0;
}

int source_bpf_load(struct profile_bpf **ret, pid_t self, bool *ret_follows_children,
		    struct source_message *message)
{
	struct source_message said = {""};
	bool with_tracepoints = true;
	int r;

	libbpf_set_print(print_libbpf);
	libbpf_says = &said;
	r = load(ret, self, true);
	if (r < 0 && r != -EPERM && r != -ENOMEM) {
		/* A kernel that lacks the tracepoints still samples, but follows no children. */
		with_tracepoints = false;
		r = load(ret, self, false);
	}
	libbpf_says = NULL;
	*ret_follows_children = with_tracepoints;
	if (r == 0)
		return SOURCE_E_OK;
	if (r == -ENOMEM)
		return error_origin(r);
	if (r == -EPERM) {
		snprintf(message->text, sizeof(message->text),
			 "the kernel does not let profd load BPF programs: it takes CAP_BPF and "
			 "CAP_PERFMON, or the perf source");
		return SOURCE_E_DENIED;
	}
	snprintf(message->text, sizeof(message->text),
		 "the BPF programs do not load here (%.150s): use the perf source", said.text);
	return SOURCE_E_UNSUPPORTED;
}
