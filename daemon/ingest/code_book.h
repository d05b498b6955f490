/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_CODE_BOOK_H
#define PROFD_INGEST_CODE_BOOK_H

/*
 * The code objects of interpreters that were seen: each has a number, which a frame of
 * FRAME_RUNTIME carries (common/frame.h), and which means the same code for ever. Sources number
 * them by ids of their own; what is equal in every byte is one. What the bytes mean is not looked
 * at here (common/runtime/code.h).
 *
 * Numbers are the pages of volumes. A volume is bounded in entries and bytes; when the present one
 * is full, the one before it goes, and every id is wanted again; until the next turn it is known
 * from the volume that was full. Windows hold references to the two, so that a frame has its name
 * as long as a window is open, unless two volumes were filled meanwhile.
 *
 * The main thread writes; who has a reference reads what was there when it was taken, in any
 * thread.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/runtime/code.h"

/* A user has half of a volume, users three quarters; who needs more turns it when it is that old.
 */
#define CODE_TURN_NS (300 * UINT64_C(1000000000))

struct code {
	struct runtime_code raw;
	atomic_bool is_bad; /* an image worker was lost over it; of the output thread */
};

struct code_book;
struct code_volume;

/* What a reader holds. All zero: nothing. */
struct code_volumes {
	struct code_volume *volumes[2];
};

/* @volume_bytes: of one volume, with the ids of what is in it. The book has two; what windows hold
 * comes on top. */
int code_book_new(struct code_book **ret, size_t volume_bytes);
void code_book_free(struct code_book *book);
DEFINE_CLEANUP(struct code_book *, code_book_free)

/* Who says so, and when. */
struct code_origin {
	uint64_t id;
	uint32_t uid;    /* 0: root, who has no share */
	uint64_t now_ns; /* CLOCK_MONOTONIC */
};

enum { CODE_BOOK_E_SHARE = 1 };

/*
 * @code, copied, is what the id means from now on. *ret_forgot: all ids before it are wanted again.
 * Returns 0, CODE_BOOK_E_SHARE, after which the id is unknown, as its user has used up his share,
 * or negative errno.
 */
int code_book_add(struct code_book *book, const struct code_origin *origin,
		  const struct runtime_code *code, bool *ret_forgot);
/* The number of what @id means. False: it was never told, or forgotten. */
bool code_book_find(const struct code_book *book, uint64_t id, uint32_t *ret);

/* @book NULL: nothing. */
void code_volumes_take(struct code_volumes *ret, const struct code_book *book);
void code_volumes_release(struct code_volumes *volumes);
/* What the number means, or NULL. Lives as long as the reference. */
struct code *code_volumes_find(const struct code_volumes *volumes, uint32_t number);

#endif
