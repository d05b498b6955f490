/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_CONDITIONS_H
#define PROFD_OUTPUT_CONDITIONS_H

/* What keeps the writer from doing all that it should, and how the log puts it. */
#include <stddef.h>

/* As bits; they hold for the writer's last call. */
enum {
	WRITER_FULL = 1 << 0,           /* no room even after collecting */
	WRITER_FAILED = 1 << 1,         /* another error kept files from being written */
	WRITER_INCOMPLETE = 1 << 2,     /* some image profiles lack a window */
	WRITER_NEW_EPOCH = 1 << 3,      /* an image profile was damaged or had no room for counts */
	WRITER_NO_ACL = 1 << 4,         /* a session's files cannot be opened to their owner */
	WRITER_NOT_COLLECTED = 1 << 5,  /* something could not be deleted */
	WRITER_NO_KALLSYMS = 1 << 6,    /* kernel addresses have no names */
	WRITER_NO_WORKER = 1 << 7,      /* new addresses have no names */
	WRITER_GONE = 1 << 8,           /* the state directory was removed, and cannot be made */
	WRITER_REVIVED = 1 << 9,        /* it was removed, and was made again */
	WRITER_DAMAGED = 1 << 10,       /* a file cannot be read and is not rolled up */
	WRITER_NOT_ROLLED_UP = 1 << 11, /* an hour could not be written, and waits */
};
#define WRITER_N_CONDITIONS 12
/* No file can be written while one of these holds. */
#define WRITER_CANNOT_WRITE (WRITER_FULL | WRITER_FAILED | WRITER_GONE)

/* What is behind them: texts, borrowed. Those that no condition is of may be NULL. */
struct condition_facts {
	const char *store;  /* its path */
	const char *rollup; /* of the file that the last condition of roll-ups is of, below that */
	const char *error;  /* that the condition comes of */
	const char *worker, *epoch;
};

/* One line about one condition, for the log. Pure. */
void condition_describe(unsigned condition, const struct condition_facts *facts, char *ret,
			size_t size);

#endif
