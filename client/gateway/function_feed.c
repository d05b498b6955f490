/* SPDX-License-Identifier: MIT */
#include "client/gateway/function_feed.h"

#include <errno.h>
#include <string.h>

#include "client/gateway/api/viewer.h"
#include "client/gateway/call/profd_call.h"
#include "client/gateway/view/view_protocol.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/units.h"

#define TIMEOUT_MS 60000u
#define RESET_NS   (3600 * NS_PER_S) /* as the counters of services */

struct function_feed {
	sd_event *loop;
	const char *socket;
	struct function_cpu *functions;
	struct profd_call *call;
	struct viewers *viewers;
	struct viewer *viewer;
	bool is_asking;
	uint64_t since_ns; /* Unix time, in whole seconds: windows that end before were added */
	uint64_t asked_ns;
	uint64_t n_failed;
};

int function_feed_new(struct function_feed **ret, sd_event *loop, const char *socket, uint32_t max)
{
	cleanup(function_feed_freep) struct function_feed *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->loop = sd_event_ref(loop);
	f->socket = socket;
	r = function_cpu_new(&f->functions, max)
		    ?: viewers_new(&f->viewers, &(struct viewers_options){.loop = loop, .max = 1});
	if (r)
		return r;
	*ret = steal_ptr(&f);
	return 0;
}

void function_feed_free(struct function_feed *f)
{
	if (!f)
		return;
	profd_call_free(f->call);
	viewer_free(f->viewer);
	viewers_free(f->viewers);
	function_cpu_free(f->functions);
	sd_event_unref(f->loop);
	free(f);
}

/* The second that begins at @ns or after it. */
static uint64_t feed_next_second(uint64_t ns)
{
	return (ns / NS_PER_S + 1) * NS_PER_S;
}

static void feed_end(struct function_feed *f, bool has_failed)
{
	f->n_failed += has_failed;
	viewer_free(f->viewer);
	f->viewer = NULL;
	f->is_asking = false;
}

static void feed_take_lines(void *userdata, struct viewer_result *result)
{
	struct function_feed *f = userdata;
	char *lines = result->body;
	const char *first = lines ? strsep(&lines, "\n") : "";
	uint64_t until_ns;
	bool is_good = result->status == 200 && lines && !units_parse_number(first, &until_ns) &&
		       until_ns >= f->since_ns && until_ns <= clock_ns(CLOCK_REALTIME);

	if (is_good) {
		is_good = !function_cpu_add(f->functions, lines);
		f->since_ns = feed_next_second(until_ns);
	}
	feed_end(f, !is_good);
}

static void feed_take_file(void *userdata, const struct profd_answer *answer)
{
	static const struct view_request message = {.task = VIEW_FLAT};
	struct function_feed *f = userdata;
	const struct viewer_request request = {
		.message = &message,
		.files = &answer->memory_fd,
		.n_files = 1,
		.done = feed_take_lines,
		.userdata = f,
	};

	if (answer->outcome == PROFD_CALL_FAILED) /* too large */
		f->since_ns = feed_next_second(f->asked_ns);
	if (answer->outcome != PROFD_CALL_DONE || answer->memory_fd < 0)
		/* That nothing was stored since is no failure. */
		feed_end(f,
			 answer->outcome != PROFD_CALL_DONE && profd_answer_status(answer) != 404);
	else if (viewer_new(&f->viewer, f->viewers, &request))
		feed_end(f, true);
}

/* Since when windows are wanted. */
static void feed_set_since(struct function_feed *f, uint64_t now_ns)
{
	if (now_ns > f->asked_ns + RESET_NS || now_ns + RESET_NS < f->asked_ns) {
		function_cpu_reset(f->functions);
		f->since_ns = feed_next_second(now_ns);
	} else if (now_ns > f->since_ns + FEED_BACK_NS) {
		f->since_ns = feed_next_second(now_ns - FEED_BACK_NS);
	}
	f->asked_ns = now_ns;
}

void function_feed_ask(struct function_feed *f)
{
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	const struct profd_call_options options = {
		.loop = f->loop,
		.socket = f->socket,
		.verb = PROFD__CONTROL__REQUEST__VERB_COLLECT,
		.message = &collect,
		.result = PROFD__CONTROL__RESPONSE__RESULT_COLLECTED,
		.timeout_ms = TIMEOUT_MS,
		.max_file = FEED_FILE_MAX,
		.wants_memory = true,
		.done = feed_take_file,
		.userdata = f,
	};

	if (f->is_asking)
		return;
	feed_set_since(f, clock_ns(CLOCK_REALTIME));
	collect.since_ns = f->since_ns;
	collect.stored = true;
	profd_call_free(f->call);
	f->call = NULL;
	f->is_asking = !profd_call_new(&f->call, &options);
}

const struct function_cpu *function_feed_functions(const struct function_feed *f)
{
	return f->functions;
}

uint64_t function_feed_failed(const struct function_feed *f)
{
	return f->n_failed;
}
