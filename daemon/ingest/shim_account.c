/* SPDX-License-Identifier: MIT */
#include "daemon/ingest/shim_account.h"

/* Threads that may all have a tick under way: as many as the library has timers for. */
#define THREADS_LATE 4096
/* What the clocks of the kernel may lag. */
#define SLACK_NS UINT64_C(100000000)
/* Of the CPU time, in parts: the same. */
#define SLACK_PART 8

void shim_account_begin(struct shim_account *a, uint64_t cpu_ns)
{
	*a = (struct shim_account){.cpu_ns = cpu_ns, .credit_ns = SLACK_NS};
}

void shim_account_look(struct shim_account *a, uint64_t cpu_ns, uint64_t tick_ns)
{
	uint64_t used = cpu_ns > a->cpu_ns ? cpu_ns - a->cpu_ns : 0;
	uint64_t kept = SLACK_NS + THREADS_LATE * tick_ns;

	if (a->credit_ns > kept)
		a->credit_ns = kept;
	a->credit_ns += used + used / SLACK_PART;
	a->cpu_ns += used;
}

uint64_t shim_account_take(struct shim_account *a, uint64_t n, uint64_t tick_ns)
{
	uint64_t most = a->credit_ns / tick_ns;

	if (n > most)
		n = most;
	a->credit_ns -= n * tick_ns;
	return n;
}

uint64_t shim_account_periods(uint64_t *rest_ns, uint64_t add_ns, uint64_t period_ns)
{
	uint64_t sum = *rest_ns + add_ns;

	*rest_ns = sum % period_ns;
	return sum / period_ns;
}
