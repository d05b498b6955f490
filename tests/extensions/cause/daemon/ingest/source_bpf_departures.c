/* SPDX-License-Identifier: MIT */
/* Samples that the scheduler causes (bpf/departures.bpf.h), of one sampler at a time. */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "common/error.h"
#include "daemon/ingest/source_bpf_private.h"
#include "profile.skel.h"

static int departures_start(struct bpf_sampler *sampler, const struct cpus *cpus,
			    struct source_message *message)
{
	struct profile_bpf *skeleton = sampler->owner->skeleton;

	(void)cpus; /* all of them */
	(void)message;
	skeleton->bss->departures_sampler = sampler->index;
	sampler->link = bpf_program__attach(skeleton->progs.departure);
	return sampler->link ? 0 : error_origin(-errno);
}

static void departures_stop(struct bpf_sampler *sampler)
{
	bpf_link__destroy(sampler->link);
	sampler->link = NULL;
	/* It has ended on all CPUs when a grace period of RCU has. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

const struct bpf_cause bpf_departures = {
	.programs = {"departure"},
	.start = departures_start,
	.stop = departures_stop,
};
