/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_GO_GO_BUILD_H
#define PROFD_DAEMON_WORKER_GO_GO_BUILD_H

/*
 * Reads the section .go.buildinfo, which the linker of Go 1.13 and later writes and strip(1)
 * leaves. (Go: src/debug/buildinfo/buildinfo.go, src/runtime/debug/mod.go.)
 */
#include "common/symbols/elf_summary.h"
#include "daemon/worker/elf/elf_image.h"

/* Pure, but for reading @image. *ret is written in any case; what cannot be read is not said. */
void go_build_read(struct elf_image *image, struct go_build *ret);

#endif
