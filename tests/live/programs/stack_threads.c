/* SPDX-License-Identifier: MIT */
/* leaf < middle < thread < start_thread, in two threads; the first one waits. */
#include <pthread.h>

#include "stack_burn.h"

KEEP void leaf(void)
{
	BURN();
}

KEEP void middle(void)
{
	leaf();
	burn_sink++;
}

static void *thread(void *argument)
{
	for (;;)
		middle();
	return argument;
}

int main(void)
{
	pthread_t threads[2];

	for (unsigned i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	say_ready();
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
