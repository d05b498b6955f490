/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_RESOLVE_KEEPER_FIXTURE_H
#define PROFD_TESTS_UNIT_RESOLVE_KEEPER_FIXTURE_H

/*
 * The processes behind a keeper, as /proc shows them: to stop them (that is what a stuck one looks
 * like) and to kill them. Where a test waits for a process, a few seconds bound that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

#define PATIENT 10000 /* ms; for what takes microseconds */

/* The parent and state of @pid; false if it is not there. */
static inline bool look(pid_t pid, pid_t *ret_parent, char *ret_state)
{
	char path[64], text[256], *after;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	closep(&fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	after = strrchr(text, ')');
	return after && sscanf(after, ") %c %d", ret_state, ret_parent) == 2;
}

/* The living child of @parent that is not @but; 0: there is none. */
static inline pid_t child_of(pid_t parent, pid_t but)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0, up;
	char state;

	assert_non_null(proc);
	while ((entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && pid != but && look(pid, &up, &state) && up == parent && state != 'Z')
			found = pid;
	}
	closedir(proc);
	return found;
}

static inline void nap(void)
{
	poll(NULL, 0, 5);
}

/* The keeper forks its servant when it gets to it. */
static inline pid_t servant_of(pid_t keeper, pid_t but)
{
	pid_t pid = 0, parent;
	char state = 0;

	/* Asleep, it waits for work: it has arranged to die with its parent. */
	for (int i = 0; state != 'S' && i < PATIENT / 5; i++) {
		pid = child_of(keeper, but);
		if (!pid || !look(pid, &parent, &state) || state != 'S')
			nap();
	}
	assert_true(pid > 0 && state == 'S');
	return pid;
}

/* Sends @signal to @pid and waits until it is in that state: 'T' stopped, 'Z' dead or gone. */
static inline void make(pid_t pid, int signal, char wanted)
{
	pid_t parent;
	char state = wanted;

	assert_int_equal(kill(pid, signal), 0);
	for (int i = 0; i < PATIENT / 5; i++) {
		if (!look(pid, &parent, &state))
			state = 'Z';
		if (state == wanted)
			return;
		nap();
	}
	fail_msg("process %d is in state %c, not %c", pid, state, wanted);
}

static inline bool has_ended(pid_t pid)
{
	pid_t parent;
	char state;

	return !look(pid, &parent, &state) || state == 'Z';
}

static inline void await_end(pid_t pid)
{
	for (int i = 0; i < PATIENT / 5 && !has_ended(pid); i++)
		nap();
	assert_true(has_ended(pid));
}

/* The number after @field in /proc/PID/status, whose digits are of base @base. */
static inline uint64_t status_field(pid_t pid, const char *field, int base)
{
	char path[64], line[256];
	uint64_t value = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
			value = strtoull(line + strlen(field) + 1, NULL, base);
	fclose(f);
	return value;
}

/* A keeper or servant: @n_filters of calls, and of our capabilities those in @kept. */
static inline void assert_confined(pid_t pid, uint64_t n_filters, uint64_t kept)
{
	assert_int_equal(status_field(pid, "NoNewPrivs", 10), 1);
	assert_int_equal(status_field(pid, "Seccomp", 10), 2);
	/* Since Linux 5.9. */
	assert_int_equal(status_field(pid, "Seccomp_filters", 10),
			 n_filters + status_field(getpid(), "Seccomp_filters", 10));
	assert_true(status_field(pid, "CapPrm", 16) ==
		    (status_field(getpid(), "CapPrm", 16) & kept));
	assert_true(status_field(pid, "CapEff", 16) == status_field(pid, "CapPrm", 16));
	assert_int_equal(status_field(pid, "CapInh", 16), 0);
	assert_int_equal(status_field(pid, "CapAmb", 16), 0);
}

#endif
