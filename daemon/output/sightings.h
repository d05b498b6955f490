/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SIGHTINGS_H
#define PROFD_OUTPUT_SIGHTINGS_H

/*
 * How services were seen in the windows before, by this profd: what is different in the next one is
 * an event. A service was restarted if its control group is another one, of the same name: systemd
 * removes that of a unit that has stopped. There is a new build of it if its main program, the one
 * with most samples when the service was first seen, was started from a file with another build id.
 * What cannot be found out is no event: groups that are gone, or of version 1 without names, and
 * whatever happened while no profd was running.
 */
#include "daemon/output/view.h"

struct sightings {
	bool has_begun;       /* a window was written */
	struct sighting *all; /* hash by service */
};

void sightings_deinit(struct sightings *s);
/*
 * Adds to *events (window_events.h) what concerns all services: ticks that were lost, if they are a
 * thousandth of all; and of the first window, that profd or the machine was started, unless the
 * store is new. @boot_s, @newest_s: the machine's start, and the end of the last window, in Unix
 * time. 0 or negative errno.
 */
int sightings_look_at_machine(struct sightings *s, const struct snapshot *snapshot, uint64_t boot_s,
			      uint64_t newest_s, char **events);
/*
 * Adds to *events what is new of @group. @sys_fd: /sys. 0 or negative errno.
 */
int sightings_look(struct sightings *s, int sys_fd, const struct view *view,
		   const struct view_group *group, char **events);

#endif
