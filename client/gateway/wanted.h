/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_WANTED_H
#define PROFD_CLIENT_GATEWAY_WANTED_H

/* Asks profd over its control socket which debug files it wants. */
#include <stddef.h>
#include <stdint.h>

#define WANTED_MAX    256u /* more are not taken */
#define WANTED_ID_MAX 63u  /* bytes; longer ones are left out */

struct wanted_id {
	uint8_t length;
	uint8_t bytes[WANTED_ID_MAX];
};

struct wanted {
	size_t n;
	struct wanted_id ids[WANTED_MAX];
};

struct wanted_message {
	char text[200]; /* one line */
};

enum {
	WANTED_E_OK,
	WANTED_E_AWAY,    /* no profd answers at the socket */
	WANTED_E_REFUSED, /* it answers, but not this: the message says why */
};

/* Takes 2 s at most, if profd does not answer. Returns WANTED_E_* or negative errno. */
int wanted_query(const char *socket, struct wanted *ret, struct wanted_message *message);

#endif
