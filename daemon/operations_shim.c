/* SPDX-License-Identifier: MIT */
/*
 * Programs with libprofd.so: what the source that takes their samples needs of the process table,
 * and the request by which one is attached.
 */
#include <errno.h>

#include "common/error.h"
#include "daemon/control/policy.h"
#include "daemon/control/request.h"
#include "daemon/daemon_private.h"
#include "daemon/ingest/source_shim.h"

static int tell_begin(void *userdata, pid_t pid, uint64_t *ret_start_ns)
{
	struct daemon *d = userdata;
	int r;

	r = process_table_begin(d->processes, pid, unwinder_sink(d->unwinder), ret_start_ns);
	return r == PROCESS_E_GONE ? SOURCE_E_GONE : r;
}

static int tell_mappings(void *userdata, pid_t pid, uint64_t time_ns)
{
	struct daemon *d = userdata;

	return process_table_look(d->processes, pid, time_ns, unwinder_sink(d->unwinder));
}

int daemon_make_shim(struct daemon *d, const struct source_options *options, bool is_idle)
{
	return source_shim_new(
		&d->shim,
		&(struct source_shim_options){
			.source = *options,
			.host = {.begin = tell_begin, .look = tell_mappings, .userdata = d},
			.is_idle = is_idle,
		});
}

int daemon_verb_attach_shim(const struct control_call *call)
{
	const struct source_shim_process process = {.pid = call->peer->pid,
						    .uid = call->peer->uid,
						    .privileged = call->peer->privileged};
	struct daemon *d = call->userdata;
	const struct attach_ring *ring;
	struct source_message message;
	cleanup(closep) int pidfd = -1;
	struct request_message why;
	int r;

	r = policy_check_attach(call->peer, call->proc_fd, &pidfd, &why);
	if (r)
		return request_refuse(call, r, &why);
	if (d->stopping || !d->shim)
		return reply_error(call->reply, CONTROL_ERROR_FAILED, "%s",
				   d->stopping ? "profd is stopping" : "profd replays a recording");
	r = source_shim_attach(d->shim, &process, steal_fd(&pidfd), &ring, &message);
	if (r < 0)
		return daemon_answer_fatal(d, call->reply, r);
	if (r > 0)
		return reply_error(call->reply, CONTROL_ERROR_FAILED, "%s", message.text);
	source_shim_sent(d->shim, process.pid, reply_attached(call->reply, ring));
	return CONTROL_DONE;
}
