/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_IDLE_H
#define PROFD_INGEST_IDLE_H

/*
 * How long each CPU has been idle since the machine started: the columns "idle" and "iowait" of
 * /proc/stat (proc(5)), in units of USER_HZ, rounded down. The kernel keeps these by the clock, not
 * by ticks, where it stops the tick of idle CPUs (CONFIG_NO_HZ; fs/proc/stat.c, get_idle_time()):
 * what goes on counts already, and so does the time that a virtual machine's host lets a wakeup
 * wait.
 */
#include <stdbool.h>
#include <stdint.h>

/*
 * Pure: one line of the file, with or without its newline. Times are multiples of @unit_ns. False:
 * it is not about one CPU.
 */
bool idle_parse_line(const char *line, uint64_t unit_ns, unsigned *ret_cpu, uint64_t *ret_ns);
/* What USER_HZ is here. */
uint64_t idle_unit_ns(void);
/* Calls @each for every CPU that is online; for none if the file cannot be read. */
void idle_read(void (*each)(void *userdata, unsigned cpu, uint64_t idle_ns), void *userdata);

#endif
