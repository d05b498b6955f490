/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SYMBOLS_ELF_SUMMARY_H
#define PROFD_COMMON_SYMBOLS_ELF_SUMMARY_H

/*
 * The little that must be known of an ELF file to place addresses in it: class, machine, type,
 * loadable segments and the GNU build id. Who reads files is another matter
 * (daemon/worker/elf/elf_image.h).
 */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/span.h"

#define ELF_SUMMARY_SEGMENTS_MAX 32
#define ELF_BUILD_ID_MAX         20

/* One PT_LOAD. */
struct elf_segment {
	uint64_t vaddr, offset, file_size, memory_size; /* bytes */
	bool executable;
};

struct elf_summary {
	unsigned pointer_bytes; /* 4 or 8 */
	uint16_t type;          /* ET_EXEC, ET_DYN ... */
	uint16_t machine;       /* EM_X86_64 ... */
	uint32_t n_segments;
	struct elf_segment segments[ELF_SUMMARY_SEGMENTS_MAX];
	uint32_t build_id_length; /* 0: none */
	uint8_t build_id[ELF_BUILD_ID_MAX];
};

#define ELF_BUILD_ID_TEXT (2 * ELF_BUILD_ID_MAX + 1) /* of one as text */

/* One note, within the bytes that it is read of. */
struct elf_note {
	uint32_t type;
	struct span name; /* without its NUL */
	struct span text;
};

/* Notes that are still to be read. */
struct elf_notes {
	const uint8_t *at;
	size_t left;
	bool swap; /* the file's byte order is not ours */
};

/* The next one. False: there are no more, or the rest is damaged. */
bool elf_notes_next(struct elf_notes *notes, struct elf_note *ret);

/* Lower-case hexadecimal digits; "" for length 0, and no more than ELF_BUILD_ID_MAX bytes. */
void elf_build_id_print(const uint8_t *id, size_t length, char ret[ELF_BUILD_ID_TEXT]);
/*
 * The build id among the notes of [data, data + length): returns its length, 0 where there is
 * none. @swap: the file's byte order is not ours. One longer than ELF_BUILD_ID_MAX is cut.
 */
uint32_t elf_notes_build_id(const uint8_t *data, size_t length, bool swap,
			    uint8_t ret[ELF_BUILD_ID_MAX]);
/*
 * Adds the PT_LOAD @p, in our byte order. False: there are too many, or its sums wrap, so that
 * callers that use what is kept need not care.
 */
bool elf_summary_add(struct elf_summary *elf, const Elf64_Phdr *p);
/*
 * The segment whose part of the file is at the link-time address @at, or (@is_address is false) at
 * that offset; the executable one if several are. NULL: none.
 */
const struct elf_segment *elf_summary_find(const struct elf_summary *elf, uint64_t at,
					   bool is_address);
/* File offset to link-time virtual address; false when no loadable segment holds it. */
bool elf_summary_vaddr(const struct elf_summary *elf, uint64_t offset, uint64_t *ret);
/* Start of the first and end of the last executable segment (link-time). False if none. */
bool elf_summary_text(const struct elf_summary *elf, uint64_t *ret_start, uint64_t *ret_end);

/*
 * What a Go program says of how it was built: the beginning of what `go version -m` prints. Texts
 * end with a NUL, are clean (text_is_clean()) and cut to their room; "": not said.
 */
struct go_build {
	char go[64];         /* the release, "go1.26.8"; "": no Go program */
	char module[256];    /* path of the main module */
	char version[128];   /* of that module: "v1.2.3", "(devel)" */
	char revision[72];   /* of its repository, vcs.revision */
	uint8_t is_modified; /* 0 or 1: files were changed since that revision, vcs.modified */
};

#define ELF_HTLHASH_BYTES 16

/* What tells a program's releases apart, besides its build id. Texts as above. */
struct elf_release {
	char version[64]; /* of the package that it was built for, in .note.package */
	char go_id[96];   /* Go's own build id: four hashes, slashes between them */
	uint8_t htlhash[ELF_HTLHASH_BYTES]; /* of the file (htlhash.h); all 0: not known */
};

#endif
