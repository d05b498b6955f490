/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WATCH_H
#define PROFD_WATCH_H

/*
 * What the main thread makes of the output thread, which blocks on disks. systemd's watchdog is fed
 * by the main thread's loop alone, so a hung main thread ends the service by itself. The output
 * thread is watched here:
 *
 *   slow    one request for more than WATCH_SLOW_NS. Said, and nothing done: the disk is slow or
 *           stuck, windows wait in memory, and a restart would only lose them.
 *   hung    one request for more than WATCH_HUNG_NS without waiting for a disk (proc(5): state D),
 *           that is, by a fault of profd's own, which a restart cures. The watchdog is not fed any
 *           more then.
 *
 * Pure.
 */
#include <stdint.h>

#define WATCH_SLOW_NS UINT64_C(60000000000)
#define WATCH_HUNG_NS UINT64_C(900000000000)

enum watch {
	WATCH_WELL,
	WATCH_SLOW,
	WATCH_HUNG,
};

/* @busy_ns: for how long it has been at one request, 0: idle. @state: a letter of proc(5), stat. */
enum watch watch_judge(uint64_t busy_ns, char state);
/* The state in the text of /proc/PID/task/TID/stat; '?' if there is none. */
char watch_parse_state(const char *stat);

#endif
