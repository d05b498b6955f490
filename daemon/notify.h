/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_NOTIFY_H
#define PROFD_DAEMON_NOTIFY_H

/*
 * What is reported to the service manager, and what the main thread makes of the output thread,
 * which blocks on disks. systemd's watchdog is fed by the main thread's loop alone, so a hung main
 * thread ends the service by itself. The output thread is watched here:
 *
 *   slow    one request for longer than the patience. Said, and nothing done: the disk is slow or
 *           stuck, windows wait in memory, and a restart would only lose them.
 *   hung    one request for WATCH_HUNG_TIMES as long without being seen to wait for a disk
 * (proc(5): state D), that is, by a fault of profd's own or of a file system that is another
 * program, which a restart may cure. The watchdog is not fed any more then.
 *
 * The patience is the service manager's own, sd_watchdog_enabled(3); without one it is
 * WATCH_PATIENCE_NS.
 */
#include <stdint.h>

#include "common/clock.h"

struct daemon;

#define WATCH_PATIENCE_NS (60 * NS_PER_S)
#define WATCH_HUNG_TIMES  15

enum watch {
	WATCH_WELL,
	WATCH_SLOW,
	WATCH_HUNG,
};

struct daemon_watch {
	enum watch output_state;
	uint64_t patience_ns;  /* with it, see above */
	uint64_t disk_wait_ns; /* when it was seen waiting for a disk, CLOCK_MONOTONIC */
	uint64_t stopping_ns;  /* since when profd stops, CLOCK_MONOTONIC */
};

/* First how long it has patience: */
void daemon_notify_init(struct daemon *d);
void daemon_notify_ready(struct daemon *d);
void daemon_notify_reloading(void);
void daemon_notify_stopping(struct daemon *d);
/* Until when the system session is paused; @text is returned. */
#define PAUSE_TEXT_SIZE 32
const char *daemon_describe_pause(const struct daemon *d, char text[PAUSE_TEXT_SIZE]);
/* What profd does, in a line; nothing while it stops. */
void daemon_notify_state(struct daemon *d);
/* Once a second: watches the output thread, asks for time while it writes the last windows. */
void daemon_notify_tick(struct daemon *d, uint64_t now_ns);

/*
 * @busy_ns: for how long it has been at one request, 0: idle. @own_ns: for how long of that it has
 * not been seen waiting for a disk.
 */
enum watch watch_judge(uint64_t busy_ns, uint64_t own_ns, uint64_t patience_ns);

#endif
