/* SPDX-License-Identifier: MIT */
/*
 * An answer that profd has is printed; of a view, profd is asked for the profile, and for that of
 * the base, which a viewer then looks into. Nothing here reads a profile.
 */
#include "client/gateway/api/api.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/code/source_file.h"
#include "client/gateway/api/print.h"
#include "client/gateway/api/profile_cache.h"
#include "client/gateway/api/viewer.h"
#include "client/gateway/call/profd_call.h"
#include "client/gateway/http/places.h"
#include "client/gateway/view/present.h"
#include "client/gateway/view/view_protocol.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/memory_text.h"

#define JSON             "application/json"
#define TIMEOUT_MS       30000u
#define COLLECT_MS       300000u
#define FILE_MAX         ((size_t)64 << 20)
#define ASKED_MAX        64u /* at once */
#define ASKED_CLIENT_MAX 16u /* of one client */
#define CACHE_MAX        ((size_t)64 << 20)

struct api {
	sd_event *loop;
	const char *socket;
	struct viewers *viewers;
	struct http_places *places;
	struct profile_cache *cache;
	uint64_t end_ns; /* view/present.h */
	const struct source_files *sources;
	struct view_origin origin;
};

/* One request that is being answered. */
struct api_request {
	struct api *api;
	struct http_exchange *x;
	struct view_request message; /* to a viewer; without one, its question */
	void (*print)(FILE *out, const Profd__Control__Response *response, uint64_t now_ns);
	struct profd_call *call;
	int files[VIEW_FILES_MAX];
	size_t n_files;
	struct viewer *viewer;
};

void api_set_end(struct api *a, uint64_t end_ns)
{
	a->end_ns = end_ns;
}

void api_set_origin(struct api *a, const struct view_origin *origin)
{
	a->origin = *origin;
}

void api_set_sources(struct api *a, const struct source_files *sources)
{
	a->sources = sources;
}

int api_new(struct api **ret, const struct api_options *options)
{
	const struct viewers_options viewers = {.loop = options->loop, .program = options->program};
	cleanup(api_freep) struct api *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return error_origin(-ENOMEM);
	a->loop = sd_event_ref(options->loop);
	a->socket = options->socket;
	r = viewers_new(&a->viewers, &viewers)
		    ?: http_places_new(&a->places, ASKED_MAX, ASKED_CLIENT_MAX)
		?: profile_cache_new(&a->cache, CACHE_MAX);
	if (r)
		return r;
	*ret = steal_ptr(&a);
	return 0;
}

void api_free(struct api *a)
{
	if (!a)
		return;
	viewers_free(a->viewers);
	http_places_free(a->places);
	profile_cache_free(a->cache);
	sd_event_unref(a->loop);
	free(a);
}

static void api_request_free(void *userdata)
{
	struct api_request *q = userdata;

	profd_call_free(q->call);
	viewer_free(q->viewer);
	for (size_t i = 0; i < q->n_files; i++)
		close(q->files[i]);
	free(q);
}

static void api_request_fail(struct api_request *q, unsigned status, const char *why)
{
	http_exchange_fail(q->x, status, "%s", why);
	api_request_free(q);
}

/* NULL: it is answered. */
static struct api_request *api_request_new(struct api *a, struct http_exchange *x,
					   enum question_view view)
{
	struct api_request *q = calloc(1, sizeof(*q));
	struct http_message message;

	if (!q) {
		http_exchange_fail(x, 503, "out of memory");
		return NULL;
	}
	if (question_parse(http_exchange_request(x)->target, view, present_ns(a->end_ns),
			   &q->message.question, &message)) {
		http_exchange_fail(x, 400, "%s", message.text);
		free(q);
		return NULL;
	}
	if (!http_exchange_take_place(x, a->places, "requests")) {
		free(q);
		return NULL;
	}
	q->api = a;
	q->message.origin = a->origin;
	q->x = x;
	http_exchange_on_cancel(x, api_request_free, q);
	return q;
}

static void api_request_call(struct api_request *q, struct profd_call_options options)
{
	options.loop = q->api->loop;
	options.socket = q->api->socket;
	options.userdata = q;
	profd_call_free(q->call);
	q->call = NULL;
	if (profd_call_new(&q->call, &options))
		api_request_fail(q, 503, "out of memory");
}

