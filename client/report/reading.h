/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_READING_H
#define PROFD_REPORT_READING_H

/*
 * How far the reading of files is, told in words while it goes on: by bytes, because one file may
 * be larger than all others. Each is read twice, as input.h has it: for what samples refer to, and
 * for the samples.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/report/listener.h"
#include "client/report/sources.h"

/* All zero tells nobody. */
struct reading {
	const struct listener *listener; /* NULL: nobody hears of it */
	uint64_t bytes, before, size;    /* of all files, of those before this one, of this one */
	size_t n, n_files;               /* that are done, of */
	unsigned round;                  /* 0 or 1, of this one */
};

/* Looks how large the files are. @listener: borrowed up to reading_end(). */
void reading_begin(struct reading *r, const struct sources *sources,
		   const struct listener *listener);
/* One of them begins; or, once more, its samples do. */
void reading_file(struct reading *r, int fd);
void reading_samples(struct reading *r);
/* So many bytes of it were read in this round. */
void reading_report_offset(struct reading *r, uint64_t bytes);
void reading_file_end(struct reading *r);
/* Nobody is told of what is read again. */
void reading_end(struct reading *r);

#endif
