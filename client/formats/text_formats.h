/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_TEXT_FORMATS_H
#define PROFD_CLIENT_FORMATS_TEXT_FORMATS_H

/*
 * Collapsed stacks, as flame graph programs take them: a line for each distinct stack of functions,
 * from root to leaf, `main;work;memcpy 42`. What the numbers are is in a first line of one
 * word, `#cpu/nanoseconds`, which flame graph programs pass over; without it they count samples.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/formats/any_read.h" /* ANY_E_MALFORMED */

/*
 * Lines of the value that reports show, profile_default_type(), in order of their texts: weights,
 * of which samples have more where the rate is lower; *ret malloc'ed, NUL-terminated, the caller's.
 * Inlined functions are frames of their own; what has no name is `module+0xoffset` or `0xaddress`.
 * Threads, labels and lines do not tell stacks apart. In names ';' becomes ':', and control
 * characters '?'. Returns 0 or negative errno.
 */
int collapsed_write(const struct profile *p, char **ret, size_t *ret_length);

/*
 * Whichever tool wrote them: names go up to the last blank. Empty lines are passed over, and those
 * that begin with # and end in no count. The samples' value is what the first line says, else
 * samples/count, rounded; where each line has two, as FlameGraph's difffolded.pl writes them, there
 * is before/count as well. Functions are all that is known of a frame. Pure. ANY_E_OK (the message
 * is a remark, or what it was), ANY_E_MALFORMED (it names the line) or negative errno.
 */
int collapsed_read(const uint8_t *data, size_t length, struct profile **ret,
		   struct profile_message *message);

/*
 * What perf-script(1) prints of samples, with whichever fields:
 *
 *	comm pid/tid [cpu] time: period event:
 *	        address symbol+0xoffset (object)       leaf first
 *	        address inlined_function (inlined)     stands before the frame that it is part of
 *
 * and, without call chains, the frame behind the event. Samples have the labels pid, tid and comm
 * as far as they are printed; their values are samples/count and, for each event that is named, the
 * periods: nanoseconds for cpu-clock and task-clock, else counts. Without periods each is 1, and a
 * count. Mappings are the objects, whose ranges perf does not print. Pure.
 */
/* ANY_E_OK, ANY_E_MALFORMED (the message names the line) or negative errno. */
int perf_script_read(const uint8_t *data, size_t length, struct profile **ret,
		     struct profile_message *message);
/* Whether @length bytes, a text or its beginning, have the first line of a sample. */
bool perf_script_detect(const uint8_t *data, size_t length);

/*
 * The text profiles of gperftools, and those of Go's runtime before profile.proto: heap, growth and
 * fragmentation ("heap profile: ..."), contention, threads, and counts as of goroutines ("goroutine
 * profile: total 12"). Addresses are call sites, in the mappings that the text ends with; values,
 * sample types, labels and drop_frames are go tool pprof's. Pure. ANY_E_OK, ANY_E_MALFORMED (the
 * message names the line) or negative errno.
 */
int legacy_text_read(const uint8_t *data, size_t length, struct profile **ret,
		     struct profile_message *message);
/* Whether the first line that is no comment is one of theirs. */
bool legacy_text_detect(const uint8_t *data, size_t length);

#endif
