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

/*
 * What LD_PRELOAD is to name, so that programs of glibc load a library and those of other C
 * libraries run as if it did not stand there.
 *
 * All programs that a command starts inherit the variable. musl's loader, too, loads what it names,
 * and does not start the program when that needs glibc; what cannot be opened it passes over in
 * silence. Only glibc expands $LIB (ld.so(8), "Dynamic string tokens"), to the directory of its own
 * files below the root: lib64, lib/x86_64-linux-gnu, lib. So a path through that directory and up
 * to the root again is the library's for glibc, wherever that keeps its files, and no path at all
 * for others.
 */
enum {
	PRELOAD_E_OK,
	/* glibc has no such directory here (NixOS, Guix), or the path is a relative one: *ret is
	 * @library, which musl sees as well. */
	PRELOAD_E_PLAIN,
};

/* *ret is malloc'ed. Returns PRELOAD_E_* or -ENOMEM. */
int preload_path(const char *library, char **ret);

#endif
