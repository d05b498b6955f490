/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WATCH_H
#define PROFD_WATCH_H

/*
 * What the main thread makes of the output thread, which blocks on disks. systemd's watchdog is fed
 * by the main thread's loop alone, so a hung main thread ends the service by itself. The output
 * thread is watched here:
 *
 *   slow    one request for longer than the patience. Said, and nothing done: the disk is slow or
 *           stuck, windows wait in memory, and a restart would only lose them.
 *   hung    one request for WATCH_HUNG_TIMES as long without being seen to wait for a disk
 * (proc(5): state D), that is, by a fault of profd's own or of a file system that is another
 * program, which a restart may cure. The watchdog is not fed any more then.
 *
 * The patience is the service manager's own, sd_watchdog_enabled(3); without one it is
 * WATCH_PATIENCE_NS.
 *
 * Pure.
 */
#include <stdint.h>

#define WATCH_PATIENCE_NS UINT64_C(60000000000)
#define WATCH_HUNG_TIMES  15

enum watch {
	WATCH_WELL,
	WATCH_SLOW,
	WATCH_HUNG,
};

/*
 * @busy_ns: for how long it has been at one request, 0: idle. @own_ns: for how long of that it has
 * not been seen waiting for a disk.
 */
enum watch watch_judge(uint64_t busy_ns, uint64_t own_ns, uint64_t patience_ns);
/* The state in the text of /proc/PID/task/TID/stat; '?' if there is none. */
char watch_parse_state(const char *stat);

#endif
