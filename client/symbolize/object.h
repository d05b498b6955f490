/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_OBJECT_H
#define PROFD_SYMBOLIZE_OBJECT_H

/*
 * The file on this host that a profile's mapping names, if it is the one that was mapped there, and
 * its separate debug files. What it cannot be used for is noted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/symbolize/asker.h"
#include "client/symbolize/files.h"
#include "client/symbolize/kernel.h"
#include "client/symbolize/notes.h"
#include "common/profile/profile.h"
#include "common/worker/debug_files.h"

/* What objects, and what is in no file, are read with; one for all that the asker is asked about.
 */
struct object_source {
	struct files *files;
	struct asker *asker;
	struct kernel *kernel;
	struct notes *notes; /* borrowed, as what follows */
	bool want_lines;     /* debug files are looked for that have lines */
	/* Of a build id that nothing here has: the fd of its debug file, or -1. May be NULL. */
	int (*fetch)(void *context, const uint8_t *id, size_t length, const char *path);
	void *context;
	uint64_t n_keys; /* that the worker knows files by */
};

/*
 * Makes files, asker and kernel of @s, which has the rest; @root_fd as in files.h, the others as in
 * asker.h. To be deinitialized in any case. Returns 0 or negative errno.
 */
int object_source_init(struct object_source *s, int root_fd, const char *worker_path,
		       uint64_t deadline_ns);
void object_source_deinit(struct object_source *s);

struct object {
	struct object_source *source;
	uint64_t key;
	const char *path; /* borrowed */
	int fd;           /* or -1 */
	struct worker_image facts;
	struct debug_choice debug;
	bool is_identified; /* it has the mapping's build id, or id of image_profile.h */
};

/* One that was not made. */
#define OBJECT_NONE                                                \
	{                                                          \
		.fd = -1, .debug = {.debug = -1, .alternate = -1 } \
	}

enum {
	OBJECT_E_OK,
	OBJECT_E_NONE,      /* not here, another one, or of no use: noted */
	OBJECT_E_NO_WORKER, /* as ASKER_E_NONE: nothing more can be found out */
};

/*
 * @path and @build_id (hexadecimal, "" unknown) as the profile has them; @path is borrowed as long
 * as the object. Returns OBJECT_E_* or negative errno.
 */
int object_init(struct object *ret, struct object_source *source, const char *path,
		const char *build_id);
/* Takes OBJECT_NONE. */
void object_deinit(struct object *o);

/* The link-time address of @address in @m, which maps the file. */
bool object_vaddr(const struct object *o, const struct profile_mapping *m, uint64_t address,
		  uint64_t *ret);
/*
 * Asks for @addresses (link-time, ascending, @n, not more than WORKER_ADDRESSES_MAX), with lines
 * and inlined functions, or for the functions that the program has there. *ret is borrowed from the
 * asker; without locations where there is nothing. Returns OBJECT_E_* or negative errno.
 */
int object_query_names(struct object *o, bool want_lines, const uint64_t *addresses, size_t n,
		       struct answer_names *ret);

/*
 * Asks for the instructions of @range (link-time; protocol.h has its limit); @flags: those of
 * WORKER_INSTRUCTIONS. *ret is borrowed from the asker. Returns OBJECT_E_* or negative errno.
 */
int object_code(struct object *o, const struct worker_range *range, uint32_t flags,
		struct answer_code *ret);

/*
 * Pure: whether the build id of a profile, as text, is that of @elf, which holds no more than
 * ELF_BUILD_ID_MAX bytes of it. Zeros behind the end count for nothing: some tools pad.
 */
bool object_is_id(const char *text, const struct elf_summary *elf);
/* Pure: the same of what elf_build_id_print() makes of one. */
bool object_is_same_id(const char *text, const char *own);

#endif
