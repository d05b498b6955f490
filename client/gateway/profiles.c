/* SPDX-License-Identifier: MIT */
#include "client/gateway/profiles.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/gateway/api/viewer.h"
#include "client/gateway/call/profd_call.h"
#include "client/gateway/gathered.h"
#include "client/gateway/http/places.h"
#include "client/gateway/live_profile.h"
#include "client/gateway/name_book.h"
#include "client/gateway/query.h"
#include "client/gateway/view/pieces.h"
#include "client/gateway/view/present.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/store/names.h"

#define BINARY     "application/octet-stream"
#define TEXT       "text/plain; charset=utf-8"
#define TIMEOUT_MS 30000u
#define COLLECT_MS 300000u
#define FILE_MAX   ((size_t)64 << 20)
#define MERGE_MS   60000u
#define MERGES_MAX 1u                 /* at a time: they take as much memory as views */
#define KNOWN_NS   (86400 * NS_PER_S) /* a service that was not sampled since is not known */

struct profiles {
	sd_event *loop;
	const char *socket;
	struct name_book *book;
	struct viewers *viewers; /* that merge and convert */
	struct http_places *places;
	uint64_t end_ns; /* view/present.h */
};

/* One that is being made. */
struct collection {
	struct profiles *profiles;
	struct http_exchange *x;
	struct query query;
	struct view_merge merge;
	struct profd_call *call;
	struct live_profile *live;
	struct gathered *gathered;
};

void profiles_set_end(struct profiles *p, uint64_t end_ns)
{
	p->end_ns = end_ns;
}

int profiles_new(struct profiles **ret, sd_event *loop, const char *socket)
{
	const struct viewers_options viewers = {.loop = loop,
						.timeout_ms = MERGE_MS,
						.max = MERGES_MAX};
	cleanup(profiles_freep) struct profiles *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return error_origin(-ENOMEM);
	p->loop = sd_event_ref(loop);
	p->socket = socket;
	r = name_book_new(&p->book)
		    ?: viewers_new(&p->viewers, &viewers)
		    ?: http_places_new(&p->places, PROFILES_MAX, PROFILES_CLIENT_MAX);
	if (r)
		return r;
	*ret = steal_ptr(&p);
	return 0;
}

void profiles_free(struct profiles *p)
{
	if (!p)
		return;
	viewers_free(p->viewers);
	name_book_free(p->book);
	http_places_free(p->places);
	sd_event_unref(p->loop);
	free(p);
}

static void collection_free(void *userdata)
{
	struct collection *c = userdata;

	profd_call_free(c->call);
	live_profile_free(c->live);
	gathered_free(c->gathered);
	free(c);
}

static void collection_fail(struct collection *c, unsigned status, const char *message)
{
	http_exchange_fail(c->x, status, "%s", message);
	collection_free(c);
}

/* @body is taken over. */
static void collection_reply(struct collection *c, char *body, size_t length)
{
	http_exchange_reply(c->x, BINARY, body, length);
	collection_free(c);
}

/* A profile in gperftools' format, and its names. */
static void collection_reply_legacy(struct collection *c, const char *data, size_t length)
{
	const uint8_t *profile, *names;
	size_t at = 0, profile_length, names_length;
	char *body;

	if (!pieces_next((const uint8_t *)data, length, &at, &profile, &profile_length) ||
	    !pieces_next((const uint8_t *)data, length, &at, &names, &names_length)) {
		collection_fail(c, 503, "the viewer sent a malformed answer");
		return;
	}
	body = malloc(profile_length + 1);
	if (!body ||
	    name_book_add(c->profiles->book, c->merge.number, (const char *)names, names_length)) {
		free(body);
		collection_fail(c, 503, "out of memory");
		return;
	}
	memcpy(body, profile, profile_length);
	collection_reply(c, body, profile_length);
}

static void collection_take_merged(void *userdata, struct viewer_result *result)
{
	struct collection *c = userdata;

	if (result->status != 200)
		collection_fail(c, result->status, result->body ? result->body : "out of memory");
	else if (c->merge.is_legacy)
		collection_reply_legacy(c, result->body, result->length);
	else
		collection_reply(c, steal_ptr(&result->body), result->length);
}

/* --- of the next seconds ---------------------------------------------------------------------- */

static void collection_begin_live(struct collection *c)
{
	const struct live_profile_options options = {
		.loop = c->profiles->loop,
		.socket = c->profiles->socket,
		.query = c->query,
		.viewers = c->profiles->viewers,
		.merge = c->merge,
		.done = collection_take_merged,
		.userdata = c,
	};

	if (live_profile_new(&c->live, &options))
		collection_fail(c, 503, "out of memory");
}

static bool listing_has_service(const Profd__Control__Listing *listing, const char *asked)
{
	for (size_t i = 0; i < listing->n_rows; i++)
		if (names_match_service(asked, listing->rows[i]->service))
			return true;
	return false;
}

/* A service that does not run may be one that does not exist: profd would not see a difference. */
static void collection_take_services(void *userdata, const struct profd_answer *answer)
{
	struct collection *c = userdata;

	if (answer->outcome != PROFD_CALL_DONE)
		collection_fail(c, profd_answer_status(answer), answer->message);
	else if (listing_has_service(answer->response->listing, c->query.service))
		collection_begin_live(c);
	else
		collection_fail(c, 404, "no samples of this service in the last day");
}

