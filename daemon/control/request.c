/* SPDX-License-Identifier: MIT */
/*
 * What a stranger may send in a request: every text is short, without control characters, and has
 * the form of what it names; every number is in its range. What gets past here ends up in file
 * names, log lines and terminals.
 */
#include "daemon/control/request.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/error.h"
#include "common/store/contents.h"
#include "common/store/names.h"
#include "daemon/output/index.h"
#include "daemon/output/usage.h"

#define NAME_MAX_SIZE     64  /* becomes part of a directory's name */
#define SERVICE_MAX_SIZE  255 /* systemd's UNIT_NAME_MAX */
#define SERVICES_MAX_SIZE 2000
#define COMM_MAX_SIZE     15 /* TASK_COMM_LEN - 1 */
#define CGROUP_MAX_SIZE   4095
#define CPUS_MAX_SIZE     1024
#define EVENT_MAX_SIZE    31
#define RATE_HZ_MAX       100000
#define PERIOD_MIN        100 /* events; less would be nothing but interrupts */
#define DURATION_MAX_NS   (UINT64_C(36500) * 86400 * NS_PER_S)

/* Texts come from strangers and go to logs and terminals: no control characters. */
static int request_check_text(const char *what, const char *text, size_t max,
			      struct source_message *message)
{
	size_t length = strlen(text);

	if (length == 0)
		return source_refuse(message, CONTROL_ERROR_USAGE, "%s is missing", what);
	if (length > max)
		return source_refuse(message, CONTROL_ERROR_USAGE, "%s is longer than %zu bytes",
				     what, max);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return source_refuse(message, CONTROL_ERROR_USAGE,
					     "%s has a control character", what);
	return 0;
}

static int request_check_name(const char *what, const char *text, const char *others, size_t max,
			      struct source_message *message)
{
	int r = request_check_text(what, text, max, message);

	for (const char *c = text; !r && *c; c++)
		if (!isascii((unsigned char)*c) ||
		    (!isalnum((unsigned char)*c) && !strchr(others, *c)))
			r = source_refuse(message, CONTROL_ERROR_USAGE,
					  "%s may only have letters, digits and %s", what, others);
	return r;
}

static int request_check_cpus(const char *text, struct source_message *message)
{
	struct cpus cpus;
	int r = request_check_text("the CPU list", text, CPUS_MAX_SIZE, message);

	if (!r && (cpus_parse((const uint8_t *)text, strlen(text), &cpus) || !cpus.n))
		r = source_refuse(message, CONTROL_ERROR_USAGE, "the CPU list must be like 0-3,8");
	return r;
}

static int request_check_cgroup(const char *text, struct source_message *message)
{
	int r = request_check_text("the cgroup", text, CGROUP_MAX_SIZE, message);

	if (r)
		return r;
	if (text[0] != '/')
		return source_refuse(message, CONTROL_ERROR_USAGE,
				     "the cgroup must begin with /, as in /proc/PID/cgroup");
	for (const char *c = strstr(text, "/.."); c; c = strstr(c + 1, "/.."))
		if (c[3] == '/' || c[3] == '\0')
			return source_refuse(message, CONTROL_ERROR_USAGE,
					     "the cgroup may not have .. in it");
	return 0;
}

static int request_check_pid(int64_t pid, struct source_message *message)
{
	if (pid < 1 || pid > INT32_MAX)
		return source_refuse(message, CONTROL_ERROR_USAGE,
				     "%" PRId64 " is not a process id", pid);
	return 0;
}

static int request_check_id(uint64_t session, struct source_message *message)
{
	return session ? 0 : source_refuse(message, CONTROL_ERROR_USAGE, "session ids start at s1");
}

static int request_check_range(uint64_t since_ns, uint64_t until_ns, struct source_message *message)
{
	if (until_ns && until_ns < since_ns)
		return source_refuse(message, CONTROL_ERROR_USAGE,
				     "the range ends before it begins");
	return 0;
}

static int request_check_target(Profd__Control__Start *start, struct source_message *message)
{
	switch (start->target) {
	case TARGET_ALL:
		return 0;
	case TARGET_PID:
	case TARGET_TID:
		return request_check_pid(start->number, message);
	case TARGET_UID:
		/* (uid_t)-1 means "no user" (setreuid(2)). */
		if (start->number < 0 || start->number >= UINT32_MAX)
			return source_refuse(message, CONTROL_ERROR_USAGE,
					     "%" PRId64 " is not a user id", start->number);
		return 0;
	case TARGET_SERVICE:
		return request_check_text("the service", start->text, SERVICE_MAX_SIZE, message);
	case TARGET_CGROUP:
		return request_check_cgroup(start->text, message);
	case TARGET_COMM:
		return request_check_text("the program name", start->text, COMM_MAX_SIZE, message);
	case TARGET_CPUS:
		return request_check_cpus(start->text, message);
	default:
		return source_refuse(message, CONTROL_ERROR_USAGE,
				     "this profd does not know that kind of target");
	}
}

