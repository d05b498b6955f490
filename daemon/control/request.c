/* SPDX-License-Identifier: MIT */
#include "daemon/control/request.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpus.h"
#include "common/error.h"
#include "common/packet.h"
#include "common/store/contents.h"
#include "common/store/names.h"
#include "control.pb-c.h"

#define NAME_MAX_SIZE    64  /* becomes part of a folder's name */
#define SERVICE_MAX_SIZE 255 /* systemd's UNIT_NAME_MAX */
#define COMM_MAX_SIZE    15  /* TASK_COMM_LEN - 1 */
#define CGROUP_MAX_SIZE  4095
#define CPUS_MAX_SIZE    1024
#define EVENT_MAX_SIZE   31
#define RATE_HZ_MAX      100000
#define PERIOD_MIN       100 /* events; less would be nothing but interrupts */
#define DURATION_MAX_NS  (UINT64_C(36500) * 86400 * 1000000000)

static int request_invalid(struct request_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int request_invalid(struct request_message *message, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message->text, sizeof(message->text), format, args);
	va_end(args);
	return REQUEST_E_INVALID;
}

/* Texts come from strangers and go to logs and terminals: no control characters. */
static int request_check_text(const char *what, const char *text, size_t max,
			      struct request_message *message)
{
	size_t length = strlen(text);

	if (length == 0)
		return request_invalid(message, "%s is missing", what);
	if (length > max)
		return request_invalid(message, "%s is longer than %zu bytes", what, max);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return request_invalid(message, "%s holds a control character", what);
	return 0;
}

static int request_check_name(const char *what, const char *text, const char *others, size_t max,
			      struct request_message *message)
{
	int r = request_check_text(what, text, max, message);

	for (const char *c = text; !r && *c; c++)
		if (!isascii((unsigned char)*c) ||
		    (!isalnum((unsigned char)*c) && !strchr(others, *c)))
			r = request_invalid(message, "%s may have letters, digits and %s only",
					    what, others);
	return r;
}

/* A list such as 0-3,8 (cpuset(7), "List format"). */
static int request_check_cpus(const char *text, struct request_message *message)
{
	int r = request_check_text("the CPU list", text, CPUS_MAX_SIZE, message);
	struct cpus cpus;

	if (!r && (cpus_parse((const uint8_t *)text, strlen(text), &cpus) || !cpus.n))
		r = request_invalid(message, "the CPU list must be like 0-3,8");
	return r;
}

static int request_check_cgroup(const char *text, struct request_message *message)
{
	int r = request_check_text("the cgroup", text, CGROUP_MAX_SIZE, message);

	if (r)
		return r;
	if (text[0] != '/')
		return request_invalid(message,
				       "the cgroup must begin with /, as in /proc/PID/cgroup");
	for (const char *c = strstr(text, "/.."); c; c = strstr(c + 1, "/.."))
		if (c[3] == '/' || c[3] == '\0')
			return request_invalid(message, "the cgroup may not have .. in it");
	return 0;
}

static int decode_target(const Profd__Control__Start *start, struct session_request *ret,
			 struct request_message *message)
{
	ret->number = start->number;
	ret->text = start->text;
	switch (start->target) {
	case PROFD__CONTROL__TARGET_KIND__ALL:
		ret->target = TARGET_ALL;
		return 0;
	case PROFD__CONTROL__TARGET_KIND__PID:
	case PROFD__CONTROL__TARGET_KIND__TID:
		ret->target = start->target == PROFD__CONTROL__TARGET_KIND__PID ? TARGET_PID
										: TARGET_TID;
		if (start->number < 1 || start->number > INT32_MAX)
			return request_invalid(message, "%" PRId64 " is no process id",
					       start->number);
		return 0;
	case PROFD__CONTROL__TARGET_KIND__UID:
		ret->target = TARGET_UID;
		/* (uid_t)-1 means "no user" (setreuid(2)). */
		if (start->number < 0 || start->number >= UINT32_MAX)
			return request_invalid(message, "%" PRId64 " is no user id", start->number);
		return 0;
	case PROFD__CONTROL__TARGET_KIND__SERVICE:
		ret->target = TARGET_SERVICE;
		return request_check_text("the service", start->text, SERVICE_MAX_SIZE, message);
	case PROFD__CONTROL__TARGET_KIND__CGROUP:
		ret->target = TARGET_CGROUP;
		return request_check_cgroup(start->text, message);
	case PROFD__CONTROL__TARGET_KIND__COMM:
		ret->target = TARGET_COMM;
		return request_check_text("the program name", start->text, COMM_MAX_SIZE, message);
	case PROFD__CONTROL__TARGET_KIND__CPUS:
		ret->target = TARGET_CPUS;
		return request_check_cpus(start->text, message);
	default:
		return request_invalid(message, "this profd does not know that kind of target");
	}
}

