/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_LOG_H
#define PROFD_COMMON_LOG_H

/*
 * One line a message: what happened, why, what to do. To the journal when standard error is
 * connected to it (systemd sets JOURNAL_STREAM), by its prefixes (sd-daemon(3)), else to standard
 * error as "profd: ...". Only the top of a program logs: daemon.c, the output thread's head, the
 * main files. Thread-safe; may block on standard error.
 */
#include <syslog.h>

#define log_error(...)   log_line(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...)    log_line(LOG_INFO, __VA_ARGS__)

/* @priority is one of syslog.h's LOG_*. Newlines in the message are replaced by spaces. */
void log_line(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
