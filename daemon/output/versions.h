/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_VERSIONS_H
#define PROFD_OUTPUT_VERSIONS_H

/*
 * The versions of programs, so that releases of a service can be compared: of a process's main
 * executable, the first of
 *
 *   the version in its package metadata (.note.package)
 *   the version of its main module, if Go built it; "(devel)" is none
 *   the revision that Go built it from, 12 digits, and "+dirty" where files had been changed
 *   the version of the package that it was installed by, by the dpkg database that it sees
 *   the beginning of its build id: 12 digits of the GNU one, else of Go's
 *
 * A database that cannot be read in time is tried again, some times; until then there is no
 * version, as it would be another one later. There is no parser of rpm's: what is built for Fedora
 * has package metadata.
 *
 * A version is found once for each file, when a window that has samples of it is written, so that a
 * program that has ended by then has one, too; and kept with the image.
 */
#include "daemon/output/snapshot.h"
#include "daemon/resolve/image.h"

#define VERSION_SIZE 64 /* bytes of one, with its NUL */

struct symbols;

/* What is known of a program. Each may be NULL. */
struct version_facts {
	const struct elf_summary *elf;
	const struct go_build *go;
	const struct elf_release *release;
	const char *package; /* its version, or "" */
};

/* Clean text (text_is_clean()); "": nothing has a version. Pure. */
void version_choose(const struct version_facts *facts, char ret[VERSION_SIZE]);

/*
 * Sets image_version() of the programs in @snapshot, if it wants the label: of those of which that
 * was not done before and can be done now. Blocks for the opener and the image worker. 0 or
 * negative errno.
 */
int versions_find(struct symbols *s, const struct snapshot *snapshot);

#endif