static int decode_formats(const Profd__Control__Start *start, unsigned *ret,
			  struct request_message *message)
{
	*ret = 0;
	for (size_t i = 0; i < start->n_formats; i++) {
		switch (start->formats[i]) {
		case PROFD__CONTROL__FORMAT__PPROF:
			*ret |= FORMAT_PPROF;
			break;
		case PROFD__CONTROL__FORMAT__LEGACY:
			*ret |= FORMAT_LEGACY;
			break;
		case PROFD__CONTROL__FORMAT__IMAGES:
			return request_invalid(message,
					       "image profiles are made by the system session; "
					       "use pprof or legacy");
		default:
			return request_invalid(message, "this profd does not know that format");
		}
	}
	return 0;
}

static int decode_rate(const Profd__Control__Start *start, struct session_request *ret,
		       struct request_message *message)
{
	ret->is_period = start->is_period;
	ret->rate = start->rate;
	if (!start->is_period && start->rate > RATE_HZ_MAX)
		return request_invalid(message, "the frequency must be 1 to %d Hz", RATE_HZ_MAX);
	if (start->is_period && (start->rate < PERIOD_MIN || start->rate > INT64_MAX))
		return request_invalid(message, "the period must be at least %d events",
				       PERIOD_MIN);
	return 0;
}

static int decode_start(const Profd__Control__Start *start, struct session_request *ret,
			struct request_message *message)
{
	int r;

	r = decode_target(start, ret, message);
	if (!r)
		r = decode_formats(start, &ret->formats, message);
	if (!r)
		r = decode_rate(start, ret, message);
	if (!r && *start->event)
		r = request_check_name("the event", start->event, "-_:", EVENT_MAX_SIZE, message);
	if (!r && *start->name)
		r = request_check_name("the session's name", start->name, "@._-", NAME_MAX_SIZE,
				       message);
	if (!r && (*start->name == '-' || *start->name == '.'))
		r = request_invalid(message, "the session's name may not begin with - or .");
	if (!r && start->duration_ns > DURATION_MAX_NS)
		r = request_invalid(message, "the duration is longer than a hundred years");
	if (r)
		return r;
	ret->children = start->children;
	ret->event = *start->event ? start->event : NULL;
	ret->name = *start->name ? start->name : NULL;
	ret->duration_ns = start->duration_ns;
	ret->no_kernel = start->no_kernel;
	ret->held = start->held;
	ret->live = start->live;
	if (ret->live && ret->formats)
		return request_invalid(message, "a live session writes no files, of no format");
	return 0;
}

static int decode_stop(const Profd__Control__Stop *stop, struct request *ret,
		       struct request_message *message)
{
	switch (stop->which_case) {
	case PROFD__CONTROL__STOP__WHICH_ID:
		ret->verb = REQUEST_STOP_ID;
		ret->id = stop->id;
		return stop->id ? 0 : request_invalid(message, "sessions are counted from s1");
	case PROFD__CONTROL__STOP__WHICH_PID:
		ret->verb = REQUEST_STOP_PID;
		if (stop->pid < 1 || stop->pid > INT32_MAX)
			return request_invalid(message, "%" PRId64 " is no process id", stop->pid);
		ret->pid = (pid_t)stop->pid;
		return 0;
	case PROFD__CONTROL__STOP__WHICH_ALL:
		ret->verb = REQUEST_STOP_ALL;
		return 0;
	default:
		return request_invalid(message, "what to stop is missing");
	}
}

static int decode_list(const Profd__Control__List *list, struct request *ret,
		       struct request_message *message)
{
	ret->verb = REQUEST_LIST;
	ret->service = *list->service ? list->service : NULL;
	ret->since_ns = list->since_ns;
	ret->until_ns = list->until_ns;
	if (list->until_ns && list->until_ns < list->since_ns)
		return request_invalid(message, "the range ends before it begins");
	return ret->service
		       ? request_check_text("the service", ret->service, SERVICE_MAX_SIZE, message)
		       : 0;
}

static int decode_collect(const Profd__Control__Collect *collect, struct request *ret,
			  struct request_message *message)
{
	struct collect_request *to = &ret->collect;

	ret->verb = REQUEST_COLLECT;
	to->since_ns = collect->since_ns;
	to->until_ns = collect->until_ns;
	to->stored = collect->stored;
	to->take = collect->take;
	if (collect->take &&
	    (collect->which_case != PROFD__CONTROL__COLLECT__WHICH_SESSION || collect->stored))
		return request_invalid(message, "only a session's open window can be taken");
	if (collect->until_ns && collect->until_ns < collect->since_ns)
		return request_invalid(message, "the range ends before it begins");
	switch (collect->which_case) {
	case PROFD__CONTROL__COLLECT__WHICH_SERVICE:
		to->service = collect->service;
		return request_check_text("the service", to->service, SERVICE_MAX_SIZE, message);
	case PROFD__CONTROL__COLLECT__WHICH_SESSION:
		to->session = collect->session;
		return to->session ? 0 : request_invalid(message, "sessions are counted from s1");
	case PROFD__CONTROL__COLLECT__WHICH_PID:
		if (collect->pid < 1 || collect->pid > INT32_MAX)
			return request_invalid(message, "%" PRId64 " is no process id",
					       collect->pid);
		to->pid = (pid_t)collect->pid;
		return 0;
	default:
		return 0;
	}
}

