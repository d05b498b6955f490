/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_MERGED_H
#define PROFD_CLIENT_GATEWAY_VIEW_MERGED_H

/* What a viewer makes of pieces: one profile of all of them, in a file format. */
#include <stdint.h>

struct answer_message;
struct memory_text;
struct view_merge;

/*
 * @file: pieces.h; without any, a profile without samples. In gperftools' format, the answer has
 * the profile and then its names as two pieces. 0; a status of HTTP other than 200, with the
 * message; or negative errno.
 */
int merged_write(const struct view_merge *merge, int file, struct memory_text *ret,
		 struct answer_message *message);

#endif
