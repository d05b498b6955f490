/* SPDX-License-Identifier: MIT */
#include "daemon/output/usage_events.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/order.h"
#include "common/text_print.h"
#include "daemon/output/window_events.h"

static const Profd__Control__UsageEventKind usage_event_kinds[N_WINDOW_EVENTS] = {
	[WINDOW_EVENT_LOST] = PROFD__CONTROL__USAGE_EVENT_KIND__TICKS_LOST,
	[WINDOW_EVENT_STARTED] = PROFD__CONTROL__USAGE_EVENT_KIND__PROFD_STARTED,
	[WINDOW_EVENT_BOOTED] = PROFD__CONTROL__USAGE_EVENT_KIND__MACHINE_STARTED,
	[WINDOW_EVENT_RESTARTED] = PROFD__CONTROL__USAGE_EVENT_KIND__SERVICE_RESTARTED,
	[WINDOW_EVENT_BUILD] = PROFD__CONTROL__USAGE_EVENT_KIND__NEW_BUILD,
};

void usage_events_deinit(struct usage_events *u)
{
	for (size_t i = 0; i < u->n; i++)
		profd__control__usage_event__free_unpacked(u->all[i], NULL);
	free(u->all);
}

static size_t usage_events_step(const struct usage_events *u, uint64_t at_ns)
{
	return (size_t)((double)(at_ns - u->since_ns) / u->step_ns);
}

/* Adds to the losses of the same step, if there are any. */
static bool usage_events_join(struct usage_events *u, const struct window_event *e, uint64_t at_ns)
{
	for (size_t i = 0; i < u->n; i++) {
		Profd__Control__UsageEvent *one = u->all[i];

		if (one->kind != PROFD__CONTROL__USAGE_EVENT_KIND__TICKS_LOST ||
		    usage_events_step(u, one->at_ns) != usage_events_step(u, at_ns))
			continue;
		one->lost += e->n;
		one->ticks += e->of;
		return true;
	}
	return false;
}

static int usage_events_append(struct usage_events *u, const struct window_event *e, uint64_t at_ns,
			       const char *service)
{
	Profd__Control__UsageEvent *one;

	if (!u->all)
		u->all = calloc(USAGE_EVENTS_MAX, sizeof(*u->all));
	if (u->n == USAGE_EVENTS_MAX)
		return 0;
	one = u->all ? malloc(sizeof(*one)) : NULL;
	if (!one)
		return error_origin(-ENOMEM);
	profd__control__usage_event__init(one);
	u->all[u->n++] = one;
	one->at_ns = at_ns;
	one->kind = usage_event_kinds[e->kind];
	one->lost = e->n;
	one->ticks = e->of;
	return text_copy(&one->text, e->text) ?: text_copy(&one->service, service);
}

int usage_events_add(struct usage_events *u, const char *events, uint64_t start_s,
		     const char *service)
{
	struct window_event e;
	int r = 0;

	while (!r && window_events_next(&events, &e)) {
		const uint64_t at_ns = (start_s + e.at_s) * NS_PER_S;
		const bool is_own = e.kind >= WINDOW_EVENT_RESTARTED;

		if (at_ns < u->since_ns || at_ns >= u->until_ns || (is_own && !service) ||
		    (e.kind == WINDOW_EVENT_LOST && usage_events_join(u, &e, at_ns)))
			continue;
		r = usage_events_append(u, &e, at_ns, is_own ? service : "");
	}
	return r;
}

static int usage_event_compare(const void *a, const void *b)
{
	const Profd__Control__UsageEvent *x = *(Profd__Control__UsageEvent *const *)a;
	const Profd__Control__UsageEvent *y = *(Profd__Control__UsageEvent *const *)b;

	return order_of(x->at_ns, y->at_ns) ?: order_of(x->kind, y->kind);
}

void usage_events_list(struct usage_events *u, Profd__Control__UsageTable *table)
{
	if (u->n)
		qsort(u->all, u->n, sizeof(*u->all), usage_event_compare);
	table->n_events = u->n;
	table->events = steal_ptr(&u->all);
	u->n = 0;
}
