/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_PROGRAM_H
#define PROFD_RUN_PROGRAM_H

/* Whether libprofd.so can be loaded into a program, by LD_PRELOAD of ld.so(8), and if not, why. */
#include <stddef.h>
#include <stdint.h>

enum program_kind {
	PROGRAM_GOOD, /* or nothing is known that speaks against it */
	PROGRAM_STATIC,
	PROGRAM_OTHER_LIBC,
	PROGRAM_OTHER_MACHINE,
	PROGRAM_PRIVILEGED, /* runs with more rights than its caller's: ld.so loads nothing */
	PROGRAM_SCRIPT,     /* another program's: its path is the interpreter */
};

#define PROGRAM_PATH_SIZE 4096

/*
 * What the first @size bytes of a file say. Pure. @ret_interpreter, of a script: terminated. Never
 * PROGRAM_PRIVILEGED.
 */
enum program_kind program_classify(const uint8_t *head, size_t size,
				   char ret_interpreter[PROGRAM_PATH_SIZE]);

/*
 * The program that @name would execute (execvp(3) with @search for PATH), and where it is a script,
 * its interpreter. Reads files. Never PROGRAM_SCRIPT.
 */
enum program_kind program_find(const char *name, const char *search);

/* Why the library is not loaded, behind "it ". */
const char *program_reason(enum program_kind kind);

#endif
