/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_PERF_SCRIPT_READ_H
#define PROFD_CLIENT_FORMATS_PERF_SCRIPT_READ_H

/*
 * What perf-script(1) prints of samples, in its default form and with the usual fields more or
 * less:
 *
 *	comm pid/tid [cpu] time: period event:
 *	        address symbol+0xoffset (object)       leaf first
 *	        address inlined_function (inlined)     stands before the frame that it is part of
 *
 * and, without call chains, the frame behind the event. Samples have the labels pid, tid and comm
 * as far as they are printed; their values are samples/count and, for each event that occurs, the
 * periods: nanoseconds for cpu-clock and task-clock, else counts. Mappings are the objects, whose
 * ranges perf does not tell. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/formats/any_read.h" /* ANY_E_MALFORMED */

/* ANY_E_OK, ANY_E_MALFORMED (the message names the line) or negative errno. */
int perf_script_read(const uint8_t *data, size_t length, struct profile **ret,
		     struct profile_message *message);
/* Whether @length bytes, a text or its beginning, have the first line of a sample. */
bool perf_script_detect(const uint8_t *data, size_t length);

#endif
