/* SPDX-License-Identifier: MIT */
#include "daemon/control/dispatch.h"

#include "common/error.h"
#include "daemon/control/policy.h"
#include "daemon/control/request.h"

static int answer_denied(int r, const struct request_message *message, struct reply *reply)
{
	reply_error(reply, r == POLICY_E_DENIED ? CONTROL_ERROR_DENIED : CONTROL_ERROR_FAILED, "%s",
		    message->text);
	return CONTROL_DONE;
}

static int dispatch_start(const struct dispatcher *d, const struct peer *peer,
			  struct request *request, struct reply *reply)
{
	unsigned n_sessions = d->ops->n_sessions_of(d->userdata, peer->uid);
	struct request_message message;
	int r;

	r = policy_check_start(peer, d->proc_fd, n_sessions, &request->start, &message);
	if (r < 0)
		return r;
	if (r)
		return answer_denied(r, &message, reply);
	return d->ops->start(d->userdata, peer, &request->start, reply);
}

static int dispatch_collect(const struct dispatcher *d, const struct peer *peer,
			    struct request *request, struct reply *reply)
{
	struct request_message message;
	int r = policy_check_collect(peer, d->proc_fd, &request->collect, &message);

	if (r < 0)
		return r;
	if (r)
		return answer_denied(r, &message, reply);
	return d->ops->collect(d->userdata, peer, &request->collect, reply);
}

static int dispatch_attach(const struct dispatcher *d, const struct peer *peer, struct reply *reply)
{
	struct request_message message;
	int pidfd, r;

	r = policy_check_attach(peer, d->proc_fd, &pidfd, &message);
	if (r < 0)
		return r;
	if (r)
		return answer_denied(r, &message, reply);
	return d->ops->attach(d->userdata, peer, pidfd, reply);
}

static int dispatch_call(const struct dispatcher *d, const struct peer *peer,
			 struct request *request, struct reply *reply)
{
	const struct control_ops *ops = d->ops;

	switch (request->verb) {
	case REQUEST_START:
		return dispatch_start(d, peer, request, reply);
	case REQUEST_STOP_ID:
		return ops->stop(d->userdata, peer, request->id, reply);
	case REQUEST_STOP_PID:
		return ops->stop_pid(d->userdata, peer, request->pid, reply);
	case REQUEST_STOP_ALL:
		return ops->stop_all(d->userdata, peer, reply);
	case REQUEST_PAUSE:
	case REQUEST_RESUME:
		return ops->pause(d->userdata, request->verb == REQUEST_PAUSE, reply);
	case REQUEST_STATUS:
		return ops->status(d->userdata, peer, reply);
	case REQUEST_FLUSH:
		return ops->flush(d->userdata, peer, request->id, reply);
	case REQUEST_EPOCH:
		return ops->epoch(d->userdata, reply);
	case REQUEST_CONFIG:
		return ops->config(d->userdata, reply);
	case REQUEST_LIST:
		return ops->list(d->userdata, request->service, request->since_ns,
				 request->until_ns, reply);
	case REQUEST_WANTED:
		return ops->wanted(d->userdata, reply);
	case REQUEST_COLLECT:
		return dispatch_collect(d, peer, request, reply);
	case REQUEST_VACUUM:
		return ops->vacuum(d->userdata, request->max_age_ns, request->max_size, reply);
	case REQUEST_ATTACH:
		return dispatch_attach(d, peer, reply);
	case REQUEST_HOLD:
		return ops->hold(d->userdata, peer, request->id, reply);
	}
	reply_error(reply, CONTROL_ERROR_USAGE, "unknown request");
	return CONTROL_DONE;
}

int dispatch_request(const struct dispatcher *d, const struct peer *peer, const uint8_t *data,
		     size_t size, struct reply *reply, const bool *answered)
{
	cleanup(request_freep) struct request *request = NULL;
	struct request_message message;
	int r;

	r = request_decode(data, size, &request, &message);
	if (r == REQUEST_E_GARBAGE) {
		reply_error(reply, CONTROL_ERROR_USAGE, "that is no request; use profctl");
		return DISPATCH_E_GARBAGE;
	}
	if (r == REQUEST_E_INVALID) {
		reply_error(reply, CONTROL_ERROR_USAGE, "%s", message.text);
		return DISPATCH_E_OK;
	}
	if (r == REQUEST_E_OK && policy_check_verb(peer, request->verb, &message)) {
		reply_error(reply, CONTROL_ERROR_DENIED, "%s", message.text);
		return DISPATCH_E_OK;
	}
	if (r == REQUEST_E_OK)
		r = dispatch_call(d, peer, request, reply);
	if (r != CONTROL_PENDING && !*answered)
		reply_error(reply, CONTROL_ERROR_FAILED, "profd failed: %s",
			    r < 0 ? error_describe(r) : "it has no answer to that");
	return DISPATCH_E_OK;
}
