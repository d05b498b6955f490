/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_SESSION_SESSION_PROCESSES_H
#define PROFD_DAEMON_SESSION_SESSION_PROCESSES_H

/*
 * What sessions and processes have to do with each other: whose samples a sampler is to deliver, as
 * its sessions' targets have it, which sessions a new process joins, and when a process is asked
 * for its unit again. Internal to the session set.
 */
#include "daemon/session/samplers.h"

struct session_set;

/* Of struct samplers_policy, the set being @userdata. */
bool session_processes_want_all(void *userdata, unsigned sampler);
enum samplers_want session_processes_want(void *userdata, unsigned sampler,
					  const struct process *p);
/*
 * Has the process table tell @set of births, changes and deaths; whoever frees the set ends that.
 * An error of these calls is the result of the next session_set_tick().
 */
void session_processes_observe(struct session_set *set);
/* Asks all processes for their units anew. */
void session_processes_confirm(struct session_set *set);
/* Once a second: asks a part of them, if a session's target is a unit. */
void session_processes_follow(struct session_set *set);

#endif
