/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_EXPORTED_H
#define PROFD_CLIENT_GATEWAY_VIEW_EXPORTED_H

/*
 * What a viewer makes of a stored window for a profile server: how many requests that takes, a
 * uint64_t, and then the body of each (client/export/target.h) as a piece (pieces.h). None: nothing
 * of the window is to be sent.
 */
#include <stdio.h>

struct answer_message;
struct view_export;

/*
 * @file: a .pb.gz. 0; a status of HTTP other than 200, with the message, which is 422 where the
 * window is at fault, now and later; or negative errno.
 */
int exported_write(const struct view_export *export, int file, FILE *out,
		   struct answer_message *message);

#endif
