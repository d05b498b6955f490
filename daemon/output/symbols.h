/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SYMBOLS_H
#define PROFD_OUTPUT_SYMBOLS_H

/*
 * Names for the output thread. An image worker of its own finds them in the images' open files,
 * never by a path of ours, and in separate debug files; the kernel's come from kallsyms. What was
 * found is kept by image, that there is no name too, so that an address is asked for once; the
 * images that were not needed for longest are dropped when all together pass a bound.
 *
 * The [vdso] is no file: its names are those of profd's own, which is the same code in every
 * 64-bit process of the host.
 *
 * An image that the worker died of, or took too long for, is bad: nobody asks for it again. What
 * cannot be asked for now stays unknown, and is asked for in the next window. Directories that do
 * not answer in time are left alone for some minutes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/worker/protocol.h"
#include "daemon/output/kernel_images.h"
#include "daemon/output/symbols_names.h"
#include "daemon/resolve/image.h"
#include "daemon/resolve/jit_files.h"

struct file_copier;
struct file_opener;
struct memory_budget;
struct mount_root;
struct symbols;

struct symbols_build_id {
	uint32_t length; /* bytes; 0: none */
	uint8_t bytes[ELF_BUILD_ID_MAX];
};

struct symbols_options {
	size_t max_bytes;             /* bound for what is kept */
	struct kernel_images *kernel; /* borrowed */
	const char *worker_path;      /* as in worker.h; NULL: the installed one */
	uint64_t deadline_ns;         /* for one answer; 0: 5 s */
	struct memory_budget *budget; /* for the worker: common/worker/worker.h */
	/*
	 * A directory below which debug files of images from anywhere lie by build id, as below
	 * /usr/lib/debug: fetched by somebody else. It need not exist yet. NULL: none is to be had.
	 * Borrowed for good.
	 */
	const char *fetched_path;
	/*
	 * For debug files in other processes' directories; borrowed. NULL: opened directly, however
	 * long that takes.
	 */
	struct file_opener *opener;
	struct file_copier *copier; /* for images on FUSE; borrowed. NULL: they have no names */
	/*
	 * What the machine itself sees, in which debug files are looked for first: a process may
	 * map its libraries and see others in their place. NULL: nowhere.
	 */
	struct mount_root *host_root;
};

struct symbols_stats {
	uint64_t workers_died;
	uint64_t bad_images; /* that were found to be so here */
	char last_bad_image[256];
	uint64_t last_bad_ns;                   /* CLOCK_MONOTONIC of it; 0: none yet */
	uint64_t images_asked, addresses_asked; /* an image counts once a window */
	uint64_t cut;                           /* symbols_note_cut() */
	uint64_t slow_directories; /* roots in which a debug file did not open in time */
	uint64_t openers_lost;     /* times that there was nobody to open a debug file */
	/* Children that wait for FUSE, given up, and for which one; as of the last window. */
	uint32_t copiers_left, left_device_major, left_device_minor;
	char trouble[64]; /* why the worker does not run at the moment; "" it does */
};

int symbols_new(struct symbols **ret, const struct symbols_options *options);
void symbols_free(struct symbols *s);
DEFINE_CLEANUP(struct symbols *, symbols_free)
void symbols_set_max(struct symbols *s, size_t max_bytes);
/* symbols_options.fetched_path from now on. */
void symbols_set_fetched(struct symbols *s, const char *path);
size_t symbols_bytes(const struct symbols *s);
void symbols_get_stats(const struct symbols *s, struct symbols_stats *ret);
/* @n places of a profile have no name because its names, or those of one image, took too much. */
void symbols_note_cut(struct symbols *s, size_t n);
/* symbols_stats.trouble. */
const char *symbols_trouble(const struct symbols *s);

/*
 * A window begins. It loses no more than two answers' deadlines to files that workers die of: when
 * that is used up, nothing more is asked for in this window.
 */
void symbols_begin_window(struct symbols *s);

/*
 * Makes sure that the image's headers are known (image.h), as far as they can be. Returns 0 or
 * negative errno.
 */
int symbols_headers(struct symbols *s, struct image *image);

/*
 * Asks for those of @addresses (link-time, ascending, @n) that are not known yet. *ret is all that
 * is known of the image then, borrowed until the next call of this or the next two functions.
 * @want_lines: source lines and inlined functions too. Blocks for the worker. Returns 0 or negative
 * errno.
 */
int symbols_prepare(struct symbols *s, struct image *image, const uint64_t *addresses, size_t n,
		    bool want_lines, const struct symbols_names **ret);
/* The same for addresses of a kernel image. */
int symbols_prepare_kernel(struct symbols *s, const struct kernel_image *image,
			   const uint64_t *addresses, size_t n, const struct symbols_names **ret);

/*
 * The same for addresses of the process whose generated code @file names. The file may have grown
 * since, or say something else: then what was known of it is asked for anew.
 */
int symbols_prepare_jit(struct symbols *s, struct jit_file *file, const uint64_t *addresses,
			size_t n, const struct symbols_names **ret);

/* A program, and the version of the package that it is of. */
struct symbols_package {
	struct image *program;                /* borrowed */
	char version[WORKER_PACKAGE_VERSION]; /* clean; "": of none */
	bool is_known;                        /* false: it cannot be found out now */
	bool host_is_slow;                    /* the machine's database did not answer */
};

/* Whether packages have files at such paths at all. Pure. */
bool symbols_may_be_packaged(const char *path);
/*
 * Finds the versions of @all (@n) by dpkg's databases, and sorts them. Blocks for the opener and
 * the worker. 0 or negative errno.
 */
int symbols_find_packages(struct symbols *s, struct symbols_package *all, size_t n);

/* The headers of the [vdso] of 64-bit processes, or NULL if they cannot be had (now). */
const struct elf_summary *symbols_vdso(struct symbols *s);

/*
 * Whose debug files are to be fetched: of images that were asked for and that nothing on this
 * machine names, at the depth that they were asked for; each id once, those first that were needed
 * last. What has come is seen when the image is needed in a later window, and all of its names are
 * asked for anew. Empty where fetched_path is NULL.
 */
#define SYMBOLS_WANTED_MAX 64u

struct symbols_wanted {
	uint32_t n;
	struct symbols_build_id ids[SYMBOLS_WANTED_MAX];
};

void symbols_get_wanted(const struct symbols *s, struct symbols_wanted *ret);

#endif
