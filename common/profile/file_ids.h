/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_FILE_IDS_H
#define PROFD_COMMON_PROFILE_FILE_IDS_H

/*
 * What identifies the files that mappings are of, besides the build id that profile.proto has room
 * for. profd writes it as comments, which other readers leave alone, as merges do:
 *
 *   # profd build id: htlhash=HASH go=ID gnu=ID file=PATH
 *
 * A field that a file has not is left out; gnu= is the mapping's own build id. Paths of more than
 * FILE_IDS_PATH_MAX bytes, or with what a terminal would not show, are not as mappings have them
 * and so not found. Pure.
 */
#include <stddef.h>
#include <stdlib.h>

#define FILE_IDS_LINE     "# profd build id:"
#define FILE_IDS_PATH_MAX 256u

struct profile;
struct profile_mapping;

/* Texts without blanks, but for the path; "": there is none. */
struct file_ids {
	const char *htlhash; /* of OpenTelemetry: common/symbols/elf_summary.h */
	const char *go;      /* Go's own */
	const char *gnu;
	const char *path;
};

/* The line, malloc'ed; NULL without memory. */
char *file_ids_print(const struct file_ids *ids);

/* Those of a profile. All zero has none. */
struct file_ids_table {
	struct file_ids *all; /* by gnu and path */
	size_t n, max;
	char *text; /* their lines */
};

/* @t: all zero. 0 or -ENOMEM. */
int file_ids_read(struct file_ids_table *t, const struct profile *p);
static inline void file_ids_deinit(struct file_ids_table *t)
{
	free(t->all);
	free(t->text);
}
/*
 * Those of the file of @m, a mapping of @p; NULL: not known, or files that differ have the same
 * path and build id. Lasts as long as @t.
 */
const struct file_ids *file_ids_find(const struct file_ids_table *t, const struct profile *p,
				     const struct profile_mapping *m);

#endif
