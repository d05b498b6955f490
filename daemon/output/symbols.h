/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SYMBOLS_H
#define PROFD_OUTPUT_SYMBOLS_H

/*
 * Function names for the output thread: symbol tables by image, the least recently used ones
 * dropped when all together pass a bound. (One table always stays, however big.) That an image
 * has no symbols is remembered too.
 *
 * Names come from the image's open file, never from a path. The [vdso] is no file: its names are
 * those of profd's own, which is the same code in every 64-bit process of the host.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/output/kernel_images.h"
#include "daemon/resolve/image.h"

struct symbols;

/* @kernel is borrowed. */
int symbols_new(struct symbols **ret, size_t max_bytes, struct kernel_images *kernel);
void symbols_free(struct symbols *s);
DEFINE_CLEANUP(struct symbols *, symbols_free)
void symbols_set_max(struct symbols *s, size_t max_bytes);
size_t symbols_bytes(const struct symbols *s);

/*
 * The function at the link-time address @address. *ret is NULL where there is none, else a text
 * that lives until the next call. Ask image by image: the order decides how often tables load.
 * Returns 0 or negative errno.
 */
int symbols_of_image(struct symbols *s, const struct image *image, uint64_t address,
		     const char **ret);
int symbols_of_kernel(struct symbols *s, const struct kernel_image *image, uint64_t address,
		      const char **ret);

/* The headers of the [vdso] of 64-bit processes, or NULL if it cannot be read. */
const struct elf_summary *symbols_vdso(const struct symbols *s);

#endif
