/* SPDX-License-Identifier: MIT */
/*
 * Three steps, each of which begins the next one when its answer arrives: collect, encode, post.
 * The last one repeats for each body that the target does not have yet; of a window that is begun
 * it is the only one, with the bodies that were kept. lane_end() is how all of them end, from a
 * source of its own, so that the function it calls may start the lane again.
 */
#include "client/gateway/export/lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/export/target.h"
#include "client/fetch/fetcher.h"
#include "client/gateway/api/viewer.h"
#include "client/gateway/call/profd_call.h"
#include "client/gateway/export/begun.h"
#include "client/gateway/view/pieces.h"
#include "client/gateway/view/view_protocol.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/error.h"
#include "common/fnv.h"

#define COLLECT_MS   60000u
#define POST_MS      60000u
#define FILE_MAX     ((size_t)64 << 20) /* compressed bytes of a window */
#define ANSWER_MAX   65536u             /* bytes that are read of an answer */
#define MESSAGE_MAX  300u
#define LANE_URL_MAX 2048u

struct export_lane {
	struct lane_options options;
	struct queued *window; /* NULL: idle */
	struct profd_call *call;
	struct viewer *viewer;
	struct fetcher *fetcher;
	sd_event_source *answer, *end;
	struct export_bodies bodies;
	size_t part;
	uint64_t digest; /* of the parts before that one */
	bool is_rest;    /* its first windows, which were rolled up, were sent before */
	bool is_kept;    /* the bodies are in a file (begun.h) */
	struct lane_result result;
	char message[MESSAGE_MAX];
};

static void lane_drop_source(sd_event_source **source)
{
	*source = sd_event_source_disable_unref(*source);
}

static void lane_clear(struct export_lane *l)
{
	profd_call_free(l->call);
	l->call = NULL;
	viewer_free(l->viewer);
	l->viewer = NULL;
	lane_drop_source(&l->answer);
	export_bodies_deinit(&l->bodies);
}

static int lane_handle_end(sd_event_source *source, void *userdata)
{
	struct export_lane *l = userdata;
	struct queued *window = l->window;

	(void)source;
	lane_drop_source(&l->end);
	lane_clear(l);
	l->window = NULL;
	l->options.done(l->options.userdata, l, window, &l->result);
	return 0;
}

static void lane_end(struct export_lane *l, enum lane_outcome outcome, const char *message)
{
	snprintf(l->message, sizeof(l->message), "%s", message ? message : "");
	l->message[strcspn(l->message, "\n")] = '\0';
	l->result.outcome = outcome;
	l->result.message = l->message;
	if (sd_event_add_defer(l->options.loop, &l->end, lane_handle_end, l) < 0)
		sd_event_exit(l->options.loop, -ENOMEM);
}

/* --- post ---------------------------------------------------------------------------------------
 */

static void lane_post(struct export_lane *l);

/* What was read of the answer's body. */
static size_t lane_read_answer(int fd, char *ret, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = read(fd, ret + length, size - length);

		if (n <= 0)
			break;
		length += (size_t)n;
	}
	return length;
}

/* The next one is there. */
static void lane_skip_part(struct export_lane *l)
{
	const struct export_body *body = &l->bodies.all[l->part++];

	l->digest = fnv_hash(body->data, body->length, l->digest);
}

/* Where that cannot be written, they are made anew of what the store has then. */
static void lane_keep_bodies(struct export_lane *l)
{
	if (l->is_kept || l->part >= l->bodies.n || !l->options.directory)
		return;
	l->is_kept = true;
	(void)!begun_keep(l->options.directory, l->options.config->name, l->window->path,
			  &l->bodies);
}

static void lane_take_part(struct export_lane *l)
{
	l->result.n_requests++;
	l->result.n_bytes += l->bodies.all[l->part].length;
	lane_skip_part(l);
	lane_keep_bodies(l);
	/* Where that cannot be written, it is known until the next start; the end of it says so. */
	(void)!progress_mark_part(l->options.progress, l->window->path, l->part, l->digest);
	lane_post(l);
}

static void lane_judge(struct export_lane *l, const struct http_answer *answer)
{
	static const enum lane_outcome outcomes[] = {
		[EXPORT_STORED] = LANE_STORED,   [EXPORT_LATER] = LANE_LATER,
		[EXPORT_REFUSED] = LANE_REFUSED, [EXPORT_TOO_OLD] = LANE_TOO_OLD,
		[EXPORT_UNKNOWN] = LANE_UNKNOWN,
	};
	char body[4096], message[MESSAGE_MAX];
	size_t length = lane_read_answer(answer->fd, body, sizeof(body) - 1);
	enum export_verdict verdict = l->options.target->judge(answer->status, body, length);

	if (verdict == EXPORT_STORED) {
		lane_take_part(l);
		return;
	}
	body[length] = '\0';
	l->result.retry_after_s = answer->retry_after_s;
	l->result.may_be_stored = verdict == EXPORT_UNKNOWN;
	snprintf(message, sizeof(message), "status %u: %.200s", answer->status, body);
	lane_end(l, outcomes[verdict], message);
}

