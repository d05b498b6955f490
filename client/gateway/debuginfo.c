/* SPDX-License-Identifier: MIT */
/*
 * A tick asks profd for a list; then each of the list is fetched in turn, one at a time: send, wait
 * for the answer or the deadline, store it or note the failure, go on with the next. Servers that
 * failed end the list: attempts.c says when the next one is worth a try.
 */
#include "client/gateway/debuginfo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/fetch/fetcher.h"
#include "client/gateway/attempts.h"
#include "client/gateway/debug_cache.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "common/packet.h"
#include "common/text_print.h"
#include "common/unixsock.h"
#include "control.pb-c.h"

#define US          UINT64_C(1000)
#define INTERVAL_NS (10 * NS_PER_S)
#define DEADLINE_NS \
	(660 * NS_PER_S) /* of a fetch; libdebuginfod's own ones are shorter (fetch.c) */
#define ACCURACY_US 500000
#define TIMEOUT_MS  1000 /* of profd, to send, and to receive */
#define LENGTH_MAX \
	2000 /* of a URL: with a build id behind it, it fits into libdebuginfod's PATH_MAX */

_Static_assert(FETCH_FILE_MAX <= DEBUG_CACHE_MAX_BYTES, "room for any file");

/* --- servers ---------------------------------------------------------------------------------- */

/* What is wrong with it; NULL: nothing. */
static const char *find_fault(const char *url)
{
	size_t length = strlen(url), scheme = 0;

	if (strncmp(url, "http://", 7) == 0)
		scheme = 7;
	else if (strncmp(url, "https://", 8) == 0)
		scheme = 8;
	if (!scheme)
		return "it begins neither with http:// nor with https://";
	if (length == scheme || url[scheme] == '/')
		return "it names no host";
	if (length > LENGTH_MAX)
		return "it is too long";
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c > '~')
			return "it contains blanks or non-ASCII characters";
	return NULL;
}

int urls_join(char *const *list, char **ret, struct debuginfo_message *message)
{
	cleanup(freep) char *joined = NULL;

	if (!list[0]) {
		snprintf(message->text, sizeof(message->text), "the list names no server");
		return URLS_E_BAD;
	}
	for (size_t i = 0; list[i]; i++) {
		cleanup(freep) char *before = steal_ptr(&joined);
		const char *fault = find_fault(list[i]);

		if (fault) {
			snprintf(message->text, sizeof(message->text),
				 "'%.200s' is no debuginfod server: %s", list[i], fault);
			return URLS_E_BAD;
		}
		if (text_print(&joined, "%s%s%s", before ? before : "", before ? " " : "", list[i]))
			return -ENOMEM;
	}
	*ret = steal_ptr(&joined);
	return URLS_E_OK;
}

/* --- what profd wants ------------------------------------------------------------------------- */

static void debuginfo_response_freep(Profd__Control__Response **response)
{
	if (*response)
		profd__control__response__free_unpacked(*response, NULL);
}

static int wanted_parse_response(const uint8_t *data, size_t size, Profd__Control__Response **ret,
				 struct debuginfo_message *message)
{
	cleanup(debuginfo_response_freep) Profd__Control__Response *response =
		profd__control__response__unpack(NULL, size, data);

	if (response && response->result_case == PROFD__CONTROL__RESPONSE__RESULT_BUILD_IDS) {
		*ret = steal_ptr(&response);
		return WANTED_E_OK;
	}
	if (response && response->result_case == PROFD__CONTROL__RESPONSE__RESULT_ERROR)
		snprintf(message->text, sizeof(message->text), "%s", response->error->message);
	else
		snprintf(message->text, sizeof(message->text), "it is of another version");
	return WANTED_E_REFUSED;
}

int wanted_query(const char *socket, Profd__Control__Response **ret,
		 struct debuginfo_message *message)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	cleanup(freep) uint8_t *data = NULL;
	uint8_t packed[64]; /* much more than it takes */
	cleanup(closep) int fd = -1;
	size_t size;
	int r = unixsock_connect_at_once(socket, &fd);

	if (r == UNIXSOCK_E_DENIED) {
		snprintf(message->text, sizeof(message->text), "its socket is not open to us");
		return WANTED_E_REFUSED;
	}
	if (r)
		return r < 0 ? r : WANTED_E_AWAY;
	request.verb_case = PROFD__CONTROL__REQUEST__VERB_WANTED;
	request.wanted = &empty;
	size = profd__control__request__pack(&request, packed);
	r = unixsock_send(fd, packed, size, TIMEOUT_MS);
	/* One that closed without reading may have said why. */
	if (!r || r == UNIXSOCK_E_CLOSED)
		r = unixsock_receive(fd, PACKET_RESPONSE_MAX, TIMEOUT_MS, &data, &size);
	if (r)
		return r < 0 ? r : WANTED_E_AWAY;
	return wanted_parse_response(data, size, ret, message);
}

