/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_NAMES_DEMANGLE_H
#define PROFD_DAEMON_WORKER_NAMES_DEMANGLE_H

/*
 * Names as people wrote them: C++ (Itanium), Rust (legacy and v0), D, through libiberty, the way
 * c++filt -i prints them: Rust's hashes go, what compilers appended stays visible ("f() [clone
 * .part.0]"). What begins at an @ (versions, "@plt") is no part of the mangled name and follows it
 * unchanged. Everything else is itself.
 *
 * In the other styles names are those of pprof's --symbolize=demangle=..., where its demangler
 * (github.com/ianlancetaylor/demangle) and libiberty agree.
 *
 * Names are strangers' texts: a few hundred bytes of C++ can stand for gigabytes, so the result has
 * a bound while it is made.
 */

#define DEMANGLE_INPUT_MAX 16384u /* bytes */

enum demangle_style {
	DEMANGLE_WHOLE,
	DEMANGLE_NO_CLONES,     /* without what compilers appended */
	DEMANGLE_NO_PARAMETERS, /* nor parameters, return types and what follows them, of C++ */
};

/*
 * malloc'ed; NULL without memory. Names longer than DEMANGLE_INPUT_MAX, or whose result would be
 * past WORKER_TEXT_MAX, stay as they are. Without parameters, what is in parentheses also goes from
 * names that are no mangled ones, but look as if C++ had been demangled.
 */
char *demangle_name(const char *system_name, enum demangle_style style);

#endif
