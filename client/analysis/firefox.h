/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FIREFOX_H
#define PROFD_CLIENT_ANALYSIS_FIREFOX_H

/*
 * A profile in the processed format of the Firefox Profiler (profiler.firefox.com; its
 * docs-developer/processed-profile-format.md, version 55, which later ones upgrade): a track for
 * each thread, as far as labels tell them apart (pid, comm, thread, tid), with samples where they
 * were counted (sample_times.h), and categories for the kernel, native and interpreted code.
 *
 * Samples of one bucket of time follow each other at the sampling interval from its beginning on;
 * those whose times are not known do so from the beginning of the profile. Counts that are not
 * above 0 are left out. Pure.
 */
#include <stdio.h>

struct profile;

/* 0 or negative errno; errors of @out stay in it (ferror(3)). */
int firefox_write(const struct profile *p, FILE *out);

#endif