/* --- a file after the other ------------------------------------------------------------------- */

struct debuginfo {
	sd_event *loop;
	struct debug_cache *cache;
	struct attempts attempts;
	struct fetcher *fetcher;
	char *socket;
	uint64_t interval_ns;
	sd_event_source *tick, *answer, *deadline; /* the last two while something is fetched */
	Profd__Control__Response *wanted; /* its build ids; NULL: nothing was answered yet */
	size_t next;                      /* of them */
	int profd;                        /* WANTED_E_* as it was told last; -1: nothing yet */
};

struct id_text {
	char text[2 * FETCH_ID_MAX + 1];
};

/* The last one that was taken from the list. */
static const ProtobufCBinaryData *debuginfo_current(const struct debuginfo *d)
{
	return &d->wanted->build_ids->build_ids[d->next - 1];
}

static struct id_text id_text(const ProtobufCBinaryData *id)
{
	struct id_text text;

	for (size_t i = 0; i < id->len; i++)
		snprintf(text.text + 2 * i, 3, "%02x", id->data[i]);
	return text;
}

static void debuginfo_drop_source(sd_event_source **source)
{
	*source = sd_event_source_disable_unref(*source);
}

/* The top of whatever happens here: a fatal error ends the loop. */
static int debuginfo_end_handler(struct debuginfo *d, int r)
{
	return r < 0 ? sd_event_exit(d->loop, r) : 0;
}

/* --- one fetch -------------------------------------------------------------------------------- */

static int begin_fetch(struct debuginfo *d);

static void note_failure(struct debuginfo *d, const ProtobufCBinaryData *id, const char *why)
{
	uint64_t rest_ns = attempts_failed(&d->attempts, id->data, id->len,
					   clock_ns(CLOCK_MONOTONIC));

	log_warning("debug file %s: %s; servers are asked again in %" PRIu64 " s", id_text(id).text,
		    why, rest_ns / NS_PER_S);
}

static void note_answer(struct debuginfo *d, const ProtobufCBinaryData *id)
{
	attempts_answered(&d->attempts, id->data, id->len, clock_ns(CLOCK_MONOTONIC));
}

static int debuginfo_store(struct debuginfo *d, const ProtobufCBinaryData *id, int fd)
{
	int r = debug_cache_store(d->cache, id->data, id->len, fd);

	if (r < 0)
		return r;
	if (r == DEBUG_CACHE_E_UNUSABLE) {
		note_failure(d, id, strerrordesc_np(errno));
		return 0;
	}
	note_answer(d, id);
	log_info("debug file %s: fetched", id_text(id).text);
	return 0;
}

static int debuginfo_receive(struct debuginfo *d)
{
	const ProtobufCBinaryData *id = debuginfo_current(d);
	cleanup(closep) int fd = -1;
	struct fetcher_message why;
	int r;

	/* Before its fd is closed. */
	debuginfo_drop_source(&d->answer);
	debuginfo_drop_source(&d->deadline);
	r = fetcher_receive(d->fetcher, &fd, &why);
	switch (r) {
	case FETCH_DONE:
		r = debuginfo_store(d, id, fd);
		break;
	case FETCH_NONE:
		note_answer(d, id);
		break;
	case FETCH_REFUSED:
		log_warning("debug file %s: not used: %s", id_text(id).text, why.text);
		note_answer(d, id);
		break;
	case FETCH_FAILED:
		note_failure(d, id, why.text);
		break;
	}
	return r < 0 ? r : 0;
}

static int handle_answer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct debuginfo *d = userdata;
	int r = debuginfo_receive(d);

	(void)source, (void)fd, (void)events;
	if (!r)
		r = begin_fetch(d);
	return debuginfo_end_handler(d, r);
}

static int handle_deadline(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct debuginfo *d = userdata;

	(void)source, (void)usec;
	debuginfo_drop_source(&d->answer);
	debuginfo_drop_source(&d->deadline);
	fetcher_stop(d->fetcher);
	note_failure(d, debuginfo_current(d), "it takes too long");
	return 0;
}

