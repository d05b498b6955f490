/* SPDX-License-Identifier: MIT */
/* When profd gives way: rings that wake it too often, and rates that were lowered and come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/eventfd.h>

#include "common/clock.h"
#include "daemon/daemon_private.h"
#include "daemon/drains.h"
#include "tests/unit/session/session_set_fixture.h"

static int on_rings(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events, (void)userdata;
	return 0;
}

static bool rings_rest(const struct daemon *d)
{
	int enabled = -1;

	assert_true(sd_event_source_get_enabled(d->source_io, &enabled) >= 0);
	return enabled == SD_EVENT_OFF;
}

/* Two wake-ups that are near each other end in a rest, which ends by itself. */
static void test_rings_rest(void **state)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	struct daemon d = {.drained_ns = now};
	sd_event *loop = NULL;

	(void)state;
	assert_true(sd_event_new(&loop) >= 0);
	assert_true(sd_event_add_io(loop, &d.source_io, fd, EPOLLIN, on_rings, &d) >= 0);
	assert_true(sd_event_add_time(loop, &d.rest_timer, CLOCK_MONOTONIC, 0, 1,
				      daemon_on_rest_timer, &d) >= 0);
	assert_true(sd_event_source_set_enabled(d.rest_timer, SD_EVENT_OFF) >= 0);

	assert_int_equal(daemon_rest_rings(&d, now + RINGS_REST_NS + 1), 0);
	assert_false(rings_rest(&d));
	d.rings_wait = true; /* they hold more: the next turn is theirs */
	assert_int_equal(daemon_rest_rings(&d, now), 0);
	assert_false(rings_rest(&d));
	d.rings_wait = false;
	d.replay = true;
	assert_int_equal(daemon_rest_rings(&d, now), 0);
	assert_false(rings_rest(&d));
	d.replay = false;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(daemon_rest_rings(&d, now + RINGS_REST_NS), 0);
		assert_true(rings_rest(&d));
		/* Nothing but the timer is there to end this. */
		assert_true(sd_event_run(loop, UINT64_MAX) > 0);
		assert_false(rings_rest(&d));
	}
	sd_event_source_unref(d.rest_timer);
	sd_event_source_unref(d.source_io);
	sd_event_unref(loop);
	closep(&fd);
}

/* With other limits rates are the configured ones again, and what was measured is forgotten. */
static void test_restart(void **state)
{
	struct world *w = *state;
	struct daemon d = {
		.sessions = w->set,
		.pace.limiter = {.halvings = {[TIER_USERS] = 3, [TIER_SYSTEM] = 2},
				 .n_over = LIMITER_OVER - 1,
				 .n_under = LIMITER_UNDER - 1},
	};
	struct source_message message;
	struct session *system;

	assert_int_equal(session_set_start_system(w->set, &message), 0);
	system = w->set->sessions[0];
	assert_int_equal(session_set_slow_down(w->set, d.pace.limiter.halvings), 0);
	assert_int_equal(system->samplings[0].spec.rate, 25);
	assert_int_equal(daemon_pace_restart(&d), 0);
	assert_int_equal(system->samplings[0].spec.rate, 100);
	assert_int_equal(d.pace.limiter.halvings[TIER_USERS], 0);
	assert_int_equal(d.pace.limiter.halvings[TIER_SYSTEM], 0);
	assert_int_equal(d.pace.limiter.n_over, 0);
	assert_int_equal(d.pace.limiter.n_under, 0);
	wait_for_output(w, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rings_rest),
		WORLD(test_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
