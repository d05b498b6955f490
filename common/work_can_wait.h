/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORK_CAN_WAIT_H
#define PROFD_COMMON_WORK_CAN_WAIT_H

/*
 * profd's main thread may have a better priority than other programs (Nice= of its unit): samples
 * wait in rings for it, and clients for answers, also when a user starts programs without end.
 * What takes long, and what files of strangers make long, has none of that.
 */
#include <sys/resource.h>

#define WORK_CAN_WAIT_NICE 5

/* The calling thread, and what it starts, is to be no better than others. */
static inline void work_can_wait(void)
{
	if (getpriority(PRIO_PROCESS, 0) < 0)
		(void)setpriority(PRIO_PROCESS, 0, WORK_CAN_WAIT_NICE);
}

#endif
