/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_API_VIEWER_H
#define PROFD_CLIENT_GATEWAY_API_VIEWER_H

/*
 * What looks into profiles for the gateway: child processes (view_serve.h), one for each question,
 * a few at a time; others wait in a queue. One that is stuck or dies, or whose answer is
 * malformed, costs its own question only. Nothing here waits.
 */
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "common/cleanup.h"

#define VIEWERS_MAX         2u
#define VIEWERS_WAITING_MAX 16u

struct view_request;
struct viewer;
struct viewers;

struct viewers_options {
	sd_event *loop;
	const char *program; /* to be started with --view; NULL: our own */
	uint64_t timeout_ms; /* of an answer; 0: 15 s */
	unsigned max;        /* at a time; 0: VIEWERS_MAX */
};

/* @options are copied. 0 or negative errno. */
int viewers_new(struct viewers **ret, const struct viewers_options *options);
/* After all of its viewers. Takes NULL. */
void viewers_free(struct viewers *v);
DEFINE_CLEANUP(struct viewers *, viewers_free)

struct viewer_result {
	unsigned status; /* of HTTP; 200: what was asked for, else one line */
	char *body;      /* malloc'ed, ended by NUL; may be taken, by setting it to NULL */
	size_t length;
};

struct viewer_request {
	const struct view_request *message; /* but for what the viewers fill in; borrowed, as */
	const int *files; /* profiles in sealed memory, until viewer_new() returns */
	size_t n_files;
	void (*done)(void *userdata, struct viewer_result *result);
	void *userdata;
};

enum {
	VIEWER_E_OK,
	VIEWER_E_BUSY, /* too many wait */
};

/* `done` is called once, from the loop, and may free it. VIEWER_E_* or negative errno. */
int viewer_new(struct viewer **ret, struct viewers *viewers, const struct viewer_request *request);
/* Ends its process. Takes NULL. */
void viewer_free(struct viewer *v);
DEFINE_CLEANUP(struct viewer *, viewer_free)

#endif