static int lane_handle_answer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct export_lane *l = userdata;
	struct http_answer answer = {.fd = -1};
	struct fetcher_message message;
	int r;

	(void)source, (void)fd, (void)events;
	lane_drop_source(&l->answer); /* before its fd is closed */
	r = http_receive(l->fetcher, &answer, &message);
	l->result.may_be_stored = r != FETCH_DONE && answer.may_be_done;
	if (r < 0)
		lane_end(l, LANE_LATER, error_describe(r));
	else if (r != FETCH_DONE)
		lane_end(l, LANE_LATER, message.text);
	else
		lane_judge(l, &answer);
	closep(&answer.fd);
	return 0;
}

static void lane_post(struct export_lane *l)
{
	const struct export_target *target = l->options.target;
	char url[LANE_URL_MAX];
	struct fetcher_message message;
	struct http_request request = {
		.url = url,
		.timeout_ms = POST_MS,
		.max_bytes = ANSWER_MAX,
		.authorities = l->options.config->ca_file,
		.content_type = target->content_type,
		.content_encoding = target->content_encoding,
		.headers = l->options.headers,
		.is_delivery = true,
	};
	size_t n;
	int r;

	if (l->part >= l->bodies.n) {
		lane_end(l, LANE_STORED, NULL);
		return;
	}
	n = strlen(l->options.config->url);
	while (n && l->options.config->url[n - 1] == '/')
		n--;
	snprintf(url, sizeof(url), "%.*s%s", (int)n, l->options.config->url, target->path);
	request.body = l->bodies.all[l->part].data;
	request.length = l->bodies.all[l->part].length;
	r = http_send(l->fetcher, &request, &message);
	if (!r)
		r = sd_event_add_io(l->options.loop, &l->answer, fetcher_fd(l->fetcher), EPOLLIN,
				    lane_handle_answer, l);
	else if (r > 0)
		lane_end(l, LANE_LATER, message.text);
	if (r < 0)
		lane_end(l, LANE_LATER, error_describe(r));
}

/* --- encode -------------------------------------------------------------------------------------
 */

/* exported.h */
static int lane_unpack_bodies(struct export_lane *l, const uint8_t *data, size_t length)
{
	size_t at = sizeof(uint64_t), n;
	const uint8_t *piece;
	int r = 0;

	while (!r && length >= at && pieces_next(data, length, &at, &piece, &n)) {
		uint8_t *copy = malloc(n + 1);

		if (!copy)
			return error_origin(-ENOMEM);
		memcpy(copy, piece, n);
		r = export_bodies_add(&l->bodies, copy, n);
	}
	return r;
}

/*
 * Those that the target has. False: other ones than these bodies, as those of another configuration
 * are, or of a window whose samples a roll-up has put into another order.
 */
static bool lane_skip_parts(struct export_lane *l)
{
	uint64_t digest = FNV_INIT;
	uint64_t n = progress_parts(l->options.progress, l->window->path, &digest);

	l->part = 0;
	l->digest = FNV_INIT;
	if (n > l->bodies.n)
		return false;
	while (l->part < n)
		lane_skip_part(l);
	return l->digest == digest;
}

static void lane_take_bodies(void *userdata, struct viewer_result *result)
{
	struct export_lane *l = userdata;
	int r;

	if (result->status != 200) {
		/* One that ran out of time or memory may do so again. */
		lane_end(l, result->status == 422 ? LANE_REFUSED : LANE_UNKNOWN, result->body);
		return;
	}
	r = lane_unpack_bodies(l, (const uint8_t *)result->body, result->length);
	if (r) {
		lane_end(l, LANE_LATER, "no memory");
		return;
	}
	if (!l->bodies.n)
		lane_end(l, LANE_NOTHING, NULL);
	else if (!lane_skip_parts(l))
		lane_end(l, LANE_CHANGED, NULL);
	else
		lane_post(l);
}

static void lane_set_text(char *field, size_t size, const char *text)
{
	snprintf(field, size, "%s", text ? text : "");
}

