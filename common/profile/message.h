/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_MESSAGE_H
#define PROFD_COMMON_PROFILE_MESSAGE_H

/* How the readers of common/profile refuse a file. */
#include "common/profile/pprof.h" /* struct profile_message */

/* Fills @message (may be NULL) and returns @outcome. */
int profile_refuse(struct profile_message *message, int outcome, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