static int debuginfo_await_answer(struct debuginfo *d)
{
	int r = sd_event_add_io(d->loop, &d->answer, fetcher_fd(d->fetcher), EPOLLIN, handle_answer,
				d);

	if (r >= 0)
		r = sd_event_add_time_relative(d->loop, &d->deadline, CLOCK_MONOTONIC,
					       DEADLINE_NS / US, ACCURACY_US, handle_deadline, d);
	return r < 0 ? error_origin(r) : 0;
}

static bool debuginfo_should_fetch(const struct debuginfo *d, const ProtobufCBinaryData *id)
{
	return id->len >= DEBUG_CACHE_ID_MIN && id->len <= FETCH_ID_MAX &&
	       attempts_may_query_id(&d->attempts, id->data, id->len, clock_ns(CLOCK_MONOTONIC)) &&
	       !debug_cache_has(d->cache, id->data, id->len);
}

/* Begins with the next one of the list; when there is none, the fetcher is not needed. */
static int begin_fetch(struct debuginfo *d)
{
	while (d->next < d->wanted->build_ids->n_build_ids &&
	       attempts_may_query(&d->attempts, clock_ns(CLOCK_MONOTONIC))) {
		const ProtobufCBinaryData *id = &d->wanted->build_ids->build_ids[d->next++];
		struct fetcher_message why;
		int r;

		if (!debuginfo_should_fetch(d, id))
			continue;
		r = fetcher_send(d->fetcher, id->data, id->len, &why);
		if (r == FETCH_DONE)
			return debuginfo_await_answer(d);
		if (r < 0)
			return r;
		note_failure(d, id, why.text);
	}
	fetcher_stop(d->fetcher);
	return 0;
}

/* --- the next list --------------------------------------------------------------------------- */

/* A line when it changes, not every ten seconds. */
static void debuginfo_log_profd(struct debuginfo *d, int outcome,
				const struct debuginfo_message *message)
{
	if (outcome == d->profd)
		return;
	if (outcome == WANTED_E_AWAY)
		log_warning("no profd answers at %s; it is asked again", d->socket);
	else if (outcome == WANTED_E_REFUSED)
		log_warning("profd at %s does not report which debug files it needs: %s", d->socket,
			    message->text);
	else if (d->profd != -1)
		log_info("profd at %s answers", d->socket);
	d->profd = outcome;
}

static int debuginfo_query_profd(struct debuginfo *d)
{
	struct debuginfo_message message;
	int r;

	if (d->answer || !attempts_may_query(&d->attempts, clock_ns(CLOCK_MONOTONIC)))
		return 0;
	debuginfo_response_freep(&d->wanted);
	d->wanted = NULL;
	d->next = 0;
	r = wanted_query(d->socket, &d->wanted, &message);
	if (r < 0)
		return r;
	debuginfo_log_profd(d, r, &message);
	return r == WANTED_E_OK ? begin_fetch(d) : 0;
}

static int handle_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct debuginfo *d = userdata;
	int r = debuginfo_query_profd(d);

	(void)usec;
	if (!r) {
		r = sd_event_source_set_time_relative(source, d->interval_ns / US);
		if (r >= 0)
			r = sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
		r = r < 0 ? error_origin(r) : 0;
	}
	return debuginfo_end_handler(d, r);
}

/* --- the interface ---------------------------------------------------------------------------- */

int debuginfo_new(struct debuginfo **ret, sd_event *loop, struct debug_cache *cache,
		  const struct debuginfo_options *options)
{
	const struct fetcher_options fetcher = {
		.path = options->program ? options->program : "/proc/self/exe",
		.urls = options->urls,
		.cache_directory = options->cache_directory,
	};
	cleanup(debuginfo_freep) struct debuginfo *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return error_origin(-ENOMEM);
	d->loop = sd_event_ref(loop);
	d->cache = cache;
	d->interval_ns = options->interval_ns ? options->interval_ns : INTERVAL_NS;
	d->profd = -1;
	r = text_copy(&d->socket, options->socket) ?: fetcher_new(&d->fetcher, &fetcher);
	if (r)
		return r;
	r = sd_event_add_time_relative(loop, &d->tick, CLOCK_MONOTONIC, 0, ACCURACY_US, handle_tick,
				       d);
	if (r < 0)
		return error_origin(r);
	*ret = steal_ptr(&d);
	return 0;
}

void debuginfo_free(struct debuginfo *d)
{
	if (!d)
		return;
	debuginfo_drop_source(&d->tick);
	debuginfo_drop_source(&d->answer);
	debuginfo_drop_source(&d->deadline);
	fetcher_free(d->fetcher);
	debuginfo_response_freep(&d->wanted);
	free(d->socket);
	sd_event_unref(d->loop);
	free(d);
}
