/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_DOCTOR_H
#define PROFD_PROFCTL_DOCTOR_H

/*
 * What this host offers to a profiler. Each check looks at one thing and says what it found, how
 * good that is, and what to do about it. The host comes in as a struct of directory fds and texts,
 * so that tests can bring another one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum check_level { CHECK_OK, CHECK_WARN, CHECK_BAD };

struct check {
	const char *name;
	enum check_level level;
	char finding[200];
	char remedy[240]; /* "" if there is nothing to do */
};

struct debug_server; /* client/symbolize/debug_server.h */

struct host {
	int proc_fd, sys_fd;    /* /proc and /sys */
	const char *release;    /* utsname: "6.1.0-18-amd64" */
	const char *version;    /* utsname: "#1 SMP ... Debian 6.1.76-1 (2024-02-01)" */
	const char *machine;    /* utsname: "x86_64" */
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK; UINT64_MAX: no limit */
	const struct debug_server *debug_server; /* of its distribution */
	bool has_debuginfod;                     /* profd.conf: profd fetches debug files */
	int pmu_error; /* of opening a cycles counter for ourselves; 0: it works */
};

#define HOST_CHECKS_MAX 16

/* Fills @ret with at most HOST_CHECKS_MAX checks; returns their number. */
size_t host_checks(const struct host *host, struct check *ret);

#endif
