/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_FETCHER_PROCESS_H
#define PROFD_CLIENT_FETCH_FETCHER_PROCESS_H

/*
 * The process behind a fetcher, or behind HTTP requests (common/http): how it is started and ended.
 * Nothing of what is said to it.
 */
#include <sys/types.h>

struct fetcher_options;

struct fetcher_process {
	pid_t pid;  /* 0: none */
	int socket; /* our end; -1: none */
};

/*
 * Starts `PATH MODE` with what @options say of it. It gets the socket, /dev/null, and our
 * standard error, no signals blocked, and a session of its own. Returns 0 or negative errno, which
 * is the program's, not fatal.
 */
int fetcher_process_start(struct fetcher_process *p, const char *path, const char *mode,
			  const struct fetcher_options *options);
/*
 * Ends it: it cleans up when the socket is closed, and has 2 s for that. Returns what waitpid(2)
 * says of its end; -1: unknown.
 */
int fetcher_process_end(struct fetcher_process *p);

#endif
