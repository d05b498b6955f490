/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_IMAGE_H
#define PROFD_RESOLVE_IMAGE_H

/*
 * An image is a file that the kernel mapped for execution: known by device, inode, inode
 * generation, size and ctime, never by its path or build id, which are labels. Memory that is no
 * file ([vdso], anonymous) is an image of another kind.
 *
 * Images are immutable once made and shared between the main thread (mappings) and the output
 * thread (snapshots) by an atomic reference count. A file stays open from when it was first
 * mapped in a sampled process, so that a deleted or replaced one still has names.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/image/elf.h"

enum image_kind {
	IMAGE_FILE,
	IMAGE_VDSO,
	IMAGE_ANON,    /* anonymous executable memory: generated code */
	IMAGE_SPECIAL, /* other text in brackets, e.g. [uprobes], [vsyscall] */
};

struct image {
	atomic_uint n_references;
	uint64_t id; /* never reused */
	enum image_kind kind;
	const char
		*path; /* as the process sees it, without " (deleted)"; "[anon]" for IMAGE_ANON */
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	uint64_t size, mtime_ns, ctime_ns; /* of the open file; 0 if it could not be opened */
	bool has_elf;
	struct elf_summary elf; /* valid if has_elf */
	int fd;                 /* read-only, or -1 */
};

struct image *image_ref(struct image *image);
void image_unref(struct image *image);
DEFINE_CLEANUP(struct image *, image_unref)

#endif
