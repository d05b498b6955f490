/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_IMAGE_H
#define PROFD_RESOLVE_IMAGE_H

/*
 * An image is a file that the kernel mapped for execution: known by device, inode, inode
 * generation, size and ctime, never by its path or build id, which are labels. Memory that is no
 * file ([vdso], anonymous) is an image of another kind.
 *
 * Images are shared between the main thread (mappings) and the output thread (snapshots) by an
 * atomic reference count, and never change, but for what image workers find out about them, which
 * is set once. A file stays open from when it was first mapped in a sampled process, so that a
 * deleted or replaced one still has names; when too many are open, the image table closes the one
 * that was not used for the longest time, for good.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/symbols/elf_summary.h"

enum image_kind {
	IMAGE_FILE,
	IMAGE_VDSO,
	IMAGE_ANON,    /* anonymous executable memory: generated code */
	IMAGE_SPECIAL, /* other text in brackets, e.g. [uprobes], [vsyscall] */
};

struct image_headers;
struct mount_root; /* mount_root.h */

struct image {
	atomic_uint n_references;
	uint64_t id; /* never reused */
	enum image_kind kind;
	const char
		*path; /* as the process sees it, without " (deleted)"; "[anon]" for IMAGE_ANON */
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	uint64_t size, mtime_ns, ctime_ns; /* of the open file; 0 if it could not be opened */
	/* Read-only, or -1. The main thread uses it as it is; others borrow it, see below. */
	atomic_int fd;
	atomic_bool is_used;     /* was borrowed since the table last looked for files to close */
	struct mount_root *root; /* where it was first seen: a reference; NULL unknown */
	_Atomic(struct image_headers *) headers; /* set once, see image_set_headers() */
	_Atomic(char *) version;                 /* the same, see image_set_version() */
	unsigned version_tries;                  /* the output thread's */
	bool is_interpreter;                     /* its code; for the main thread */
	bool is_avoided;    /* there is no file because it is, or may be, on FUSE */
	atomic_int pid;     /* of those that are avoided: who mapped it last; may be gone */
	atomic_bool is_bad; /* an image worker died of it: nobody asks again */
};

struct image *image_ref(struct image *image);
void image_unref(struct image *image);
DEFINE_CLEANUP(struct image *, image_unref)

/*
 * Any thread that holds a reference: a descriptor of the file, the caller's, or -1: there is none
 * (any more). Does not change what the image is.
 */
int image_borrow_file(const struct image *image);

/*
 * What the file's headers say; all are copied. @elf NULL, and so the others: it is no ELF file, or
 * one that cannot be read. The first call decides. Any thread. Returns 0 or -ENOMEM.
 */
int image_set_headers(struct image *image, const struct elf_summary *elf, const struct go_build *go,
		      const struct elf_release *release);
/* Whether that has been found out. */
bool image_has_headers(const struct image *image);
/* The headers, or NULL: no ELF file, or not known (yet). Lives as long as the image. */
const struct elf_summary *image_elf(const struct image *image);
/* The same of a Go program's build, or NULL: it is none, or says nothing. */
const struct go_build *image_go(const struct image *image);
/* The same of its release; NULL where there are no headers. */
const struct elf_release *image_release(const struct image *image);

/*
 * The version of the program that the file is (daemon/output/versions.h), which is copied; "": it
 * has none. Once. The output thread. Returns 0 or -ENOMEM.
 */
int image_set_version(struct image *image, const char *version);
/* The same; NULL: not known yet. Lives as long as the image. */
const char *image_version(const struct image *image);

#endif
