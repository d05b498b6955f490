/* SPDX-License-Identifier: MIT */
#include "daemon/session/session_set_private.h"

uint64_t session_rate(uint64_t wanted, bool is_period, unsigned halvings)
{
	uint64_t floor = wanted < SESSION_HZ_FLOOR ? wanted : SESSION_HZ_FLOOR;

	if (is_period)
		return wanted > UINT64_MAX >> (halvings + 1) ? wanted : wanted << halvings;
	return wanted >> halvings > floor ? wanted >> halvings : floor;
}

/*
 * First all let go of their samplers, then all take new ones: in between there is none that only
 * the change needs.
 */
int session_set_slow_down(struct session_set *set, unsigned halvings)
{
	struct source_message message;
	int r;

	for (size_t i = 0; i < set->n_sessions; i++) {
		if (!session_takes_samples(set->sessions[i]))
			continue;
		r = session_windows_detach(set, set->sessions[i], NULL);
		if (r)
			return r;
	}
	set->halvings = halvings;
	for (size_t i = 0; i < set->n_sessions; i++) {
		struct session *s = set->sessions[i];

		if (!session_takes_samples(s))
			continue;
		r = session_windows_attach(set, s, &message);
		if (r < 0)
			return r;
		if (r > 0)
			session_windows_refused(set, s, &message);
	}
	return 0;
}

bool session_set_can_slow_down(const struct session_set *set)
{
	for (size_t i = 0; i < set->n_sessions; i++) {
		const struct session *s = set->sessions[i];

		if (session_takes_samples(s) &&
		    s->spec.rate !=
			    session_rate(s->wanted_rate, s->spec.is_period, set->halvings + 1))
			return true;
	}
	return false;
}
