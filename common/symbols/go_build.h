/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SYMBOLS_GO_BUILD_H
#define PROFD_COMMON_SYMBOLS_GO_BUILD_H

/* What a Go program says of how it was built: the beginning of what `go version -m` prints. */
#include <stdint.h>

/* Texts end with a NUL, are clean (common/worker/text.h) and cut to their room; "": not said. */
struct go_build {
	char go[64];         /* the release, "go1.26.8"; "": no Go program */
	char module[256];    /* path of the main module */
	char version[128];   /* of that module: "v1.2.3", "(devel)" */
	char revision[72];   /* of its repository, vcs.revision */
	uint8_t is_modified; /* 0 or 1: files were changed since that revision, vcs.modified */
};

#endif
