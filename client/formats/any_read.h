/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_ANY_READ_H
#define PROFD_CLIENT_FORMATS_ANY_READ_H

/*
 * A profile of whatever format, told by its content: profile.proto, a legacy CPU profile, a DCPI
 * image profile, what perf-script(1) prints, gperftools' text profiles, collapsed stacks; each
 * gzip'ed or not. Pure.
 *
 * An image profile has stacks of one frame: addresses from tstart on, in one mapping whose build id
 * is the image's id (of the whole address space, profile_is_whole_mapping(), but for the kernel's);
 * values are samples/count and, by the period, nanoseconds of CPU time or events.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/pprof.h" /* struct profile_message */

enum any_format {
	ANY_PPROF,
	ANY_CPUPROFILE,
	ANY_IMAGE_PROFILE,
	ANY_PERF_SCRIPT,
	ANY_LEGACY_TEXT, /* heap, contention, threads of gperftools */
	ANY_COLLAPSED,
	ANY_NONE, /* another kind of file that is often taken for a profile */
};

enum {
	ANY_E_OK,
	ANY_E_MALFORMED, /* see the message */
	ANY_E_TOO_BIG,   /* unpacks to more than the limit; see the message */
};

#define ANY_HEAD_BYTES 4096 /* what tells a format; fewer only if the file is shorter */

/* The format of what begins with @length bytes, which are not gzip'ed. */
enum any_format any_format_of(const uint8_t *data, size_t length);
/* The same of the first bytes of a file that may be gzip'ed. */
enum any_format any_format_of_file(const uint8_t *data, size_t length);

/*
 * @length bytes, which unpack to at most @max_bytes. *ret_format is written in any case. ANY_E_*,
 * with ANY_E_OK @message is a remark for the user, or ""; or negative errno.
 */
int any_read(const uint8_t *data, size_t length, size_t max_bytes, struct profile **ret,
	     enum any_format *ret_format, struct profile_message *message);

/*
 * @p as a file of profile.proto, a legacy CPU profile or collapsed stacks. *ret: malloc'ed. Returns
 * 0 or negative errno.
 */
int any_write(const struct profile *p, enum any_format format, uint8_t **ret, size_t *ret_length);

#endif
