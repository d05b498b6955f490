/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_STATUS_H
#define PROFD_DAEMON_STATUS_H

/* What `status` warns of, and what other answers have of it. */
#include <stdint.h>

struct daemon;
struct proc_door;
struct session_set;
struct texts;

/* Windows that ended early, for lack of memory: the remedy is another one for users' sessions. */
void daemon_warn_of_early_closes(const struct session_set *sessions, struct texts *ret);
/* Processes that cannot be read: how many, and some by name. */
void daemon_warn_of_held_up(struct proc_door *door, struct texts *ret);
/* Of the machine, or of the one that a store is of that is only read; 0: unknown. */
uint32_t daemon_n_cpus(const struct daemon *d);

#endif
