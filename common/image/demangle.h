/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_IMAGE_DEMANGLE_H
#define PROFD_COMMON_IMAGE_DEMANGLE_H

/*
 * Names as people wrote them: C++ (Itanium), Rust (legacy and v0), D, through libiberty, the way
 * c++filt -i prints them: Rust's hashes go, what compilers appended stays visible ("f() [clone
 * .part.0]"). What begins at an @ (versions, "@plt") is no part of the mangled name and follows it
 * unchanged. Everything else is itself.
 *
 * Names are strangers' texts: a few hundred bytes of C++ can stand for gigabytes, so the result has
 * a bound while it is made.
 */
#include <stddef.h>

#define DEMANGLE_INPUT_MAX 16384u /* bytes */

/*
 * malloc'ed; NULL without memory. Names longer than DEMANGLE_INPUT_MAX, or whose result would be
 * past WORKER_TEXT_MAX, stay as they are.
 */
char *demangle(const char *system_name);

#endif
