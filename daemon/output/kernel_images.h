/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_KERNEL_IMAGES_H
#define PROFD_OUTPUT_KERNEL_IMAGES_H

/*
 * Where the kernel's own code lies: the kernel proper from _stext to _etext (/proc/kallsyms), the
 * modules from /proc/modules, build ids from /sys/kernel/notes and /sys/module/NAME/notes (sysfs
 * ABI: the binary ELF notes). Code made at run time (BPF programs, ftrace trampolines) is in none.
 *
 * Without CAP_SYSLOG all addresses read as 0 (kernel.kptr_restrict): then the kernel proper is
 * everything above the user's half, its start unknown.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/symbols/elf_summary.h"
#include "common/symbols/symtab.h"

#define KERNEL_MODULE_MAX 64 /* MODULE_NAME_LEN */

struct kernel_image {
	uint64_t id;                      /* of its name, place and build */
	char name[KERNEL_MODULE_MAX + 2]; /* "[kernel.kallsyms]" or "[module]" */
	/* "vmlinux" or "module.ko": its name among the image profiles. */
	char file[KERNEL_MODULE_MAX + 3];
	uint64_t start, end;
	bool is_module;
	bool is_known; /* start is what offsets count from */
	uint32_t build_id_length;
	uint8_t build_id[ELF_BUILD_ID_MAX];
};

struct kernel_images;

/* @proc_fd, @sys_fd: directory fds of /proc and /sys, borrowed. */
int kernel_images_new(struct kernel_images **ret, int proc_fd, int sys_fd);
void kernel_images_free(struct kernel_images *k);
DEFINE_CLEANUP(struct kernel_images *, kernel_images_free)

/*
 * Looks whether modules came or went; call it before a snapshot's look-ups. Reads two files.
 * Images of modules that are still where they were keep their ids and pointers stay valid until
 * the next refresh.
 */
int kernel_images_refresh(struct kernel_images *k);
/* The image at @address, or NULL. */
const struct kernel_image *kernel_images_find(const struct kernel_images *k, uint64_t address);
/* The kernel proper. */
const struct kernel_image *kernel_images_main(const struct kernel_images *k);
/* Symbols of @image: SYMTAB_E_* or negative errno. Holds the text of kallsyms until _release(). */
int kernel_images_symbols(struct kernel_images *k, const struct kernel_image *image,
			  struct symtab **ret);
void kernel_images_release(struct kernel_images *k);

#endif
