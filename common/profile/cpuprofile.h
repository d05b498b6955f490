/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_CPUPROFILE_H
#define PROFD_COMMON_PROFILE_CPUPROFILE_H

/*
 * The legacy binary CPU profile of gperftools ("CPU Profile Data File Structure" in its
 * documentation): words of the profiled program's pointer size, a header of five slots, records,
 * a trailer of three, then text lines as in /proc/PID/maps.
 *
 * The writer knows what the two readers in use (google-pprof and go tool pprof) do to a file: see
 * cpuprofile_write.c. The reader takes 32- and 64-bit files of both byte orders.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/pprof.h" /* struct profile_message */

enum {
	CPUPROFILE_E_OK,
	CPUPROFILE_E_MALFORMED,
};

/* One distinct user call chain. */
struct cpuprofile_record {
	uint64_t count;
	const uint64_t *addresses; /* lookup addresses, leaf first (see profile.h); borrowed */
	uint32_t n_addresses;      /* >= 1 */
};

/*
 * Records of one call chain become one, with the sum of their counts, INT64_MAX at most (readers
 * take counts for signed); sorted by chain. Returns how many are left of @n.
 */
size_t cpuprofile_unify(struct cpuprofile_record *records, size_t n);

struct cpuprofile {
	unsigned slot_bytes; /* 4 or 8: pointer size of the profiled program */
	uint64_t period_us;  /* sampling period in microseconds, >= 1 (0 is written as 1) */
	const struct cpuprofile_record *records;
	size_t n_records;
	const char *maps;     /* whole text lines as in /proc/PID/maps, main program first */
	const char *comments; /* whole "# profd ..." lines that go after the maps, or NULL */
};

/*
 * Encodes @c. *ret is malloc'ed, owned by the caller. Refused with -EINVAL is
 * what readers would refuse: a record of no address, of more than 65,536, or of count 0 (or past
 * 65,536 times what a slot holds), and a line of text of 64 KiB. Returns 0 or negative errno.
 */
int cpuprofile_write(const struct cpuprofile *c, uint8_t **ret, size_t *ret_length);

/*
 * The same from a profile of one process, whose pointers have @slot_bytes: its user frames, samples
 * of one chain in one record.
 * Samples without a user frame are left out, and counted in a comment; paths are cut after 16 KiB,
 * and comments of 64 KiB left out. *ret as above. Returns 0 or negative errno.
 */
int cpuprofile_from_profile(const struct profile *p, unsigned slot_bytes, uint8_t **ret,
			    size_t *ret_length);

#define CPUPROFILE_SYMBOLS "--- symbol" /* how the output of google-pprof --raw begins */

/*
 * Decodes a legacy profile into *ret, with sample types samples/count and cpu/nanoseconds, and the
 * executable mappings. "# profd" lines become comments. Of overlapping mappings a location gets
 * the one that starts last. Version 1, of Java, and what google-pprof --raw writes have names.
 *
 * As go tool pprof has it, callers of the leaf that nearly all records share are deleted where the
 * file is not profd's: they are libprofiler's signal handler. drop_frames is pprof's for such
 * files. Returns CPUPROFILE_E_* (then @message is filled) or negative errno.
 */
int cpuprofile_read(const uint8_t *data, size_t length, struct profile **ret,
		    struct profile_message *message);

#endif
