/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_PRELOAD_H
#define PROFD_RUN_PRELOAD_H

/*
 * What LD_PRELOAD is to name, so that programs of glibc load a library and those of other C
 * libraries run as if it did not stand there.
 *
 * All programs that a command starts inherit the variable. musl's loader, too, loads what it names,
 * and does not start the program when that needs glibc; what cannot be opened it passes over in
 * silence. Only glibc expands $LIB (ld.so(8), "Dynamic string tokens"), to the folder of its own
 * files below the root: lib64, lib/x86_64-linux-gnu, lib. So a path through that folder and up to
 * the root again is the library's for glibc, wherever that keeps its files, and no path at all for
 * others.
 */
#include "common/cleanup.h"

enum {
	PRELOAD_E_OK,
	/* glibc has no such folder here (NixOS, Guix), or the path is a relative one: *ret is
	 * @library, which musl sees as well. */
	PRELOAD_E_PLAIN,
};

/* *ret is malloc'ed. Returns PRELOAD_E_* or -ENOMEM. */
int preload_path(const char *library, char **ret);

#endif
