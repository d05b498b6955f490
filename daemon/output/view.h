/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_VIEW_H
#define PROFD_OUTPUT_VIEW_H

/*
 * A snapshot in the order in which it is written: entries by service, within it by process and
 * generation. What follows from a frame's kind and position is stated here once, for all formats.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/output/kernel_images.h"
#include "daemon/output/snapshot.h"
#include "daemon/output/symbols.h"

struct view_entry {
	const struct aggregate_entry *entry;
	const struct snapshot_process *process;
	struct stack stack;
};

/* One service; of another session than the system's: all of it, service NULL. */
struct view_group {
	const char *service;
	size_t first, n; /* of the view's entries */
};

struct view {
	const struct snapshot *snapshot;
	struct view_entry *entries;
	size_t n_entries;
	struct view_group *groups;
	size_t n_groups;
	struct snapshot_process nobody; /* stands for a process that the snapshot does not name */
};

/* Borrows @snapshot for the view's life. */
int view_new(struct view **ret, const struct snapshot *snapshot);
void view_free(struct view *view);
DEFINE_CLEANUP(struct view *, view_free)

enum place_kind {
	PLACE_NOWHERE, /* no mapping is known there */
	PLACE_IMAGE,
	PLACE_KERNEL,
};

/* What lies at an address. Pointers are borrowed from the snapshot and the kernel images. */
struct place {
	enum place_kind kind;
	const struct mapping *mapping;     /* PLACE_IMAGE */
	const struct elf_summary *elf;     /* PLACE_IMAGE: headers, or NULL */
	const struct kernel_image *kernel; /* PLACE_KERNEL */
	uint64_t file_offset;              /* PLACE_IMAGE: in the image */
	bool has_vaddr;
	uint64_t vaddr; /* link-time; PLACE_KERNEL: the address itself */
};

/* The address in a user frame: without the kind. */
uint64_t view_user_address(uint64_t frame);
void view_place_user(const struct view_entry *e, uint64_t address, const struct symbols *symbols,
		     struct place *ret);
void view_place_kernel(const struct kernel_images *kernel, uint64_t address, struct place *ret);
/* The leaf's place; PLACE_NOWHERE also for a stack without frames. *ret_address 0 then. */
void view_place_leaf(const struct view_entry *e, const struct kernel_images *kernel,
		     const struct symbols *symbols, struct place *ret, uint64_t *ret_address);

static inline uint32_t view_n_user(const struct view_entry *e)
{
	return e->stack.n_frames - e->stack.n_kernel;
}

#endif
