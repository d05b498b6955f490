/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_FLAT_H
#define PROFD_CLIENT_GATEWAY_VIEW_FLAT_H

/*
 * What a viewer makes of windows for the metrics: the CPU time that functions of services used
 * themselves, as `pprof -flat` has it. A function without a name is its file, in brackets. Lines of
 * text: until when the windows were, Unix time in ns; then `NS SERVICE\tNAME`, the largest first,
 * as many as an answer has room for. Names are UTF-8 without control characters.
 */
#include <stdio.h>

#define FLAT_NAME_MAX 200u /* bytes; longer names are cut, and counted together */

struct answer_message;

/* 0; a status of HTTP other than 200, with the message; or negative errno. */
int flat_write(int file, FILE *out, struct answer_message *message);

#endif
