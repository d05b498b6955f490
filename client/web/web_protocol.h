/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_WEB_WEB_PROTOCOL_H
#define PROFD_CLIENT_WEB_WEB_PROTOCOL_H

/*
 * What `profctl web` and its profd-gateway send each other, over a SOCK_SEQPACKET pair that the
 * gateway has as WEB_SOCKET_FD. First it receives what to serve; then it sends the address that
 * it serves at, which is a secret and so in no command line; or why it cannot. Then it asks for a
 * connection to profd whenever it needs one: these are profctl's, with its user's privileges, of
 * which the gateway has none. It exits when the other end is closed. Both are built from one tree;
 * the magic number shows if they are not.
 */
#include <stdint.h>

#define WEB_SOCKET_FD 3
#define WEB_MAGIC     0x77656231u
#define WEB_TEXT_MAX  400u
#define WEB_PATHS_MAX 4096u

enum web_outcome {
	WEB_SERVES, /* the text is the address */
	WEB_USAGE,  /* it is why the address cannot be served at: one line */
	WEB_FAILED, /* the same, of something else */
	N_WEB_OUTCOMES,
};

struct web_hello {
	uint32_t magic;
	uint64_t end_ns;   /* Unix time: of a store that nothing is added to; 0: it is none */
	uint32_t is_files; /* of which the store was made */
	/* The path of the store of another machine; "": none. */
	char store[WEB_PATHS_MAX];
	/* Where sources are looked for: client/code/source_file.h. */
	char source_path[WEB_PATHS_MAX], trim_path[WEB_PATHS_MAX];
};

struct web_start {
	uint32_t magic, outcome;
	uint32_t port; /* 0: a Unix socket */
	char text[WEB_TEXT_MAX];
};

struct web_ask {
	uint32_t magic;
	uint64_t number; /* the answer has it, too: one that comes too late is for nobody */
};

struct web_connection {
	uint32_t magic;
	uint32_t
		outcome; /* of unixsock_connect_at_once(); UNIXSOCK_E_OK: a descriptor is with it */
	uint64_t number;
};

#endif
