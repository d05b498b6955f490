/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_IMAGE_GO_BUILD_H
#define PROFD_COMMON_IMAGE_GO_BUILD_H

/*
 * Reads the section .go.buildinfo, which the linker of Go 1.13 and later writes and strip(1)
 * leaves. (Go: src/debug/buildinfo/buildinfo.go, src/runtime/debug/mod.go.)
 */
#include "common/image/elf_image.h"
#include "common/symbols/go_build.h"

/* Pure, but for reading @image. *ret is written in any case; what cannot be read is not said. */
void go_build_read(struct elf_image *image, struct go_build *ret);

#endif
