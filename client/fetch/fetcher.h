/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FETCH_FETCHER_H
#define PROFD_CLIENT_FETCH_FETCHER_H

/*
 * Debug files from debuginfod servers (debuginfod(8)) by build id, and HTTP requests, for a program
 * that may hold capabilities: it does not speak to servers itself, but starts profd-gateway for
 * that, which drops all it holds first, and hands back open files. What comes is a stranger's.
 *
 * One question at a time; several at once take several fetchers. Not thread-safe; starts nothing
 * before the first question.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/fetch/fetch_protocol.h"
#include "common/cleanup.h"

struct fetcher;

struct fetcher_options {
	const char *path; /* of profd-gateway; NULL: found as worker.h finds the image worker */
	bool is_http;     /* for HTTP requests; else for debug files, to which the rest applies */
	const char *urls; /* of servers, separated by blanks; NULL: those of $DEBUGINFOD_URLS */
	/*
	 * NULL: files are kept in the user's own cache, which other programs share, and the user's
	 * environment says how; root's are kept until the fetcher is freed. Else: they are made
	 * below this directory, on the disk before they are handed out, and last until the next
	 * question; the environment says no more than which proxies there are.
	 */
	const char *cache_directory;
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
 * A question, and then its answer. All of these return an enum fetch_outcome or negative errno
 * (-EBUSY where another question was not answered); after FETCH_REFUSED and FETCH_FAILED the
 * message says why: no server answers, no gateway, nothing was asked ...
 */

/* For the debug file of build id @id. Never blocks, but for starting the program. */
int fetcher_send(struct fetcher *f, const uint8_t *id, size_t length,
		 struct fetcher_message *message);
/* Readable when fetcher_receive() will not block; -1: nothing was asked. */
int fetcher_fd(const struct fetcher *f);
/*
 * Blocks until the servers have answered, which may take minutes. *ret_fd: read-only, a regular
 * file that begins as an ELF file, the caller's. FETCH_REFUSED: a server has one that is none, or
 * is too large.
 */
int fetcher_receive(struct fetcher *f, int *ret_fd, struct fetcher_message *message);
/* Ends its process and forgets what was asked; it takes some ms, 3 s at most. */
void fetcher_stop(struct fetcher *f);
/* Its process, or 0: for tests. */
int fetcher_pid(const struct fetcher *f);

/*
 * Both http:// and https:// URLs, redirections among them, proxies of the environment (but for this
 * host itself).
 */
struct http_request {
	const char *url;
	const uint8_t *body; /* what is posted; NULL: nothing, it is a GET */
	size_t length;
	const char *content_type; /* of the body; NULL: application/octet-stream */
	/* Of the body; NULL: none. The answer may have it as well, and is decoded then. */
	const char *content_encoding;
	/* "Name: value" lines (http_headers.h), or NULL. For a delivery alone. */
	const char *headers;
	/*
	 * The status is what counts. Redirections are not followed: they would take the headers to
	 * another server. Of a body of more than max_bytes the rest is left out. The connection is
	 * kept for the next delivery to this server.
	 */
	bool is_delivery;
	uint64_t timeout_ms; /* for all of it */
	uint64_t max_bytes;  /* of the answer's body */
	/* For https, paths of PEM files, read with this process's privileges; "" or NULL: none. */
	const char *certificate, *key, *authorities;
	bool is_insecure; /* the server's certificate is not verified */
};

struct http_answer {
	unsigned status;        /* 200 ... */
	uint32_t retry_after_s; /* Retry-After, a date too; 0: there was none, or it is over */
	int fd;                 /* the body: read-only memory, at its beginning; the caller's */
	/* False: the server cannot have got all of the request. Also after FETCH_FAILED. */
	bool may_be_done;
};

/* Blocks only for starting the program. The message says nothing of the URL and of headers. */
int http_send(struct fetcher *f, const struct http_request *request,
	      struct fetcher_message *message);
/*
 * Blocks until the answer is there, a little longer than the request's timeout at most. One of
 * whatever status is FETCH_DONE; *ret is set in any case, its fd is -1 without an answer.
 */
int http_receive(struct fetcher *f, struct http_answer *ret, struct fetcher_message *message);

#endif
