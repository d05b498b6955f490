/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_PACKAGE_PACKAGE_NOTE_H
#define PROFD_WORKER_PACKAGE_PACKAGE_NOTE_H

/*
 * What the notes of a program say of its release: .note.package, of systemd's "Package Metadata for
 * Executable Files" (JSON of the package that it was built for), and Go's build id
 * (cmd/internal/buildid: four hashes with slashes between them, that of the contents last).
 */
#include <stdbool.h>

#include "common/span.h"
#include "daemon/worker/elf/elf_image.h"

/* "version" of the object that @text is, clean and cut to @size; "" where there is none. Pure. */
void package_note_parse(struct span text, char *ret, size_t size);
/* Of the first notes of each kind; "" for what no note says. */
void package_notes_read(struct elf_image *image, struct elf_release *ret);

#endif
