/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_ELF_ELF_IMAGE_H
#define PROFD_DAEMON_WORKER_ELF_ELF_IMAGE_H

/*
 * A stranger's ELF file under libelf, with what libelf leaves to its caller: a bound on every
 * allocation before it is made, and the section headers at hand. libelf reads what is asked for and
 * maps nothing (a file cut short by its owner must not raise SIGBUS).
 */
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/symbols/elf_summary.h"
#include "common/worker/protocol.h"

/*
 * Of one section, or one range of the file. The largest known to need it, a browser with full
 * .symtab, has 40 MB of symbols and 150 MB of names.
 */
#define ELF_IMAGE_BYTES_MAX (256u << 20)

struct elf_image {
	Elf *elf;
	GElf_Ehdr header;
	struct elf_summary summary;
	GElf_Shdr *sections;
	size_t n_sections;   /* 0: stripped of them */
	const char *names;   /* of sections */
	size_t names_length; /* 0: none, or no NUL at their end */
	size_t budget;       /* how much may still be decompressed, bytes */
};

/*
 * Works for 32- and 64-bit files of both byte orders, and does not move @fd's offset; @fd is to
 * stay open as long. @budget bounds what decompressed sections take together. *ret is written, and
 * to be deinitialized, whatever is returned: WORKER_DONE, _NOT_ELF, _MALFORMED (also: more than
 * ELF_SUMMARY_SEGMENTS_MAX loadable segments), _UNREADABLE or negative errno. Blocks on the disk.
 */
int elf_image_open(struct elf_image *ret, int fd, size_t budget);
/* The same of a file in memory, which is to stay there. */
int elf_image_open_memory(struct elf_image *ret, uint8_t *data, size_t length, size_t budget);
/* Takes a zeroed one as well. */
void elf_image_deinit(struct elf_image *image);

/* Whether addresses in it are link-time ones: a program or a library. */
bool elf_image_is_linked(const struct elf_image *image);
bool elf_image_swaps(const struct elf_image *image); /* its byte order is not ours */
/* "": it has none. */
const char *elf_image_section_name(const struct elf_image *image, size_t section);
/* The first section of that type (SHT_NULL: any) and name (NULL: any); 0: none. */
size_t elf_image_find(const struct elf_image *image, uint32_t type, const char *name);
/*
 * The contents, in our byte order where their type says how they are made up, decompressed if need
 * be; owned by libelf. NULL: empty, unreadable, or more than @max bytes.
 */
Elf_Data *elf_image_data(struct elf_image *image, size_t section, size_t max);
/*
 * Up to @size bytes from link-time address @address on, as far as the segment has them in the file;
 * in our byte order by @type, owned by libelf. NULL: none, or unreadable.
 */
Elf_Data *elf_image_loaded(struct elf_image *image, uint64_t address, uint64_t size, Elf_Type type);
/* Copies the same to @ret; returns how many. */
size_t elf_image_read(struct elf_image *image, uint64_t address, uint8_t *ret, size_t size);

/*
 * The notes in number @i of all segments, and behind these, of all sections, which may hold the
 * same ones: as far as they can be read, or none. False: there is no such number.
 */
bool elf_image_notes(struct elf_image *image, size_t i, struct elf_notes *ret);

/* The summary of a file, for who needs no more. Returns as elf_image_open(). */
int elf_summary_read(int fd, struct elf_summary *ret);

#endif
