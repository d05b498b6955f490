/* SPDX-License-Identifier: MIT */
#include "client/shim/core/itimer.h"

#include <sys/time.h>

#include "common/clock.h"

static bool itimer_set(uint32_t frequency)
{
	uint32_t period_us = frequency ? 1000000 / frequency : 0;
	struct timeval period = {
		.tv_sec = (time_t)(period_us / 1000000),
		.tv_usec = (suseconds_t)(period_us % 1000000),
	};
	const struct itimerval when = {.it_interval = period, .it_value = period};

	return setitimer(ITIMER_PROF, &when, NULL) == 0;
}

bool itimer_start(struct itimer *itimer, uint32_t frequency)
{
	struct itimerval now;

	if (getitimer(ITIMER_PROF, &now) < 0 || now.it_value.tv_sec || now.it_value.tv_usec)
		return false;
	atomic_store(&itimer->frequency, frequency);
	atomic_store(&itimer->told_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	itimer->is_on = itimer_set(frequency);
	return itimer->is_on;
}

void itimer_retime(struct itimer *itimer, uint32_t frequency)
{
	atomic_store(&itimer->told_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	atomic_store(&itimer->frequency, frequency);
	itimer_set(frequency);
}

void itimer_stop(struct itimer *itimer)
{
	if (itimer->is_on)
		itimer_set(0);
	itimer->is_on = false;
}

uint32_t itimer_take(struct itimer *itimer)
{
	uint64_t told = atomic_load(&itimer->told_ns), now = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		 period_ns, n;
	uint32_t frequency = atomic_load(&itimer->frequency);

	if (!frequency)
		return 0;
	period_ns = NS_PER_S / frequency;
	do {
		n = now > told ? (now - told) / period_ns : 0;
		if (!n || n > INT32_MAX)
			return 0;
	} while (!atomic_compare_exchange_weak(&itimer->told_ns, &told, told + n * period_ns));
	return (uint32_t)n;
}
