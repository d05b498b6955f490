/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_LISTENER_H
#define PROFD_REPORT_LISTENER_H

/* What hears of a report while it is made, and what it is told of reading. */
#include <stddef.h>
#include <stdint.h>

struct listener {
	/* Something for the user to know, a line; may be NULL. */
	void (*note)(void *context, const char *text);
	/*
	 * How far reading and naming are: @done is 0 to 1. @text NULL: that is over, and something
	 * else may be written. May be NULL.
	 */
	void (*progress)(void *context, double done, const char *text);
	void *context;
};

void listener_note(const struct listener *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * How far the reading of files is, told in words while it goes on. Each is read twice, as input.h
 * has it: for what samples refer to, and for the samples. All zero tells nobody.
 */
struct reading {
	const struct listener *listener; /* NULL: nobody hears of it */
	size_t n, n_files;               /* that are done, of */
	uint64_t size;                   /* of the one that is being read */
	unsigned round;                  /* 0 or 1, of that */
};

/* @listener: borrowed up to reading_end(). */
void reading_begin(struct reading *r, size_t n_files, const struct listener *listener);
/* One of them begins; or, once more, its samples do. */
void reading_file(struct reading *r, int fd);
void reading_samples(struct reading *r);
/* So many bytes of it were read in this round. */
void reading_report_offset(struct reading *r, uint64_t bytes);
void reading_file_end(struct reading *r);
/* Nobody is told of what is read again. */
void reading_end(struct reading *r);

#endif
