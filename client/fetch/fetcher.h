/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_FETCHER_H
#define PROFD_CLIENT_FETCH_FETCHER_H

/*
 * Debug files from debuginfod servers (debuginfod(8)), by build id, for a program that may hold
 * capabilities: it does not speak to servers itself, but starts profd-gateway for that, which drops
 * all it holds first, and hands back open files. What comes is as untrusted as any ELF file.
 *
 * Not thread-safe; starts nothing before the first question.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/fetch/fetch_protocol.h"
#include "common/cleanup.h"

struct fetcher;

struct fetcher_options {
	const char *path; /* of profd-gateway; NULL: found as worker.h finds the image worker */
	const char *urls; /* of servers, separated by blanks; NULL: those of $DEBUGINFOD_URLS */
	/*
	 * NULL: files are kept in the user's own cache, which other programs share, and the user's
	 * environment says how; root's are kept until the fetcher is freed. Else: they are made
	 * below this directory, on the disk before they are handed out, and last until the next
	 * question; the environment says no more than which proxies there are.
	 */
	const char *cache_directory;
};

enum {
	FETCHER_E_OK,
	FETCHER_E_NONE,   /* no server has it */
	FETCHER_E_FAILED, /* the message says why: no server answers, no gateway ... */
};

struct fetcher_message {
	char text[FETCH_TEXT_MAX]; /* one line */
};

/* @options is copied. Returns 0 or negative errno. */
int fetcher_new(struct fetcher **ret, const struct fetcher_options *options);
/* Ends its process. Takes NULL. */
void fetcher_free(struct fetcher *f);
DEFINE_CLEANUP(struct fetcher *, fetcher_free)

/*
 * The debug file of build id @id. *ret_fd: read-only, a regular file, the caller's. Blocks until
 * the servers have answered, which may take minutes. Returns FETCHER_E_* or negative errno;
 * @message is written for FETCHER_E_FAILED.
 */
int fetcher_get(struct fetcher *f, const uint8_t *id, size_t length, int *ret_fd,
		struct fetcher_message *message);

/*
 * The same in two steps, for an event loop. fetcher_send() asks: FETCHER_E_OK, _FAILED or negative
 * errno; never blocks, but for starting the program. fetcher_fd() is readable when
 * fetcher_receive() will not block; -1: nothing was asked. That also returns FETCHER_E_REFUSED, and
 * FETCHER_E_FAILED where nothing was asked.
 */
enum {
	/* A server has a file, but it is no ELF file, or larger than 2 GiB. For fetcher_get(), this
	 * is FETCHER_E_FAILED. */
	FETCHER_E_REFUSED = FETCHER_E_FAILED + 1,
};

int fetcher_send(struct fetcher *f, const uint8_t *id, size_t length,
		 struct fetcher_message *message);
int fetcher_fd(const struct fetcher *f);
int fetcher_receive(struct fetcher *f, int *ret_fd, struct fetcher_message *message);
/* Ends its process and forgets what was asked; it takes some ms, 3 s at most. */
void fetcher_stop(struct fetcher *f);
/* Its process, or 0: for tests. */
int fetcher_pid(const struct fetcher *f);

#endif