static int request_check_formats(const Profd__Control__Start *start, struct source_message *message)
{
	for (size_t i = 0; i < start->n_formats; i++)
		if ((unsigned)start->formats[i] >= N_CONTENTS_WINDOWS)
			return source_refuse(message, CONTROL_ERROR_USAGE,
					     "this profd does not know that format");
	if (start->live && start->n_formats)
		return source_refuse(message, CONTROL_ERROR_USAGE,
				     "a live session writes no files, so it has no formats");
	return 0;
}

static int request_check_rate(const Profd__Control__Start *start, struct source_message *message)
{
	if (!start->is_period && start->rate > RATE_HZ_MAX)
		return source_refuse(message, CONTROL_ERROR_USAGE,
				     "the frequency must be 1 to %d Hz", RATE_HZ_MAX);
	if (start->is_period && (start->rate < PERIOD_MIN || start->rate > INT64_MAX))
		return source_refuse(message, CONTROL_ERROR_USAGE,
				     "the period must be at least %d events", PERIOD_MIN);
	return 0;
}

int request_check_start(Profd__Control__Start *start, struct source_message *why)
{
	int r = request_check_target(start, why)
		?: request_check_formats(start, why)
		?: request_check_rate(start, why);

	if (!r && *start->event)
		r = request_check_name("the event", start->event, "-_:", EVENT_MAX_SIZE, why);
	if (!r && *start->name)
		r = request_check_name("the session's name", start->name, "@._-", NAME_MAX_SIZE,
				       why);
	if (r)
		return r;
	if (*start->name == '-' || *start->name == '.')
		return source_refuse(why, CONTROL_ERROR_USAGE,
				     "the session's name may not begin with - or .");
	if (start->duration_ns > DURATION_MAX_NS)
		return source_refuse(why, CONTROL_ERROR_USAGE,
				     "the duration is longer than a hundred years");
	return 0;
}

int request_check_stop(const Profd__Control__Stop *stop, struct source_message *why)
{
	switch (stop->which_case) {
	case PROFD__CONTROL__STOP__WHICH_ID:
		return request_check_id(stop->id, why);
	case PROFD__CONTROL__STOP__WHICH_PID:
		return request_check_pid(stop->pid, why);
	case PROFD__CONTROL__STOP__WHICH_ALL:
		return 0;
	default:
		return source_refuse(why, CONTROL_ERROR_USAGE, "nothing to stop");
	}
}

/* One, or several and patterns. */
static int request_check_services(const char *names, struct source_message *message)
{
	return request_check_text("the service", names,
				  names_is_pattern(names) ? SERVICES_MAX_SIZE : SERVICE_MAX_SIZE,
				  message);
}

int request_check_list(Profd__Control__List *list, struct source_message *why)
{
	int r = request_check_range(list->since_ns, list->until_ns, why);

	if (r || !*list->service)
		return r;
	return list->windows
		       ? request_check_services(list->service, why)
		       : request_check_text("the service", list->service, SERVICE_MAX_SIZE, why);
}

int request_check_usage(const Profd__Control__Usage *usage, struct source_message *why)
{
	int r = request_check_range(usage->since_ns, usage->until_ns, why);

	if (!r && *usage->text)
		r = request_check_text("the text", usage->text, SERVICE_MAX_SIZE, why);
	if (!r && (!usage->steps || usage->steps > USAGE_STEPS_MAX))
		r = source_refuse(why, CONTROL_ERROR_USAGE, "the number of steps is 1 to %u",
				  USAGE_STEPS_MAX);
	if (!r && (!usage->limit || usage->limit > USAGE_LIMIT_MAX))
		r = source_refuse(why, CONTROL_ERROR_USAGE, "the number of services is 1 to %u",
				  USAGE_LIMIT_MAX);
	return r;
}

int request_check_collect(Profd__Control__Collect *collect, struct source_message *why)
{
	int r = request_check_range(collect->since_ns, collect->until_ns, why);

	if (!r && collect->take &&
	    (collect->which_case != PROFD__CONTROL__COLLECT__WHICH_SESSION || collect->stored))
		r = source_refuse(why, CONTROL_ERROR_USAGE,
				  "only a session's open window can be taken");
	if (!r && collect->open && collect->which_case == PROFD__CONTROL__COLLECT__WHICH_FILE)
		r = source_refuse(why, CONTROL_ERROR_USAGE, "the open window is in no file yet");
	if (r)
		return r;
	switch (collect->which_case) {
	case PROFD__CONTROL__COLLECT__WHICH_SERVICE:
		return request_check_services(collect->service, why);
	case PROFD__CONTROL__COLLECT__WHICH_SESSION:
		return request_check_id(collect->session, why);
	case PROFD__CONTROL__COLLECT__WHICH_PID:
		return request_check_pid(collect->pid, why);
	case PROFD__CONTROL__COLLECT__WHICH_FILE:
		return request_check_text("the window's path", collect->file, INDEX_PATH_SIZE - 1,
					  why);
	default:
		return 0;
	}
}

int request_refuse(const struct control_call *call, int error, const struct source_message *why)
{
	if (error < 0)
		return error;
	reply_error(call->reply, (enum control_error)error, "%s", why->text);
	return CONTROL_DONE;
}
