/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_CORE_SETTINGS_H
#define PROFD_CLIENT_SHIM_CORE_SETTINGS_H

/*
 * What the environment asks for: the variables of gperftools' libprofiler, the names of files, and
 * whether a server is to have the samples.
 *
 * Who is the first process that has CPUPROFILE, and whose child? The first one sets the highest bit
 * of the variable's first byte, in its environment, where processes that it starts inherit it.
 * That is libprofiler's way, so mixed families agree; a name that begins with such a byte needs
 * "./" before it.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define SETTINGS_FREQUENCY_DEFAULT 100
#define SETTINGS_FREQUENCY_MAX     4000
#define SETTINGS_SOCKET_DEFAULT    "/run/profd/control.sock"

struct settings {
	unsigned frequency;  /* samples a second */
	bool is_realtime;    /* by the wall clock, not by CPU time */
	bool is_per_thread;  /* that of all threads, not of the main one alone */
	int tick_signal;     /* of the timers */
	int switch_signal;   /* begins and ends profiles; 0: none */
	bool is_bad_signal;  /* one of the two is no signal: nothing can be profiled */
	char path[PATH_MAX]; /* the file, or what its names begin with; "": none */
	const char *socket;  /* of a server that samples are wanted by; borrowed; NULL: none */
};

/*
 * @get is getenv(3) or like it; what it returns for CPUPROFILE is changed as said above. NULL: a
 * program that must not look. @pid: of this process.
 */
void settings_read(struct settings *ret, char *(*get)(const char *name), int pid);
/*
 * @path as an absolute one, and with @suffix. False: too long. @dir: the current one, or NULL:
 * it cannot be known.
 */
bool settings_name(char ret[PATH_MAX], const char *dir, const char *path, const char *suffix);
/*
 * The name of a forked process: @base, less the number of its parent @parent_pid if it ends in that
 * already, with its own. False: too long.
 */
bool settings_child_name(char ret[PATH_MAX], const char *base, int parent_pid, int pid);

#endif
