/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_WEB_PRIVATE_GATEWAY_H
#define PROFD_CLIENT_WEB_PRIVATE_GATEWAY_H

/*
 * A profd-gateway for one person. It has no privileges, and no access to profd but the connections
 * that private_gateway_serve() gives it, one for each request. It exits when we do.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

struct private_gateway;

enum {
	PRIVATE_GATEWAY_E_OK,
	PRIVATE_GATEWAY_E_USAGE,  /* it cannot serve at that address: see the message */
	PRIVATE_GATEWAY_E_FAILED, /* see the message */
	PRIVATE_GATEWAY_E_ENDED,  /* it has exited */
};

struct private_gateway_options {
	/* Borrowed as long as the gateway lives: */
	const char *listen; /* NULL: a port of loopback */
	const char *socket; /* profd's */
	uint64_t end_ns;    /* Unix time: of a store that nothing is added to; 0: it is none */
	/* What the page's command for profctl is of: a store (NULL: profd's), or files. */
	const char *store;
	bool is_files;
	/* Where sources are looked for: client/code/source_file.h; NULL: in our directory. */
	const char *source_path, *trim_path;
};

struct private_gateway_message {
	char text[512]; /* one line */
};

/* Returns when it serves. PRIVATE_GATEWAY_E_* or negative errno. */
int private_gateway_new(struct private_gateway **ret, const struct private_gateway_options *options,
			struct private_gateway_message *message);
/* Ends it. Takes NULL. */
void private_gateway_free(struct private_gateway *g);
DEFINE_CLEANUP(struct private_gateway *, private_gateway_free)

/* What is to be opened, once: a secret. */
const char *private_gateway_address(const struct private_gateway *g);
/* 0: a Unix socket. */
uint16_t private_gateway_port(const struct private_gateway *g);
/* Readable when it is to be served. */
int private_gateway_fd(const struct private_gateway *g);
/* Answers one request. PRIVATE_GATEWAY_E_OK or _ENDED. */
int private_gateway_serve(struct private_gateway *g);

#endif
