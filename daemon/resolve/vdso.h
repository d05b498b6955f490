/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_VDSO_H
#define PROFD_RESOLVE_VDSO_H

/*
 * The vdso (vdso(7)) as a file, for those who read images from files. The kernel maps the same
 * pages into every 64-bit process, so our own is everybody's. The kernel made it: its headers are
 * believed as far as they say where it ends, so that no /proc/PID/maps need be read for that.
 */

/* A read-only fd of a copy, the caller's; -1: there is none, or it cannot be copied. */
int vdso_open(void);

#endif