static void collection_call(struct collection *c, struct profd_call_options options)
{
	options.loop = c->profiles->loop;
	options.socket = c->profiles->socket;
	options.userdata = c;
	if (profd_call_new(&c->call, &options))
		collection_fail(c, 503, "out of memory");
}

static void collection_find_service(struct collection *c)
{
	Profd__Control__List list = PROFD__CONTROL__LIST__INIT;

	list.since_ns = clock_ns(CLOCK_REALTIME) - KNOWN_NS;
	collection_call(c, (struct profd_call_options){
				   .verb = PROFD__CONTROL__REQUEST__VERB_LIST,
				   .message = &list,
				   .result = PROFD__CONTROL__RESPONSE__RESULT_LISTING,
				   .timeout_ms = TIMEOUT_MS,
				   .done = collection_take_services,
			   });
}

/* --- of a range ------------------------------------------------------------------------------- */

static void collection_take_stored(void *userdata, const struct profd_answer *answer)
{
	struct collection *c = userdata;
	const char *fault;
	char *copy;

	if (answer->outcome != PROFD_CALL_DONE) {
		collection_fail(c, profd_answer_status(answer), answer->message);
		return;
	}
	if (!answer->file_length) {
		collection_fail(c, 503, "profd sent an empty profile");
		return;
	}
	if (!c->merge.is_legacy) {
		copy = malloc(answer->file_length);
		if (copy)
			memcpy(copy, answer->file, answer->file_length);
		collection_reply(c, copy, answer->file_length);
		return;
	}
	fault = gathered_new(&c->gathered, c->profiles->viewers)
			? "out of memory"
			: gathered_add(c->gathered, answer->file, answer->file_length);
	if (fault)
		collection_fail(c, 503, fault);
	else
		gathered_finish(c->gathered, &c->merge, collection_take_merged, c);
}

static void collection_begin_stored(struct collection *c)
{
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;

	if (c->query.scope == QUERY_SERVICE) {
		collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SERVICE;
		collect.service = (char *)(uintptr_t)c->query.service;
	} else if (c->query.scope == QUERY_PID) {
		collect.which_case = PROFD__CONTROL__COLLECT__WHICH_PID;
		collect.pid = c->query.pid;
	}
	collect.since_ns = c->query.since_ns;
	collect.until_ns = c->query.until_ns;
	collection_call(c, (struct profd_call_options){
				   .verb = PROFD__CONTROL__REQUEST__VERB_COLLECT,
				   .message = &collect,
				   .result = PROFD__CONTROL__RESPONSE__RESULT_COLLECTED,
				   .timeout_ms = COLLECT_MS,
				   .max_file = FILE_MAX,
				   .done = collection_take_stored,
			   });
}

/* --- requests --------------------------------------------------------------------------------- */

static void collection_begin(struct profiles *p, struct http_exchange *x, bool is_legacy)
{
	struct http_message message;
	struct query query;
	struct collection *c;

	if (query_parse(http_exchange_request(x), present_ns(p->end_ns), &query, &message)) {
		http_exchange_fail(x, 400, "%s", message.text);
		return;
	}
	if (!http_exchange_take_place(x, p->places, "profiles"))
		return;
	c = calloc(1, sizeof(*c));
	if (!c) {
		http_exchange_fail(x, 503, "out of memory");
		return;
	}
	*c = (struct collection){.profiles = p, .x = x, .query = query};
	c->merge.is_legacy = is_legacy;
	if (is_legacy)
		c->merge.number = name_book_number(p->book);
	http_exchange_on_cancel(x, collection_free, c);
	if (!query.seconds)
		collection_begin_stored(c);
	else if (query.scope == QUERY_SERVICE)
		collection_find_service(c);
	else
		collection_begin_live(c);
}

void profiles_handle_pprof(struct profiles *p, struct http_exchange *x)
{
	collection_begin(p, x, false);
}

void profiles_handle_legacy(struct profiles *p, struct http_exchange *x)
{
	collection_begin(p, x, true);
}

void profiles_handle_symbol(struct profiles *p, struct http_exchange *x)
{
	const struct http_request *request = http_exchange_request(x);
	static const char has_names[] = "num_symbols: 1\n";
	char *body = NULL;
	size_t length = sizeof(has_names) - 1;

	if (!request->is_post)
		body = strdup(has_names);
	else if (name_book_answer(p->book, request->body, &body, &length))
		body = NULL;
	http_exchange_reply(x, TEXT, body, length);
}

/* What google-pprof shows as the program's name. */
void profiles_handle_cmdline(struct profiles *p, struct http_exchange *x)
{
	struct http_message message;
	char *body = NULL;
	struct query query;
	int n;

	(void)p;
	if (query_parse_scope(http_exchange_request(x), &query, &message)) {
		http_exchange_fail(x, 400, "%s", message.text);
		return;
	}
	n = query.scope == QUERY_PID       ? asprintf(&body, "pid-%" PRId64 "\n", query.pid)
	    : query.scope == QUERY_SERVICE ? asprintf(&body, "%s\n", query.service)
					   : asprintf(&body, "machine\n");
	http_exchange_reply(x, TEXT, n < 0 ? NULL : body, n < 0 ? 0 : (size_t)n);
}
