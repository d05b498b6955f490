/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_RETENTION_H
#define PROFD_OUTPUT_RETENTION_H

/*
 * What the store keeps. In this order:
 *
 *   1. legacy windows of services older than legacy_keep go, and all windows older than max_age;
 *   2. so do image epochs that began more than max_age ago, the newest three excepted;
 *   3. while the sessions of a user take more than payer_bytes, or more than a file for each
 *      RETENTION_FILE_BYTES of it, the user's oldest window goes, if it is not the only one;
 *   4. while the store is bigger than max_size, or the file system has less than min_free left,
 *      the oldest window or epoch goes, whatever it is; but first the oldest of the user whose
 *      sessions and services (index_payer) take most, as long as that is more than payer_bytes.
 *
 * 4 spares the newest keep_windows windows of each service that lives: the .pb.gz ones, or, where
 * there is none, the legacy ones. A service lives that was seen within RETENTION_LIVES_S: most
 * containers never come back. Where all else is gone and the store is still bigger than max_size,
 * these go, too; not for min_free, as others may have filled the disk. Sessions keep none.
 * Ages count from a window's end. A limit of 0 is no limit.
 *
 * Clocks may be wrong. max_age waits while the clock is doubtful (see steady.h); legacy_keep does
 * not, as what it deletes is in the .pb.gz too. What lies more than a day in the future was written
 * before the clock last jumped: that is how old it is, at least. Such epochs are none of the
 * newest.
 *
 * Works on the index alone; the only system calls are those that delete, and statvfs.
 */
#include <stdbool.h>
#include <stdint.h>

#include "daemon/output/store.h"

#define RETENTION_EPOCHS_KEPT 3
#define RETENTION_LIVES_S     (2 * 86400u) /* so that what runs once a day does */
#define RETENTION_FILE_BYTES  16384u

struct retention_limits {
	LIMITS(LIMIT_FIELD)
	uint64_t payer_bytes; /* of a user's sessions (index_payer) */
	bool clock_is_doubtful;
	uint64_t steady_s;    /* for how long the clock has gone on without a jump */
	uint64_t max_deleted; /* files and epochs, by one call; 0: no bound */
	bool is_dry_run;      /* the store's ops delete nothing: space that is freed is computed */
};

/* What a user's sessions may hold; 0: no bound. */
struct index_share retention_share_max(const struct retention_limits *limits);
/*
 * Deletes what the limits tell at @now_s. @need: bytes to free in any case, as far as there is
 * something to delete: after a write found no room (a quota does not show in statvfs).
 * *ret_n counts the files and epochs deleted; may be NULL: if there were max_deleted of them, there
 * may be more to delete. What cannot be deleted keeps nothing else from being deleted; then the
 * result is the negative errno of the first such thing, else 0.
 */
int retention_run(struct store *store, const struct retention_limits *limits, uint64_t now_s,
		  uint64_t need, uint64_t *ret_n);

#endif
