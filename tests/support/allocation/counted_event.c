/* SPDX-License-Identifier: MIT */
/* sd-event's allocations, by programs that are linked with it. */
#include <systemd/sd-event.h>

#include "tests/support/allocation/counted.h"

COUNTED(int, sd_event_new, (sd_event * *ret), (ret), -ENOMEM)
COUNTED(int, sd_event_add_io,
	(sd_event * event, sd_event_source **ret, int fd, uint32_t events,
	 sd_event_io_handler_t handle, void *userdata),
	(event, ret, fd, events, handle, userdata), -ENOMEM)
COUNTED(int, sd_event_add_time,
	(sd_event * event, sd_event_source **ret, clockid_t clock, uint64_t usec, uint64_t accuracy,
	 sd_event_time_handler_t handle, void *userdata),
	(event, ret, clock, usec, accuracy, handle, userdata), -ENOMEM)
COUNTED(int, sd_event_add_time_relative,
	(sd_event * event, sd_event_source **ret, clockid_t clock, uint64_t usec, uint64_t accuracy,
	 sd_event_time_handler_t handle, void *userdata),
	(event, ret, clock, usec, accuracy, handle, userdata), -ENOMEM)
COUNTED(int, sd_event_add_signal,
	(sd_event * event, sd_event_source **ret, int signal, sd_event_signal_handler_t handle,
	 void *userdata),
	(event, ret, signal, handle, userdata), -ENOMEM)
