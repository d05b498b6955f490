/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_PIECES_H
#define PROFD_CLIENT_GATEWAY_VIEW_PIECES_H

/*
 * Profiles that are to be one, as the gateway gathers them for a viewer: a file in memory, with the
 * length of each before it. The gateway does not look into them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cleanup.h"

struct pieces {
	int fd; /* -1: none yet */
	size_t bytes;
};

#define PIECES_NONE ((struct pieces){.fd = -1})

static inline void pieces_deinit(struct pieces *p)
{
	closep(&p->fd);
	*p = PIECES_NONE;
}

/* 0 or negative errno. */
int pieces_add(struct pieces *p, const void *data, size_t length);
/* Nothing can be added any more; without any, it is an empty file. 0 or negative errno. */
int pieces_seal(struct pieces *p);

/*
 * The next one of the @length bytes at @data from *@at on. False: there is none, or what is there
 * is none.
 */
bool pieces_next(const uint8_t *data, size_t length, size_t *at, const uint8_t **ret,
		 size_t *ret_length);

/* One more piece of those that a viewer's answer is. Errors stay in the stream. */
void pieces_print(FILE *out, const void *data, size_t length);

/* All of a file in memory; *ret is malloc'ed. 0 or negative errno. */
int view_read_file(int fd, uint8_t **ret, size_t *ret_length);

#endif