/* What came of it, when profd sends no profile. */
static enum lane_outcome lane_uncollected(const struct export_lane *l,
					  const struct profd_answer *answer)
{
	if (answer->outcome == PROFD_CALL_REFUSED && profd_answer_status(answer) == 404)
		return l->is_rest ? LANE_NOTHING : LANE_GONE;
	return answer->outcome == PROFD_CALL_FAILED ? LANE_UNKNOWN : LANE_LATER;
}

static void lane_take_file(void *userdata, const struct profd_answer *answer)
{
	struct export_lane *l = userdata;
	struct view_request message = {.task = VIEW_EXPORT};
	const struct config_export *config = l->options.config;
	char directory[NAMES_ESCAPED_MAX + 1];
	const struct viewer_request request = {
		.message = &message,
		.files = &answer->memory_fd,
		.n_files = 1,
		.done = lane_take_bodies,
		.userdata = l,
	};
	int r;

	if (answer->outcome != PROFD_CALL_DONE) {
		lane_end(l, lane_uncollected(l, answer), answer->message);
		return;
	}
	if (answer->memory_fd < 0) {
		lane_end(l, LANE_NOTHING, NULL);
		return;
	}
	snprintf(directory, sizeof(directory), "%.*s", (int)l->window->place.service_length,
		 l->window->place.service);
	lane_set_text(message.export.kind, sizeof(message.export.kind), l->options.target->name);
	if (!names_unescape(directory, message.export.service, sizeof(message.export.service)))
		lane_set_text(message.export.service, sizeof(message.export.service), directory);
	lane_set_text(message.export.labels, sizeof(message.export.labels), config->labels);
	lane_set_text(message.export.keep, sizeof(message.export.keep), config->keep);
	r = viewer_new(&l->viewer, l->options.viewers, &request);
	if (r)
		lane_end(l, LANE_LATER, r < 0 ? error_describe(r) : "too much else is asked for");
}

/* --- collect ------------------------------------------------------------------------------------
 */

/* Goes on with what was kept of @l's window, if it is begun. */
static bool lane_resume(struct export_lane *l)
{
	uint64_t digest;

	if (!l->options.directory ||
	    !progress_parts(l->options.progress, l->window->path, &digest) ||
	    !begun_read(l->options.directory, l->options.config->name, l->window->path, &l->bodies))
		return false;
	l->is_kept = lane_skip_parts(l);
	if (l->is_kept)
		lane_post(l);
	else
		export_bodies_deinit(&l->bodies);
	return l->is_kept;
}

static void lane_collect(struct export_lane *l)
{
	struct queued *window = l->window;
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	const struct profd_call_options options = {
		.loop = l->options.loop,
		.socket = l->options.socket,
		.verb = PROFD__CONTROL__REQUEST__VERB_COLLECT,
		.message = &collect,
		.result = PROFD__CONTROL__RESPONSE__RESULT_COLLECTED,
		.timeout_ms = COLLECT_MS,
		.max_file = FILE_MAX,
		.wants_memory = true,
		.done = lane_take_file,
		.userdata = l,
	};
	const struct names_window *w = &window->place.window;
	uint64_t since_s = 0;
	int r;

	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_FILE;
	collect.file = window->path;
	collect.stored = true;
	/* Of what was rolled up, some windows may have been sent before. */
	if (!window->was_held && names_is_rolled_up(w->start_s, w->seconds))
		since_s = progress_until(l->options.progress, window->path);
	collect.since_ns = since_s * NS_PER_S;
	if (names_is_rolled_up(w->start_s, w->seconds))
		collect.until_ns = l->options.until_ns;
	l->is_rest = since_s > w->start_s;
	r = profd_call_new(&l->call, &options);
	if (r)
		lane_end(l, LANE_LATER, error_describe(r));
}

void export_lane_start(struct export_lane *l, struct queued *window)
{
	l->window = window;
	l->result = (struct lane_result){0};
	l->is_kept = false;
	if (!lane_resume(l))
		lane_collect(l);
}

/* --- a lane -------------------------------------------------------------------------------------
 */

int export_lane_new(struct export_lane **ret, const struct lane_options *options)
{
	const struct fetcher_options fetcher = {.path = "/proc/self/exe", .is_http = true};
	cleanup(export_lane_freep) struct export_lane *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return error_origin(-ENOMEM);
	l->options = *options;
	r = fetcher_new(&l->fetcher, &fetcher);
	if (r)
		return r;
	*ret = steal_ptr(&l);
	return 0;
}

void export_lane_free(struct export_lane *l)
{
	if (!l)
		return;
	lane_drop_source(&l->end);
	lane_clear(l);
	fetcher_free(l->fetcher);
	free(l);
}

bool export_lane_is_idle(const struct export_lane *l)
{
	return !l->window;
}

void export_lane_rest(struct export_lane *l)
{
	fetcher_stop(l->fetcher);
}