static int decode_verb(struct request *ret, struct request_message *message)
{
	const Profd__Control__Request *m = ret->message;

	switch (m->verb_case) {
	case PROFD__CONTROL__REQUEST__VERB_START:
		ret->verb = REQUEST_START;
		return decode_start(m->start, &ret->start, message);
	case PROFD__CONTROL__REQUEST__VERB_STOP:
		return decode_stop(m->stop, ret, message);
	case PROFD__CONTROL__REQUEST__VERB_PAUSE:
		ret->verb = REQUEST_PAUSE;
		return 0;
	case PROFD__CONTROL__REQUEST__VERB_RESUME:
		ret->verb = REQUEST_RESUME;
		return 0;
	case PROFD__CONTROL__REQUEST__VERB_STATUS:
		ret->verb = REQUEST_STATUS;
		return 0;
	case PROFD__CONTROL__REQUEST__VERB_FLUSH:
		ret->verb = REQUEST_FLUSH;
		ret->id = m->flush->id;
		return 0;
	case PROFD__CONTROL__REQUEST__VERB_EPOCH:
		ret->verb = REQUEST_EPOCH;
		return 0;
	case PROFD__CONTROL__REQUEST__VERB_CONFIG:
		ret->verb = REQUEST_CONFIG;
		return 0;
	case PROFD__CONTROL__REQUEST__VERB_LIST:
		return decode_list(m->list, ret, message);
	case PROFD__CONTROL__REQUEST__VERB_WANTED:
		ret->verb = REQUEST_WANTED;
		return 0;
	case PROFD__CONTROL__REQUEST__VERB_COLLECT:
		return decode_collect(m->collect, ret, message);
	case PROFD__CONTROL__REQUEST__VERB_VACUUM:
		ret->verb = REQUEST_VACUUM;
		ret->max_age_ns = m->vacuum->max_age_ns;
		ret->max_size = m->vacuum->max_size_bytes;
		return 0;
	case PROFD__CONTROL__REQUEST__VERB_ATTACH_SHIM:
		ret->verb = REQUEST_ATTACH;
		return 0;
	case PROFD__CONTROL__REQUEST__VERB_HOLD:
		ret->verb = REQUEST_HOLD;
		ret->id = m->hold->id;
		return ret->id ? 0 : request_invalid(message, "sessions are counted from s1");
	default:
		return request_invalid(message, "this profd (" PROFD_VERSION
						") does not know that request; is profctl newer?");
	}
}

/* nginx is nginx.service. */
static int complete_service(Profd__Control__Request *m)
{
	char **name = NULL, *unit;

	if (m->verb_case == PROFD__CONTROL__REQUEST__VERB_START &&
	    m->start->target == PROFD__CONTROL__TARGET_KIND__SERVICE)
		name = &m->start->text;
	else if (m->verb_case == PROFD__CONTROL__REQUEST__VERB_LIST)
		name = &m->list->service;
	else if (m->verb_case == PROFD__CONTROL__REQUEST__VERB_COLLECT &&
		 m->collect->which_case == PROFD__CONTROL__COLLECT__WHICH_SERVICE)
		name = &m->collect->service;
	if (!name || !names_lacks_suffix(*name))
		return 0;
	if (asprintf(&unit, "%s.service", *name) < 0)
		return error_origin(-ENOMEM);
	free(*name); /* one that is not empty is protobuf-c's, of malloc() */
	*name = unit;
	return 0;
}

int request_decode(const uint8_t *data, size_t size, struct request **ret,
		   struct request_message *message)
{
	cleanup(request_freep) struct request *request = NULL;
	int r;

	if (size > PACKET_REQUEST_MAX)
		return REQUEST_E_GARBAGE;
	request = calloc(1, sizeof(*request));
	if (!request)
		return error_origin(-ENOMEM);
	request->start.pidfd = -1;
	request->message = profd__control__request__unpack(NULL, size, data);
	if (!request->message)
		return REQUEST_E_GARBAGE;
	r = complete_service(request->message);
	if (!r)
		r = decode_verb(request, message);
	if (r)
		return r;
	*ret = steal_ptr(&request);
	return REQUEST_E_OK;
}

void request_free(struct request *r)
{
	if (!r)
		return;
	closep(&r->start.pidfd);
	if (r->message)
		profd__control__request__free_unpacked(r->message, NULL);
	free(r);
}
