/* SPDX-License-Identifier: MIT */
/*
 * Every question goes to a worker that has answered a harmless one before; a new process is tried
 * some times, with pauses. Answers are checked here before anybody sees them.
 */
#include "client/symbolize/asker.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "common/clock.h"
#include "common/error.h"

#define DEADLINE_NS \
	(60 * NS_PER_S) /* somebody waits for it, and large programs have much to read */
#define TRIES_MAX 4     /* of workers that never come up */
/* Address space: the debug information of one large program, and what is made of it. */
#define MEMORY_BYTES (UINT64_C(2) << 30)

struct asker {
	struct worker *worker;
	int proven; /* process of the worker that has answered the harmless question */
	struct worker_stats stats;
};

int asker_new(struct asker **ret, const char *path, uint64_t deadline_ns)
{
	const struct worker_options options = {
		.path = path,
		.name = "symbols",
		.memory_bytes = MEMORY_BYTES,
		.deadline_ns = deadline_ns ? deadline_ns : DEADLINE_NS,
	};
	cleanup(asker_freep) struct asker *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return error_origin(-ENOMEM);
	r = worker_new(&a->worker, &options);
	if (r)
		return r;
	*ret = steal_ptr(&a);
	return 0;
}

void asker_free(struct asker *a)
{
	if (!a)
		return;
	worker_free(a->worker);
	free(a);
}

const char *asker_error_text(const struct asker *a)
{
	return a->stats.why;
}

static void asker_wait_backoff(const struct worker *w)
{
	const struct timespec at = clock_timespec(worker_backoff_until(w));

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		continue;
}

static int asker_probe_worker(struct asker *a)
{
	struct worker_request request = worker_request_of(WORKER_DEMANGLE, -1);
	int process = worker_pid(a->worker), r = WORKER_E_DIED;
	struct worker_reply reply;

	if (process && process == a->proven)
		return ASKER_E_OK;
	request.payload = "x";
	request.payload_length = 2;
	for (unsigned i = 0; i < TRIES_MAX && r; i++) {
		asker_wait_backoff(a->worker);
		r = worker_query(a->worker, &request, &reply);
		if (r < 0)
			return r;
	}
	a->proven = r ? 0 : worker_pid(a->worker);
	return r ? ASKER_E_NONE : ASKER_E_OK;
}

static int asker_request(struct asker *a, const struct worker_request *request,
			 struct worker_reply *ret, enum worker_outcome *ret_outcome)
{
	int r = asker_probe_worker(a);

	if (!r) {
		r = worker_query(a->worker, request, ret);
		if (r > 0)
			r = r == WORKER_E_DIED ? ASKER_E_DIED : ASKER_E_NONE;
	}
	if (r)
		worker_get_stats(a->worker, &a->stats);
	else
		*ret_outcome = ret->outcome;
	return r;
}

/* @is_good: the answer is one that protocol.h describes. */
static int asker_check(struct asker *a, bool is_good)
{
	if (is_good)
		return ASKER_E_OK;
	worker_reject_answer(a->worker);
	worker_get_stats(a->worker, &a->stats);
	return ASKER_E_DIED;
}

int asker_image(struct asker *a, int fd, struct worker_image *ret, enum worker_outcome *ret_outcome)
{
	const struct worker_request request = worker_request_of(WORKER_INSPECT, fd);
	struct worker_reply reply;

	return asker_request(a, &request, &reply, ret_outcome)
		       ?: asker_check(a, reply.outcome != WORKER_DONE ||
						 answer_image(reply.data, reply.length, ret));
}

int asker_names(struct asker *a, struct worker_request *request, const uint64_t *addresses,
		size_t n, enum worker_outcome *ret_outcome, struct answer_names *ret)
{
	struct worker_reply reply;

	request->payload = addresses;
	request->payload_length = n * sizeof(*addresses);
	return asker_request(a, request, &reply, ret_outcome)
		       ?: asker_check(a, reply.outcome != WORKER_DONE ||
						 answer_names(reply.data, reply.length, addresses,
							      n, ret));
}

int asker_code(struct asker *a, struct worker_request *request, const struct worker_range *range,
	       enum worker_outcome *ret_outcome, struct answer_code *ret)
{
	struct worker_reply reply;

	request->payload = range;
	request->payload_length = sizeof(*range);
	return asker_request(a, request, &reply, ret_outcome)
		       ?: asker_check(a, reply.outcome != WORKER_DONE ||
						 answer_code(reply.data, reply.length, range, ret));
}

int asker_demangle(struct asker *a, uint32_t flags, const char *names, size_t length, size_t n,
		   const char **ret)
{
	struct worker_request request = worker_request_of(WORKER_DEMANGLE, -1);
	enum worker_outcome outcome;
	struct worker_reply reply;
	int r;

	request.flags = flags;
	request.payload = names;
	request.payload_length = length;
	r = asker_request(a, &request, &reply, &outcome)
		    ?: asker_check(a, reply.outcome != WORKER_DONE ||
					      answer_texts(reply.data, reply.length, n));
	if (!r)
		*ret = outcome == WORKER_DONE ? (const char *)reply.data : NULL;
	return r;
}