/* --- what profd answers ----------------------------------------------------------------------- */

static void api_request_print(void *userdata, const struct profd_answer *answer)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct api_request *q = userdata;

	if (answer->outcome != PROFD_CALL_DONE) {
		api_request_fail(q, profd_answer_status(answer), answer->message);
		return;
	}
	if (!memory_text_open(&text)) {
		q->print(text.out, answer->response, present_ns(q->api->end_ns));
		(void)memory_text_close(&text);
	}
	http_exchange_reply(q->x, JSON, steal_ptr(&text.text), text.length);
	api_request_free(q);
}

void api_handle_machine(struct api *a, struct http_exchange *x)
{
	struct api_request *q = api_request_new(a, x, QUESTION_USAGE);

	if (!q)
		return;
	q->print = api_print_machine;
	api_request_call(q, (struct profd_call_options){
				    .verb = PROFD__CONTROL__REQUEST__VERB_STATUS,
				    .result = PROFD__CONTROL__RESPONSE__RESULT_STATUS,
				    .timeout_ms = TIMEOUT_MS,
				    .done = api_request_print,
			    });
}

static void api_request_usage(struct api_request *q,
			      void (*done)(void *userdata, const struct profd_answer *answer))
{
	Profd__Control__Usage usage = PROFD__CONTROL__USAGE__INIT;
	const struct question *asked = &q->message.question;

	usage.since_ns = asked->range.since_ns;
	usage.until_ns = asked->range.until_ns;
	usage.steps = asked->steps;
	usage.limit = asked->limit;
	usage.text = (char *)(uintptr_t)question_text(asked, asked->search);
	api_request_call(q, (struct profd_call_options){
				    .verb = PROFD__CONTROL__REQUEST__VERB_USAGE,
				    .message = &usage,
				    .result = PROFD__CONTROL__RESPONSE__RESULT_USAGE,
				    .timeout_ms = TIMEOUT_MS,
				    .done = done,
			    });
}

void api_handle_usage(struct api *a, struct http_exchange *x)
{
	struct api_request *q = api_request_new(a, x, QUESTION_USAGE);

	if (!q)
		return;
	q->print = api_print_usage;
	api_request_usage(q, api_request_print);
}

/* --- views ------------------------------------------------------------------------------------ */

static void api_request_view(struct api_request *q);

/* The file that the profile names is opened here, and read by the viewer. */
static void api_request_take_source(struct api_request *q, const char *name)
{
	const char *why = "the profile does not name its file";
	struct stat st;
	int fd = *name ? source_files_open(q->api->sources, name, &why) : -1;

	q->message.task = VIEW_QUESTION;
	q->message.source = fd < 0 ? VIEW_SOURCE_MISSING : VIEW_SOURCE_OPEN;
	snprintf(q->message.source_why, sizeof(q->message.source_why), "%s", why ? why : "");
	q->message.source_changed_s = fd >= 0 && fstat(fd, &st) == 0 ? st.st_mtim.tv_sec : 0;
	if (fd >= 0)
		q->files[q->n_files++] = fd;
	api_request_view(q);
}

static void api_request_take_view(void *userdata, struct viewer_result *result)
{
	struct api_request *q = userdata;

	if (result->status != 200) {
		api_request_fail(q, result->status, result->body ? result->body : "out of memory");
		return;
	}
	if (q->message.task == VIEW_SOURCE) {
		api_request_take_source(q, result->body);
		return;
	}
	http_exchange_reply(q->x, JSON, result->body, result->length);
	result->body = NULL;
	api_request_free(q);
}

static void api_request_view(struct api_request *q)
{
	const struct viewer_request request = {
		.message = &q->message,
		.files = q->files,
		.n_files = q->n_files,
		.done = api_request_take_view,
		.userdata = q,
	};
	int r;

	viewer_free(steal_ptr(&q->viewer));
	r = viewer_new(&q->viewer, q->api->viewers, &request);

	if (r == VIEWER_E_BUSY)
		api_request_fail(q, 503, "too many views at once");
	else if (r)
		api_request_fail(q, 503, "out of memory");
}

static void api_request_collect(struct api_request *q);

