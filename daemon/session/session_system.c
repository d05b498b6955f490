/* SPDX-License-Identifier: MIT */
/*
 * The first of the set. It is started, stopped, paused and tried again by attaching it to its
 * sampler and detaching it, like any other; it only outlives that.
 */
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/session/session_set_private.h"
#include "daemon/session/session_start.h"

/* Between two attempts to have it back. */
#define RETRY_NS UINT64_C(60000000000)

static struct session *system_session(const struct session_set *set)
{
	return session_set_find(set, 0);
}

int session_set_start_system(struct session_set *set, struct source_message *message)
{
	const struct session_request request = {.target = TARGET_ALL};
	cleanup(session_freep) struct session *made = NULL;
	struct session *s = system_session(set);
	int r;

	if (s && s->sampler != SESSION_NO_SAMPLER) {
		r = session_windows_detach(set, s, NULL);
		if (r)
			return r;
	}
	if (!s) {
		r = session_new(&made, 0, &request);
		if (r)
			return r;
		s = made;
		s->privileged = true;
		s->started_ns = clock_ns(CLOCK_REALTIME);
		s->name = strdup("system");
		if (!s->name)
			return error_origin(-ENOMEM);
	}
	session_default_spec(&set->defaults, &s->spec);
	s->wanted_rate = s->spec.rate;
	s->writing = set->defaults.writing;
	s->exclude_services = set->defaults.exclude_services;
	s->exclude_comms = set->defaults.exclude_comms;
	if (made) {
		r = session_set_add(set, made);
		if (r)
			return r;
		steal_ptr(&made);
	}
	s->state = SESSION_RUNNING; /* again, if it had been stopped */
	set->in_trouble = false;
	r = s->paused ? 0 : session_windows_attach(set, s, message);
	if (r > 0)
		session_windows_refused(set, s, message);
	return r;
}

int session_set_stop_system(struct session_set *set)
{
	struct session *s = system_session(set);

	return s ? session_set_stop(set, s, NULL) : 0;
}

const char *session_set_trouble(const struct session_set *set)
{
	return set->in_trouble ? set->trouble.text : NULL;
}

int session_set_pause(struct session_set *set, bool pause)
{
	struct session *s = system_session(set);
	struct source_message message;
	int r;

	if (!s || s->state != SESSION_RUNNING)
		return SESSION_PAUSE_E_OFF;
	if (s->paused == pause)
		return SESSION_PAUSE_E_OK;
	if (pause) {
		r = session_windows_detach(set, s, NULL);
		s->paused = true;
		return r;
	}
	s->paused = false;
	r = session_windows_attach(set, s, &message);
	if (r <= 0)
		return r;
	s->paused = true;
	return SESSION_PAUSE_E_REFUSED;
}

bool session_set_is_paused(const struct session_set *set)
{
	const struct session *s = system_session(set);

	return s && s->state == SESSION_RUNNING && s->paused;
}

void session_system_refused(struct session_set *set, const struct source_message *message)
{
	set->in_trouble = true;
	set->trouble = *message;
	set->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
}

int session_system_retry(struct session_set *set, uint64_t now_ns)
{
	struct session *s = system_session(set);
	struct source_message message;
	int r;

	if (!set->in_trouble || now_ns < set->retry_ns || !s || s->state != SESSION_ENDED)
		return 0;
	s->state = SESSION_RUNNING;
	r = session_windows_attach(set, s, &message);
	if (r > 0)
		session_windows_refused(set, s, &message);
	else
		set->in_trouble = false;
	return r < 0 ? r : 0;
}