/* The next one of the profiles: @fd is duplicated. */
static void api_request_add_file(struct api_request *q, int fd, uint64_t n_windows)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own < 0) {
		api_request_fail(q, 503, "too many open files");
		return;
	}
	if (!q->n_files)
		q->message.n_windows = n_windows;
	q->files[q->n_files++] = own;
	if (q->n_files <= q->message.question.has_base)
		api_request_collect(q);
	else
		api_request_view(q);
}

/* Of the next profile: the base is the second one. */
static struct profile_key api_request_key(const struct api_request *q)
{
	const struct question *asked = &q->message.question;
	uint16_t service = q->n_files ? asked->base_service : asked->service;

	return (struct profile_key){
		.service = question_text(asked, service),
		.pid = service ? 0 : asked->pid,
		.since_ns = (q->n_files ? &asked->base : &asked->range)->since_ns,
		.until_ns = (q->n_files ? &asked->base : &asked->range)->until_ns,
	};
}

/* Of which profile that is, is said of the base alone. */
static void api_request_fail_profile(struct api_request *q, unsigned status, const char *why)
{
	http_exchange_fail(q->x, status, "%s%s", q->n_files ? "nothing to compare with: " : "",
			   why);
	api_request_free(q);
}

static void api_request_take_file(void *userdata, const struct profd_answer *answer)
{
	struct api_request *q = userdata;
	struct profile_key key = api_request_key(q);

	if (answer->outcome != PROFD_CALL_DONE) {
		api_request_fail_profile(q, profd_answer_status(answer), answer->message);
		return;
	}
	if (answer->memory_fd < 0) {
		api_request_fail(q, 503, "profd sent an empty profile");
		return;
	}
	profile_cache_add(q->api->cache, &key, answer->memory_fd, answer->response->collected,
			  clock_ns(CLOCK_REALTIME));
	api_request_add_file(q, answer->memory_fd, answer->response->collected->windows);
}

static void api_request_collect(struct api_request *q)
{
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	struct profile_key key = api_request_key(q);
	uint64_t n_windows;
	int cached = profile_cache_find(q->api->cache, &key, clock_ns(CLOCK_REALTIME), &n_windows);

	if (cached >= 0) {
		api_request_add_file(q, cached, n_windows);
		return;
	}
	if (*key.service) {
		collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SERVICE;
		collect.service = (char *)(uintptr_t)key.service;
	} else if (key.pid) {
		collect.which_case = PROFD__CONTROL__COLLECT__WHICH_PID;
		collect.pid = key.pid;
	}
	collect.since_ns = key.since_ns;
	collect.until_ns = key.until_ns;
	collect.times = question_range_is_timed(q->n_files ? &q->message.question.base
							   : &q->message.question.range);
	api_request_call(q, (struct profd_call_options){
				    .verb = PROFD__CONTROL__REQUEST__VERB_COLLECT,
				    .message = &collect,
				    .result = PROFD__CONTROL__RESPONSE__RESULT_COLLECTED,
				    .timeout_ms = COLLECT_MS,
				    .max_file = FILE_MAX,
				    .wants_memory = true,
				    .done = api_request_take_file,
			    });
}

static void api_request_take_coverage(void *userdata, const struct profd_answer *answer)
{
	struct api_request *q = userdata;
	const Profd__Control__UsageTable *t;

	if (answer->outcome != PROFD_CALL_DONE) {
		api_request_fail(q, profd_answer_status(answer), answer->message);
		return;
	}
	t = answer->response->usage;
	q->message.covered_since_ns = t->since_ns;
	q->message.covered_step_ns = t->step_ns;
	for (size_t i = 0; i < t->n_covered && i < QUESTION_STEPS_MAX; i++)
		q->message.is_covered[q->message.n_covered++] = t->covered[i] > 0;
	api_request_collect(q);
}

/* When there was sampling at all. */
static void api_request_cover(struct api_request *q)
{
	q->message.question.steps = QUESTION_STEPS_MAX;
	q->message.question.limit = 1;
	api_request_usage(q, api_request_take_coverage);
}

void api_handle_view(struct api *a, struct http_exchange *x, enum question_view view)
{
	struct api_request *q = api_request_new(a, x, view);

	if (q && view == QUESTION_SOURCE && a->sources)
		q->message.task = VIEW_SOURCE;
	if (q && view == QUESTION_HEAT)
		api_request_cover(q);
	else if (q)
		api_request_collect(q);
}
